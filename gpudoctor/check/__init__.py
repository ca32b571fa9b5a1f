"""A check: observes the machine, trains, and diagnoses."""
