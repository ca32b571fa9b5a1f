"""GD3: container, WSL, scheduler and cloud."""
