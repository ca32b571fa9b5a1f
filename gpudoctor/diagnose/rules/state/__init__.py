"""GD7: settings and the GPU's state."""
