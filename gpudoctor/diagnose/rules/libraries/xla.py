"""GD4: what XLA needs to compile for a GPU: NVIDIA's device library and its assembler."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.library_facts import asked, uses
from gpudoctor.diagnose.rule import not_applicable
from gpudoctor.diagnose.rules.libraries.loading import bring
from gpudoctor.findings import Evidence, Fix, Severity
from gpudoctor.snapshot import Cause, Fact, Framework, LibraryUse, Missing, Python
from gpudoctor.versions import Version

FLAG = "--xla_gpu_cuda_data_dir="


_KERAS_COMPILES = Version(2, 11)
"""Since this TensorFlow, Keras compiles with XLA unasked: its optimizers first, whole models with Keras 3."""


_ADAPTS = {"tensorflow": Version(2, 21), "jax": Version(0, 10)}
"""Releases whose binaries were seen to write PTX for the ptxas at hand, and to pass over one before 11.8; JAX's also to hold a compiler."""


def _release(framework: Framework) -> Version | None:
    return versions.parse(framework.version.value) if isinstance(framework.version, Fact) else None


def _adapts(framework: Framework) -> bool:
    """Whether XLA in this release is known to live with another ptxas."""
    version, since = _release(framework), _ADAPTS.get(framework.name)
    return version is not None and since is not None and version >= since


def _wanted(part: str, framework: Framework, machine: MachineView, hardware: Hardware) -> LibraryUse:
    """How XLA looks for `part`; ends the rule where the framework has no XLA, or none that was seen."""
    found = next((use for use in uses(framework, machine, hardware) if use.component == part), None)
    if found is None:
        not_applicable(f"the X-ray saw no XLA in {framework.name}")
    return found


def _harm(framework: Framework) -> Severity | None:
    """An error where training compiles with XLA unasked: all of JAX, and Keras in newer releases of TensorFlow."""
    version = _release(framework)
    if framework.name == "tensorflow" and version is not None and version < _KERAS_COMPILES:
        return Severity.WARNING
    return None


def _lost(use: LibraryUse) -> bool:
    return isinstance(use.file, Missing) and use.file.cause is Cause.ABSENT


def _ways(use: LibraryUse, framework: Framework, machine: MachineView, python: Python | Missing) -> tuple[Fix, ...]:
    """Name the folder to XLA where there is one, else bring the package."""
    if not use.elsewhere:
        return bring(framework, machine, (use,), python)
    root = use.elsewhere[0].path.removesuffix("/bin/ptxas").removesuffix("/nvvm/libdevice/libdevice.10.bc")
    return (Fix("Name its folder to XLA", f'export XLA_FLAGS={FLAG}{shell_path(root)}" $XLA_FLAGS"'),)


def _places(use: LibraryUse) -> tuple[Evidence, ...]:
    return (*asked((use,)), *(Evidence("on disk", place.path, place.why) for place in use.elsewhere[:3]))


def _without_a_compiler(framework: Framework) -> None:
    if framework.name == "jax" and _adapts(framework):
        not_applicable("this release of JAX's plugin carries a compiler inside")
