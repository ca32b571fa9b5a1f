"""The blocks of a torch.nn.Module, which checkpointing recomputes."""

import math


def parameter_count(module):
    """The number of a module's parameters."""
    return sum(parameter.numel() for parameter in module.parameters())


def checkpoint_blocks(torch, module, *, in_sequence=False):
    """Have the blocks of sequences recomputed in backward, and segments of plain sequences of layers; returns them.

    An element that holds most of its sequence and has a sequence of blocks itself is no block, such as the inner levels of a U-Net.
    """
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    found, sequences = [], (torch.nn.ModuleList, torch.nn.Sequential)
    for name, child in list(module.named_children()):
        plain = type(child) in sequences or not in_sequence  # a class of the user's own in a sequence is a block
        levels = any(isinstance(one, sequences) and has_blocks(one) for one in child.modules() if one is not child)
        if plain and isinstance(child, sequences) and has_blocks(child):
            found += checkpoint_blocks(torch, child, in_sequence=len(child) > 1)
        elif in_sequence and list(child.children()) and not (levels and 2 * parameter_count(child) > parameter_count(module)):
            setattr(module, name, checkpoint_wrapper(child, preserve_rng_state=False))
            found.append(child)
        elif isinstance(child, torch.nn.Sequential) and len(child) > 1:
            parts = segments(child)
            setattr(module, name, torch.nn.Sequential(*(checkpoint_wrapper(part, preserve_rng_state=False) for part in parts)))
            found += parts
        else:
            found += checkpoint_blocks(torch, child)
    return found


def has_blocks(module):
    """Whether any of its parts has parts."""
    return any(list(part.children()) for part in module.children())


def segments(layers):
    """A sequence of layers in about as many parts as each has layers."""
    size = math.ceil(math.sqrt(len(layers)))
    return [layers[first : first + size] for first in range(0, len(layers), size)]
