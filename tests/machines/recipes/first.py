"""The machines of the first rules: one on which each fires and a similar one on which it must not."""

from __future__ import annotations

from tests.machines.packages import tensorflow_cpu, torch
from tests.machines.recipes.base import INTEL, NOT_LOADED, TF, Recipe, all_but, cards, healthy, lost_of_eight, on_cpu
from tests.seams import Cuda, Nvml, NvmlGpu, Tree
from tests.smoke.collectives import only_in_sums, wrong
from tests.smoke.patches import NOT_A_NUMBER, SEGFAULT, SHUFFLED_LABELS, WRONG_ROW, at_import

RECIPES: dict[str, Recipe] = {
    "healthy-one": healthy(),
    "healthy-eight": healthy(8),
    "laptop-without-nvidia": Recipe(
        about="a laptop with Intel graphics only",
        tree=Tree(pci=[INTEL]),
        verdict="broken",
        roots=("no-gpu",),
    ),
    "laptop-cpu-allowed": Recipe(
        about="the same laptop, where training on the CPU is wanted",
        tree=Tree(pci=[INTEL]),
        arguments=("--level", "look", "--allow-cpu"),
        verdict="ready",
        notes=("no-gpu",),
    ),
    "eight-one-lost": lost_of_eight(),
    "eight-one-unlisted": healthy(
        8,
        about="eight A100 on the PCI bus, NVML lists seven",
        libraries=(Nvml(gpus=all_but(5)), Cuda(gpus=all_but(5))),
        verdict="broken",
        roots=("gpu-count-mismatch",),
    ),
    "container-two-of-eight": healthy(
        2,
        about="a container that was given two of the host's eight GPUs: its /sys shows all eight",
        tree=Tree(
            pci=cards(8),
            kernel_driver="550.163.01",
            container="docker",
            nodes=("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"),
        ),
    ),
    "one-passed-through": healthy(
        about="two A100, one of them bound to vfio-pci for a guest",
        tree=Tree(pci=[cards(1)[0], cards(2, "vfio-pci")[1]], kernel_driver="550.163.01", modules=("vfio_pci",)),
    ),
    "no-driver-at-all": Recipe(
        about="an A100 and no trace of a driver",
        tree=Tree(pci=cards(1, None)),
        verdict="broken",
        roots=("no-driver",),
    ),
    "driver-not-loaded": healthy(
        libraries=NOT_LOADED,
        about="the driver's libraries are installed, its module is not loaded",
        tree=Tree(pci=cards(1, None)),
        verdict="broken",
        roots=("no-driver",),
        folded=("cuda-init-fails",),
    ),
    "nouveau-holds-the-gpu": healthy(
        libraries=NOT_LOADED,
        about="nouveau is bound to the GPU",
        tree=Tree(pci=cards(1, "nouveau"), modules=("nouveau",)),
        verdict="broken",
        roots=("nouveau-loaded",),
        folded=("no-driver", "cuda-init-fails"),
    ),
    "upgraded-without-reboot": healthy(
        about="libraries of 550.163.01 over the kernel module of 535.183.01",
        tree=Tree(pci=cards(1), kernel_driver="535.183.01"),
        libraries=(Nvml(gpus=1, calls={"nvmlInit": "return 18"}), Cuda(gpus=1, calls={"cuInit": "return 803"})),
        verdict="broken",
        roots=("driver-library-mismatch",),
        folded=("cuda-init-fails",),
    ),
    "driver-470-tensorflow-cuda-12": healthy(
        about="driver 470 serves CUDA 11.4, TensorFlow 2.18 was built with CUDA 12.5",
        tree=Tree(pci=cards(1), kernel_driver="470.256.02"),
        libraries=(Nvml(gpus=1, driver="470.256.02", cuda="11.4"), Cuda(gpus=1, cuda="11.4")),
        verdict="broken",
        roots=("driver-too-old",),
    ),
    "driver-525-at-the-floor": healthy(
        about="driver 525.60.13, the oldest that runs CUDA 12 builds",
        tree=Tree(pci=cards(1), kernel_driver="525.60.13"),
        libraries=(Nvml(gpus=1, driver="525.60.13", cuda="12.0"), Cuda(gpus=1, cuda="12.0")),
    ),
    "driver-525-below-the-floor": healthy(
        about="one patch release below the floor",
        tree=Tree(pci=cards(1), kernel_driver="525.60.12"),
        libraries=(Nvml(gpus=1, driver="525.60.12", cuda="12.0"), Cuda(gpus=1, cuda="12.0")),
        verdict="broken",
        roots=("driver-too-old",),
    ),
    "two-frameworks-one-too-new": healthy(
        about="TensorFlow with CUDA 12.5 fits driver 550, PyTorch with CUDA 13.0 does not",
        packages=(TF, torch("2.9.1+cu130", "13.0")),
        verdict="degraded",
        roots=("driver-too-old",),
    ),
    "nodes-not-for-everybody": healthy(
        about="device files that only their owner may open",
        tree=Tree(pci=cards(1), kernel_driver="550.163.01", node_mode=0o000),
        libraries=(Nvml(gpus=1, calls={"nvmlInit": "return 4"}), Cuda(gpus=1, calls={"cuInit": "return 100"})),
        obeys_permissions=True,
        verdict="broken",
        roots=("device-permission-denied",),
        folded=("cuda-init-fails",),
    ),
    "nvml-without-permission": healthy(
        about="NVML says no permission and gives no file to blame",
        libraries=(Nvml(gpus=1, calls={"nvmlInit": "return 4"}), Cuda(gpus=1, calls={"cuInit": "return 100"})),
        verdict="broken",
        roots=("device-permission-denied",),
        folded=("cuda-init-fails",),
    ),
    "driver-hangs": healthy(
        about="nvmlInit does not return and sits in the kernel (state D)",
        libraries=(Nvml(gpus=1, calls={"nvmlInit": "stuck"}), Cuda(gpus=1)),
        verdict="broken",
        roots=("driver-hung",),
    ),
    "slow-without-persistence": healthy(
        8,
        about="eight cards without persistence mode: each call takes its time, and comes back",
        libraries=(Nvml(gpus=8, calls={"nvmlDeviceGetHandleByIndex": "sleep 120"}), Cuda(gpus=8)),
    ),
    "cuda-999": healthy(
        about="cuInit answers 999 and nothing else is wrong",
        libraries=(Nvml(gpus=1), Cuda(gpus=1, calls={"cuInit": "return 999"})),
        verdict="broken",
        roots=("cuda-init-fails",),
    ),
    "container-without-gpu": Recipe(
        about="a container started without --gpus on a host with a loaded driver",
        tree=Tree(pci=cards(1), kernel_driver="550.163.01", container="docker", nodes=()),
        verdict="broken",
        roots=("container-no-gpu-access",),
    ),
    "container-without-compute": healthy(
        about="a container with NVIDIA_DRIVER_CAPABILITIES=utility: NVML works, there is no libcuda",
        tree=Tree(pci=cards(1), kernel_driver="550.163.01", container="docker"),
        libraries=(Nvml(gpus=1),),
        environment={"NVIDIA_DRIVER_CAPABILITIES": "utility"},
        verdict="broken",
        roots=("container-no-gpu-access",),
    ),
    "tensorflow-cpu-installed": healthy(
        about="tensorflow-cpu on a machine with a GPU",
        packages=(tensorflow_cpu("2.18.0"),),
        verdict="broken",
        roots=("cpu-only-build",),
    ),
    "torch-cpu-beside-tensorflow": healthy(
        about="a CPU-only PyTorch beside a TensorFlow with CUDA",
        packages=(TF, torch("2.6.0+cpu", None)),
        verdict="degraded",
        roots=("cpu-only-build",),
    ),
    "no-framework": healthy(
        about="nothing to train with, at level train",
        packages=(),
        arguments=("--level", "train"),
        verdict="unknown",
        roots=("framework-missing",),
    ),
    "everything-masked": healthy(
        8,
        about="CUDA_VISIBLE_DEVICES is set and empty",
        environment={"CUDA_VISIBLE_DEVICES": ""},
        verdict="broken",
        roots=("cuda-visible-devices-masked",),
        folded=("cuda-init-fails",),
    ),
    "two-of-eight-allotted": healthy(
        8,
        about="a job that was assigned two of eight GPUs",
        environment={"CUDA_VISIBLE_DEVICES": "2,5", "SLURM_JOB_ID": "77"},
    ),
    "mask-ends-early": healthy(
        2,
        about="CUDA_VISIBLE_DEVICES names a device that does not exist, which ends the list",
        environment={"CUDA_VISIBLE_DEVICES": "0,9,1"},
        verdict="degraded",
        roots=("cuda-visible-devices-masked",),
    ),
    "cpu-trains": on_cpu(about="a laptop that trains on its CPU, with a real TensorFlow", verdict="ready"),
    "cpu-wrong-product": on_cpu(
        about="one row of every product is wrong by one part in a hundred",
        patch=WRONG_ROW,
        verdict="broken",
        roots=("smoke-wrong-result",),
    ),
    "cpu-loss-is-nan": on_cpu(about="the loss is not a number", patch=NOT_A_NUMBER, verdict="broken", roots=("smoke-loss-not-finite",)),
    "cpu-does-not-learn": on_cpu(
        about="labels are shuffled before every step", patch=SHUFFLED_LABELS, verdict="broken", roots=("smoke-did-not-learn",)
    ),
    "cpu-segfaults": on_cpu(about="the process dies in its first step", patch=SEGFAULT, verdict="broken", roots=("smoke-crashed",)),
    "cpu-killed": on_cpu(
        about="somebody kills the process in its import, and there is memory enough",
        patch=at_import("tensorflow", "os.kill(os.getpid(), signal.SIGKILL)"),
        verdict="broken",
        roots=("smoke-crashed",),
    ),
    "cpu-sums-wrong": on_cpu(
        about="all-reduce over two devices that TensorFlow makes of the CPU is wrong on the second",
        arguments=("--level", "full", "--allow-cpu"),
        patch=only_in_sums(wrong("tensorflow")),
        verdict="degraded",
        roots=("all-reduce-failed",),
    ),
    "tensorflow-cpu-trains-not": healthy(
        about="a real tensorflow-cpu, asked to train on a GPU that CUDA shows",
        arguments=("--level", "train"),
        trains=True,
        verdict="broken",
        roots=("cpu-only-build",),
        folded=("smoke-ran-on-cpu", "smoke-crashed"),
    ),
    "gpu-in-use": healthy(
        about="another process computes on the only GPU",
        libraries=(Nvml(gpus=[NvmlGpu(compute_processes=((4711, 2 << 30),), memory_used=2 << 30)]), Cuda(gpus=1)),
        arguments=("--level", "train"),
        verdict="unknown",
    ),
}
