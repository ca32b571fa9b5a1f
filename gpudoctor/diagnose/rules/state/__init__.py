"""GD7: settings, memory and modes of GPUs and hosts."""
