"""Looks at a live machine, or at a recorded tree of one, and fills a snapshot: what is there, never what it means."""
