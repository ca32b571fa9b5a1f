"""Environment dumps and package lists as people paste them: healthy ones, and ones whose versions show the cause."""
