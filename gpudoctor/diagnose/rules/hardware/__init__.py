"""GD1: the GPU and its slot."""
