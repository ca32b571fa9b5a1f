"""Every rule, in the order of its code. A rule is the function by the name of its module, in the folder of its family."""

from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gpudoctor.diagnose.rule import Rule

FAMILIES: dict[str, dict[str, tuple[str, ...]]] = {
    "hardware": {
        "no_gpu": ("pci",),
        "gpu_count_mismatch": ("gpus", "nvml"),
        "gpu_fell_off_bus": ("gpus",),
        "ecc_hardware_error": ("gpus", "gpu_states"),
        "row_remap_pending": ("gpus", "gpu_states"),
        "row_remap_failed": ("gpus", "gpu_states"),
        "pages_retirement_pending": ("gpus", "gpu_states"),
        "inforom_corrupt": ("gpus", "gpu_states"),
        "gpu_requires_reset": ("gpus", "gpu_states"),
        "gsp_firmware_failure": ("gpus", "pci"),
        "pcie_link_degraded": ("gpus", "gpu_states"),
        "power_cable_missing": ("gpus", "gpu_states"),
        "gpu_lacks_bf16": (),
        "amd_gpu_unsupported": ("pci",),
        "rocm_arch_unsupported": ("rocm_build",),
        "metal_plugin_missing": ("macos",),
        "gpu_computes_wrong": ("gpus", "contexts"),
        "gpu_errors_logged": ("gpus", "kernel_log"),
        "gpu_not_responding": ("gpus", "nvml"),
        "ecc_disabled": ("gpus", "gpu_states"),
        "ecc_change_pending": ("gpus", "gpu_states"),
        "spare_rows_exhausted": ("gpus", "gpu_states"),
        "pci_bar_not_assigned": ("gpus",),
        "resizable_bar_off": ("gpus", "gpu_states"),
    },
    "driver": {
        "no_driver": ("pci", "kernel_driver"),
        "driver_library_mismatch": (),
        "driver_too_old": ("cuda_build", "frameworks"),
        "device_permission_denied": ("device_nodes",),
        "driver_hung": (),
        "cuda_init_fails": ("libcuda",),
        "kernel_module_not_built": ("kernel_driver",),
        "nouveau_loaded": (),
        "secure_boot_unsigned_module": ("kernel_driver",),
        "vfio_bound": ("pci",),
        "driver_too_new_for_gpu": ("gpus",),
        "gpu_too_new_for_driver": ("gpus",),
        "device_nodes_missing": ("kernel_driver", "device_nodes"),
        "uvm_not_loaded": ("kernel_driver",),
        "uvm_broken_after_suspend": ("kernel_driver",),
        "forward_compat_unsupported_hw": ("libcuda",),
        "cuda_compat_lib_conflict": ("libcuda",),
        "libcuda_not_on_loader_path": ("libcuda",),
        "libcuda_is_stub": ("libcuda",),
        "libcuda_wrong_architecture": ("libcuda",),
        "mps_misconfigured": ("libcuda",),
        "vgpu_unlicensed": ("gpus", "gpu_states"),
        "confidential_computing_not_ready": ("nvml",),
        "libcuda_not_installed": ("kernel_driver", "libcuda"),
        "gpu_missing_from_cuda": ("gpus", "nvml"),
        "nova_loaded": (),
        "uvm_hmm_init_failure": ("kernel_driver",),
        "preloaded_library_intercepts_cuda": ("preloads",),
        "vgpu_licence_expiring": ("gpus", "gpu_states"),
        "nvml_fails": ("libcuda",),
    },
    "platform": {
        "container_no_gpu_access": ("in_container", "container"),
        "container_toolkit_missing": ("containers",),
        "container_cgroup_device_lost": ("in_container", "container", "device_nodes"),
        "container_ldcache_stale": ("in_container", "container"),
        "container_shm_too_small": ("in_container",),
        "wsl_libcuda_not_on_path": ("wsl",),
        "wsl_driver_stack_broken": ("wsl",),
        "wsl_linux_driver_installed": ("wsl",),
        "wsl1": ("wsl1",),
        "wsl_multi_gpu_limit": ("wsl",),
        "wsl_pinned_memory_limit": ("wsl",),
        "scheduler_gpu_not_allocated": ("allocation",),
        "container_cdi_spec_stale": ("containers",),
        "container_cdi_spec_missing": ("containers", "container_tools"),
        "container_cdi_spec_incompatible": ("containers",),
    },
    "libraries": {
        "cuda_library_missing": ("cuda_build", "frameworks", "libraries"),
        "cudnn_missing": ("cuda_build", "frameworks", "libraries"),
        "cuda_libs_not_on_loader_path": ("cuda_build", "frameworks", "libraries"),
        "pip_nvidia_libs_not_on_path": ("cuda_build", "frameworks", "libraries"),
        "cuda_version_mismatch": ("gpus",),
        "cuda_mixed_versions": ("gpus",),
        "ld_library_path_shadowing": ("cuda_build", "frameworks", "libraries"),
        "cudnn_shadowed_by_system": ("cuda_build", "frameworks", "libraries"),
        "cudnn_wrong_major": ("cuda_build", "frameworks"),
        "cudnn_version_mismatch": ("cuda_build", "frameworks"),
        "cudnn_drops_gpu": ("cuda_build", "frameworks"),
        "libdevice_not_found": ("cuda_build", "frameworks", "libraries"),
        "ptxas_not_found": ("cuda_build", "frameworks", "libraries"),
        "ptxas_too_old": ("cuda_build", "frameworks", "libraries"),
        "nvcc_toolkit_missing": (),
        "nvcc_framework_cuda_mismatch": ("cuda_build",),
        "host_compiler_unsupported": ("gpus",),
        "unexpected_library_loaded": ("cuda_build", "frameworks", "libraries"),
        "cuda_library_damaged": ("cuda_build", "frameworks", "libraries"),
    },
    "builds": {
        "cpu_only_build": ("gpus", "frameworks"),
        "windows_native_no_gpu": ("windows",),
        "no_cuda_wheel_for_platform": (),
        "python_version_unsupported": ("planned", "packages"),
        "gpu_too_new_for_build": ("cuda_build", "frameworks"),
        "gpu_too_old_for_build": ("cuda_build", "frameworks"),
        "slow_ptx_jit": ("cuda_build", "frameworks"),
        "jax_plugin_version_mismatch": ("packages", "frameworks"),
        "torch_torchvision_mismatch": ("packages", "frameworks"),
        "torch_torchaudio_mismatch": ("packages", "frameworks"),
        "nvidia_wheel_version_conflict": ("packages",),
        "mixed_conda_pip": ("conda", "packages"),
        "extension_built_for_other_cuda": ("cuda_build", "frameworks", "libraries"),
        "extension_abi_mismatch": ("cuda_build", "frameworks", "libraries"),
        "extension_missing_arch": ("cuda_build", "frameworks", "libraries"),
        "cupy_wheel_cuda_mismatch": ("packages",),
        "gpu_too_old_for_triton": ("cuda_build", "frameworks"),
        "triton_ptxas_too_old": ("cuda_build", "packages", "frameworks", "libraries"),
        "c_compiler_missing": ("cuda_build", "packages", "frameworks"),
        "python_headers_missing": ("cuda_build", "packages", "frameworks"),
        "jetson_needs_vendor_wheel": ("jetson", "frameworks"),
        "gpu_below_framework_minimum": ("packages",),
        "broken_release": ("packages",),
        "wheel_variant_mismatch": ("packages",),
    },
    "python": {
        "framework_missing": ("frameworks",),
        "requirement_not_met": ("requirements",),
        "required_gpus_missing": ("requirements",),
        "wrong_python_environment": (),
        "numpy2_abi_mismatch": ("packages", "frameworks"),
        "protobuf_mismatch": ("packages", "frameworks"),
        "keras3_mismatch": ("packages", "frameworks"),
        "package_not_installable": ("planned", "packages"),
        "package_requirement_conflict": ("packages",),
        "two_copies_of_framework": ("packages", "frameworks"),
        "framework_files_damaged": ("frameworks", "libraries"),
        "script_folder_hides_package": ("script_folder",),
        "glibc_too_old": ("packages", "frameworks"),
        "cpu_lacks_avx": ("packages", "frameworks"),
        "conda_cuda_override_wrong": ("variables",),
        "framework_import_fails": ("frameworks", "smoke"),
        "mkl_version_incompatible": ("frameworks", "smoke"),
        "python_32bit": (),
        "msvc_redistributable_missing": ("windows",),
        "packages_overwrite_each_other": (),
        "variable_stops_import": (),
    },
    "state": {
        "cuda_visible_devices_masked": ("visible_devices", "variables"),
        "cuda_visible_devices_uuid_unsupported": ("visible_devices", "variables"),
        "env_hides_gpu": ("variables",),
        "exclusive_compute_mode": ("gpus", "gpu_states"),
        "compute_prohibited": ("gpus", "gpu_states"),
        "mig_one_instance_per_process": ("gpu_states",),
        "mig_no_instances": ("gpus", "gpu_states"),
        "gpu_memory_held_by_other_process": ("gpus", "gpu_states"),
        "gpu_memory_insufficient": ("gpus", "contexts"),
        "persistence_mode_off": (),
        "host_memory_insufficient": ("smoke",),
        "mig_change_pending": ("gpus", "gpu_states"),
        "env_slows_gpu": ("variables",),
        "cuda_visible_devices_set_too_late": ("text",),
        "gpu_memory_preallocation": ("text",),
        "address_space_limited": ("cuda_build", "frameworks", "libraries"),
    },
    "multi_gpu": {
        "fabric_manager_missing": ("nvlink_fabric",),
        "fabric_manager_version_mismatch": ("nvlink_fabric",),
        "nvlink_inactive": ("gpus", "gpu_states"),
        "nccl_p2p_acs_iommu": (),
        "nccl_version_conflict": ("gpus", "frameworks", "libraries"),
        "mixed_gpu_models": (),
        "all_reduce_failed": ("frameworks", "smoke"),
        "fabric_unhealthy": ("gpus", "gpu_states"),
        "fabric_prerequisites_missing": ("nvlink_fabric", "fabric_parts", "nvml"),
        "nvlink_errors": ("gpus", "gpu_states"),
        "fabric_not_ready": ("nvlink_fabric", "fabric_manager"),
        "nvswitch_fatal_error": ("kernel_log",),
        "nvlink_slow": ("gpus", "gpu_states"),
    },
    "training": {
        "smoke_ran_on_cpu": ("frameworks", "smoke"),
        "smoke_wrong_result": ("frameworks", "smoke"),
        "smoke_did_not_learn": ("frameworks", "smoke"),
        "smoke_crashed": ("frameworks", "smoke"),
        "smoke_hung": ("frameworks", "smoke"),
        "power_throttled": ("gpus", "gpu_states"),
        "thermal_throttled": ("gpus", "gpu_states"),
        "hw_slowdown": ("gpus", "gpu_states"),
        "gpu_slower_than_expected": ("gpus", "smoke"),
        "gpu_not_faster_than_cpu": ("gpus", "smoke"),
        "smoke_loss_not_finite": ("frameworks", "smoke"),
        "application_clocks_lowered": ("gpus", "gpu_states"),
        "gpu_behind_its_siblings": ("gpus", "loads"),
    },
}
"""The modules of each family, by code, each with what its rule can say nothing without: a section of the snapshot by its name, or

- gpus: a GPU
- gpu_states: what NVML says of a GPU beside which one it is
- cuda_build, rocm_build: a framework that is built with CUDA or ROCm
- wsl: WSL
- wsl1, jetson, macos, windows: that platform, of WSL both versions, or an unknown one
- in_container: a container around gpudoctor
- containers: that, or a container engine
- nvlink_fabric: an NVSwitch, or a GPU that is attached to one
- visible_devices: CUDA_VISIBLE_DEVICES is set
- conda: a conda environment
- planned, text: a machine that was stated, or read from a text
- requirements: something that --require names
"""

SPECIAL_NEEDS = frozenset((
    "gpus", "cuda_build", "rocm_build", "wsl", "wsl1", "jetson", "macos", "windows", "in_container", "containers", "nvlink_fabric",
    "visible_devices", "conda", "planned", "text", "requirements", "smoke", "allocation",
))  # fmt: skip
"""What few machines have, or what is known last: a check loads the rules that need it only where it is there."""

FAMILY_OF: dict[str, str] = {name.replace("_", "-"): family for family, names in FAMILIES.items() for name in names}
"""By the name of a rule."""


@cache
def _load_rule(family: str, name: str) -> Rule:
    rule: Rule = getattr(import_module(f"{__name__}.{family}.{name}"), name)
    return rule


def rules_without(lacking: frozenset[str], named: Collection[str] = ()) -> tuple[Rule, ...]:
    """Return every rule but those that need something of what is lacking and are not named; these are not loaded."""
    return tuple(
        _load_rule(family, module)
        for family, rules in FAMILIES.items()
        for module, needs in rules.items()
        if lacking.isdisjoint(needs) or module.replace("_", "-") in named
    )


def rules_with_names(names: Collection[str]) -> tuple[Rule, ...]:
    """Return the rules of these names."""
    return tuple(_load_rule(family, module) for family, rules in FAMILIES.items() for module in rules if module.replace("_", "-") in names)


if TYPE_CHECKING:
    RULES: tuple[Rule, ...]
    """Every rule."""


def __getattr__(name: str) -> tuple[Rule, ...]:
    """Load every rule when RULES is first asked for."""
    if name != "RULES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    every = globals()["RULES"] = rules_without(frozenset())
    return every
