"""Rebuild the tables of compat/ from published wheels, a module per table: python -m scripts.refresh.torch."""
