"""cuDNN, which opens its own parts."""

from __future__ import annotations

from gpudoctor.children.own.xray.components import cudnn_parts
from gpudoctor.children.own.xray.patient import Patient
from gpudoctor.elf.loader import LoadedObject


def open_cudnn(patient: Patient, caller: LoadedObject, major: str) -> None:
    """Open the library and its parts."""
    opening = patient.open(f"libcudnn.so.{major}", caller, vital=True)
    open_parts(patient, None if opening.missing else opening.resolutions[0].found, major)


def open_parts(patient: Patient, library: LoadedObject | None, major: str) -> None:
    """Open the parts of a cuDNN that was found."""
    for part in cudnn_parts(major) if library is not None else ():
        patient.open(part, library, vital=part.startswith(("libcudnn_ops", "libcudnn_cnn", "libcudnn_graph")))  # type: ignore[arg-type]
