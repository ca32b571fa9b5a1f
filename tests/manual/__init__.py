"""Tests of the manual's search."""
