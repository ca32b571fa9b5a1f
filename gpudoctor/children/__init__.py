"""Scripts that run in processes of their own, in a folder for each interpreter that runs them, and the one channel to them.

`own` runs under gpudoctor's interpreter, `target` and `train` under the one that is examined, so these support Python 3.6 and the standard
library only. A script may hang, crash or lie; it costs its own answer. Nothing may be imported here: the X-ray runs without site-packages.
"""
