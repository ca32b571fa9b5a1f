"""Examines a live machine, or a recorded tree of one, and fills a snapshot with facts, never conclusions."""
