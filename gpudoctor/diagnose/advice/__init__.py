"""What to do about a finding: fixes and commands that rules share, by subject. Pure."""
