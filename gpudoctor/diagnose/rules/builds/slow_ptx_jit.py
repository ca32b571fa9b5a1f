from gpudoctor.derive import Driver, FrameworkView, known
from gpudoctor.derive.gpu_code import Fit, compiles
from gpudoctor.diagnose.advice.gpu_code import code_evidence, models
from gpudoctor.diagnose.advice.installing import install
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity

_KEEP_COMPILED = "export CUDA_CACHE_MAXSIZE=4294967296 CUDA_CACHE_PATH=$HOME/.nv/ComputeCache"


@rule("GD507", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, bears_on_training=True)
@explains(TRAINING_FAILS, "Compiling all kernels can take longer than the stage's time limit.", Join.FRAMEWORK)
def slow_ptx_jit(framework: FrameworkView) -> Problems:
    """First run is slow: the build has only PTX for this GPU."""
    portable = framework.gpus_with(Fit.PTX)
    if not portable:
        return
    machine, cuda, driver = framework.machine, known(framework.cuda_or_missing), framework.machine.driver_or_missing
    if isinstance(driver, Driver) and compiles(driver, cuda, machine.matrix) is False:
        return  # driver-too-old says so
    code = framework.code
    cache = Fix("Enlarge the cache of compiled kernels to 4 GiB, in a persistent folder", _KEEP_COMPILED)
    newer = pick(machine, framework.name)
    if newer is None or newer.release == framework.release:
        fixes: tuple[Fix, ...] = (cache,)
    else:
        update = install(machine, framework.name, newer, title=f"Install {newer.name}, which has kernels for this GPU")
        fixes = (update, Fix(cache.title, cache.command, kind=FixKind.INSTEAD))
    yield Problem(
        message=f"{framework.label} has only PTX ({' '.join(code.ptx or ())}) for {models(portable)}; "
        "the driver compiles it at first use, which can take 30 minutes.",
        evidence=(*code_evidence(code, portable), Evidence("CUDA of the PTX", str(cuda.version), cuda.where)),
        fixes=fixes,
    )
