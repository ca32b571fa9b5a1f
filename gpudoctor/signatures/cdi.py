"""What container engines say of the Container Device Interface (CDI), by which a container gets its GPU."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

CDI = (
    # https://github.com/NVIDIA/nvidia-container-toolkit/issues/146 and /issues/63, https://github.com/moby/moby/issues/47633
    Signature(
        r"stat nvidia\.com/gpu=\S{1,60} no such file",
        ("container-cdi-spec-incompatible",),
        "this Podman does not know CDI devices",
        ("Error: stat nvidia.com/gpu=all: no such file or directory",),
    ),
    # pkg/cdi/spec.go of container-device-interface; https://github.com/NVIDIA/nvidia-container-toolkit/issues/1860
    Signature(
        r"failed to unmarshal CDI Spec\b|\bCDI [Ss]pec\b[^\n]{0,160}\bjson: unknown field\b",
        ("container-cdi-spec-incompatible",),
        "the container engine cannot read this version of the CDI specification",
        ('failed to unmarshal CDI Spec: error unmarshaling JSON: while decoding JSON: json: unknown field "additionalGids"',),
    ),
    Signature(
        r"failed to stat CDI host device|(?:statfs|error stat'ing file `?|cannot stat [`'\"]?|stat) ?/\S{1,200}/lib\w{0,20}(?:cuda|nvidia)\S{0,60}\.so\.\d{3}\.\S{1,20} (?i:no such file)",
        ("container-cdi-spec-stale",),
        "the CDI specification names files that no longer exist",
        (
            'failed to stat CDI host device "/dev/dri/renderD129": no such file or directory',
            "statfs /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14: no such file or directory",
        ),
    ),
    # moby's daemon/cdi.go: https://github.com/NixOS/nixpkgs/issues/305312
    Signature(
        r"could not select device driver \S{0,3}cdi\b",
        ("container-cdi-spec-missing",),
        "CDI is off in Docker",
        ('could not select device driver "cdi" with capabilities: []',),
        cure='Set "features": {"cdi": true} in Docker\'s daemon.json (Docker 25 or newer) and restart it, or use --gpus all.',
    ),
    Signature(
        r"unresolvable CDI devices|\bFound 0 CDI devices|failed to discover GPU vendor from CDI",
        ("container-cdi-spec-missing", "container-cdi-spec-stale", "container-cdi-spec-incompatible"),
        "the container engine found no CDI specification for the GPU",
        ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",),
    ),
)
