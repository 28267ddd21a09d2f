"""CustomResourceDefinitions and the objects they define: pure functions, no server, no storage.

`definition` and `naming` are about the definitions themselves; `custom` makes the strategies for the
objects of one version; `schema` compiles what a version's schema says; `cel` evaluates its rules.
"""
