from gpudoctor.derive import MachineView, require_known
from gpudoctor.diagnose.advice.shell import prepend_library_path
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.diagnose.rules.platform.container import product_name
from gpudoctor.findings import ROOT, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.snapshot import DriverFile, Libcuda, LoaderCache, Missing, Nvml, is_absent

_RUN_LDCONFIG = Fix("Run ldconfig in the container, as root", "ldconfig", (ROOT,))
_SET_BY_APPTAINER = "/.singularity.d"


@rule("GD304", severity=Severity.ERROR, breaks=Rung.LIBCUDA)
@explains(("libcuda-not-on-loader-path",), "The loader's cache does not list the mounted libcuda.")
@explains(("cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "Without libcuda, CUDA finds no GPU.")
@explains(("required-gpus-missing",), "The container has no usable GPU.")
def container_ldcache_stale(machine: MachineView) -> Problems:
    """Loader does not find the driver libraries mounted in the container."""
    container = machine.inside_container
    mounted = require_known(require_known(machine.observed.container).driver_files)
    unfound = _unfound_files(mounted, "libcuda", machine.observed.libcuda) + _unfound_files(mounted, "libnvidia-ml", machine.observed.nvml)
    if not unfound:
        return
    cache = machine.observed.loader_cache
    cached = ", ".join(cache.driver_files) or "neither" if isinstance(cache, LoaderCache) else cache.reason
    folder = unfound[0].path.rpartition("/")[0]
    verb, them = singular_or_plural(len(unfound), ("is", "it"), ("are", "them"))
    yield Problem(
        message=f"{' and '.join(map(_file_name, unfound))} {verb} mounted in {folder}, but the loader does not find {them}.",
        evidence=(
            *(Evidence(f"mounted by {product_name(container.runtime)}", file.path, "/proc/self/mountinfo") for file in unfound),
            Evidence("driver libraries in the loader's cache", cached, "/etc/ld.so.cache"),
        ),
        fixes=(
            Fix("Restore the library path that Apptainer sets", prepend_library_path(folder))
            if folder.startswith(_SET_BY_APPTAINER)
            else _RUN_LDCONFIG,
        ),
    )


def _unfound_files(mounted: tuple[DriverFile, ...], library: str, section: Libcuda | Nvml | Missing) -> tuple[DriverFile, ...]:
    """Return the mounted files of a library that the loader does not find."""
    if not is_absent(section):
        return ()
    return tuple(file for file in mounted if _file_name(file).startswith(f"{library}.so"))


def _file_name(file: DriverFile) -> str:
    return file.path.rpartition("/")[2]
