"""Recorded machines: what the probes saw of machines that the seams built, and the diagnosis that each must give."""
