"""Reads ELF files and the GPU code in them, and works out what the dynamic loader would do, without loading or running anything.

The lowest layer, and it runs in a child that lives for some ten milliseconds: plain classes, only the standard library.
"""
