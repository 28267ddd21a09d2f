"""Measurements, each against a peer or a limit in the same run."""
