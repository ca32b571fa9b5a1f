"""What frameworks, compilers and installers say when packages do not fit: read in the sources and binaries that the comments name."""

from __future__ import annotations

from gpudoctor.signatures.phrases import outdated_pattern
from gpudoctor.signatures.signature import Signature

WANTS_GLIBC = r"\b(?:wants?|needs?|requires?|expects?|asks for|built (?:for|against|with)|looks for)\b[^\n]{0,24}\bg(?:nu )?libc(?: version)? ?(?:>=? ?|at least )?(?P<wanted>2\.\d{1,2})"
"""The glibc that a package needs, as people say it."""

PACKAGES = (
    Signature(
        r"version [`']?GLIBC_2\.\d{1,3}'? not found",
        ("glibc-too-old",),
        "the system's glibc is older than the wheel needs",
        ("version `GLIBC_2.28' not found",),
    ),
    # as people say it
    Signature(
        rf"(?i){outdated_pattern('g(?:nu )?libc')}|\b(?:cannot|can not|can't|not|n't) (?:run|work|import|load|install)\w{{0,3}} (?:on|with)\b[^\n;]{{0,40}}\bglibc ?2\.\d",
        ("glibc-too-old",),
        "the system's glibc is older than the wheel needs",
        ("the glibc of our cluster is too old", "it does not work on RHEL 7 with glibc 2.17"),
        vague=True,
        said=True,
    ),
    Signature(
        rf"(?i){WANTS_GLIBC}",
        ("glibc-too-old",),
        "the system's glibc is older than the package needs",
        ("the wheel needs glibc 2.28",),
        vague=True,
        said=True,
        needs_support=True,
    ),
    # glibc's loader on libstdc++: conda's own is newer than most systems'
    Signature(
        r"version [`']?(?:GLIBCXX_3\.4|CXXABI_1\.3)[.\d]{0,6}'? not found",
        ("glibc-too-old", "ld-library-path-shadowing", "mixed-conda-pip"),
        "the libstdc++ that is loaded is older than the package needs",
        ("/usr/lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found",),
        tells="ldd --version; strings $(gcc -print-file-name=libstdc++.so.6) | grep GLIBCXX | tail -1; echo $LD_LIBRARY_PATH",
    ),
    # tsl/platform/cpu_feature_guard.cc and jaxlib/cpu_feature_guard.c
    Signature(
        r"compiled to use \w{1,20} instructions, but these aren't available|was built using \w{1,20} instructions, which your CPU",
        ("cpu-lacks-avx",),
        "the CPU lacks instructions that the wheel was compiled for",
        (
            "The TensorFlow library was compiled to use AVX instructions, but these aren't available on your machine",
            "This version of jaxlib was built using AVX instructions, which your CPU and/or operating system do not support",
        ),
    ),
)
