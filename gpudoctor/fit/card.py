"""A GPU as fit needs it: memory, capability, and the rates it computes, reads and copies at."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gpudoctor.fit.accounting import peak_memory
from gpudoctor.fit.model import NO_ACTIVATIONS, Model
from gpudoctor.fit.run_options import PRECISIONS, Asked

_PARAMETER_MODEL = Model(name="", parameters=10**6, trainable=10**6, full=NO_ACTIVATIONS, half=NO_ACTIVATIONS)
VOLTA = (7, 0)
_TURING_CAPABILITY = (7, 5)


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU, observed or from the table."""

    name: str
    available: int
    """Bytes that a program can use."""
    total: int
    """Bytes by the vendor."""
    observed: bool
    """Whether `available` is what was free on this machine; otherwise it is derived from the nominal size."""
    capability: tuple[int, int] | None = None
    flops: Mapping[str, float] = {}
    """FLOP/s by precision: fp32, tf32, bf16, fp16."""
    measured: bool = False
    """Whether `flops` and `bandwidth` were measured on it; otherwise they are published peaks."""
    bandwidth: float | None = None
    """Bytes a second of its memory."""
    host_rate: float | None = None
    """Bytes a second from the host's memory."""
    host_basis: str = ""
    """How the host rate is known: "PCIe 4.0 x16", "measured"."""
    note: str = ""
    """What the table says of it, a phrase: "two GPUs on a board"."""
    against_cpu: Mapping[tuple[str, int], float] = {}
    """How many times as fast as the CPU it trained, by network and batch."""

    def has_capability(self, oldest: tuple[int, int]) -> bool:
        """Whether it computes in a precision that came with this compute capability; True if its own is unknown."""
        return self.capability is None or self.capability >= oldest

    @property
    def tensor_core_precisions(self) -> tuple[str, ...]:
        """The precisions of its tensor cores; of Turing's chips only some have any, those with a published rate."""
        capability = self.capability or (0, 0)
        if capability < VOLTA or (capability == _TURING_CAPABILITY and "fp16" not in self.flops):
            return ()
        return tuple(name.upper() for name in ("fp16", "bf16", "tf32", "fp8") if PRECISIONS[name].capability <= capability)

    def parameters(self, asked: Asked) -> int:
        """Return how many parameters can be trained, all of them, before activations."""
        counted = peak_memory(_PARAMETER_MODEL, msgspec.structs.replace(asked, lora=0, infer=False, weights=""), 1)
        return max(0, self.available - counted.reserve) * _PARAMETER_MODEL.parameters // (counted.total - counted.reserve)
