"""The smoke training in PyTorch's idiom: nn.Module, autograd, torch.optim. Releases from 2.0 on are tested; from 1.8 on it is tried."""

import contextlib

OLDEST = (1, 8)
SETTINGS = {
    "PYTORCH_NVML_BASED_CUDA_CHECK": None,  # NVML counts GPUs that CUDA cannot open
    # float32 products on the CPU, which is the reference, are to stay float32
    "ONEDNN_DEFAULT_FPMATH_MODE": None,
    "DNNL_DEFAULT_FPMATH_MODE": None,
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": None,
}


class Trainer:
    """The network with its fixed initial weights on one device. Its layers keep kernels transposed."""

    def __init__(self, torch, task, np, logical):
        self._torch, self._device = torch, torch.device(logical)
        layers = [torch.nn.Linear(task.PIXELS, task.HIDDEN), torch.nn.Linear(task.HIDDEN, task.CLASSES)]
        self._model = torch.nn.Sequential(torch.nn.Flatten(), layers[0], torch.nn.Tanh(), layers[1]).to(self._device)
        with torch.no_grad():
            for parameter, weight in zip(self._model.parameters(), task.initial_weights(np)):
                parameter.copy_(torch.from_numpy(weight.T.copy()))
        self._loss = torch.nn.CrossEntropyLoss()
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=task.LEARNING_RATE, betas=task.DECAYS, eps=task.EPSILON)
        self._outputs = None

    def step(self, images, labels):
        self._optimizer.zero_grad()
        self._outputs = self._model(self._there(images))
        loss = self._loss(self._outputs, self._there(labels).long())
        loss.backward()
        self._optimizer.step()
        return loss.detach()

    def _there(self, array):
        return self._torch.from_numpy(array).to(self._device)

    def accuracy(self, images, labels):
        with self._torch.no_grad():
            outputs = self._model(self._there(images))
        return float((outputs.cpu().numpy().argmax(axis=1) == labels).mean())

    def weights(self):
        return [parameter.detach().cpu().numpy().T for parameter in self._model.parameters()]

    def places(self):
        parameters = list(self._model.parameters())
        return {
            "variables": [str(parameter.device) for parameter in parameters],
            "gradients": [str(parameter.grad.device) for parameter in parameters],
            "outputs": [str(self._outputs.device)],
        }


class Engine:
    """PyTorch, as stages.py asks for it."""

    name = "PyTorch"
    cpu = "cpu"
    settings = SETTINGS

    def __init__(self, task):
        self._task = task
        self._torch = self._np = None

    def load(self, facts, mark):
        """NumPy, which PyTorch does without, is imported here too, so that its failure shows as one of import."""
        import torch

        facts["version"] = torch.__version__
        facts["built_with_cuda"] = torch.version.cuda is not None
        if tuple(int(part) for part in torch.__version__.split(".")[:2]) < OLDEST:
            raise RuntimeError("The smoke training needs PyTorch 1.8 or newer.")
        facts["build"] = {"cuda_version": torch.version.cuda, "architectures": torch.cuda.get_arch_list()}
        mark("importing NumPy")
        import numpy as np

        torch.from_numpy(np.zeros(1, np.float32))  # a build for NumPy 1 fails here under NumPy 2
        self._torch, self._np = torch, np

    def choose(self, ordinals):
        """Nothing: listing does not open."""

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
        return [("GPU:{}".format(ordinal), "cuda:{}".format(ordinal)) for ordinal in ordinals]

    @contextlib.contextmanager
    def full_float32(self):
        """Without this, cuDNN rounds factors to TF32 on GPUs since Ampere, and the user's own switches may make cuBLAS do so."""
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

    def trainer(self, logical):
        return Trainer(self._torch, self._task, self._np, logical)

    def peak_memory(self, logical):
        """None on the CPU."""
        return self._torch.cuda.max_memory_allocated(logical) if logical.startswith("cuda") else None
