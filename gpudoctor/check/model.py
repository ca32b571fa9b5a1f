"""What goes into a check."""

from __future__ import annotations

import msgspec

from gpudoctor.findings import Policy


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for. Times are in seconds."""

    policy: Policy = Policy()
    python: str | None = None
    """The interpreter, or the environment's folder, to examine; None chooses (design: first of five)."""
    cwd: str | None = None
    """The folder of the user's script."""
    timeout: float = 600.0
    """By when the whole check is over."""
    wait: float = 0.0
    """How long to wait for what comes by itself after a boot; 0: not at all."""
    compat: str | None = None
    """A folder of newer compatibility tables."""
    identify: bool = False
    """Keep host and user names."""
    force: bool = False
    """Train also on a GPU that others use."""
    root: str = "/"
    """The root of the file system to look at: a recorded tree in tests."""

    @property
    def node(self) -> bool:
        """Whether the machine alone is looked at."""
        return self.policy.node
