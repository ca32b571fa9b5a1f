"""The programs of a clone, which are never installed: start, test, lint, refresh, measure."""
