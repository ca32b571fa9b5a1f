"""Texts by the family of their cause: each module has CASES (the cause that must lead, a text) and may have NEAR_MISSES (a cause that must not be found, a text)."""
