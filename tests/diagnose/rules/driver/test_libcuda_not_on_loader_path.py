from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Host, Missing, Platform
from tests.builders import ABSENT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import NOT_FOUND, PYTHON, on_disk, own

RULE = "libcuda-not-on-loader-path"


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own())}, OutcomeKind.FOUND),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own("/opt/libcuda.so.550.163.01"))}, OutcomeKind.FOUND),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own("/usr/local/cuda/lib64/stubs/libcuda.so"))}, OutcomeKind.NOT_APPLICABLE),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own(architecture="aarch64"))}, OutcomeKind.NOT_APPLICABLE),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk()}, OutcomeKind.NOT_APPLICABLE),
        ({"libcuda": NOT_FOUND, "cuda_files": ABSENT}, OutcomeKind.COULD_NOT_TELL),
        ({"libcuda": NOT_FOUND}, OutcomeKind.NOT_ASKED),
        ({"libcuda": Missing(Cause.DENIED, "Permission denied"), "cuda_files": on_disk(own())}, OutcomeKind.COULD_NOT_TELL),
        ({"cuda_files": on_disk(own())}, OutcomeKind.PASSED),
        ({"libcuda": NOT_FOUND, "cuda_files": on_disk(own()), "host": Host(platform=Platform.WSL2)}, OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_libcuda_beside_the_loaders_path(changes: dict[str, Any], kind: OutcomeKind) -> None:
    assert kinds_of(RULE, machine(1, python=PYTHON, **changes)) == [kind]


def test_a_missing_link_is_made_and_a_folder_is_told() -> None:
    def commands(path: str) -> list[str]:
        (finding,) = findings_of(RULE, machine(1, python=PYTHON, libcuda=NOT_FOUND, cuda_files=on_disk(own(path))))
        return [fix.command for fix in finding.fixes]

    assert commands("/opt/driver/libcuda.so.550.163.01") == ["sudo ldconfig /opt/driver"]
    told, here = commands("/opt/driver/libcuda.so.1")
    assert told == "echo /opt/driver | sudo tee /etc/ld.so.conf.d/nvidia-libcuda.conf && sudo ldconfig"
    assert here.startswith('export LD_LIBRARY_PATH=/opt/driver"$')


def test_of_two_files_the_first_is_told() -> None:
    files = on_disk(own("/opt/driver/libcuda.so.1"), own("/srv/driver/libcuda.so.1"))
    (finding,) = findings_of(RULE, machine(1, python=PYTHON, libcuda=NOT_FOUND, cuda_files=files))
    assert finding.message == "/opt/driver/libcuda.so.1 is installed, but /opt/driver is not on the loader's path."
    assert "/opt/driver" in finding.fixes[0].command
