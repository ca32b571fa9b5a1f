"""Tests of the table of signs."""
