"""Recorded machines: what the probes saw on machines built by the seams, and the diagnosis that each must get."""
