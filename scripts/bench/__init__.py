"""Measure start-up time against an empty command, and the smoke training against plain scripts."""
