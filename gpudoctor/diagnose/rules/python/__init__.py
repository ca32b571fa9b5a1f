"""GD6: Python and its packages."""
