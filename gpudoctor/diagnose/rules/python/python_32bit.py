from gpudoctor.derive import EnvironmentView, require_known
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.findings import DOWNLOAD, Action, Evidence, Fix, Problem, Problems, Rung, Severity

_WIDE_BITS = 64


@rule("GD648", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, predicts=False)
@advises(
    Fix(
        "Install a 64-bit Python, and create the environment with it: https://www.python.org/downloads/",
        needs=(DOWNLOAD,),
        action=Action.INSTALL_PACKAGE,
    )
)
@explains(
    ("python-version-unsupported", "package-not-installable", "no-cuda-wheel-for-platform", "framework-missing"),
    "No framework publishes wheels for a 32-bit Python.",
)
@explains(("libcuda-wrong-architecture", "framework-files-damaged"), "A 32-bit Python cannot load 64-bit libraries.")
@explains(TRAINING_FAILS, "A 32-bit Python cannot load a framework.")
def python_32bit(environment: EnvironmentView) -> Problems:
    """Python is a 32-bit build."""
    python = environment.python
    bits = require_known(python.bits)
    if bits >= _WIDE_BITS:
        return
    version = f" {python.version}" if isinstance(python.version, str) else ""
    yield Problem(
        message=f"Python{version} is a {bits}-bit build; TensorFlow, PyTorch and JAX publish 64-bit wheels only.",
        evidence=(Evidence("Python", f"{bits}-bit", python.why),),
    )
