"""What a training run needs of a GPU: memory by part, the largest batch, speed. Pure accounting; nothing is measured here.

A `Model` says what is known of a model, whether counted from its shapes (`layers`) or traced in a framework.
"""
