"""OpenAPI v3: what is served, described for clients."""
