from gpudoctor.derive import Driver, MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver import driver_floor_for_builds, update_driver
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.diagnose.rules.driver.loaded_libcuda import kernel_driver_text, kernel_module_evidence, libcuda_evidence, remove_compat
from gpudoctor.findings import COMPAT_PACKAGE, ROOT, Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import SUPPOSED
from gpudoctor.status_codes import CudaError

_REMOVE_COMPAT = Fix(
    "Remove the cuda-compat package: programs then load the driver's own libcuda.", needs=(ROOT,), removes=(COMPAT_PACKAGE,)
)


@rule("GD216", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.ENVIRONMENT, predicts=False)
@explains(CUDA_FAILS, "A cuda-compat libcuda does not start on a GPU without forward compatibility.")
def forward_compat_unsupported_hw(machine: MachineView) -> Problems:
    """cuda-compat libcuda is loaded on a GPU that does not support it."""
    driver = machine.driver_or_missing
    if machine.observed.origin == SUPPOSED and isinstance(driver, Driver) and driver.forward:
        yield from _assumed_problems(machine, driver)
        return
    if machine.cuda_init.code != CudaError.COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return
    path = library.loaded_path(machine.libcuda)
    yield Problem(
        message=f"{path or 'The loaded libcuda'} is newer than {kernel_driver_text(machine)}, and this GPU does not support forward compatibility "
        "(cuInit returns 804).",
        evidence=(*libcuda_evidence(machine), kernel_module_evidence(machine)),
        fixes=remove_compat(path, machine),
    )


def _assumed_problems(machine: MachineView, driver: Driver) -> Problems:
    """Report a described GPU on which NVIDIA does not support cuda-compat."""
    needed = driver_floor_for_builds(machine)
    update = (update_driver(machine, needed),) if needed is not None and driver.version < needed else ()
    for gpu in machine.gpus:
        name = gpu.observed.name
        product = machine.matrix.gpu(name) if isinstance(name, str) else None
        if product is not None and product.forward_compatible is False:
            yield Problem(
                message=f"{product.name} does not support forward compatibility, so cuda-compat does not start on it.",
                evidence=(
                    Evidence("cuda-compat", str(driver.cuda_served), driver.cuda_where),
                    Evidence("kind of GPU", product.kind, citation(product.source)),
                ),
                fixes=(_REMOVE_COMPAT, *update),
            )
