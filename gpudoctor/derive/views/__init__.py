"""What rules see: one frozen view of each subject. Pure."""
