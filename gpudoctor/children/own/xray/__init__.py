"""The X-ray of an environment: which libraries its frameworks would load, why those, and for which GPUs they hold code.

Everything here runs in a child of its own (child/libraries_probe.py), beside other children and within some fifty milliseconds: it imports
the standard library's quickest modules and gpudoctor.elf, and speaks in plain dictionaries that the parent turns into the snapshot's structs.
"""
