"""The FLOPs of PyTorch's operations where PyTorch itself has no formula or a wrong one, their bytes, and a result where it refuses fake tensors.

Tested with PyTorch 2.13 and 2.15.
"""

MATRIX_DIMENSIONS = 2
"""Dimensions."""
TRANSPOSED, MASK = 7, 10
"""Places among the arguments of convolution_backward."""


def flop_formulas(aten, known):
    """The FLOP formulas of operations: PyTorch's own, and those that it lacks, in 2.13 for attention on the CPU and in 2.15 for groups of rows.

    Its own for the gradients of a convolution ignores groups: of a depthwise one it counts as many times as much as there are channels.
    """
    fused = "_scaled_dot_product_flash_attention"
    same = {fused + "_for_cpu": fused, fused + "_for_cpu_backward": fused + "_backward"}
    lacking = {getattr(aten, name, None): known[getattr(aten, like)] for name, like in same.items() if hasattr(aten, like)}
    return {getattr(aten, "_grouped_mm", None): grouped_flops, **lacking, **known, aten.convolution_backward: convolution_backward_flops}


def result_of_grouped_matmul(rows, others, offsets=None, **_named):
    """What a matmul of groups of rows returns: a matrix for each group where both are rows. PyTorch 2.13 refuses FP32 that is fake."""
    shape = (*rows.shape[:-1], others.shape[-1])
    return rows.new_empty((len(offsets), *shape) if rows.dim() == others.dim() == MATRIX_DIMENSIONS else shape)


def convolution_backward_flops(*arguments, **_named):
    """The FLOPs of the gradients of a convolution: each that is wanted, of inputs and of weights, takes as many as the convolution itself."""
    outputs, inputs, weights, mask = (*arguments[:3], arguments[MASK])
    placed = inputs if arguments[TRANSPOSED] else outputs
    places = placed.numel() // placed.shape[1]
    return 2 * places * weights.numel() * sum(mask[:2])


def grouped_flops(rows, *_others, out_val, **_named):
    """The FLOPs of a matmul of groups of rows with a matrix for each, as experts compute, or of its gradient."""
    return 2 * rows.numel() * out_val.shape[-1]


def moved_bytes(read, made, storage):
    """The bytes that an operation reads and writes; 0 for a view, which shares the memory of what it reads and is another tensor."""
    there = set(map(storage, read))
    if all(storage(one) in there and all(one is not other for other in read) for one in made):
        return 0
    return sum(min(one.numel() * one.element_size(), one.untyped_storage().nbytes()) for one in (*read, *made))
