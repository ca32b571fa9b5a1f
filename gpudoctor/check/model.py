"""The options of a check."""

from __future__ import annotations

import msgspec

from gpudoctor.findings import Policy
from gpudoctor.probe.inventory import ProbeScope


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for. Times are in seconds."""

    policy: Policy = Policy()
    python: str | None = None
    """The interpreter or environment folder to examine; None: the first of five places."""
    cwd: str | None = None
    """The folder of the user's script."""
    timeout: float = 600.0
    """How long the whole check may take."""
    wait: float = 0.0
    """How long to wait for what appears by itself after boot; 0: not at all."""
    compat: str | None = None
    """A folder of newer compatibility tables."""
    identify: bool = False
    """Keep host and user names."""
    force: bool = False
    """Train even on GPUs in use."""
    root: str = "/"
    """The root of the file system to examine: a recorded tree in tests."""

    @property
    def scope(self) -> ProbeScope:
        """What of them says what to look at."""
        return ProbeScope(
            python=self.python,
            node=self.policy.node,
            root=self.root,
            cwd=self.cwd,
            identify=self.identify,
            cpu_builds=self.policy.allow_cpu,
        )
