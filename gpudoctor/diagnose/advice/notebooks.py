"""Google's notebooks, by what a text says of them: a check of a machine without a GPU asks too, so no table of phrases is loaded."""

from gpudoctor.expressions import expression

COLAB = expression(r"(?i)\bcolab(?:oratory)?\b")
