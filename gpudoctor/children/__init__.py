"""Scripts that run in their own processes, in a folder for each kind of interpreter, and the channel to them.

`own` runs under gpudoctor's interpreter, `target` and `train` under the examined one: those support Python 3.6 with the standard library
only. A script that hangs, crashes or lies only costs its own answer. Import nothing here: the X-ray runs without site-packages.
"""
