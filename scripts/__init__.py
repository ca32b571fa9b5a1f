"""The programs of a clone: start, test, lint, refresh, measure. Never installed."""
