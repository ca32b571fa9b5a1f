"""Changes to recorded machines for systems that the probes do not run on: a Mac, which is only ever described."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot import Cause, Distribution, Host, Missing, Packages, Platform, Snapshot

UNSTATED = Missing(Cause.NOT_STATED, "nobody said")


def on_a_mac(snapshot: Snapshot) -> Snapshot:
    """A Mac with the same Python environment, without the sections that only Linux has."""
    kept = {"version", "created", "origin", "host", "python", "packages", "frameworks", "remarks", "container", "variables"}
    sections = {field.name: UNSTATED for field in msgspec.structs.fields(snapshot) if field.name not in kept}
    return msgspec.structs.replace(snapshot, origin="text", host=Host(platform=Platform.MACOS, architecture="arm64"), **sections)


def on_a_mac_with_metal(snapshot: Snapshot) -> Snapshot:
    mac = on_a_mac(snapshot)
    assert isinstance(mac.packages, Packages)
    metal = Distribution("tensorflow-metal", "1.2.0", mac.packages.distributions[0].where)
    return msgspec.structs.replace(mac, packages=Packages((*mac.packages.distributions, metal)))
