"""Has PyTorch code that asks for CUDA run as if a GPU were there: its tensors stay on the CPU, where they are only traced."""

import contextlib
import functools
import threading
import types
import weakref

GPU = types.SimpleNamespace(name="NVIDIA GPU", major=8, minor=0, total_memory=80 << 30, multi_processor_count=100, warp_size=32)
"""What a builder that asks is told of: any GPU that computes in BF16."""
ANSWERS = {
    "is_available": True,
    "is_initialized": True,
    "is_bf16_supported": True,
    "device_count": 1,
    "current_device": 0,
    "get_device_name": GPU.name,
    "get_device_capability": (GPU.major, GPU.minor),
    "get_device_properties": GPU,
    "mem_get_info": (GPU.total_memory, GPU.total_memory),
    "memory_stats": {},
    **dict.fromkeys(("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"), 0),
    **dict.fromkeys(("init", "set_device", "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all"), None),
    **dict.fromkeys(("reset_peak_memory_stats", "set_per_process_memory_fraction", "ipc_collect"), None),
}
"""What functions of torch.cuda return."""
NO_OPERATIONS = ("device", "device_of", "stream", "current_stream", "default_stream")
"""What torch.cuda makes and enters, where it changes nothing."""
TENSOR_TYPES = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Byte", "Bool")
IN_FP32 = (
    *("layer_norm", "native_layer_norm", "group_norm", "rms_norm", "softmax", "log_softmax", "logsumexp", "softplus", "interpolate"),
    *("acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sinh", "tan"),
    *("pow", "__pow__", "__rpow__", "cosine_similarity", "cdist", "pdist", "dist", "renorm"),
    *("cross_entropy", "nll_loss", "kl_div", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"),
    *("poisson_nll_loss", "cosine_embedding_loss", "margin_ranking_loss", "multi_margin_loss", "soft_margin_loss", "triplet_margin_loss"),
)
"""Functions that autocast runs in FP32 on a GPU, and not on the CPU: https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/autocast_mode.h"""
MADE_BY_CHANGE = weakref.WeakKeyDictionary()
"""By a change of parameters, what it made of each, and what that was made of, which keeps its address from others."""


class Idle:
    """A stream, an event or a device: whatever is done with it changes nothing."""

    def __init__(self, *_arguments, **_named):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: self

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None


def prepare(torch):
    """Answer for CUDA in this process from now on."""
    from torch.utils._device import DeviceContext

    for name, answer in ANSWERS.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    for name in NO_OPERATIONS:
        setattr(torch.cuda, name, Idle)
    for kind in (torch.cuda.Stream, torch.cuda.Event):  # which PyTorch compares with its own by class
        kind.__new__ = lambda *_, **__: Idle()
    for name in TENSOR_TYPES:
        setattr(torch.cuda, name + "Tensor", getattr(torch, name + "Tensor"))

    class Generator(torch.Generator):
        def __new__(cls, *_device, **_named):
            return super().__new__(cls)

    torch.Generator, torch.nn.Module._apply = Generator, apply_without_swap  # noqa: SLF001 -- see there
    for kind in (DeviceContext, torch.autocast):  # what `with torch.device(...)` and autocast enter
        kind.__init__ = with_cpu_for_gpu(torch, kind.__init__)
    load = torch.load
    torch.load = lambda *arguments, **named: load(*arguments[:1], **{**named, "map_location": "cpu"})
    mode_of_cpu_for_gpu(torch).__enter__()
    run = threading.Thread.run

    def run_on_cpu(thread):
        with mode_of_cpu_for_gpu(torch):  # which holds for one thread
            run(thread)

    threading.Thread.run = run_on_cpu


def with_cpu_for_gpu(torch, function):
    """The function, with the CPU in place of a GPU among its arguments."""

    def moved(*arguments, **named):
        return function(
            *(cpu_for_gpu(torch, argument) for argument in arguments), **{name: cpu_for_gpu(torch, one) for name, one in named.items()}
        )

    return moved


def cpu_for_gpu(torch, one):
    """The CPU in place of a GPU; anything else as it is."""
    gpu = one.type == "cuda" if isinstance(one, torch.device) else isinstance(one, str) and one.partition(":")[0] == "cuda"
    return "cpu" if gpu else one


def mode_of_cpu_for_gpu(torch):
    """A mode in which every function of PyTorch takes the CPU for a GPU."""
    from torch.overrides import TorchFunctionMode

    same, to = (torch.Tensor.cuda, torch.Tensor.pin_memory), torch.Tensor.to

    class OnCpu(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), named=None):
            if function in same:
                return arguments[0]
            named = {name: cpu_for_gpu(torch, one) for name, one in (named or {}).items() if name != "pin_memory"}
            arguments = [cpu_for_gpu(torch, argument) for argument in arguments]
            if isinstance(named.get("device"), int):  # its number
                named["device"] = "cpu"
            if function is to and type(arguments[-1]) is int:
                arguments[-1] = "cpu"
            return function(*arguments, **named)

    return OnCpu()


def apply_without_swap(module, change, recurse=True):  # noqa: FBT002 -- as it is called
    """Module._apply, with new parameters in place of old ones: PyTorch 2.15 swaps their contents, which it refuses for fake tensors."""
    made = MADE_BY_CHANGE.setdefault(change, {})
    for child in module.children() if recurse else ():
        child._apply(change)  # noqa: SLF001 -- recurrent layers have one of their own
    for parts in (module._parameters, module._buffers):  # noqa: SLF001 -- as PyTorch's own
        for name, one in parts.items():
            if one is not None:
                parts[name] = made.setdefault(id(one), (converted_parameter(one, change), one))[0]
    return module


def converted_parameter(one, change):
    """A parameter or buffer in another type, or itself."""
    import torch

    new = change(one.detach())
    if new.dtype == one.dtype:
        return one
    return torch.nn.Parameter(new, one.requires_grad) if isinstance(one, torch.nn.Parameter) else new


@contextlib.contextmanager
def layers_as_on_gpus(torch, recurrent):
    """Have layers keep what their kernels for GPUs do.

    Dropout keeps a mask of bytes, and attention no scores for its own; the CPU's keep a mask of numbers, and all scores. Autocast runs more in FP32, and casts
    all that a recurrent layer reads; the CPU's leaves states in FP32: https://github.com/pytorch/pytorch/pull/42385.
    """
    functional = torch.nn.functional
    drop, attend = functional.dropout, functional.scaled_dot_product_attention

    def dropout_with_byte_mask(read, p=0.5, training=True, inplace=False):  # noqa: FBT002 -- as it is called
        return torch.native_dropout(read, p, True)[0] if training and 0 < p < 1 and not inplace else drop(read, p, training, inplace)

    def attention_without_scores(query, key, value, attn_mask=None, dropout_p=0.0, *others, **named):  # noqa: ARG001 -- left out
        return attend(query, key, value, attn_mask, 0.0, *others, **named)

    changes = [(functional, "dropout", dropout_with_byte_mask), (functional, "scaled_dot_product_attention", attention_without_scores)]
    for places, names, kind in (((functional, torch, torch.Tensor), IN_FP32, torch.float32), ((torch._VF,), recurrent, None)):  # noqa: SLF001 -- of nn.RNN
        found = [(place, name) for place in places for name in names if hasattr(place, name)]
        changes += [(place, name, cast_arguments(torch, getattr(place, name), kind)) for place, name in found]
    before = [(place, name, getattr(place, name)) for place, name, _ in changes]
    for change in changes:
        setattr(*change)
    try:
        yield
    finally:
        for change in before:
            setattr(*change)


def cast_arguments(torch, function, kind):
    """The function, whose tensors under autocast are in this type, or in autocast's."""

    @functools.wraps(function)
    def called(*arguments, **named):
        current = autocast_type(torch)
        return function(*([cast_tensors(torch, argument, kind or current) for argument in arguments] if current else arguments), **named)

    return called


def autocast_type(torch):
    """Autocast's type; None where it is off."""
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
    return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None  # before PyTorch 2.4


def cast_tensors(torch, one, kind):
    """Tensors of numbers in another type, in lists too; anything else as it is."""
    if isinstance(one, (tuple, list)):
        return type(one)(cast_tensors(torch, part, kind) for part in one)
    return one.to(kind) if isinstance(one, torch.Tensor) and one.is_floating_point() else one
