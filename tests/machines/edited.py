"""Machines in a state that cannot be provoked without a GPU, made of recorded ones: which, and what was changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpudoctor.snapshot import Snapshot
from tests.machines import (
    described,
    environments,
    loaded,
    measured,
    moved,
    pasted,
    siblings,
    summed,
    surroundings,
    systems,
    trained,
    xrayed,
)


@dataclass(frozen=True, kw_only=True)
class Edited:
    """A recorded machine with a change; the rest as in Recipe."""

    about: str
    base: str
    change: Callable[[Snapshot], Snapshot]
    verdict: str
    roots: Sequence[str] = ()
    folded: Sequence[str] = ()
    notes: Sequence[str] = ()
    level: str | None = "train"


EDITED: dict[str, Edited] = {
    "compiled-step-refused-by-triton": Edited(
        about="all trained on a GTX 1080 but the compiled step, which torch.compile refused: one cause",
        base="torch-compiles-not-on-pascal",
        change=trained.refused_by_triton,
        level="full",
        verdict="degraded",
        roots=("gpu-too-old-for-triton",),
        folded=("smoke-crashed",),
        notes=("gpu-lacks-bf16",),
    ),
    "loaded-as-the-x-ray-said": Edited(
        about="the training maps just the files that the X-ray named", base="libraries-in-order", change=trained.maps(""), verdict="ready"
    ),
    "loaded-from-elsewhere": Edited(
        about="the training maps another cuDNN than the X-ray named",
        base="libraries-in-order",
        change=trained.maps("/opt/vendor/libcudnn.so.9"),
        verdict="ready",
        notes=("unexpected-library-loaded",),
    ),
    "gpu-trains": Edited(
        about="the training recorded on a CPU, as if on a GPU", base="healthy-one", change=trained.on_gpu, verdict="ready"
    ),
    "old-driver-trains-all-the-same": Edited(
        about="a driver below the floor with which a training was seen to learn: the prediction is only a note",
        base="driver-525-below-the-floor",
        change=trained.on_gpu,
        verdict="ready",
        notes=("driver-too-old",),
    ),
    "training-strays-to-cpu": Edited(
        about="TensorFlow lists the GPU, was asked to train on it, and computed on the CPU",
        base="healthy-one",
        change=trained.strayed_to_cpu,
        verdict="broken",
        roots=("smoke-ran-on-cpu",),
    ),
    "training-hangs": Edited(
        about="the training does not respond on the GPU",
        base="healthy-one",
        change=trained.hung_in_training,
        verdict="broken",
        roots=("smoke-hung",),
    ),
    "cpu-killed-for-want-of-memory": Edited(
        about="the kernel kills the process during its import, out of memory",
        base="cpu-killed",
        change=trained.killed_for_want_of_memory,
        verdict="broken",
        roots=("host-memory-insufficient",),
        folded=("smoke-crashed",),
        notes=("no-gpu",),
    ),
    "gpu-no-faster-than-the-cpu": Edited(
        about="a GPU that trains fewer images a second than the CPU beside it",
        base="healthy-one",
        change=measured.against_the_cpu(trained.on_gpu, gpu=9_000.0, cpu=31_000.0),
        verdict="degraded",
        roots=("gpu-not-faster-than-cpu",),
    ),
    "gpu-faster-than-the-cpu": Edited(
        about="a GPU that trains ten times the images a second",
        base="healthy-one",
        change=measured.against_the_cpu(trained.on_gpu, gpu=310_000.0, cpu=31_000.0),
        verdict="ready",
    ),
    "gpu-at-a-third-of-its-speed": Edited(
        about="an A100 whose products and memory reach a third of what others reach",
        base="healthy-one",
        change=measured.against_its_kind(trained.on_gpu, 0.33),
        verdict="degraded",
        roots=("gpu-slower-than-expected",),
    ),
    "gpu-at-its-speed": Edited(
        about="an A100 as fast as others", base="healthy-one", change=measured.against_its_kind(trained.on_gpu, 1.0), verdict="ready"
    ),
    "sums-hang-unless-without-p2p": Edited(
        about="two cards on PCIe behind a translating IOMMU; an all-reduce over both hangs, and with NCCL_P2P_DISABLE=1 it is right",
        base="translated-transfers",
        change=summed.over_two(trained.on_gpu, summed.HUNG, summed.RIGHT_WITHOUT),
        level="full",
        verdict="degraded",
        roots=("nccl-p2p-acs-iommu",),
        folded=("all-reduce-failed",),
    ),
    "sums-wrong-unless-without-p2p": Edited(
        about="the same with an IOMMU that leaves transfers alone, and a wrong sum: ACS, or a defect",
        base="untouched-transfers",
        change=summed.over_two(trained.on_gpu, summed.WRONG, summed.RIGHT_WITHOUT),
        level="full",
        verdict="degraded",
        roots=("nccl-p2p-acs-iommu",),
        folded=("all-reduce-failed",),
    ),
    "sums-right-with-p2p": Edited(
        about="two cards on PCIe behind a translating IOMMU, which sum rightly all the same",
        base="translated-transfers",
        change=summed.over_two(trained.on_gpu, summed.RIGHT),
        level="full",
        verdict="ready",
        notes=("nccl-p2p-acs-iommu",),
    ),
    "sums-fail-either-way": Edited(
        about="an all-reduce fails with and without P2P: NCCL finds too little shared memory",
        base="untouched-transfers",
        change=summed.over_two(trained.on_gpu, *summed.NO_ROOM),
        level="full",
        verdict="degraded",
        roots=("all-reduce-failed",),
    ),
    "sums-hang-and-the-control-was-stopped": Edited(
        about="an all-reduce hangs, and the check's time is over before the control without P2P has begun to sum",
        base="untouched-transfers",
        change=summed.over_two(trained.on_gpu, summed.HUNG, summed.STOPPED),
        level="full",
        verdict="degraded",
        roots=("all-reduce-failed",),
    ),
    "container-lost-its-devices": Edited(
        about="a running container whose control group lost its devices after a daemon-reload on the host",
        base="container-given-its-gpus",
        change=surroundings.after_a_reload,
        verdict="broken",
        roots=("container-cgroup-device-lost",),
        folded=("cuda-init-fails",),
    ),
    "container-with-little-shared-memory": Edited(
        about="two GPUs in a container with 64 MiB of shared memory, not trained on yet",
        base="container-given-its-gpus",
        change=surroundings.with_dockers_shared_memory,
        verdict="unknown",
        roots=("container-shm-too-small",),
    ),
    "container-one-gpu-little-shared-memory": Edited(
        about="one GPU in a container with 64 MiB of shared memory: worth knowing",
        base="container-given-one-gpu",
        change=lambda snapshot: trained.on_gpu(surroundings.with_dockers_shared_memory(snapshot)),
        verdict="ready",
        notes=("container-shm-too-small",),
    ),
    "container-with-enough-shared-memory": Edited(
        about="two GPUs in a container with one GiB of shared memory, not trained on yet",
        base="container-given-its-gpus",
        change=surroundings.with_a_gibibyte_of_shared_memory,
        verdict="unknown",
    ),
    "address-space-too-small": Edited(
        about="`ulimit -v` allows 2 GiB, and TensorFlow's libraries take 3",
        base="libraries-in-order",
        change=surroundings.with_address_space(2 << 30),
        level="look",
        verdict="broken",
        roots=("address-space-limited",),
    ),
    "address-space-enough": Edited(
        about="`ulimit -v` allows 8 GiB, and TensorFlow's libraries take 3",
        base="libraries-in-order",
        change=surroundings.with_address_space(8 << 30),
        level="look",
        verdict="ready",
    ),
    "toolkit-of-another-cuda": Edited(
        about="TensorFlow for CUDA 12 without NVIDIA's packages on a machine whose toolkit is 11.8",
        base="healthy-one",
        change=xrayed.on_cuda_11,
        verdict="broken",
        roots=("cuda-version-mismatch",),
        folded=("cuda-library-missing",),
    ),
    "toolkit-of-another-cuda-not-needed": Edited(
        about="the same with the libraries of CUDA 12 elsewhere on the loader's path",
        base="healthy-one",
        change=xrayed.on_its_own_cuda,
        verdict="unknown",
    ),
    "two-toolkits-on-the-path": Edited(
        about="LD_LIBRARY_PATH names the toolkits 11.8 and 12.5",
        base="healthy-one",
        change=xrayed.two_on_the_path,
        verdict="unknown",
        roots=("cuda-mixed-versions",),
    ),
    "cudnn-for-another-cuda": Edited(
        about="TensorFlow for CUDA 12 would load the cuDNN of the package for CUDA 13",
        base="healthy-one",
        change=xrayed.cudnn_for_cuda_13,
        verdict="unknown",
        roots=("cuda-mixed-versions",),
    ),
    "mac-without-metal": Edited(
        about="a Mac with TensorFlow and without Apple's plug-in",
        base="healthy-one",
        change=described.on_a_mac,
        verdict="broken",
        roots=("metal-plugin-missing",),
    ),
    "mac-with-metal": Edited(
        about="a Mac with TensorFlow and Apple's plugin, known only by its packages",
        base="healthy-one",
        change=described.on_a_mac_with_metal,
        verdict="unknown",
    ),
    "conda-and-pip-both-installed-torch": Edited(
        about="a conda environment whose pytorch pip has overwritten",
        base="torchvision-and-torchaudio-for-this-torch",
        change=environments.overwritten_by_pip,
        level="look",
        verdict="degraded",
        roots=("mixed-conda-pip",),
    ),
    "conda-alone-installed-torch": Edited(
        about="a conda environment in which conda installed torch and all of its parts",
        base="torchvision-and-torchaudio-for-this-torch",
        change=environments.by_conda,
        level="look",
        verdict="ready",
    ),
    "torch-hidden-by-a-file": Edited(
        about="a folder on PYTHONPATH holds a file torch.py",
        base="torchvision-and-torchaudio-for-this-torch",
        change=environments.hidden_by_a_file,
        level="look",
        verdict="broken",
        roots=("two-copies-of-framework",),
    ),
    "torch-file-beside-the-script": Edited(
        about="--cwd names a folder with a file torch.py",
        base="torchvision-and-torchaudio-for-this-torch",
        change=environments.beside_a_torch_py,
        level="look",
        verdict="broken",
        roots=("script-folder-hides-package",),
    ),
    "nothing-beside-the-script": Edited(
        about="--cwd names a folder without a file of a package's name",
        base="torchvision-and-torchaudio-for-this-torch",
        change=environments.beside_nothing,
        level="look",
        verdict="ready",
    ),
    "framework-in-another-environment": Edited(
        about="the examined interpreter has no framework; the active virtual environment has torch",
        base="no-framework",
        change=environments.torch_is_elsewhere,
        verdict="unknown",
        roots=("wrong-python-environment",),
        folded=("framework-missing",),
    ),
    "no-framework-anywhere": Edited(
        about="neither the examined interpreter nor another environment has a framework",
        base="no-framework",
        change=environments.nothing_elsewhere,
        verdict="unknown",
        roots=("framework-missing",),
    ),
    "windows-tensorflow-supposed": Edited(
        about="TensorFlow 2.17 on native Windows, asked about before it is bought",
        base="healthy-one",
        change=lambda _: environments.supposed("tensorflow==2.17.0", os="windows", python="3.11"),
        level=None,
        verdict="broken",
        roots=("windows-native-no-gpu",),
        folded=("cpu-only-build", "no-cuda-wheel-for-platform"),
    ),
    "windows-tensorflow-2.10-supposed": Edited(
        about="the last TensorFlow with CUDA on native Windows, without the CUDA that it needs",
        base="healthy-one",
        change=lambda _: environments.supposed("tensorflow==2.10.0", "numpy<2", os="windows", python="3.10"),
        level=None,
        verdict="unknown",
    ),
    "windows-torch-supposed": Edited(
        about="torch on Windows from the package index, whose wheel has no CUDA",
        base="healthy-one",
        change=lambda _: environments.supposed("torch==2.8.0", os="windows", python="3.12"),
        level=None,
        verdict="broken",
        roots=("cpu-only-build",),
    ),
    "linux-torch-supposed": Edited(
        about="torch on Linux from the package index",
        base="healthy-one",
        change=lambda _: environments.supposed("torch==2.8.0", python="3.12", driver="570.124.06"),
        level=None,
        verdict="ready",
    ),
    "torch-for-an-old-python-supposed": Edited(
        about="torch 2.5.1 says that it fits Python 3.8 and has no wheel for it",
        base="healthy-one",
        change=lambda _: environments.supposed("torch==2.5.1", python="3.8"),
        level=None,
        verdict="broken",
        roots=("python-version-unsupported",),
    ),
    "intel-mac-torch-supposed": Edited(
        about="torch 2.8 has no wheel for Macs with Intel processors",
        base="healthy-one",
        change=lambda _: environments.supposed("torch==2.8.0", os="macos", arch="x86_64", python="3.12"),
        level=None,
        verdict="broken",
        roots=("package-not-installable",),
    ),
}
EDITED |= {name: Edited(**case) for name, case in loaded.cases(trained.on_gpu).items()}
EDITED |= {name: Edited(**case) for name, case in systems.CASES.items()}
EDITED |= {name: Edited(**case) for name, case in siblings.cases(trained.on_gpu).items()}
EDITED |= {name: Edited(**case) for name, case in moved.CASES.items()}
EDITED |= {name: Edited(**case) for name, case in pasted.CASES.items()}
