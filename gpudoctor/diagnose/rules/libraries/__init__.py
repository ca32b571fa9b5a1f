"""GD4: CUDA libraries, toolkit and cuDNN."""
