"""Tests of the signatures."""
