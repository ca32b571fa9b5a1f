"""Tests of the smoke training."""
