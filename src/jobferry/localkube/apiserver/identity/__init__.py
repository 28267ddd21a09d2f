"""Who calls: certificates, tokens, and the user that a request comes from.

Belongs here: what proves an identity, and what is issued as proof. Does not: what that identity may do.
"""
