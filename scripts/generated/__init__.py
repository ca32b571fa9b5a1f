"""What scripts/generate writes, a module each subject."""
