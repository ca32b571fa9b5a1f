"""Every rule, in the order of its code. A rule is the function by the name of its module, in the folder of its family."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gpudoctor.diagnose.rule import Rule

FAMILIES: dict[str, tuple[str, ...]] = {
    "hardware": (
        "no_gpu",
        "gpu_count_mismatch",
        "gpu_fell_off_bus",
        "ecc_hardware_error",
        "row_remap_pending",
        "row_remap_failed",
        "pages_retirement_pending",
        "inforom_corrupt",
        "gpu_requires_reset",
        "gsp_firmware_failure",
        "pcie_link_degraded",
        "power_cable_missing",
        "gpu_lacks_bf16",
        "amd_gpu_unsupported",
        "rocm_arch_unsupported",
        "metal_plugin_missing",
        "gpu_computes_wrong",
        "gpu_errors_logged",
        "gpu_not_responding",
        "ecc_disabled",
        "ecc_change_pending",
        "spare_rows_exhausted",
        "pci_bar_not_assigned",
        "resizable_bar_off",
    ),
    "driver": (
        "no_driver",
        "driver_library_mismatch",
        "driver_too_old",
        "device_permission_denied",
        "driver_hung",
        "cuda_init_fails",
        "kernel_module_not_built",
        "nouveau_loaded",
        "secure_boot_unsigned_module",
        "vfio_bound",
        "driver_too_new_for_gpu",
        "gpu_too_new_for_driver",
        "device_nodes_missing",
        "uvm_not_loaded",
        "uvm_broken_after_suspend",
        "forward_compat_unsupported_hw",
        "cuda_compat_lib_conflict",
        "libcuda_not_on_loader_path",
        "libcuda_is_stub",
        "libcuda_wrong_architecture",
        "mps_misconfigured",
        "vgpu_unlicensed",
        "confidential_computing_not_ready",
        "libcuda_not_installed",
        "gpu_missing_from_cuda",
        "nova_loaded",
        "uvm_hmm_init_failure",
        "preloaded_library_intercepts_cuda",
        "vgpu_licence_expiring",
        "nvml_fails",
    ),
    "platform": (
        "container_no_gpu_access",
        "container_toolkit_missing",
        "container_cgroup_device_lost",
        "container_ldcache_stale",
        "container_shm_too_small",
        "wsl_libcuda_not_on_path",
        "wsl_driver_stack_broken",
        "wsl_linux_driver_installed",
        "wsl1",
        "wsl_multi_gpu_limit",
        "wsl_pinned_memory_limit",
        "scheduler_gpu_not_allocated",
        "container_cdi_spec_stale",
        "container_cdi_spec_missing",
        "container_cdi_spec_incompatible",
    ),
    "libraries": (
        "cuda_library_missing",
        "cudnn_missing",
        "cuda_libs_not_on_loader_path",
        "pip_nvidia_libs_not_on_path",
        "cuda_version_mismatch",
        "cuda_mixed_versions",
        "ld_library_path_shadowing",
        "cudnn_shadowed_by_system",
        "cudnn_wrong_major",
        "cudnn_version_mismatch",
        "cudnn_drops_gpu",
        "libdevice_not_found",
        "ptxas_not_found",
        "ptxas_too_old",
        "nvcc_toolkit_missing",
        "nvcc_framework_cuda_mismatch",
        "host_compiler_unsupported",
        "unexpected_library_loaded",
        "cuda_library_damaged",
    ),
    "builds": (
        "cpu_only_build",
        "windows_native_no_gpu",
        "no_cuda_wheel_for_platform",
        "python_version_unsupported",
        "gpu_too_new_for_build",
        "gpu_too_old_for_build",
        "slow_ptx_jit",
        "jax_plugin_version_mismatch",
        "torch_torchvision_mismatch",
        "torch_torchaudio_mismatch",
        "nvidia_wheel_version_conflict",
        "mixed_conda_pip",
        "extension_built_for_other_cuda",
        "extension_abi_mismatch",
        "extension_missing_arch",
        "cupy_wheel_cuda_mismatch",
        "gpu_too_old_for_triton",
        "triton_ptxas_too_old",
        "c_compiler_missing",
        "python_headers_missing",
        "jetson_needs_vendor_wheel",
        "gpu_below_framework_minimum",
        "broken_release",
        "wheel_variant_mismatch",
    ),
    "python": (
        "framework_missing",
        "requirement_not_met",
        "required_gpus_missing",
        "wrong_python_environment",
        "numpy2_abi_mismatch",
        "protobuf_mismatch",
        "keras3_mismatch",
        "package_not_installable",
        "package_requirement_conflict",
        "two_copies_of_framework",
        "framework_files_damaged",
        "script_folder_hides_package",
        "glibc_too_old",
        "cpu_lacks_avx",
        "conda_cuda_override_wrong",
        "framework_import_fails",
        "mkl_version_incompatible",
        "python_32bit",
        "msvc_redistributable_missing",
    ),
    "state": (
        "cuda_visible_devices_masked",
        "cuda_visible_devices_uuid_unsupported",
        "env_hides_gpu",
        "exclusive_compute_mode",
        "compute_prohibited",
        "mig_one_instance_per_process",
        "mig_no_instances",
        "gpu_memory_held_by_other_process",
        "gpu_memory_insufficient",
        "persistence_mode_off",
        "host_memory_insufficient",
        "mig_change_pending",
        "env_slows_gpu",
        "cuda_visible_devices_set_too_late",
        "gpu_memory_preallocation",
    ),
    "multi_gpu": (
        "fabric_manager_missing",
        "fabric_manager_version_mismatch",
        "nvlink_inactive",
        "nccl_p2p_acs_iommu",
        "nccl_version_conflict",
        "mixed_gpu_models",
        "all_reduce_failed",
        "fabric_unhealthy",
        "fabric_prerequisites_missing",
        "nvlink_errors",
        "fabric_not_ready",
        "nvswitch_fatal_error",
        "nvlink_slow",
    ),
    "training": (
        "smoke_ran_on_cpu",
        "smoke_wrong_result",
        "smoke_did_not_learn",
        "smoke_crashed",
        "smoke_hung",
        "power_throttled",
        "thermal_throttled",
        "hw_slowdown",
        "gpu_slower_than_expected",
        "gpu_not_faster_than_cpu",
        "smoke_loss_not_finite",
        "application_clocks_lowered",
        "gpu_behind_its_siblings",
    ),
}
"""The modules of each family, by code."""

FAMILY_OF: dict[str, str] = {name.replace("_", "-"): family for family, names in FAMILIES.items() for name in names}
"""By the name of a rule."""


@cache
def _load(family: str, name: str) -> Rule:
    rule: Rule = getattr(import_module(f"{__name__}.{family}.{name}"), name)
    return rule


def without(left_out: frozenset[str]) -> tuple[Rule, ...]:
    """Return every rule but those of these modules, which are not loaded."""
    return tuple(_load(family, name) for family, names in FAMILIES.items() for name in names if name not in left_out)


if TYPE_CHECKING:
    RULES: tuple[Rule, ...]
    """Every rule."""


def __getattr__(name: str) -> tuple[Rule, ...]:
    """Load every rule when RULES is first asked for."""
    if name != "RULES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    every = globals()["RULES"] = without(frozenset())
    return every
