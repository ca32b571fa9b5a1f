"""A check: look, train, reason."""
