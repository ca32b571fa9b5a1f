"""Reads the versions of the driver's packages in the lists and logs of dpkg, apt, rpm, dnf and pacman."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness

_VERSION_FORM = r"(?P<value>\d{3}\.\d{2,3}(?:\.\d{2,3})?)\b"
_ARCHITECTURE_FORM = r"(?::(?:amd64|arm64))?"

READER = Reader(
    "system packages",
    forms=(
        # packages of modules that were built for one kernel: Fedora's akmods, and Ubuntu's
        StatementForm(
            "module package",
            r"\b(?P<value>kmod-nvidia)(?:-open)?(?:-\d{3}xx)?-(?P<name>\d\.\d{1,2}\.\d[\w.-]{3,40}?\.(?:x86_64|aarch64))\b",
            Directness.LISTING,
        ),
        StatementForm(
            "module package",
            r"^ii {1,4}(?P<value>linux-modules-nvidia-\d{3})(?:-server)?(?:-open)?-(?P<name>\d\.\d{1,2}\.\d[\w.-]{3,40}) ",
            Directness.LISTING,
        ),
        # dpkg -l: libraries of Ubuntu's and of Debian's packages
        StatementForm(
            "libraries",
            rf"^ii {{1,4}}(?:libnvidia-compute-\d{{3}}(?:-server)?|nvidia-utils-\d{{3}}(?:-server)?|libcuda1|libnvidia-ml1|nvidia-smi){_ARCHITECTURE_FORM} {{1,60}}{_VERSION_FORM}",
            Directness.LISTING,
        ),
        # apt's history.log: the version before and the one after
        StatementForm(
            "libraries",
            rf"\blibnvidia-compute-\d{{3}}(?:-server)?{_ARCHITECTURE_FORM} \(\S{{5,60}}, {_VERSION_FORM}",
            Directness.LOG,
        ),
        # dpkg.log, what apt prints while it installs, `apt list`
        StatementForm(
            "libraries",
            rf"\b(?:upgrade|install) libnvidia-compute-\d{{3}}(?:-server)?{_ARCHITECTURE_FORM} \S{{3,60}} {_VERSION_FORM}-\w",
            Directness.LOG,
        ),
        StatementForm(
            "libraries",
            rf"\b(?:Unpacking|Setting up) libnvidia-compute-\d{{3}}(?:-server)?{_ARCHITECTURE_FORM} \({_VERSION_FORM}-\w",
            Directness.LOG,
        ),
        StatementForm(
            "libraries",
            rf"^(?:libnvidia-compute|nvidia-utils)-\d{{3}}(?:-server)?/\S{{3,60}} {_VERSION_FORM}-\S{{1,40}} \S{{1,12}} \[installed",
            Directness.LISTING,
        ),
        StatementForm(
            "libraries", rf"\bnvidia-driver-\d{{3}}(?:-open|-server){{0,2}}{_ARCHITECTURE_FORM} (?:to )?{_VERSION_FORM}-\w", Directness.LOG
        ),
        # rpm -qa, pacman -Q
        StatementForm(
            "libraries",
            rf"^(?:nvidia-driver-(?:cuda-)?libs|xorg-x11-drv-nvidia-cuda-libs|libnvidia-ml|nvidia-compute-G0\d)-(?:\d:)?{_VERSION_FORM}-\d",
            Directness.LISTING,
        ),
        StatementForm("libraries", rf"^nvidia-utils {_VERSION_FORM}-\d{{1,2}}$", Directness.LISTING),
        StatementForm(
            "fabric manager version",
            rf"\bnvidia-fabric-?manager(?:-\d{{3}}|-devel)?(?:-(?:\d:)?| {{1,60}}){_VERSION_FORM}",
            Directness.LISTING,
        ),
        # Arch's, Fedora's and Gentoo's names for the modules
        StatementForm(
            "driver",
            rf"\b(?:nvidia-(?:open-)?dkms|nvidia-open|akmod-nvidia(?:-open)?|kmod-nvidia\S{{0,40}}|nvidia-drivers)[ /=-](?:\d:)?{_VERSION_FORM}",
            Directness.PROSE,
        ),
    ),
)
