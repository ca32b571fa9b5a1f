"""Measure: start-up against an empty command, the smoke training against plain scripts that do the same."""
