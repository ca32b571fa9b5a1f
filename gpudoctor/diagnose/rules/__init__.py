"""Every rule, in the order of its code."""

from __future__ import annotations

from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules.access import container_no_gpu_access, cuda_init_fails, device_permission_denied, driver_hung
from gpudoctor.diagnose.rules.driver import driver_library_mismatch, driver_too_old, no_driver
from gpudoctor.diagnose.rules.environment import cpu_only_build, cuda_visible_devices_masked, framework_missing
from gpudoctor.diagnose.rules.hardware import gpu_count_mismatch, gpu_fell_off_bus, no_gpu
from gpudoctor.diagnose.rules.smoke import smoke_crashed, smoke_did_not_learn, smoke_hung, smoke_ran_on_cpu, smoke_wrong_result

RULES: tuple[Rule, ...] = (
    no_gpu,
    gpu_count_mismatch,
    gpu_fell_off_bus,
    no_driver,
    driver_library_mismatch,
    driver_too_old,
    device_permission_denied,
    driver_hung,
    cuda_init_fails,
    container_no_gpu_access,
    cpu_only_build,
    framework_missing,
    cuda_visible_devices_masked,
    smoke_ran_on_cpu,
    smoke_wrong_result,
    smoke_did_not_learn,
    smoke_crashed,
    smoke_hung,
)
