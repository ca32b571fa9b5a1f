from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from tests.machines.store import recorded
from tests.machines.xrayed import file, opened, with_libraries
from tests.shipped import shared_matrix

WHEELS = "/recorded/environment/lib/python3.11/site-packages/nvidia"


PATH = f"{WHEELS}/cudnn/lib/libcudnn.so.9"


@pytest.mark.parametrize(
    ("owners", "mixed"),
    [
        (("nvidia-cudnn-cu13",), True),
        (("nvidia-cudnn-cu12",), False),
        (("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"), False),
        (("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"), False),
    ],
)
def test_only_a_wheel_that_is_known_is_for_another_cuda(owners: tuple[str, ...], mixed: bool) -> None:
    snapshot = with_libraries(recorded("healthy-one"), opened("cudnn", "libcudnn.so.9", file(PATH, "9.28.0", *owners)))
    found = diagnose(snapshot, shared_matrix(), Policy()).findings
    assert ("cuda-mixed-versions" in [finding.name for finding in found]) is mixed


@pytest.mark.parametrize(("folder", "owner", "mixed"), [("cu13", "nvidia-cusparse", True), ("cusparse", "nvidia-cusparse-cu12", False)])
def test_the_folder_of_cuda_13s_wheels_tells_too(folder: str, owner: str, mixed: bool) -> None:
    path = f"{WHEELS}/{folder}/lib/libcusparse.so.12"
    snapshot = with_libraries(recorded("healthy-one"), opened("cusparse", "libcusparse.so.12", file(path, "12.7.10.12", owner)))
    found = diagnose(snapshot, shared_matrix(), Policy()).findings
    assert ("cuda-mixed-versions" in [finding.name for finding in found]) is mixed
