"""Check gpudoctor against a real GPU (scripts/gpu_acceptance) and against published frameworks."""
