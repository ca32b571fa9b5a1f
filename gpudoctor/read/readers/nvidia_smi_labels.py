"""The labels of `nvidia-smi -q` and the elements of its XML that state a fact: as nvidia-smi 470, 535 and 550 and NVIDIA's nvsmi_device DTDs have them.

A label is written as in XML, in lower case: "FB Memory Usage" is fb_memory_usage.
"""

from __future__ import annotations

GPU_LABELS = {
    "product_name": "gpu",
    "gpu_uuid": "uuid",
    "uuid": "uuid",
    "minor_number": "minor",
    "persistence_mode": "persistence",
    "compute_mode": "compute mode",
    "performance_state": "performance state",
    "gsp_firmware_version": "gsp firmware",
    "gpu_recovery_action": "recovery action",
    "mig_mode/current": "mig mode",
    "mig_mode/current_mig": "mig mode",
    "mig_mode/pending": "mig pending",
    "mig_mode/pending_mig": "mig pending",
    "ecc_mode/current": "ecc mode",
    "ecc_mode/current_ecc": "ecc mode",
    "ecc_mode/pending": "ecc pending",
    "ecc_mode/pending_ecc": "ecc pending",
    "fb_memory_usage/total": "memory total",
    "fb_memory_usage/used": "memory used",
    "fb_memory_usage/free": "memory free",
    "fb_memory_usage/reserved": "memory reserved",
    "utilization/gpu": "utilization",
    "utilization/gpu_util": "utilization",
    "pcie_generation/max": "link generation max",
    "pcie_generation/current": "link generation",
    "pcie_generation/device_max": "link generation own",
    "pcie_gen/max_link_gen": "link generation max",
    "pcie_gen/current_link_gen": "link generation",
    "pcie_gen/max_device_link_gen": "link generation own",
    "link_width/max": "link width max",
    "link_width/current": "link width",
    "link_widths/max_link_width": "link width max",
    "link_widths/current_link_width": "link width",
    "gpu_virtualization_mode/virtualization_mode": "virtualization",
    "vgpu_software_licensed_product/license_status": "licence",
    "vgpu_software_licensed_product/product_name": "licensed product",
    "vgpu_software_licensed_product/licensed_product_name": "licensed product",
    "gpu_reset_status/reset_required": "reset required",
    "gpu_reset_status/drain_and_reset_recommended": "drain recommended",
    "single_bit_ecc": "retired single",
    "multiple_single_bit_retirement/retired_count": "retired single",
    "double_bit_ecc": "retired double",
    "double_bit_retirement/retired_count": "retired double",
    "pending_page_blacklist": "retirement pending",
    "retired_pages/pending": "retirement pending",
    "pending_blacklist": "retirement pending",
    "pending_retirement": "retirement pending",
    "remapped_rows/correctable_error": "remapped correctable",
    "remapped_rows/uncorrectable_error": "remapped uncorrectable",
    "remapped_rows/pending": "remap pending",
    "remapped_rows/remapping_failure_occurred": "remap failed",
    "remapped_row_corr": "remapped correctable",
    "remapped_row_unc": "remapped uncorrectable",
    "remapped_row_pending": "remap pending",
    "remapped_row_failure": "remap failed",
    "aggregate/sram_threshold_exceeded": "sram threshold exceeded",
    "gpu_current_temp": "temperature",
    "gpu_temp": "temperature",
    "gpu_shutdown_temp": "temperature shutdown",
    "gpu_temp_max_threshold": "temperature shutdown",
    "gpu_slowdown_temp": "temperature slowdown",
    "gpu_temp_slow_threshold": "temperature slowdown",
    "power_readings/power_draw": "power",
    "power_readings/enforced_power_limit": "power limit",
    "power_readings/default_power_limit": "power limit default",
    "gpu_power_readings/power_draw": "power",
    "gpu_power_readings/average_power_draw": "power",
    "gpu_power_readings/instant_power_draw": "power",
    "gpu_power_readings/current_power_limit": "power limit",
    "gpu_power_readings/default_power_limit": "power limit default",
    "fabric/state": "fabric state",
    "fabric/status": "fabric status",
    "fabric/cliqueid": "fabric clique",
    "fabric/clusteruuid": "fabric cluster",
    "health/summary": "fabric health summary",
    "health/bandwidth": "fabric health bandwidth",
    "health/route_recovery_in_progress": "fabric health route recovery",
    "health/route_unhealthy": "fabric health route unhealthy",
    "health/access_timeout_recovery": "fabric health access timeout",
    "health/incorrect_configuration": "fabric health configuration",
}
"""The keys of the facts, by label, or by section and label where only both tell."""

MACHINE_LABELS = {
    "driver_version": "driver",
    "kmd_version": "driver",
    "cuda_version": "cuda served",
    "cuda_umd_version": "cuda served",
}
"""The keys of the facts about no particular GPU."""
UNCORRECTED_LABELS = ("double_bit", "sram_uncorrectable", "dram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_secded")
"""Counters whose sum is a GPU's uncorrected errors; of the section Double Bit, the total."""
CLOCK_REASON_LABELS = ("clocks_throttle_reasons", "clocks_event_reasons")
"""The section of the clock's reasons. In XML its name in the singular begins each label."""
PROCESS_LABELS = {
    "process_id": "pid",
    "pid": "pid",
    "type": "type",
    "name": "name",
    "process_name": "name",
    "used_gpu_memory": "memory",
    "used_memory": "memory",
}
INSTANCE_LABELS = {"index": "place", "gpu_instance_id": "gi", "compute_instance_id": "ci", "used": "used", "total": "total"}
"""Parts of what is stated of a process and of a MIG instance, in the order in which nvidia-smi prints them but for used and total."""
