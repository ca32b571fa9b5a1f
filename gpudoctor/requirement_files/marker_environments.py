"""Where markers hold, as sets of platforms and Python versions: those of a lock file for all platforms join on every way to a package."""

from __future__ import annotations

import functools

from gpudoctor.derive import wheel_platform
from gpudoctor.derive.specifiers import allows_some, marker_holds

_PLATFORM_MARKERS = {
    "linux_x86_64": ("linux", "x86_64"),
    "linux_aarch64": ("linux", "aarch64"),
    "win_amd64": ("win32", "AMD64"),
    "win_arm64": ("win32", "ARM64"),
    "macos_arm64": ("darwin", "arm64"),
    "macos_x86_64": ("darwin", "x86_64"),
}
"""sys_platform and platform_machine; each system has two machines."""
_KNOWN_PYTHONS = tuple(f"3.{minor}" for minor in range(8, 17))


class MarkerEnvironments:
    """The platforms with each Python that a lock file allows. A set of them is a number with one bit each."""

    def __init__(self, python: str) -> None:
        self._pythons = [one for one in _KNOWN_PYTHONS if allows_some(one, python)] or list(_KNOWN_PYTHONS)
        self._each = [(platform, one) for platform in _PLATFORM_MARKERS for one in self._pythons]
        self.all = (1 << len(self._each)) - 1
        self.where = functools.cache(self._environments_of_marker)

    def _environments_of_marker(self, marker: str) -> int:
        """Where a marker holds or may hold."""
        return sum(
            1 << bit for bit, one in enumerate(self._each) if not marker or marker_holds(marker, _marker_variables(*one), ()) is not False
        )

    def marker(self, where: int) -> str:
        """A marker that holds in these environments and in no other; empty for all."""
        if where == self.all:
            return ""
        found: dict[tuple[str, str], list[str]] = {}
        for bit, (platform, python) in enumerate(self._each):
            if where >> bit & 1:
                found.setdefault(_PLATFORM_MARKERS[platform], []).append(python)
        joined: dict[tuple[str, str], list[str]] = {}
        for (system, machine), pythons in found.items():
            joined.setdefault((system, self._python_condition(pythons)), []).append(machine)
        parts = [
            f"sys_platform == '{system}'" + (f" and platform_machine == '{machines[0]}'" if len(machines) == 1 else "") + among
            for (system, among), machines in joined.items()
        ]
        return " or ".join(f"({part})" for part in parts) or "python_version < '2'"

    def _python_condition(self, pythons: list[str]) -> str:
        if len(pythons) == len(self._pythons):
            return ""
        return " and (" + " or ".join(f"python_version == '{python}'" for python in pythons) + ")"


@functools.cache
def _marker_variables(platform: str, python: str) -> dict[str, str]:
    """The variables of markers on a platform under CPython."""
    interpreter = {"python_version": python, "python_full_version": f"{python}.0"}
    return {
        **wheel_platform.platform_markers(platform),
        **interpreter,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
