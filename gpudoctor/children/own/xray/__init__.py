"""The X-ray of an environment: which libraries its frameworks would load, why, and their GPU code.

Runs in a child (own/libraries_probe.py), in parallel with others and within some fifty milliseconds: it imports only gpudoctor.elf and
the fastest modules of the standard library, and sends plain dictionaries that the parent converts to snapshot structs.
"""
