"""Smoke training in PyTorch: nn.Module, autograd, torch.optim. Tested from 2.0 on; attempted from 1.8 on."""

import contextlib
import os
import tempfile
import time

SETTINGS = {
    "PYTORCH_NVML_BASED_CUDA_CHECK": None,  # NVML counts GPUs that CUDA cannot open
    # keep float32 on the CPU, which is the reference
    "ONEDNN_DEFAULT_FPMATH_MODE": None,
    "DNNL_DEFAULT_FPMATH_MODE": None,
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": None,
    # read before the first step: newer optimisers import the compiler
    "TORCHINDUCTOR_COMPILE_THREADS": "1",  # compilation stays in this process
    # on a CPU these two would cost more than the step's own compilation
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # they would be used once
    "TORCHINDUCTOR_VEC_ISA_OK": "0",  # programs compiled only to find vector instructions, which so small a network does not need
}

LINGER = 1.0
"""Seconds after the last all-reduce between machines in which the others end their connections to the store."""


class Trainer:
    """A network with its fixed initial weights on one device. Its layers keep kernels transposed."""

    def __init__(self, torch, task, np, logical, network):
        self._torch, self._device = torch, torch.device(logical)
        self._model = _torch_model(torch, task, network).to(self._device)
        with torch.no_grad():
            for parameter, weight in zip(self._model.parameters(), task.initial_weights(np, network)):
                parameter.copy_(torch.from_numpy(weight.transpose(_AXES_INTO_TORCH[weight.ndim]).copy()))
        self._loss = torch.nn.CrossEntropyLoss()
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=task.LEARNING_RATE, betas=task.DECAYS, eps=task.EPSILON)
        self._outputs = None

    def place(self, images, labels):
        return self._there(images), self._there(labels).long()

    def step(self, images, labels):
        self._optimizer.zero_grad()
        self._outputs = self._model(images)
        loss = self._loss(self._outputs, labels)
        loss.backward()
        self._optimizer.step()
        return loss.detach()

    def _there(self, array):
        return self._torch.from_numpy(array).to(self._device)

    def compile(self):
        self._model = self._torch.compile(self._model)

    def accuracy(self, images, labels):
        with self._torch.no_grad():
            outputs = self._model(self._there(images))
        return float((outputs.cpu().numpy().argmax(axis=1) == labels).mean())

    def weights(self):
        held = [parameter.detach().cpu().numpy() for parameter in self._model.parameters()]
        return [weight.transpose(_AXES_FROM_TORCH[weight.ndim]) for weight in held]

    def places(self):
        parameters = list(self._model.parameters())
        return {
            "variables": [str(parameter.device) for parameter in parameters],
            "gradients": [str(parameter.grad.device) for parameter in parameters],
            "outputs": [str(self._outputs.device)],
        }


_AXES_INTO_TORCH = {1: (0,), 2: (1, 0), 4: (3, 2, 0, 1)}
"""The axes of a layer's kernel in task.py's, by their number."""
_AXES_FROM_TORCH = {1: (0,), 2: (1, 0), 4: (2, 3, 1, 0)}


def _torch_model(torch, task, network):
    """The layers of a network; pixels are flattened in task.py's order: row, column, channel."""
    nn = torch.nn
    if network.name == "dense":
        return nn.Sequential(nn.Flatten(), nn.Linear(task.PIXELS, task.HIDDEN), nn.Tanh(), nn.Linear(task.HIDDEN, task.CLASSES))

    class Convolutional(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = [nn.Conv2d(shape[2], shape[3], shape[:2], stride=task.STRIDE) for shape in network.shapes[:-1]]
            self.last = nn.Linear(*network.shapes[-1])

        def forward(self, images):
            filtered = torch.tanh(self.second(torch.tanh(self.first(images.unsqueeze(1)))))
            return self.last(filtered.permute(0, 2, 3, 1).flatten(1))

    return Convolutional()


class Engine:
    """PyTorch behind the interface of stages.py."""

    name = "PyTorch"
    oldest = (1, 8)
    cpu = "cpu"
    settings = SETTINGS
    pins = True
    ranked = True
    compiler = "torch.compile"

    def __init__(self, task):
        self._task = task
        self.memory = {}
        self._torch = self._np = None

    def load(self, facts, mark, accept):
        """Import NumPy too, which PyTorch does not need: its failure is then one of import."""
        import torch

        facts["built_with_cuda"] = torch.version.cuda is not None
        accept(torch.__version__)
        facts["build"] = {"cuda_version": torch.version.cuda, "architectures": torch.cuda.get_arch_list()}
        mark("importing NumPy")
        import numpy as np

        torch.from_numpy(np.zeros(1, np.float32))  # a build for NumPy 1 fails here under NumPy 2
        self._torch, self._np = torch, np

    def choose(self, ordinals):
        """Do nothing: listing opens no GPU."""

    def gpus(self):
        """PyTorch counts GPUs that it cannot open; the reason shows when the first is opened."""
        return self._torch.cuda.device_count()

    def describe(self):
        cuda = self._torch.cuda
        found = [{"name": "CPU:0", "kind": "cpu", "model": None, "compute_capability": None}]
        for ordinal in range(self.gpus() if cuda.is_available() else 0):
            properties = cuda.get_device_properties(ordinal)
            capability = "{}.{}".format(properties.major, properties.minor)
            found.append({"name": "GPU:{}".format(ordinal), "kind": "gpu", "model": properties.name, "compute_capability": capability})
        return found

    def open(self, ordinals):
        if not ordinals:
            return [("CPU:0", "cpu")]
        self._torch.cuda.init()
        for ordinal in set(ordinals).intersection(self.memory):
            limit, total = self.memory[ordinal]
            self._torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total), ordinal)
        return [("GPU:{}".format(ordinal), "cuda:{}".format(ordinal)) for ordinal in ordinals]

    @contextlib.contextmanager
    def full_float32(self):
        """Otherwise cuDNN rounds inputs to TF32 on GPUs since Ampere, and the user's own switches may do so for cuBLAS."""
        matmul, cudnn = self._torch.backends.cuda.matmul, self._torch.backends.cudnn
        before = matmul.allow_tf32, cudnn.allow_tf32
        matmul.allow_tf32 = cudnn.allow_tf32 = False
        try:
            yield
        finally:
            matmul.allow_tf32, cudnn.allow_tf32 = before

    def product(self, logical, left, right):
        there = [self._torch.from_numpy(factor).to(logical) for factor in (left, right)]
        product = self._torch.matmul(*there)
        return product.cpu().numpy(), str(product.device)

    def trainer(self, logical, network):
        return Trainer(self._torch, self._task, self._np, logical, network)

    def host(self, array, pinned):
        held = self._torch.from_numpy(array)
        return held.pin_memory() if pinned else held

    def upload(self, logical, host):
        there = host.to(logical, copy=True)
        self.wait(there)
        return there

    def download(self, there, pinned):
        return self._torch.empty(there.shape, dtype=there.dtype, pin_memory=pinned).copy_(there)

    def doubler(self, logical, count):
        there = self._torch.ones(count, device=logical)
        result = self._torch.empty_like(there)
        return lambda: self._torch.mul(there, 2, out=result)

    def multiplier(self, logical, left, right, precision):
        """GPUs since Ampere have TF32 and BF16; float16 on the CPU is too slow to measure."""
        torch, gpu = self._torch, logical.startswith("cuda")
        modern = gpu and torch.cuda.get_device_capability(logical) >= (8, 0)
        if not {"fp32": True, "tf32": modern, "bf16": modern or not gpu, "fp16": gpu}[precision]:
            return None
        kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)
        there = [torch.from_numpy(factor).to(logical, kind) for factor in (left, right)]

        def run():
            switch = torch.backends.cuda.matmul
            before, switch.allow_tf32 = switch.allow_tf32, precision == "tf32"
            try:
                return torch.matmul(*there)
            finally:
                switch.allow_tf32 = before

        return run

    def rows(self, product, numbers):
        return product[numbers].double().cpu().numpy()

    def wait(self, result):
        if result.is_cuda:
            self._torch.cuda.synchronize(result.device)

    def compiled(self, logical, network):
        """Compiled files go to the temporary folder that the parent removes."""
        folder = tempfile.gettempdir()
        os.environ.update(TORCHINDUCTOR_CACHE_DIR=folder, TRITON_CACHE_DIR=folder)
        trainer = self.trainer(logical, network)
        trainer.compile()
        return trainer

    def spread(self, _count):
        """Do nothing: each process has the CPU."""

    def join(self, rank, ranks, logical, store):
        """Meet through a file, which needs no port, or at an address."""
        gpu = logical.startswith("cuda")
        if gpu:
            self._torch.cuda.set_device(logical)
        together = self._torch.distributed
        kind, _, place = store.rpartition("://")
        host, _, port = place.rpartition(":")
        met = together.TCPStore(host.strip("[]"), int(port), ranks, rank == 0) if kind else together.FileStore(store, ranks)
        together.init_process_group("nccl" if gpu else "gloo", store=met, rank=rank, world_size=ranks)

    def leave(self):
        """Wait for the other ranks; the one that they meet at goes last."""
        together = self._torch.distributed
        together.barrier()
        if together.get_rank() == 0:
            time.sleep(LINGER)

    def adders(self, logicals, arrays, count):
        return [self._adder(self.upload(logicals[0], self._torch.from_numpy(arrays[0]))) for _ in range(count)]

    def _adder(self, there):
        def start():
            self._torch.distributed.all_reduce(there)
            return [there]

        return start
