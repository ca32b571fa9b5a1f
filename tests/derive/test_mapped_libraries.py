"""Files that a process really mapped, compared with the X-ray."""

from __future__ import annotations

import pytest

from gpudoctor.derive.mapped_libraries import unexpected_libraries
from gpudoctor.snapshot import Asking, Cause, FrameworkLibraries, LibraryFile, LibraryUse, Missing


def seen(real: str | None) -> FrameworkLibraries:
    nowhere = Missing(Cause.ABSENT, "nowhere")
    file = LibraryFile("/env/lib/libcudart.so.12", real=real) if real else nowhere
    return FrameworkLibraries(
        "tensorflow", uses=(LibraryUse("cudart", "libcudart.so.12", "/env/tf.so", Asking.OPENED, vital=True, file=file),)
    )


@pytest.mark.parametrize(
    ("real", "mapped", "instead"),
    [
        ("/env/lib/libcudart.so.12", ("/env/lib/libcudart.so.12",), []),
        ("/cuda/libcudart.so.12.4.127", ("/cuda/libcudart.so.12.4.127",), []),
        ("/env/lib/libcudart.so.12", (), []),
        ("/env/lib/libcudart.so.12", ("/env/lib/libcudart.so.13", "/x/libcudart_static.so.12"), []),
        ("/env/lib/libcudart.so.12", ("/cuda/libcudart.so.12.4.127",), ["/cuda/libcudart.so.12.4.127"]),
        ("/env/lib/libcudart.so.12", ("/cuda/libcudart.so.12", "/env/lib/libcudart.so.12"), []),
        (None, ("/opt/libcudart.so.12",), ["/opt/libcudart.so.12"]),
    ],
)
def test_another_file_with_the_expected_name_is_reported(real: str | None, mapped: tuple[str, ...], instead: list[str]) -> None:
    assert [one.mapped for one in unexpected_libraries(seen(real), mapped)] == instead


def test_without_a_prediction_nothing_is_unexpected() -> None:
    assert not list(unexpected_libraries(FrameworkLibraries("torch"), ("/opt/libcudart.so.12",)))
