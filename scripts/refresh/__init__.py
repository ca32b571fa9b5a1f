"""Rebuild the tables of compat/ from what the published wheels say of themselves, a module a table: python -m scripts.refresh.torch."""
