"""Tracing a user's own model: what it needs, in each framework, and every way in which a builder can go wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpudoctor
from gpudoctor.errors import UsageError
from gpudoctor.fit.counted_models import PresetNetwork, SampleSize
from gpudoctor.fit.model import LinearInBatch, Model
from gpudoctor.model_files.configuration import network_of_configuration
from gpudoctor.trace import TracedStep, line_through, traced_model
from tests.seams.imported import imported

TRACKER = "torch.distributed._tools.mem_tracker"
"""The dearest import of a trace."""
BAD = """
import os, sys, time

def number():
    return 3

def raises():
    raise ValueError("no such size.")

def leaves():
    sys.exit("bye")

def ends():
    os._exit(3)

def prints():
    print('{"event": "done"}\\n' * 200_000)
    os.write(2, b"x" * 1_000_000)

def allocates():
    return bytearray(1 << 40)

def downloads():
    import urllib.request
    return urllib.request.urlopen("http://192.0.2.7/weights")

def forks():
    return "copy" if os.fork() == 0 else "original"

def hangs():
    open("pid", "w").write(str(os.getpid()))
    if os.fork() == 0:
        time.sleep(60)
    time.sleep(60)
"""
TORCH = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return x + self.layer(x)

def blocks():
    model = nn.Sequential(nn.Linear(10, 16), nn.Sequential(*[Block() for _ in range(4)]), nn.Linear(16, 5))
    model.frozen = nn.Parameter(torch.zeros(1_000_000, 1_000_000), requires_grad=False)
    return model, torch.zeros(3, 10)

class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 32)
        self.weights = nn.Parameter(torch.zeros(4, 32, 64))

    def forward(self, x):
        ends = torch.full((4,), len(x), dtype=torch.int32)
        return torch.nn.functional.grouped_mm(self.first(x).bfloat16(), self.weights.bfloat16(), offs=ends)

def experts():
    return Experts(), torch.zeros(4, 32)

class Level(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.body = nn.Sequential(Block(), *inner, Block())

    def forward(self, x):
        return x + self.body(x)

class Attends(nn.Module):
    def forward(self, x):
        return nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.1)

def drops():
    return nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.1), Attends()), torch.zeros(3, 2, 64, 16)

class Fan(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.last = nn.ModuleList(nn.Linear(16, 16) for _ in range(3)), nn.Linear(64, 5)

    def forward(self, x):
        parts = [x]
        for layer in self.layers:
            parts.append(torch.relu(layer(parts[-1])))
        return self.last(torch.cat(parts, -1))

def fan():
    return Fan().requires_grad_(False), torch.zeros(3, 16)

class Places(nn.Module):
    def __init__(self, spread):
        super().__init__()
        self.first, self.second, self.spread = nn.Linear(16, 8), nn.Linear(3, 8), spread
        self.register_buffer("places", torch.zeros(1, 4, 3))

    def forward(self, x):
        return self.first(x) + self.second(self.spread(self.places, len(x))).sum(1)

def expanded():
    return Places(lambda places, batch: places.expand(batch, -1, -1)), torch.zeros(3, 16)

def repeated():
    return Places(lambda places, batch: places.repeat(batch, 1, 1)), torch.zeros(3, 16)

def convolutions():
    layers = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, groups=8), nn.Conv2d(8, 16, 3, stride=2, groups=4), nn.ConvTranspose2d(16, 4, 2, stride=2, groups=2)
    return nn.Sequential(*layers), torch.zeros(2, 3, 15, 15)

def levels():
    return nn.Sequential(nn.Linear(10, 16), Level([Level([Block()])]), nn.Linear(16, 5)), torch.zeros(3, 10)
"""
CUDA = """
import torch
from torch import nn

assert torch.cuda.is_available()
torch.cuda.set_device(0)
device = torch.device("cuda:0")

class Net(nn.Module):
    def __init__(self, **where):
        super().__init__()
        self.first, self.last = nn.Linear(16, 64, **where), nn.Linear(64, 5, **where)

    def forward(self, x):
        return self.last(torch.relu(self.first(x.to("cuda", non_blocking=True))))

def cpu():
    return Net(), torch.zeros(4, 16)

def cuda():
    return nn.DataParallel(Net()).cuda(), torch.zeros(4, 16, pin_memory=True).cuda()

def to():
    return torch.compile(Net().to(device)), torch.zeros(4, 16).to(0)

def kwargs():
    return Net(device="cuda"), torch.zeros(4, 16, device=0)

def default():
    torch.set_default_device("cuda")
    with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
        return Net(), torch.zeros(4, 16)

class Autocast(Net):
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return super().forward(x) + torch.arange(5, device="cuda")

def autocast():
    return Autocast().cuda(), torch.zeros(4, 16)

def rates():
    rates = [rate.item() for rate in torch.linspace(0, 0.5, 3)]
    assert rates == [0, 0.25, 0.5]
    return Net(), torch.zeros(4, 16)

class Reads(Net):
    def forward(self, x):
        y = super().forward(x)
        assert (x >= 0).all() and not torch.isnan(y).any()
        self.norm = 2 * y.norm().item()
        return y

def reads():
    return Reads().cuda(), torch.zeros(4, 16)

class Chooses(Net):
    def forward(self, x):
        y = super().forward(x)
        return y if y.mean() > 0 else y + y.exp() * y.exp()

def chooses():
    return Chooses().cuda(), torch.zeros(4, 16)

class Masks(Net):
    def forward(self, x):
        return self.last(super().forward(x).new_ones(1) * self.first(x[x[:, 0] > 0]))

def masks():
    return Masks().cuda(), torch.zeros(4, 16)

class Sized(Net):
    def forward(self, x):
        return super().forward(x[: int(x.sum())])

def sized():
    return Sized(), torch.zeros(4, 16)

class Loops(Net):
    def forward(self, x):
        while x.norm() > 1:
            x = x / 2
        return super().forward(x)

def loops():
    return Loops(), torch.zeros(4, 16)
"""
JAX = """
import jax
import jax.numpy as jnp
from jax import lax

def loss(params, batch):
    return jnp.square(jnp.tanh(batch @ params["first"]) @ params["last"]).mean()

def build():
    return loss, {"first": jnp.zeros((10, 20)), "last": jnp.zeros((20, 5))}, jnp.zeros((4, 10))

def looped(params, images):
    hidden = lax.conv_general_dilated(images, params["kernel"], (2, 2), ((2, 2), (2, 2)))
    hidden = jax.checkpoint(lambda weights, given: jnp.tanh(given @ weights))(params["first"], hidden.reshape(len(images), -1))
    hidden, _ = lax.scan(lambda carried, weights: (jnp.sin(carried @ weights), None), hidden, params["layers"])
    unused = hidden @ params["first"].T
    return jnp.square(hidden).mean()

def loops():
    shapes = {"kernel": (4, 3, 3, 3), "first": (4 * 5 * 5, 10), "layers": (6, 10, 10)}
    return looped, {name: jnp.zeros(shape) for name, shape in shapes.items()}, jnp.zeros((4, 3, 8, 8))

def misfit():
    return loss, {"first": jnp.zeros((10, 20)), "last": jnp.zeros((20, 5))}, jnp.zeros((4, 11))

def strings():
    return loss, {"first": "weights"}, jnp.zeros((4, 11))

def on_gpu():
    gpu = jax.devices("cuda")[0]
    rates = [float(rate) for rate in jnp.linspace(0, 1, 3)]
    _, params, batch = build()
    return lambda params, batch: rates[1] * loss(params, jax.device_put(batch, gpu)), jax.device_put(params, gpu), batch

def branches():
    _, params, batch = build()
    return lambda params, batch: loss(params, batch) if batch[0, 0] > 0 else 0.0, params, batch

def grouped(params, rows):
    sizes = jnp.full(4, len(rows) // 4)
    return jnp.square(lax.ragged_dot(jnp.tanh(rows @ params["first"]), params["experts"], sizes)).mean()

def experts():
    return grouped, {"first": jnp.zeros((10, 20)), "experts": jnp.zeros((4, 20, 30))}, jnp.zeros((8, 10))
"""
KERAS = """
import keras

def build():
    inputs = keras.Input((None, None, 3))
    hidden = keras.layers.Conv2D(8, 3, strides=2, activation="relu")(inputs)
    return keras.Model(inputs, keras.layers.Dense(5)(keras.layers.GlobalAveragePooling2D()(keras.layers.Conv2D(4, 15)(hidden))))

def attention():
    inputs = keras.Input((32, 16))
    return keras.Model(inputs, keras.layers.MultiHeadAttention(2, 8)(inputs, inputs))

def silu():
    inputs = keras.Input((16,))
    return keras.Model(inputs, keras.layers.Dense(5)(keras.layers.Dense(64, activation="silu")(inputs)))

def celu():
    inputs = keras.Input((16,))
    return keras.Model(inputs, keras.layers.Dense(5)(keras.layers.Dense(1024, activation="celu")(inputs)))

def recurrent():
    inputs = keras.Input((16, 8))
    return keras.Model(inputs, keras.layers.Dense(5)(keras.layers.Bidirectional(keras.layers.LSTM(64))(inputs)))

class Product(keras.layers.Layer):
    def build(self, shape):
        self.matrix = self.add_weight(shape=(16, 16))

    def call(self, x):
        return keras.ops.matmul(x, self.matrix)

def function():
    import tensorflow as tf

    inputs, layer = keras.Input((16,)), Product()
    layer.call = tf.function(layer.call)
    return keras.Model(inputs, keras.layers.Dense(5)(layer(inputs)))

class Repeated(Product):
    def call(self, x):
        return keras.ops.fori_loop(0, 3, lambda _, made: keras.ops.tanh(super(Repeated, self).call(made)), x)

def loop():
    inputs = keras.Input((16,))
    return keras.Model(inputs, keras.layers.Dense(5)(Repeated()(inputs)))
"""


KERAS_ON_GPU = """
import tensorflow as tf
import keras

def build():
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.experimental.set_memory_growth(gpus[0], True)
    with tf.device("/GPU:0"):
        inputs = keras.Input((16,))
        model = keras.Model(inputs, keras.layers.Dense(5)(inputs))
    model.compile(keras.optimizers.AdamW(1e-3), "mse", jit_compile=True)
    return model
"""

ROUTED = """
import torch
from torch import nn
from torch.nn import functional as F

EXPERTS, CHOSEN = 8, 2

class Routed(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(16, EXPERTS)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16)) for _ in range(EXPERTS))

    def forward(self, x):
        rows = x.flatten(0, 1)
        weights, chosen = self.router(rows).softmax(-1).topk(CHOSEN)
        return self.mixed(rows, weights, chosen).view(x.shape).mean(1)

    def mixed(self, rows, weights, chosen):
        return (self.experts[0](rows.repeat(CHOSEN, 1)) * weights.reshape(-1, 1)).view(CHOSEN, -1, 16).sum(0)

class Compared(Routed):
    def mixed(self, rows, weights, chosen):
        out = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            token, place = torch.where(chosen == number)
            out.index_add_(0, token, expert(rows[token]) * weights[token, place, None])
        return out

class Classes(Routed):
    def mixed(self, rows, weights, chosen):
        out = torch.zeros_like(rows)
        masks = F.one_hot(chosen, num_classes=EXPERTS).permute(2, 1, 0)
        for number in (masks.sum(dim=(-1, -2)) > 0).nonzero():
            place, token = torch.where(masks[number[0]])
            out.index_add_(0, token, self.experts[0](rows[token]) * weights[token, place, None])
        return out

class Masked(Routed):
    def mixed(self, rows, weights, chosen):
        out = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            mask = (chosen == number).any(-1)
            if mask.any():
                out[mask] = out[mask] + expert(rows[mask]) * weights.sum(-1)[mask].unsqueeze(-1)
        return out

def routed(): return Routed(), torch.zeros(2, 12, 16)
def compared(): return Compared(), torch.zeros(2, 12, 16)
def classes(): return Classes(), torch.zeros(2, 12, 16)
def masked(): return Masked(), torch.zeros(2, 12, 16)

class Recurrent(nn.Module):
    def __init__(self, kind, packs):
        super().__init__()
        self.layer, self.packs = kind(16, 32, batch_first=True), packs

    def forward(self, x, lengths):
        if not self.packs:
            return self.layer(x)[0][:, -1]
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0][:, -1]

INPUTS = torch.zeros(2, 4, 16), torch.full((2,), 4)
def gru(): return Recurrent(nn.GRU, False), INPUTS
def packed_gru(): return Recurrent(nn.GRU, True), INPUTS
def lstm(): return Recurrent(nn.LSTM, False), INPUTS
def packed_lstm(): return Recurrent(nn.LSTM, True), INPUTS
"""

RECURRENT = """
import json, sys
import torch
from torch import nn

class Last(nn.Module):
    def __init__(self, kind, **sizes):
        super().__init__()
        self.layer = kind(16, 32, batch_first=True, **sizes)

    def forward(self, x):
        return self.layer(x)[0][:, -1]

def lstm(): return Last(nn.LSTM), torch.zeros(4, 12, 16)
def gru(): return Last(nn.GRU), torch.zeros(4, 12, 16)
def deep(): return Last(nn.LSTM, num_layers=2, bidirectional=True), torch.zeros(4, 12, 16)

def kept(name, onednn):
    module, example = globals()[name]()
    own, saved = {one.untyped_storage().data_ptr() for one in module.parameters()}, []
    with torch.backends.mkldnn.flags(enabled=onednn), torch.autograd.graph.saved_tensors_hooks(lambda one: saved.append(one) or one, lambda one: one):
        nn.functional.cross_entropy(module(example), torch.zeros(4, dtype=torch.long))
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in saved}
    return sum(size for place, size in storages.items() if place not in own)

if __name__ == "__main__":
    print(json.dumps({name: [kept(name, False), kept(name, True)] for name in sys.argv[1:]}))
"""


@pytest.fixture(scope="module")
def torch(framework_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The environment with torch, imported; one test starts its own."""
    with imported(framework_python("torch"), tmp_path_factory.mktemp("torch"), TRACKER) as python:
        yield python


@pytest.fixture
def counted(tmp_path: Path) -> Callable[..., Model]:
    """Traces the function of a module with this text."""

    def count(text: str, function: str, python: Path | str, deadline: float = 100.0, **step: object) -> Model:
        (tmp_path / "builders.py").write_text(text)
        return traced_model(str(python), f"builders:{function}", TracedStep(**step), folder=str(tmp_path), deadline=deadline)  # type: ignore[arg-type]

    return count


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("nothing", "builders:nothing is not there: builders has no function nothing."),
        ("number", "builders:number returned int, expected a torch.nn.Module, "),
        ("raises", "builders:raises raised ValueError: no such size. (builders.py, line 8)."),
        ("leaves", "builders:leaves raised SystemExit: bye (builders.py, line 11)."),
        ("ends", "builders:ends ended with status 3 in building the model"),
        ("prints", "builders:prints returned NoneType, expected "),
        ("allocates", "builders:allocates needs more than "),
        ("downloads", "builders:downloads downloads from 192.0.2.7; fit has no network: download what it needs first."),
        ("forks", "builders:forks returned str, expected "),
    ],
)
def test_a_bad_builder_is_told_in_a_sentence(function: str, told: str, counted: Callable[..., Model]) -> None:
    with pytest.raises(UsageError) as refusal:
        counted(BAD, function, sys._base_executable)  # type: ignore[attr-defined]
    assert str(refusal.value).startswith(told)
    assert str(refusal.value).count("\n") == 0


def test_a_builder_that_hangs_is_ended_with_what_it_started(counted: Callable[..., Model], tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"^builders:hangs was not finished after 1 s in building the model.*\.$"):
        counted(BAD, "hangs", sys._base_executable, deadline=1.0)  # type: ignore[attr-defined]
    assert time.monotonic() - began < 30
    with pytest.raises(ProcessLookupError):
        os.killpg(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize(
    ("builder", "told"),
    [
        ("train.py", "train.py is no builder; write module:function, such as train:build_model."),
        ("no_such_module:build", "no_such_module:build is not there: no module no_such_module in "),
    ],
)
def test_a_builder_that_is_not_there_is_told_in_a_sentence(builder: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        traced_model(sys._base_executable, builder, TracedStep(), folder=str(tmp_path))  # type: ignore[attr-defined]
    assert str(refusal.value).startswith(told)


@pytest.mark.index
def test_inference_holds_what_is_alive_at_once_and_needs_no_gradients(counted: Callable[..., Model], torch: Path) -> None:
    """All outputs until they are joined, and beside what they are joined to the last layer's."""
    full, half = counted(TORCH, "fan", torch, batch=4, infer=True), counted(TORCH, "fan", torch, batch=4, infer=True, precision="bf16")
    numbers = 64 + 64 + 5
    assert full.full
    assert half.half
    assert (full.full.inference, half.half.inference) == (LinearInBatch(4 * numbers), LinearInBatch(2 * numbers))
    assert (full.forward_flops, full.step_flops, full.cache_elements) == (2 * (3 * 16 * 16 + 64 * 5), None, 0)
    with pytest.raises(UsageError, match=r"^builders:fan has no trainable parameters: count inference with --infer\.$"):
        counted(TORCH, "fan", torch, batch=4)


@pytest.mark.index
def test_a_torch_module_is_traced_with_its_blocks_and_a_frozen_trillion_parameters(
    counted: Callable[..., Model], framework_python: Callable[[str], Path]
) -> None:
    model = counted(TORCH, "blocks", framework_python("torch"), batch=4)
    width = 10 * 16 + 4 * (16 * 64 + 64 * 16) + 16 * 5
    assert model.trainable == model.parameters - 10**12 == width + 16 + 4 * 80 + 5
    assert (model.forward_flops, model.step_flops) == (2 * width, 6 * width - 2 * 160)
    # the batch, each block's input and hidden layer, and the last layer's; the loss keeps logarithms and labels, and the sum of weights once
    assert model.full is not None
    assert model.full.kept == LinearInBatch(4 * (10 + 4 * (16 + 64) + 16 + 5) + 8, 4)
    assert model.full.checkpointed == LinearInBatch(4 * (10 + 4 * 16 + 16 + 5) + 8, 4)
    assert model.full.recomputed == LinearInBatch(4 * 64)
    assert 0 < model.full.transient.per_sample < 2 * 4 * (2 * 16 + 64)
    assert (model.backward[0], model.backward[-1][1]) == ((1.0, 5 / model.trainable), 1.0)  # at first the last bias alone
    assert (model.largest_block, model.block_flops) == (2 * 16 * 64 + 80, 4 * 2 * 16 * 64)
    assert model.sample == "float32 10"


@pytest.mark.index
def test_dropout_keeps_what_it_keeps_on_a_gpu(counted: Callable[..., Model], torch: Path) -> None:
    """A mask of bytes, and no scores of attention: the input and what attention reads, makes and its logarithms of sums, and the loss reads its output."""
    model = counted(TORCH, "drops", torch, batch=4)
    assert model.full is not None
    numbers = 2 * 64 * 16
    assert model.full.kept.per_sample == 3 * 4 * numbers + numbers + 4 * 2 * 64


@pytest.mark.index
def test_what_a_forward_pass_reads_and_writes_is_counted(counted: Callable[..., Model], torch: Path) -> None:
    """In FP32 numbers of 4 bytes: the input, two layers that each write 8, their sum of 4 places, the result, and the mean of squares. Views move nothing."""
    model = counted(TORCH, "repeated", torch, batch=4).full
    assert model
    places = 4 * 3
    layers = (16 + 8) + (places + 4 * 8) + (4 * 8 + 8) + 3 * 8
    loss = 8 + 1
    assert 0 <= model.moved / 4 - (layers + loss) <= 2 * places + 3 * 8


@pytest.mark.index
def test_autocast_keeps_a_copy_of_what_is_expanded_for_each_sample(counted: Callable[..., Model], torch: Path) -> None:
    expanded, repeated = (counted(TORCH, name, torch, batch=4, precision="bf16").half for name in ("expanded", "repeated"))
    assert expanded
    assert repeated
    assert expanded.kept == repeated.kept


@pytest.mark.index
def test_each_gradient_of_a_convolution_has_its_flops_whatever_its_groups(counted: Callable[..., Model], torch: Path) -> None:
    """Of the sides 15, 13, 11, 5 and 10: places times weights; the first layer's input has no gradient. PyTorch's own formula ignores groups."""
    model = counted(TORCH, "convolutions", torch, batch=4)
    first = 2 * 13**2 * 3 * 8 * 9
    grouped = 2 * (11**2 * 8 * 9 + 5**2 * 2 * 16 * 9 + 5**2 * 16 * 2 * 4)
    assert (model.forward_flops, model.step_flops) == (first + grouped, 2 * first + 3 * grouped)


@pytest.mark.index
def test_flops_of_experts_are_counted(counted: Callable[..., Model], torch: Path) -> None:
    model = counted(TORCH, "experts", torch, batch=4)
    first, grouped = 2 * 32 * 32, 2 * 32 * 64
    assert (model.forward_flops, model.step_flops) == (first + grouped, 2 * first + 3 * grouped)


@pytest.mark.index
def test_a_builder_that_asks_for_cuda_is_traced_as_one_that_does_not(counted: Callable[..., Model], torch: Path) -> None:
    plain, *others = (counted(CUDA, name, torch, batch=4) for name in ("cpu", "cuda", "to", "kwargs", "default", "rates"))
    assert all(msgspec.structs.replace(other, name=plain.name) == plain for other in others)
    bf16 = counted(CUDA, "autocast", torch, batch=4).full
    assert plain.full is not None
    assert bf16 is not None
    assert bf16.kept.per_sample < plain.full.kept.per_sample == 4 * (16 + 64 + 5) + 8


@pytest.mark.index
def test_what_a_step_takes_for_values_is_told(counted: Callable[..., Model], torch: Path) -> None:
    """Of a condition, the branch that keeps more is counted."""
    reads, masks, chooses = (counted(CUDA, name, torch, batch=4) for name in ("reads", "masks", "chooses"))
    plain = 4 * (16 + 64 + 5) + 8
    assert chooses.full is not None
    assert chooses.full.kept.per_sample == plain + 2 * 4 * 5
    lines = [number for number, line in enumerate(CUDA.splitlines(), 1) if "y.norm()" in line or "assert (x" in line]
    assert "; ".join(f"builders.py, line {number}" for number in lines) in reads.assumptions[0]
    assert "masks as selecting everything" in masks.assumptions[0]
    assert masks.full is not None
    assert masks.full.kept.per_sample > plain - 8


@pytest.mark.index
@pytest.mark.parametrize("function", ["compared", "classes", "masked"])
def test_experts_compute_each_token_as_often_as_it_is_routed(function: str, counted: Callable[..., Model], torch: Path) -> None:
    model, other = (counted(ROUTED, name, torch, batch=4) for name in (function, "routed"))
    assert (model.forward_flops, model.step_flops) == (other.forward_flops, other.step_flops)
    assert any("exclude each other" in said for said in model.assumptions)


@pytest.mark.index
@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_packed_sequences_are_counted_as_of_full_length(kind: str, counted: Callable[..., Model], torch: Path) -> None:
    plain, packed = (counted(ROUTED, name, torch, batch=4) for name in (kind, f"packed_{kind}"))
    assert plain.full
    assert packed.full
    assert plain.forward_flops == packed.forward_flops == 2 * 4 * (3 if kind == "gru" else 4) * 32 * (16 + 32)
    assert packed.full.kept.per_sample == pytest.approx(plain.full.kept.per_sample, rel=0.02)


@pytest.mark.index
def test_recurrent_layers_keep_what_pytorchs_own_operations_save(
    counted: Callable[..., Model], torch: Path, framework_python: Callable[[str], Path], tmp_path: Path
) -> None:
    """On the CPU PyTorch gives an LSTM to oneDNN instead, whose workspace no GPU has."""
    names = ("lstm", "gru", "deep")
    traced = {name: counted(RECURRENT, name, torch, batch=4).full for name in names}
    ran = subprocess.run([framework_python("torch"), tmp_path / "builders.py", *names], capture_output=True, text=True, check=True)
    saved = json.loads(ran.stdout)
    assert {name: held.kept.at(4) for name, held in traced.items() if held} == {name: own for name, (own, _) in saved.items()}
    assert [name for name, (own, onednn) in saved.items() if onednn > 2 * own] == ["lstm", "deep"]


@pytest.mark.index
@pytest.mark.parametrize("function", ["lstm", "gru"])
def test_recurrent_layers_keep_half_as_much_in_bf16_as_cudnn_is_called(function: str, counted: Callable[..., Model], torch: Path) -> None:
    """The loss keeps logarithms of 32 classes and a label in any precision."""
    full, half = counted(RECURRENT, function, torch, batch=4).full, counted(RECURRENT, function, torch, batch=4, precision="bf16").half
    assert full
    assert half
    loss = 4 * 32 + 8
    assert half.kept.per_sample - loss == (full.kept.per_sample - loss) // 2


NORMED = """
import torch
from torch import nn

def build():
    layers = [nn.Conv2d(3, 16, 3), nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 16, 3), nn.Flatten(), nn.Linear(16 * 16, 10)]
    return nn.Sequential(*layers), torch.zeros(2, 3, 8, 8)
"""


@pytest.mark.index
def test_autocast_runs_in_fp32_what_it_does_on_a_gpu(counted: Callable[..., Model], torch: Path) -> None:
    """The CPU's leaves a group norm and what follows in BF16."""
    rows = ("conv", 16, 3), ("norm", "group", 4), ("function", "silu"), ("conv", 16, 3), ("flatten",), ("linear", 10), ("loss",)
    true, formula = counted(NORMED, "build", torch, batch=4, precision="bf16"), PresetNetwork(rows, (3, 8, 8)).model("normed")
    assert true.half
    assert formula.half
    assert true.half.kept.per_sample == formula.half.kept.per_sample
    assert formula.half.kept.per_sample > 16 * 36 * (4 + 4 + 2)


@pytest.mark.index
@pytest.mark.parametrize("function", ["sized", "loops"])
def test_a_size_that_depends_on_values_is_refused_with_its_place(function: str, counted: Callable[..., Model], torch: Path) -> None:
    with pytest.raises(
        UsageError, match=r"depends on values of tensors, which a trace does not have: return a model .* \(builders.py, line \d+\)\.$"
    ):
        counted(CUDA, function, torch, batch=4)


def test_a_configuration_is_refused_where_transformers_is_missing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    with pytest.raises(UsageError, match=r"^config\.json is built by transformers, which \S+ does not have: name an environment"):
        traced_model(sys._base_executable, str(tmp_path / "config.json"), TracedStep())  # type: ignore[attr-defined]


GEMMA = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 2}
SIGLIP = {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "num_attention_heads": 16, "num_hidden_layers": 2}
TEXT_LAYER = 3 * 2560 * 2048 + 3 * 2560 * 10240 + 4 * 2560 + 2 * 256
VISION_LAYER = 4 * (1152 * 1152 + 1152) + 2 * 1152 * 4304 + 4304 + 1152 + 4 * 1152
"""Parameters of the layers that the published models of 34 and 27 have more: matrices, biases and norms."""
T5_LAYERS = 4 * 512 * 512 + 2 * 512 * 2048 + 2 * 512, 8 * 512 * 512 + 2 * 512 * 2048 + 3 * 512
"""The same of its encoder and decoder, with 6 layers each."""
CONFIGURATIONS: list[tuple[dict[str, object], str, int, str]] = [
    (
        {"model_type": "gemma3", "text_config": GEMMA, "vision_config": {**SIGLIP, "patch_size": 14, "vision_use_head": False}},
        "Gemma3ForConditionalGeneration",
        4_300_079_472 - 32 * TEXT_LAYER - 25 * VISION_LAYER,
        "int64 32",
    ),
    (
        {"model_type": "t5", "num_layers": 2, "quantization_config": {"quant_method": "awq"}},
        "T5ForConditionalGeneration",
        60_506_624 - 4 * sum(T5_LAYERS),
        "int64 32, int64 32",
    ),
]
"""Models with their published numbers of parameters."""


@pytest.fixture(scope="module")
def with_transformers(
    framework_python: Callable[[str], Path], transformers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The environment with torch and transformers, imported."""
    place = tmp_path_factory.mktemp("transformers")
    with imported(framework_python("torch"), place, TRACKER, "transformers.modeling_utils", search=str(transformers)) as python:
        yield python


@pytest.fixture
def built(tmp_path: Path, with_transformers: Path) -> Callable[..., Model]:
    """Traces what transformers builds from a config.json with these fields."""
    config = tmp_path / "config.json"

    def trace(fields: dict[str, object], **step: object) -> Model:
        config.write_text(json.dumps(fields))
        return traced_model(str(with_transformers), str(config), TracedStep(batch=2, **step))  # type: ignore[arg-type]

    return trace


@pytest.mark.index
def test_a_configuration_is_built_by_transformers(built: Callable[..., Model]) -> None:
    for fields, architecture, parameters, sample in CONFIGURATIONS:
        model = built({**fields, "architectures": [architecture]}, seq=32)
        assert (model.name, model.parameters, model.sample) == ("config.json", parameters, sample)
        assert model.full is not None
        assert 0 < model.full.checkpointed.per_sample < model.full.kept.per_sample
    with pytest.raises(UsageError, match="token by token"):
        built({"model_type": "mamba", "num_hidden_layers": 1}, seq=32)


SPARSE: dict[str, object] = {
    "hidden_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 100,
}
EXPERTS: list[dict[str, object]] = [
    {"model_type": "mixtral", "intermediate_size": 512, "num_local_experts": 4, **SPARSE},
    {"model_type": "qwen2_moe", "moe_intermediate_size": 256, "num_experts": 8, **SPARSE},
]


@pytest.mark.index
def test_the_formula_keeps_in_bf16_what_experts_keep(built: Callable[..., Model]) -> None:
    """Autocast leaves their matmuls in FP32: https://github.com/pytorch/pytorch/issues/174763."""
    for fields in EXPERTS:
        true = built(fields, seq=64, precision="bf16")
        formula = network_of_configuration("config.json", fields).model("config.json", SampleSize(64))
        assert formula.half
        assert true.half
        assert formula.forward_flops == true.forward_flops
        assert formula.half.kept.per_sample == pytest.approx(true.half.kept.per_sample, rel=0.05)


@pytest.mark.index
def test_inference_of_a_configuration_keeps_keys_and_values_and_makes_the_scores_of_one_token(built: Callable[..., Model]) -> None:
    fields = {"model_type": "gpt_neox", "intermediate_size": 512, **SPARSE, "vocab_size": 100_000}
    model = built(fields, seq=64, precision="bf16", infer=True)
    assert model.cache_elements == 2 * 2 * 64 * 256
    assert model.half
    assert model.half.inference.per_sample < 64 * 100_000


INFERRED: list[dict[str, object]] = [
    {"model_type": "gpt2", "n_embd": 256, "n_layer": 2, "n_head": 4, "vocab_size": 100},
    {"model_type": "phi3", "intermediate_size": 768, **SPARSE, "pad_token_id": 0},
    {"model_type": "vit", "hidden_size": 192, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 768},
    EXPERTS[0],
]


@pytest.mark.index
def test_the_formula_holds_in_inference_what_transformers_holds(built: Callable[..., Model]) -> None:
    """Also what its functions hold only because a name still refers to it."""
    for fields in INFERRED:
        true = built(fields, seq=64, infer=True)
        formula = network_of_configuration("config.json", fields).model(
            "config.json", SampleSize() if fields["model_type"] == "vit" else SampleSize(64)
        )
        assert true.full
        assert formula.full
        assert formula.full.inference.per_sample == pytest.approx(true.full.inference.per_sample, rel=0.05)


REFUSED = {
    '{"model_type": "nonesuch"}': "does not know either",
    '{"model_type": "t5", "num_layers": -3}': "states -3 for num_layers",
    '{"model_type": "t5", "architectures": ["TheirOwn"]}': "names the class TheirOwn, which transformers .* does not have",
}
REFUSE = """
import runpy, sys
builder = runpy.run_path(sys.argv[1])["builder"]
for path in sys.argv[2:]:
    try:
        builder(path, 32, ValueError)
    except ValueError as refusal:
        print(refusal)
"""
"""Has one process build all of them, since transformers takes seconds to import."""


@pytest.mark.index
def test_a_configuration_that_transformers_does_not_take_is_refused(
    tmp_path: Path, framework_python: Callable[[str], Path], transformers: Path
) -> None:
    script = Path(gpudoctor.__file__).parent / "children" / "train" / "configured.py"
    environment = {**os.environ, "PYTHONPATH": str(transformers)}
    files = [tmp_path / f"{number}.json" for number in range(len(REFUSED))]
    for file, text in zip(files, REFUSED, strict=True):
        file.write_text(text)
    command = [str(framework_python("torch")), "-c", REFUSE, str(script), *map(str, files)]
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    for line, told in zip(lines, REFUSED.values(), strict=True):
        assert re.search(told, line)


@pytest.mark.index
def test_autocasts_copies_of_weights_are_no_workspace(counted: Callable[..., Model], torch: Path) -> None:
    model = counted(TORCH, "blocks", torch, batch=4, precision="bf16")
    assert model.half is not None
    assert model.half.transient.fixed < model.trainable
    assert model.half.transient.per_sample > 0


@pytest.mark.index
def test_the_blocks_of_each_level_are_recomputed_rather_than_the_inner_levels_as_one(counted: Callable[..., Model], torch: Path) -> None:
    model = counted(TORCH, "levels", torch, batch=4)
    assert model.full is not None
    assert model.largest_block == 2 * 16 * 64 + 80
    assert model.full.kept.per_sample - model.full.checkpointed.per_sample == 5 * 4 * 64


@pytest.mark.index
def test_a_loss_function_of_jax_is_traced(counted: Callable[..., Model], framework_python: Callable[[str], Path]) -> None:
    model = counted(JAX, "build", framework_python("jax"), batch=2)
    assert (model.parameters, model.sample, model.sample_bytes) == (300, "float32 10", 40)
    assert model.full is not None
    assert model.full.kept.at(2) >= 4 * 2 * 20
    assert (model.forward_flops, model.step_flops) == (2 * 300, 2 * 300 + 2 * 100 + 2 * 300)


@pytest.mark.index
def test_flops_in_jax_are_those_of_matmul_and_convolution(counted: Callable[..., Model], framework_python: Callable[[str], Path]) -> None:
    """A gradient of a strided convolution costs as much as the convolution, a loop its steps, and a checkpoint its forward pass again."""
    model = counted(JAX, "loops", framework_python("jax"), batch=2)
    convolution, dense, loop = 2 * 5 * 5 * 4 * 27, 2 * 100 * 10, 6 * 2 * 10 * 10
    assert model.forward_flops == convolution + dense + loop
    assert model.step_flops == 2 * convolution + 4 * dense + 3 * loop


@pytest.mark.index
def test_flops_of_experts_in_jax_are_counted(counted: Callable[..., Model], framework_python: Callable[[str], Path]) -> None:
    model = counted(JAX, "experts", framework_python("jax"), batch=8)
    first, grouped = 2 * 10 * 20, 2 * 20 * 30
    assert (model.forward_flops, model.step_flops) == (first + grouped, 2 * first + 3 * grouped)


@pytest.mark.index
@pytest.mark.parametrize(("function", "told"), [("misfit", "raised TypeError: dot_general requires"), ("strings", "raised TypeError: ")])
def test_shapes_and_types_that_do_not_fit_are_told(
    function: str, told: str, counted: Callable[..., Model], framework_python: Callable[[str], Path]
) -> None:
    with pytest.raises(UsageError, match=f"^builders:{function} {told}"):
        counted(JAX, function, framework_python("jax"))


@pytest.mark.index
def test_jax_that_asks_for_a_gpu_is_traced_and_a_loss_that_needs_values_refused(
    counted: Callable[..., Model], framework_python: Callable[[str], Path]
) -> None:
    assert counted(JAX, "on_gpu", framework_python("jax"), batch=2).step_flops == 2 * 300 + 2 * 100 + 2 * 300
    with pytest.raises(UsageError, match=r"jax\.jit cannot compile it: use jnp\.where.* \(builders.py, line \d+\)"):
        counted(JAX, "branches", framework_python("jax"), batch=2)


def test_keras_that_asks_for_a_gpu_and_compiles_its_model_is_traced(counted: Callable[..., Model]) -> None:
    assert counted(KERAS_ON_GPU, "build", sys.executable).parameters == 16 * 5 + 5


def test_keras_keeps_the_scaled_scores_of_attention_and_no_copy_for_a_product_with_one(
    counted: Callable[..., Model], imported_tensorflow: Path
) -> None:
    """TensorFlow scales the scores before backward begins. The gradient of silu multiplies by 1, which its optimizer of graphs drops."""
    attention, silu = (counted(KERAS, function, imported_tensorflow).full for function in ("attention", "silu"))
    assert attention is not None
    assert silu is not None
    scores, token = 2 * 32 * 32, 32 * 16
    assert attention.kept.per_sample == 4 * (2 * scores + 6 * token)
    assert silu.kept.per_sample == 4 * (16 + 2 * 64 + 5)


def test_keras_keeps_no_zeros_for_the_gradient_of_a_maximum(counted: Callable[..., Model], imported_tensorflow: Path) -> None:
    """TensorFlow fills as many zeros as the tensor has numbers, but from constants, which its optimizer of graphs folds."""
    celu = counted(KERAS, "celu", imported_tensorflow).full
    assert celu is not None
    masks, hidden = 2 * 1024, 2 * 4 * 1024
    assert celu.kept.per_sample == 4 * (16 + 5) + masks + hidden


def test_keras_counts_the_steps_of_recurrent_layers_and_what_functions_hold(
    counted: Callable[..., Model], imported_tensorflow: Path
) -> None:
    """TensorFlow's graph has a loop or a function as one operation. A loop keeps as much for each sample: 7.2 numbers a step and unit of an LSTM."""
    recurrent, function = (counted(KERAS, name, imported_tensorflow) for name in ("recurrent", "function"))
    steps = 2 * 16 * 64
    assert recurrent.forward_flops == 2 * (steps * 4 * (8 + 64) + 5 * 2 * 64)
    assert recurrent.full is not None
    assert 7 * 4 * steps < recurrent.full.kept.per_sample < 8 * 4 * steps
    assert recurrent.full.kept.fixed == 0
    assert function.forward_flops == 2 * (16 * 16 + 16 * 5)


def test_a_loop_of_tensorflow_that_is_trained_through_is_refused(counted: Callable[..., Model], imported_tensorflow: Path) -> None:
    with pytest.raises(
        UsageError, match=r"^builders:loop trains through StatelessWhile of TensorFlow, .*: unroll it, or set KERAS_BACKEND to jax\.$"
    ):
        counted(KERAS, "loop", imported_tensorflow)


def test_a_keras_model_is_traced(counted: Callable[..., Model]) -> None:
    model = counted(KERAS, "build", sys.executable, image=(32, 32))
    first, second = 15 * 15 * 27 * 8, 225 * 8 * 4
    assert model.parameters == 27 * 8 + 8 + 225 * 32 + 4 + 4 * 5 + 5
    assert (model.forward_flops, model.step_flops) == (2 * (first + second + 20), 4 * first + 6 * (second + 20))
    assert model.sample == "float32 32x32x3"
    assert model.traced_by.endswith("(tensorflow), traced on the CPU without its workspace")
    assert model.full is not None
    assert model.full.kept.per_sample == 4 * (32 * 32 * 3 + 225 * 8 + 4 + 5)


SIZES = st.integers(min_value=0, max_value=1 << 50)


@settings(deadline=None, max_examples=50)
@given(SIZES, SIZES, st.integers(min_value=1, max_value=4096))
def test_a_line_is_found_from_its_values_at_a_batch_and_at_twice_that_batch(slope: int, fixed: int, batch: int) -> None:
    line = LinearInBatch(slope, fixed)
    assert line_through(batch, line.at(batch), line.at(2 * batch)) == line
