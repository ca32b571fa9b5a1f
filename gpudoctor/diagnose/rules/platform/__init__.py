"""GD3: containers, WSL and schedulers."""
