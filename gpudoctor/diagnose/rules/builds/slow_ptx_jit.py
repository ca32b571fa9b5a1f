from gpudoctor.derive import Driver, FrameworkView, require_known
from gpudoctor.derive.gpu_code import Fit, compiles_ptx
from gpudoctor.diagnose.advice.gpu_code import code_evidence, models_text
from gpudoctor.diagnose.advice.installing import install_pick
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity

_ENLARGE_CACHE = "export CUDA_CACHE_MAXSIZE=4294967296 CUDA_CACHE_PATH=$HOME/.nv/ComputeCache"


@rule("GD507", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, bears_on_training=True)
@explains(TRAINING_FAILS, "Compiling all kernels can take longer than the stage's time limit.", Join.FRAMEWORK)
def slow_ptx_jit(framework: FrameworkView) -> Problems:
    """First run is slow: the build has only PTX for this GPU."""
    portable = framework.gpus_with(Fit.PTX)
    if not portable:
        return
    machine, cuda, driver = framework.machine, require_known(framework.cuda_or_missing), framework.machine.driver_or_missing
    if isinstance(driver, Driver) and compiles_ptx(driver, cuda, machine.matrix) is False:
        return  # driver-too-old says so
    code = framework.code
    cache = Fix("Enlarge the cache of compiled kernels to 4 GiB, in a persistent folder", _ENLARGE_CACHE)
    newer = pick_release(machine, framework.name)
    if newer is None or newer.release == framework.release:
        fixes: tuple[Fix, ...] = (cache,)
    else:
        update = install_pick(machine, framework.name, newer, title=f"Install {newer.name}, which has kernels for this GPU")
        fixes = (update, Fix(cache.title, cache.command, kind=FixKind.INSTEAD))
    yield Problem(
        message=f"{framework.label} has only PTX ({' '.join(code.ptx or ())}) for {models_text(portable)}; "
        "the driver compiles it at first use, which can take 30 minutes.",
        evidence=(*code_evidence(code, portable), Evidence("CUDA of the PTX", str(cuda.version), cuda.where)),
        fixes=fixes,
    )
