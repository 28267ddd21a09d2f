"""The Common Expression Language as Kubernetes has it: parsed, type-checked, compiled to closures.

Written here because what is on PyPI knows neither the types of schemas nor Kubernetes' functions, copies the whole
object for each evaluation, and weighs 50 MB. What is not here is refused when a rule is compiled.
"""
