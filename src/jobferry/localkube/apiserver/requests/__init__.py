"""What a request asks for: its path, options, accepted answers and body, read and checked.

Belongs here: pure functions on parts of a request. Does not: storage, answers.
"""
