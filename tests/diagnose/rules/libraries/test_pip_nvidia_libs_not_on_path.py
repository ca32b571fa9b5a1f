from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import FoundBy, Place
from tests.diagnose.rules.examined import SITE, environment, only, outcome, use


def test_the_environments_own_package_is_nearer_than_a_toolkit() -> None:
    name = "libcusolver.so.11"
    places = (Place(f"/usr/local/cuda/lib64/{name}", "toolkit"), Place(f"{SITE}/nvidia/cusolver/lib/{name}", "wheel", FoundBy.WHEEL))
    snapshot = environment(use("cusolver", name, elsewhere=places))
    assert f"{SITE}/nvidia/cusolver/lib" in only(snapshot, "pip-nvidia-libs-not-on-path").message
    assert outcome(snapshot, "cuda-libs-not-on-loader-path") is OutcomeKind.PASSED
