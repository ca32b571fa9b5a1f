"""One diagnosis for many machines."""
