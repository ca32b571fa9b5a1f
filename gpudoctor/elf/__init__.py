"""Reads ELF files and the GPU code in them, and predicts what the dynamic loader would do, without loading or running anything.

The lowest layer, used by a child that lives for about ten milliseconds: plain classes, standard library only.
"""
