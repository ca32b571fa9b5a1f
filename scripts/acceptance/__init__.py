"""Check gpudoctor against a real GPU (scripts/gpu_acceptance) and against the published frameworks."""
