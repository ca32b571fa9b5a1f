"""Builds the networks of scripts/bench/fit in PyTorch, as its users would, and measures a training step of each on the CPU.

`nets_torch:build` is the builder that gpudoctor traces: the network of the environment variable FIT_CASE. As a program it reads cases from standard
input, a line of JSON each, and prints the truth of each batch.
"""

import ctypes
import gc
import json
import math
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Shared:
    """What layers pass to others that do not follow them: the embedding, the time, a context, branches to join, and whether blocks are recomputed."""

    embedding = time = context = None
    context_shape = ()
    recompute = False

    def __init__(self):
        self.branches, self.shapes = [], []


class Call(nn.Module):
    """A function of named submodules."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.function(self, x)


class Block(nn.Sequential):
    """Layers that are recomputed together."""

    shared = Shared()

    def forward(self, x):
        return (
            checkpoint(super().forward, x, use_reentrant=False, preserve_rng_state=False) if self.shared.recompute else super().forward(x)
        )


class RMSNorm(nn.Module):
    """As transformers writes it."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


FUNCTIONS = {
    "relu": F.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": F.gelu,
    "silu": F.silu,
    "elu": F.elu,
    "leaky_relu": F.leaky_relu,
    "gelu_new": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0)))),
    "linear": lambda x: x,
}


def function(name):
    return Call(lambda _, x: FUNCTIONS[name](x))


def sequence(rows, shape, shared):
    """The layers of rows as a list, and the shape of their output for one sample."""
    layers = []
    for row in rows:
        if row["kind"] != "loss":
            layer, shape = globals()["_" + row["kind"]](row, shape, shared)
            layers.append(layer)
    return layers, shape


def _linear(row, shape, shared):
    if row.get("tied"):
        return Call(lambda _, x: F.linear(x, shared.embedding.weight)), (*shape[:-1], row["out"])
    return nn.Linear(shape[-1], row["out"], bias=row.get("bias", True)), (*shape[:-1], row["out"])


def _slid(shape, channels, row):
    return channels, *((side + 2 * row.get("padding", 0) - row["kernel"]) // row.get("stride", 1) + 1 for side in shape[1:])


def _conv(row, shape, shared):
    kernel, stride, padding = row["kernel"], row.get("stride", 1), row.get("padding", 0)
    made = nn.ConvTranspose2d if row.get("transposed") else nn.Conv2d if len(shape) == 3 else nn.Conv1d
    layer = made(shape[0], row["out"], kernel, stride, padding, bias=row.get("bias", True), groups=row.get("groups", 1))
    if row.get("transposed"):
        return layer, (row["out"], *((side - 1) * stride - 2 * padding + kernel for side in shape[1:]))
    return layer, _slid(shape, row["out"], row)


def _pool(row, shape, shared):
    made = nn.MaxPool2d if row.get("maximum", True) else nn.AvgPool2d
    return made(row["kernel"], row["stride"], row.get("padding", 0)), _slid(shape, shape[0], row)


def _poolto(row, shape, shared):
    return nn.AdaptiveAvgPool2d(row["side"]), (shape[0], row["side"], row["side"])


def _upsample(row, shape, shared):
    return nn.Upsample(scale_factor=2), (shape[0], 2 * shape[1], 2 * shape[2])


def _flatten(row, shape, shared):
    if row.get("tokens"):
        return Call(lambda _, x: x.flatten(2).transpose(1, 2)), (math.prod(shape[1:]), shape[0])
    return nn.Flatten(), (math.prod(shape),)


def _image(row, shape, shared):
    side = math.isqrt(shape[0])
    return Call(lambda _, x: x.transpose(1, 2).reshape(len(x), -1, side, side)), (shape[1], side, side)


def _norm(row, shape, shared):
    kinds = {
        "batch": lambda: nn.BatchNorm2d(shape[0]),
        "group": lambda: nn.GroupNorm(row["groups"], shape[0]),
        "layer": lambda: nn.LayerNorm(shape[-1]),
        "rms": lambda: RMSNorm(shape[-1]),
    }
    return kinds[row["of"]](), shape


def _function(row, shape, shared):
    return function(row["name"]), shape


def _dropout(row, shape, shared):
    if not row["share"]:
        return Call(lambda _, x: x), shape
    return Call(lambda _, x: torch.native_dropout(x, 0.1, True)[0]), shape  # the kernel of GPUs: nn.Dropout keeps numbers on the CPU


def _embedding(row, shape, shared):
    shared.embedding = nn.Embedding(row["entries"], row["width"])
    parts = {"tokens": shared.embedding}
    if row.get("places"):
        parts["places"] = nn.Embedding(row["places"], row["width"])
    if row.get("segments"):
        parts["segments"] = nn.Embedding(row["segments"], row["width"])

    def forward(self, x):
        made = self.tokens(x)
        made = made + self.segments(torch.zeros_like(x)) if row.get("segments") else made
        return made + self.places(torch.arange(x.shape[1])) if row.get("places") else made

    return Call(forward, **parts), (shape[0], row["width"])


def _place(row, shape, shared):
    if not row.get("learned", True):
        places = nn.Parameter(torch.zeros(1, *shape), requires_grad=False)
        return Call(lambda self, x: x + self.places, places=places), shape
    parts = {"token": nn.Parameter(torch.zeros(1, 1, shape[1])), "places": nn.Parameter(torch.zeros(1, shape[0] + 1, shape[1]))}
    return Call(lambda self, x: torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places, **parts), (shape[0] + 1, shape[1])


def _first(row, shape, shared):
    return Call(lambda _, x: x[:, 0]), shape[1:]


def _attention(row, shape, shared):
    width, heads = shape[-1], row["heads"]
    size, of_keys = row.get("size") or width // heads, row.get("of_keys") or heads
    source = shared.context_shape if row.get("crossed") else shape
    bias, bias_out = row.get("bias", True), row.get("bias_out")
    parts = {
        "q": nn.Linear(width, heads * size, bias=bias),
        "k": nn.Linear(source[-1], of_keys * size, bias=bias and row.get("bias_keys", True)),
        "v": nn.Linear(source[-1], of_keys * size, bias=bias),
        "out": nn.Linear(heads * size, width, bias=bias if bias_out is None else bias_out),
    }

    def forward(self, x):
        y = shared.context if row.get("crossed") else x
        q, k, v = (part(one).unflatten(-1, (-1, size)).transpose(1, 2) for part, one in ((self.q, x), (self.k, y), (self.v, y)))
        mixed = F.scaled_dot_product_attention(q, k, v, **({"enable_gqa": True} if of_keys < heads else {}))
        return self.out(mixed.transpose(1, 2).flatten(2))

    return Call(forward, **parts), shape


def _gated(row, shape, shared):
    width, bias = shape[-1], row.get("bias", False)
    parts = {"gate": nn.Linear(width, row["width"], bias=bias), "up": nn.Linear(width, row["width"], bias=bias)}
    parts["down"] = nn.Linear(row["width"], width, bias=bias)
    name = row.get("name", "silu")
    return Call(lambda self, x: self.down(FUNCTIONS[name](self.gate(x)) * self.up(x)), **parts), shape


def _context(row, shape, shared):
    before = row["height"], row["stride"] * row["width"]
    body, shared.context_shape = sequence(row.get("body", ()), before, shared)

    def forward(self, x):
        shared.context = self.body(torch.zeros(len(x), *before))
        return x

    return Call(forward, body=nn.Sequential(*body)), shape


def _time(row, shape, shared):
    entry = row["reads"]
    parts = {"first": nn.Linear(entry, row["width"]), "last": nn.Linear(row["width"], row["width"])}

    def forward(self, x):
        shared.time = self.last(F.silu(self.first(torch.zeros(len(x), entry))))
        return x

    return Call(forward, **parts), shape


def _shift(row, shape, shared):
    layer = nn.Linear(row["width"], shape[0])
    return Call(lambda self, x: x + self.layer(F.silu(shared.time))[:, :, None, None], layer=layer), shape


def _residual(row, shape, shared):
    body, after = sequence(row["body"], shape, shared)
    shortcut, _ = sequence(row.get("shortcut", ()), shape, shared)
    if row.get("matched") and shape != after:
        shortcut = [nn.Conv2d(shape[0], after[0], 1)]
    return Call(lambda self, x: self.body(x) + self.shortcut(x), body=nn.Sequential(*body), shortcut=nn.Sequential(*shortcut)), after


def _branch(row, shape, shared):
    shared.shapes.append(shape)

    def forward(self, x):
        shared.branches.append(x)
        return x

    return Call(forward), shape


def _join(row, shape, shared):
    past = shared.shapes.pop()
    return Call(lambda _, x: torch.cat([shared.branches.pop(), x], 1)), (past[0] + shape[0], *past[1:])


def _block(row, shape, shared):
    body, after = sequence(row["body"], shape, shared)
    block = Block(*body)
    block.shared = shared
    return block, after


def _called(row, shape, shared):
    body, after = sequence(row["body"], shape, shared)
    return nn.Sequential(*body), after


def network(case):
    """The module of a case, with what its layers share, and an example batch of two."""
    shared, shape = Shared(), tuple(case["shape"])
    layers, _ = sequence(case["rows"], shape, shared)
    example = torch.zeros(2, *shape) if len(shape) == 3 else torch.zeros(2, *shape, dtype=torch.long)
    return nn.Sequential(*layers), shared, example


def build():
    """The builder that gpudoctor traces."""
    with open(os.environ["FIT_CASE"], encoding="utf-8") as file:
        module, _, example = network(json.load(file))
    return module, example


def loss_of(output, tokens):
    """Cross entropy over classes or tokens, or the mean of squares."""
    if output.dim() == 2 or tokens:
        flat = output.flatten(0, -2)
        return F.cross_entropy(flat, torch.zeros(len(flat), dtype=torch.long))
    return output.square().mean()


def measured(module, inputs):
    """Bytes of distinct storages saved for backward, of allocations held between forward and backward, and the most held."""
    memory = ctypes.CDLL(None)
    memory.allocations_held.restype = memory.allocations_most.restype = ctypes.c_long
    own = {parameter.untyped_storage().data_ptr() for parameter in (*module.parameters(), *module.buffers())}
    saved = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    loss_of(module(inputs), not inputs.is_floating_point()).backward()
    module.zero_grad()
    gc.collect()
    before = memory.allocations_held()
    memory.allocations_most()
    loss = loss_of(module(inputs), not inputs.is_floating_point())
    held = memory.allocations_held() - before
    loss.backward()
    most = memory.allocations_most() - before
    module.zero_grad()
    del loss
    with torch.autograd.graph.saved_tensors_hooks(note, lambda one: one):
        loss = loss_of(module(inputs), not inputs.is_floating_point())
        assert loss.requires_grad
    kept = sum(size for place, size in saved.items() if place not in own)
    return {"kept": kept, "held": held + inputs.nbytes, "most": most}


def truth(case):
    """What a case needs for each batch, with and without recomputing its blocks."""
    module, shared, example = network(case)
    results = []
    for batch in case["batches"]:
        inputs = example[:1].repeat(batch, *[1] * (example.dim() - 1))
        for shared.recompute in (False, True) if case["blocks"] else (False,):
            results.append({"batch": batch, "checkpointing": shared.recompute, **measured(module, inputs)})
    return {"parameters": sum(parameter.numel() for parameter in module.parameters()), "steps": results}


if __name__ == "__main__":
    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(truth(json.loads(line))), flush=True)
