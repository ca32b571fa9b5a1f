"""Machines with a fault on the kernel side: modules, Secure Boot, other drivers, branches, device files, firmware, fabric, other vendors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.machines.packages import Package, tensorflow, torch
from tests.machines.recipes.base import INTEL, NOT_LOADED, TF, Recipe, cards, healthy
from tests.seams import Cuda, Nvml, NvmlGpu, PciCard, Tree

KERNEL = "6.1.0-37-amd64"
OLDER = "6.1.0-35-amd64"
DRIVER = "550.163.01"
UNSIGNED, SIGNED = "\x7fELF module", "\x7fELF module~Module signature appended~\n"
SECURE = {"sys/kernel/security/lockdown": "none [integrity] confidentiality\n", "sys/module/module/parameters/sig_enforce": "Y\n"}
INSTALLED_TOO = (Nvml(gpus=1, calls={"nvmlInit": "return 9"}), Cuda(gpus=1, calls={"cuInit": "return 100"}))
GTX_1080 = NvmlGpu(
    name="NVIDIA GeForce GTX 1080", pci_device_id=0x1B8010DE, compute_capability=(6, 1), memory_total=8 << 30, mig=None, ecc=None, ecc_corrected=None,
    ecc_uncorrected=None, remapped=None, sram=None, nvlinks=None, fabric=None, recovery_action=None, pcie_gen=(3, 3),
)  # fmt: skip
RTX_5090 = replace(GTX_1080, name="NVIDIA GeForce RTX 5090", pci_device_id=0x2B8510DE, compute_capability=(12, 0), memory_total=32 << 30)
SWITCH = PciCard(address="0000:90:00.0", device=0x1AF1, pci_class=0x068000, driver="nvidia-nvswitch", link_gen=None, link_width=None)
RADEON = PciCard(address="0000:03:00.0", vendor=0x1002, device=0x73BF, pci_class=0x030000, driver="amdgpu", link_gen=None, link_width=None)
TPU = PciCard(address="0000:00:05.0", vendor=0x1AE0, device=0x0063, pci_class=0xFF0000, driver="vfio-pci", link_gen=None, link_width=None)


def modules(kernel: str = KERNEL, content: str = UNSIGNED, path: str = "updates/dkms/nvidia.ko") -> dict[str, str]:
    """The driver's module for a kernel, as depmod lists it."""
    listed = "".join(
        f"{path.replace('nvidia.ko', name)}:\n" for name in ("nvidia.ko", "nvidia-uvm.ko", "nvidia-modeset.ko", "nvidia-drm.ko")
    )
    return {f"lib/modules/{kernel}/modules.dep": f"kernel/drivers/net/tun.ko:\n{listed}", f"lib/modules/{kernel}/{path}": content}


def without_module(kernel: str = KERNEL) -> dict[str, str]:
    return {f"lib/modules/{kernel}/modules.dep": "kernel/drivers/net/tun.ko:\nkernel/drivers/gpu/drm/nouveau/nouveau.ko:\n"}


def dkms(*kernels: str, failed: str = "") -> dict[str, str]:
    """The source that Debian's nvidia-kernel-dkms registers, built for these kernels; a failed build leaves its log."""
    place = f"var/lib/dkms/nvidia-current/{DRIVER}"
    built = {f"{place}/{kernel}/x86_64/module/nvidia-current.ko": UNSIGNED for kernel in kernels}
    log = f"DKMS make.log for nvidia-current-{DRIVER} for kernel {failed} (x86_64)\nmake: *** [Makefile:1: modules] Error 2\n"
    return {f"{place}/source/dkms.conf": "", **built, **({f"{place}/build/make.log": log} if failed else {})}


def kmsg(*lines: str, uptime: float = 1000.0) -> dict[str, str]:
    """The kernel log, one record a second; a line break within one is escaped as in /dev/kmsg."""
    records = (f"3,{number},{number * 1_000_000},-;{text}\n".replace("|", "\\x0a") for number, text in enumerate(lines, start=100))
    return {"dev/kmsg": "6,1,0,-;Linux version 6.1.0\n" + "".join(records), "proc/uptime": f"{uptime} 0\n"}


def unloaded(
    about: str, *roots: str, folded: tuple[str, ...] = ("no-driver", "cuda-init-fails"), files: Mapping[str, str], **tree: Any
) -> Recipe:
    """An A100 whose driver is installed but not loaded."""
    whole: dict[str, Any] = {"pci": cards(1, None), **tree}
    return healthy(about=about, libraries=NOT_LOADED, tree=Tree(files=files, **whole), verdict="broken", roots=roots, folded=folded)


def driven(about: str, *gpus: NvmlGpu, driver: str, cuda: str, **tree: Any) -> Recipe:
    """These healthy cards under this driver."""
    library = Nvml(gpus=gpus, driver=driver, cuda=cuda)
    pci = [PciCard.of(card) for card in library.cards]
    return healthy(
        len(gpus), about=about, libraries=(library, Cuda(gpus=library.gpus, cuda=cuda)), tree=Tree(pci=pci, kernel_driver=driver, **tree)
    )


def refused(about: str, gpu: NvmlGpu, root: str, *, driver: str, cuda: str, files: Mapping[str, str] | None = None) -> Recipe:
    """A card that the driver rejects: without another card, the module does not stay loaded."""
    libraries = (
        Nvml(gpus=[gpu], driver=driver, cuda=cuda, calls={"nvmlInit": "return 9"}),
        Cuda(gpus=1, cuda=cuda, calls={"cuInit": "return 100"}),
    )
    pci = [replace(PciCard.of(card), driver=None) for card in libraries[0].cards]
    return healthy(
        about=about,
        libraries=libraries,
        tree=Tree(pci=pci, files=files or {}),
        verdict="broken",
        roots=(root,),
        folded=("no-driver", "cuda-init-fails"),
    )


def cuda_fails(about: str, code: int, *roots: str, folded: tuple[str, ...] = ("cuda-init-fails",), gpus: int = 1, **tree: Any) -> Recipe:
    """NVML works, cuInit answers `code`."""
    whole: dict[str, Any] = {"pci": cards(gpus), "kernel_driver": DRIVER, **tree}
    library = Nvml(gpus=gpus)
    failing = Cuda(gpus=library.gpus, calls={"cuInit": f"return {code}"})
    return healthy(gpus, about=about, tree=Tree(**whole), libraries=(library, failing), verdict="broken", roots=roots, folded=folded)


MODULES: dict[str, Recipe] = {
    "kernel-upgraded-without-headers": unloaded(
        "after a kernel upgrade: DKMS built the module for the kernel before, the headers of the new one are not there",
        "kernel-module-not-built",
        files={**without_module(), **modules(OLDER), **dkms(OLDER)},
    ),
    "module-does-not-compile": unloaded(
        "the build of the module failed, and nouveau took the GPU",
        "kernel-module-not-built",
        folded=("no-driver", "nouveau-loaded", "cuda-init-fails"),
        pci=cards(1, "nouveau"),
        modules=("nouveau",),
        files={**without_module(), **dkms(failed=KERNEL), f"lib/modules/{KERNEL}/build/Makefile": ""},
    ),
    "running-kernel-was-replaced": unloaded(
        "the running kernel's modules were removed by an upgrade, which waits for a reboot",
        "kernel-module-not-built",
        files=modules("6.1.0-38-amd64"),
    ),
    "module-there-and-blacklisted": unloaded(
        "the module is built, and a blacklist keeps it out",
        "no-driver",
        folded=("cuda-init-fails",),
        files={**modules(), "etc/modprobe.d/gpu.conf": "# for the guests\nblacklist nvidia\n"},
    ),
    "nouveau-holds-one-of-two": replace(
        driven("nouveau took one of two A100 before the NVIDIA driver came", NvmlGpu(), driver=DRIVER, cuda="12.4"),
        tree=Tree(pci=[cards(1)[0], cards(2, "nouveau")[1]], kernel_driver=DRIVER, modules=("nouveau",)),
        verdict="degraded",
        roots=("nouveau-loaded",),
    ),
    "secure-boot-refuses-the-module": unloaded(
        "Secure Boot is on and the module has no signature",
        "secure-boot-unsigned-module",
        secure_boot=True,
        files={**modules(), **SECURE},
    ),
    "secure-boot-key-not-enrolled": unloaded(
        "the module is signed with a key that the machine does not trust: the kernel says so",
        "secure-boot-unsigned-module",
        secure_boot=True,
        files={
            **modules(content=SIGNED),
            **SECURE,
            **kmsg("Loading of module with unavailable key is rejected", "nvidia: Key was rejected by service"),
        },
    ),
    "secure-boot-and-all-in-order": healthy(
        about="Secure Boot is on, the module is signed, trusted and loaded",
        tree=Tree(pci=cards(1), kernel_driver=DRIVER, secure_boot=True, files={**modules(content=SIGNED), **SECURE}),
    ),
    "everything-passed-through": healthy(
        about="the only GPU is bound to vfio-pci",
        libraries=NOT_LOADED,
        tree=Tree(pci=cards(1, "vfio-pci"), modules=("vfio_pci",)),
        verdict="broken",
        roots=("vfio-bound",),
        folded=("cuda-init-fails",),
    ),
}

BRANCHES: dict[str, Recipe] = {
    "pascal-under-driver-590": refused(
        "a GTX 1080 and driver 590, which dropped it", GTX_1080, "driver-too-new-for-gpu", driver="590.44.01", cuda="13.1"
    ),
    "pascal-under-driver-580": replace(
        driven("a GTX 1080 and driver 580, the last for it", GTX_1080, driver="580.65.06", cuda="13.0"), notes=("gpu-lacks-bf16",)
    ),
    "pascal-beside-a-newer-card-under-open-modules": replace(
        driven("an A100 works; a GTX 1080 beside it is refused by the open kernel modules", NvmlGpu(), driver="580.65.06", cuda="13.0"),
        tree=Tree(
            pci=[cards(1)[0], replace(PciCard.of(Nvml(gpus=[NvmlGpu(), GTX_1080]).cards[1]), driver=None)],
            kernel_driver="580.65.06",
            open_module=True,
            files=kmsg(
                "NVRM: The NVIDIA GPU 0000:0f:00.0 (PCI ID: 10de:1b80)|NVRM: installed in this system is not supported by open|"
                "NVRM: nvidia.ko because it does not include the required GPU|NVRM: System Processor (GSP)."
            ),
        ),
        verdict="broken",
        roots=("driver-too-new-for-gpu",),
        folded=("gpu-count-mismatch",),
    ),
    "blackwell-under-driver-550": refused("an RTX 5090 and driver 550", RTX_5090, "gpu-too-new-for-driver", driver=DRIVER, cuda="12.4"),
    "blackwell-under-closed-modules": refused(
        "an RTX 5090 and the proprietary modules of driver 580",
        RTX_5090,
        "gpu-too-new-for-driver",
        driver="580.65.06",
        cuda="13.0",
        files=kmsg(
            "NVRM: The NVIDIA GPU 0000:07:00.0 (PCI ID: 10de:2b85)|NVRM: installed in this system requires use of the NVIDIA open kernel modules."
        ),
    ),
    "blackwell-under-open-modules": replace(
        driven(
            "an RTX 5090 and the open modules of driver 580; of TensorFlow it has PTX alone",
            RTX_5090,
            driver="580.65.06",
            cuda="13.0",
            open_module=True,
        ),
        verdict="broken",
        roots=("gpu-too-new-for-build",),
    ),
    "ampere-under-tensorflow-2.3": healthy(
        about="an A100 and a TensorFlow that was built before there were any: it has PTX alone for it, which computes wrong",
        packages=(tensorflow("2.3.0", "10.1", "7"),),
        verdict="broken",
        roots=("gpu-too-new-for-build",),
    ),
    "hopper-under-tensorflow-2.15": replace(
        driven(
            "an H100 and a TensorFlow that has PTX alone for it",
            NvmlGpu(name="NVIDIA H100 80GB HBM3", pci_device_id=0x233010DE, compute_capability=(9, 0)),
            driver="550.54.14",
            cuda="12.4",
        ),
        packages=(tensorflow("2.15.0", "12.2", "8"),),
        verdict="degraded",
        roots=("slow-ptx-jit",),
    ),
}

DEVICES: dict[str, Recipe] = {
    "nodes-missing-after-boot": healthy(
        about="the module is loaded and nobody made the device files",
        tree=Tree(pci=cards(1), kernel_driver=DRIVER, nodes=()),
        libraries=INSTALLED_TOO,
        verdict="broken",
        roots=("device-nodes-missing",),
        folded=("cuda-init-fails",),
    ),
    "container-without-uvm-node": cuda_fails(
        "a container that was given its GPU without /dev/nvidia-uvm",
        999,
        "device-nodes-missing",
        container="podman",
        nodes=("nvidia0", "nvidiactl"),
    ),
    "uvm-not-loaded": cuda_fails("nvidia-smi works, nvidia_uvm is not loaded", 999, "uvm-not-loaded", uvm=False),
    "uvm-after-waking": cuda_fails(
        "a laptop that slept twice; since then cuInit answers 999",
        999,
        "uvm-broken-after-suspend",
        files={"sys/power/suspend_stats/success": "2\n"},
    ),
    "slept-and-in-order": healthy(
        about="a machine that slept twice and works",
        tree=Tree(pci=cards(1), kernel_driver=DRIVER, files={"sys/power/suspend_stats/success": "2\n"}),
    ),
    "firmware-does-not-answer": healthy(
        2,
        about="two A100, the firmware of the second does not answer the driver any more (Xid 119)",
        libraries=(Nvml(gpus=2, calls={"nvmlDeviceGetHandleByIndex.1": "return 999"}), Cuda(gpus=1)),
        tree=Tree(
            pci=cards(2),
            kernel_driver=DRIVER,
            files=kmsg(
                "NVRM: GPU Board Serial Number: 1650124014249",
                "NVRM: Xid (PCI:0000:0f:00): 119, pid=2024, name=python3, Timeout after 6s of waiting for RPC response from GPU1 GSP!",
            ),
        ),
        verdict="broken",
        roots=("gsp-firmware-failure",),
        folded=("gpu-count-mismatch",),
    ),
    "firmware-answers-again": healthy(
        about="the firmware failed some time ago, and the GPU works",
        tree=Tree(
            pci=cards(1),
            kernel_driver=DRIVER,
            files=kmsg("NVRM: Xid (PCI:0000:07:00): 120, pid=<unknown>, name=<unknown>, GSP task exception"),
        ),
        notes=("gsp-firmware-failure",),
    ),
    "program-at-fault-in-the-log": healthy(
        about="the log holds errors that programs made (Xid 13 and 31), not the GPU",
        tree=Tree(
            pci=cards(1),
            kernel_driver=DRIVER,
            files=kmsg(
                *[
                    "NVRM: Xid (PCI:0000:07:00): 13, pid=77, name=python3, Graphics SM Warp Exception on (GPC 0, TPC 0, SM 1): Out Of Range Address"
                ]
                * 9,
                "NVRM: Xid (PCI:0000:07:00): 31, pid=77, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS",
            ),
        ),
        notes=("gpu-errors-logged",),
    ),
    "gpu-at-fault-in-the-log": healthy(
        2,
        about="a controller inside the second GPU halted (Xid 62), and the first only had a harmless event (Xid 43)",
        tree=Tree(
            pci=cards(2),
            kernel_driver=DRIVER,
            files=kmsg(
                "NVRM: Xid (PCI:0000:07:00): 43, pid=77, name=python3, Ch 00000008",
                "NVRM: Xid (PCI:0000:0f:00): 62, pid=77, name=python3, 00000000 00000000 00000000",
            ),
        ),
        verdict="degraded",
        roots=("gpu-errors-logged",),
    ),
}

UNIT = "[Unit]\nDescription=NVIDIA fabric manager service\n"
FABRIC_UNIT = {"usr/lib/systemd/system/nvidia-fabricmanager.service": UNIT}
RUNNING = {**FABRIC_UNIT, "sys/fs/cgroup/system.slice/nvidia-fabricmanager.service/cgroup.procs": "1044\n"}


def logged(version: str, *more: str) -> dict[str, str]:
    lines = (f"Fabric Manager version {version} is running with the following configuration options", *more)
    return {"var/log/fabricmanager.log": "".join(f"[Nov 21 2025 04:48:10] [INFO] [tid 1044] {line}\n" for line in lines)}


FABRIC: dict[str, Recipe] = {
    "switches-without-fabric-manager": cuda_fails(
        "eight A100 behind NVSwitches; the fabric manager is not installed", 802, "fabric-manager-missing", gpus=8, pci=[*cards(8), SWITCH]
    ),
    "fabric-manager-stopped": cuda_fails(
        "the fabric manager is installed and was not started",
        802,
        "fabric-manager-missing",
        gpus=8,
        pci=[*cards(8), SWITCH],
        files=FABRIC_UNIT,
    ),
    "fabric-manager-of-another-release": cuda_fails(
        "the driver was updated, the fabric manager was not, and stopped",
        802,
        "fabric-manager-version-mismatch",
        folded=("cuda-init-fails", "fabric-manager-missing"),
        gpus=8,
        pci=[*cards(8), SWITCH],
        files={
            **FABRIC_UNIT,
            **logged(
                "550.54.15", "fabric manager NVIDIA GPU driver interface version 550.54.15 don't match with driver version 550.163.01."
            ),
        },
    ),
    "switches-and-all-in-order": healthy(
        8,
        about="eight A100 behind NVSwitches, the fabric manager of the driver's release runs",
        tree=Tree(pci=[*cards(8), SWITCH], kernel_driver=DRIVER, files={**RUNNING, **logged(DRIVER)}),
    ),
}


def torch_rocm(*targets: str) -> Package:
    """A PyTorch for ROCm, with rocBLAS files that name its targets."""
    text = "__version__ = '2.6.0+rocm6.2.4'\ndebug = False\ncuda = None\ngit_version = '0'\nhip = '6.2.41134'\n"
    tensile = {f"torch/lib/rocblas/library/TensileLibrary_lazy_{target}.dat": "" for target in targets}
    return Package("torch", "2.6.0", {"torch/__init__.py": "", "torch/version.py": text, **tensile})


def radeon(about: str, *packages: Package, target: int = 100300, **changes: Any) -> Recipe:
    """A workstation with a Radeon under ROCm's kernel driver."""
    kfd = {
        "sys/class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 16\ngfx_target_version 0\n",
        "sys/class/kfd/kfd/topology/nodes/1/properties": f"simd_count 160\ngfx_target_version {target}\n",
    }
    whole = Recipe(about=about, tree=Tree(pci=[RADEON], modules=("amdgpu",), files=kfd), packages=packages, verdict="unknown")
    return replace(whole, **changes)


VENDORS: dict[str, Recipe] = {
    "radeon-with-cuda-builds": radeon(
        "a Radeon, TensorFlow and PyTorch built for CUDA",
        TF,
        torch("2.6.0+cu124", "12.4"),
        verdict="broken",
        roots=("amd-gpu-unsupported",),
        folded=("no-gpu",),
    ),
    "radeon-with-rocm-build": radeon("a Radeon and a PyTorch for ROCm that has code for it", torch_rocm("gfx90a", "gfx1030", "gfx1100")),
    "radeon-outside-the-rocm-build": radeon(
        "a Radeon that the PyTorch for ROCm has no code for",
        torch_rocm("gfx90a", "gfx1030", "gfx1100"),
        target=100301,
        verdict="broken",
        roots=("rocm-arch-unsupported",),
    ),
    "tpu-host": Recipe(about="a host of Google's TPUs", tree=Tree(pci=[TPU]), verdict="broken", roots=("no-gpu",)),
    "laptop-with-two-graphics": healthy(
        about="a GPU beside graphics of Intel and AMD that drive the display",
        tree=Tree(pci=[*cards(1), INTEL, RADEON], kernel_driver=DRIVER),
    ),
}

RECIPES: dict[str, Recipe] = {**MODULES, **BRANCHES, **DEVICES, **FABRIC, **VENDORS}
