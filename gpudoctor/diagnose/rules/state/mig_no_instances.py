from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.system import ask_administrator
from gpudoctor.diagnose.rule import CUDA_FAILS, Join, explains, rule
from gpudoctor.findings import Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity


@rule("GD708", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.DRIVER)
@explains(("gpu-missing-from-cuda",), "CUDA lists only the instances of a GPU in MIG mode.", Join.GPU)
@explains(CUDA_FAILS, "cuInit returns 100 if the only GPU is in MIG mode without an instance.")
def mig_no_instances(gpu: GpuView) -> Problems:
    """MIG is on, but the GPU has no MIG instance."""
    if not gpu.mig_enabled or gpu.mig_instances:
        return
    yield Problem(
        message=f"{gpu.label} is in MIG mode but has no MIG instance, so no program can use it.",
        evidence=(Evidence("MIG mode", "enabled", "nvmlDeviceGetMigMode"), Evidence("MIG instances", "0", "NVML")),
        fixes=_fixes(gpu),
    )


def _fixes(gpu: GpuView) -> tuple[Fix, ...]:
    if gpu.machine.site.container:
        return (ask_administrator("Create an instance on the host, then start the container with its UUID in NVIDIA_VISIBLE_DEVICES."),)
    return (
        Fix("Turn MIG off to use the whole GPU", f"sudo nvidia-smi -i {gpu.selector} -mig 0"),
        Fix(
            "Create one instance of the whole GPU (`nvidia-smi mig -lgip` lists the profiles)",
            f"sudo nvidia-smi mig -i {gpu.selector} -cgi 0 -C",
            kind=FixKind.INSTEAD,
        ),
    )
