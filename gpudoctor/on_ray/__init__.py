"""Runs gpudoctor on every node of a Ray cluster; Ray is imported here alone, and only for `--ray`."""
