"""The modules of rules that can say nothing without something: rules of these sets are not loaded where it is missing."""

from __future__ import annotations

from gpudoctor.diagnose.rules import FAMILIES

OF_WSL = frozenset(name for name in FAMILIES["platform"] if name.startswith("wsl_"))
OF_CUDA_BUILDS = frozenset(
    (
        "cuda_library_missing", "cudnn_missing", "cuda_libs_not_on_loader_path", "pip_nvidia_libs_not_on_path", "ld_library_path_shadowing",
        "cudnn_shadowed_by_system", "cudnn_wrong_major", "cudnn_version_mismatch", "cudnn_drops_gpu", "libdevice_not_found", "ptxas_not_found",
        "ptxas_too_old", "nvcc_framework_cuda_mismatch", "unexpected_library_loaded", "cuda_library_damaged", "gpu_too_new_for_build",
        "gpu_too_old_for_build", "slow_ptx_jit", "extension_built_for_other_cuda", "extension_abi_mismatch", "extension_missing_arch",
        "gpu_too_old_for_triton", "triton_ptxas_too_old", "c_compiler_missing", "python_headers_missing", "driver_too_old",
    )
)  # fmt: skip
"""The rules about a framework's CUDA, its GPU code and the libraries that it loads."""
OF_STATES = frozenset(
    (
        "ecc_hardware_error", "row_remap_pending", "row_remap_failed", "pages_retirement_pending", "inforom_corrupt", "gpu_requires_reset",
        "pcie_link_degraded", "power_cable_missing", "ecc_disabled", "ecc_change_pending", "spare_rows_exhausted", "resizable_bar_off",
        "vgpu_unlicensed", "vgpu_licence_expiring", "exclusive_compute_mode", "compute_prohibited", "mig_one_instance_per_process",
        "mig_no_instances", "gpu_memory_held_by_other_process", "mig_change_pending", "nvlink_inactive", "fabric_unhealthy",
        "nvlink_errors", "nvlink_slow", "power_throttled", "thermal_throttled", "hw_slowdown", "application_clocks_lowered",
    )
)  # fmt: skip
"""The rules about GPUs that read no more than what NVML says of its state."""
OF_SECTIONS: dict[str, tuple[str, ...]] = {
    "preloads": ("preloaded_library_intercepts_cuda",),
    "container": ("container_no_gpu_access", "container_cgroup_device_lost", "container_ldcache_stale"),
    "container_tools": ("container_cdi_spec_missing",),
    "allocation": ("scheduler_gpu_not_allocated",),
    "variables": (
        "conda_cuda_override_wrong", "cuda_visible_devices_masked", "cuda_visible_devices_uuid_unsupported", "env_hides_gpu", "env_slows_gpu",
    ),
    "pci": ("no_gpu", "gsp_firmware_failure", "amd_gpu_unsupported", "no_driver", "vfio_bound"),
    "kernel_driver": (
        "no_driver", "kernel_module_not_built", "secure_boot_unsigned_module", "device_nodes_missing", "uvm_not_loaded",
        "uvm_broken_after_suspend", "libcuda_not_installed", "uvm_hmm_init_failure",
    ),
    "kernel_log": ("gpu_errors_logged", "nvswitch_fatal_error"),
    "device_nodes": ("device_permission_denied", "device_nodes_missing", "container_cgroup_device_lost"),
    "fabric_manager": ("fabric_not_ready",),
    "fabric_parts": ("fabric_prerequisites_missing",),
    "nvml": (
        "gpu_count_mismatch", "gpu_not_responding", "confidential_computing_not_ready",
        "gpu_missing_from_cuda", "fabric_prerequisites_missing",
    ),
    "libcuda": (
        "cuda_init_fails", "forward_compat_unsupported_hw", "cuda_compat_lib_conflict", "libcuda_not_on_loader_path",
        "libcuda_is_stub", "libcuda_wrong_architecture", "mps_misconfigured", "libcuda_not_installed", "nvml_fails",
    ),
    "contexts": ("gpu_computes_wrong", "gpu_memory_insufficient"),
    "packages": (
        "python_version_unsupported", "jax_plugin_version_mismatch", "torch_torchvision_mismatch", "torch_torchaudio_mismatch",
        "nvidia_wheel_version_conflict", "mixed_conda_pip", "cupy_wheel_cuda_mismatch", "triton_ptxas_too_old", "c_compiler_missing",
        "python_headers_missing", "gpu_below_framework_minimum", "broken_release", "wheel_variant_mismatch", "numpy2_abi_mismatch",
        "protobuf_mismatch", "keras3_mismatch", "package_not_installable", "package_requirement_conflict", "two_copies_of_framework",
        "glibc_too_old", "cpu_lacks_avx",
    ),
    "frameworks": (
        "driver_too_old", "cuda_library_missing", "cudnn_missing", "cuda_libs_not_on_loader_path",
        "pip_nvidia_libs_not_on_path", "ld_library_path_shadowing", "cudnn_shadowed_by_system", "cudnn_wrong_major", "cudnn_version_mismatch",
        "cudnn_drops_gpu", "libdevice_not_found", "ptxas_not_found", "ptxas_too_old", "unexpected_library_loaded", "cuda_library_damaged",
        "cpu_only_build", "gpu_too_new_for_build", "gpu_too_old_for_build", "slow_ptx_jit", "jax_plugin_version_mismatch",
        "torch_torchvision_mismatch", "torch_torchaudio_mismatch", "extension_built_for_other_cuda", "extension_abi_mismatch",
        "extension_missing_arch", "gpu_too_old_for_triton", "triton_ptxas_too_old", "c_compiler_missing", "python_headers_missing",
        "jetson_needs_vendor_wheel", "framework_missing", "numpy2_abi_mismatch", "protobuf_mismatch", "keras3_mismatch",
        "two_copies_of_framework", "framework_files_damaged", "glibc_too_old", "cpu_lacks_avx", "framework_import_fails",
        "mkl_version_incompatible", "nccl_version_conflict", "all_reduce_failed", "smoke_ran_on_cpu", "smoke_wrong_result", "smoke_did_not_learn",
        "smoke_crashed", "smoke_hung", "smoke_loss_not_finite",
    ),
    "libraries": (
        "cuda_library_missing", "cudnn_missing", "cuda_libs_not_on_loader_path", "pip_nvidia_libs_not_on_path",
        "ld_library_path_shadowing", "cudnn_shadowed_by_system", "libdevice_not_found", "ptxas_not_found", "ptxas_too_old",
        "unexpected_library_loaded", "cuda_library_damaged", "extension_built_for_other_cuda", "extension_abi_mismatch", "extension_missing_arch",
        "triton_ptxas_too_old", "framework_files_damaged", "nccl_version_conflict",
    ),
    "smoke": (
        "framework_import_fails", "mkl_version_incompatible", "host_memory_insufficient", "all_reduce_failed", "smoke_ran_on_cpu",
        "smoke_wrong_result", "smoke_did_not_learn", "smoke_crashed", "smoke_hung", "gpu_slower_than_expected", "gpu_not_faster_than_cpu",
        "smoke_loss_not_finite",
    ),
    "loads": ("gpu_behind_its_siblings",),
    "script_folder": ("script_folder_hides_package",),
}  # fmt: skip
"""The rules that need a section of the snapshot, by its name: without it they end before they say anything."""
OF_TRAINING = frozenset(OF_SECTIONS["smoke"])
"""The rules that read a framework's smoke training."""
