"""GD8: several GPUs."""
