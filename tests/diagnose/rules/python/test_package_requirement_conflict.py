from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Level, Severity
from gpudoctor.snapshot import (
    Asking,
    Cause,
    Damage,
    DamageKind,
    Distribution,
    Extension,
    Fact,
    Framework,
    FrameworkLibraries,
    Hollow,
    Libraries,
    LibraryFile,
    LibraryUse,
    Missing,
    Packages,
    Python,
    Smoke,
    Snapshot,
    Stage,
    StageKind,
    StageState,
    UnfitKind,
    UnfitModule,
)
from tests.diagnose.rules.packaged import found, live, roots, stated, supposed

NUMPY_2 = stated("numpy", "2.0.2")


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ((stated("torch", "2.2.2"), NUMPY_2), [("numpy2-abi-mismatch", "error")]),
        ((stated("torch", "2.2.2"), stated("numpy", "1.26.4")), []),
        ((stated("torch", "2.8.0"), NUMPY_2), []),
        ((stated("tensorflow", "2.17.0", "numpy<2.0.0,>=1.26.0"), NUMPY_2), [("numpy2-abi-mismatch", "error")]),
        ((stated("tensorflow", "2.21.0", "numpy<2.1.0,>=1.26"), stated("numpy", "2.1.0")), [("package-requirement-conflict", "error")]),
        ((stated("tensorflow", "2.21.0", "protobuf<8,>=6.31.1"), stated("protobuf", "5.29.5")), [("protobuf-mismatch", "error")]),
        ((stated("tensorflow", "2.21.0", "protobuf<8,>=6.31.1"), stated("protobuf", "8.0")), [("protobuf-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras<2.16,>=2.15"), stated("keras", "3.0.0")), [("keras3-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras>=3.2"), stated("keras", "2.15.0")), [("keras3-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras>=3.2"), stated("keras", "3.0.0")), [("package-requirement-conflict", "error")]),
        ((stated("torch", "2.8.0"), stated("torchvision", "0.22.0", "torch==2.7.0")), [("torch-torchvision-mismatch", "error")]),
        ((stated("torch", "2.8.0"), stated("torchaudio", "2.7.0", "torch==2.7.0")), [("torch-torchaudio-mismatch", "error")]),
        ((stated("torch", "2.8.0"), stated("vllm", "0.9.0", "torch==2.7.0")), [("package-requirement-conflict", "error")]),
        (
            (stated("torch", "2.8.0", "nvidia-nccl-cu12==2.27.3"), stated("nvidia-nccl-cu12", "2.21")),
            [("nvidia-wheel-version-conflict", "error")],
        ),
    ],
)
def test_an_unmet_requirement_is_reported_by_the_most_specific_rule(
    packages: tuple[Distribution, ...], expected: list[tuple[str, str]]
) -> None:
    assert roots(supposed(*packages)) == expected


@pytest.mark.parametrize(
    ("package", "requires", "version", "severity"),
    [
        ("protobuf", "protobuf<4,>=3.9.2", "4.25.0", Severity.ERROR),
        ("protobuf", "protobuf<5,>=3.20.3", "5.28.0", Severity.WARNING),
        ("protobuf", "protobuf>=6.31.1", "5.28.0", Severity.ERROR),
        ("keras", "keras<2.16,>=2.15", "3.1", Severity.ERROR),
        ("keras", "keras<2.16,>=2.15", "2.16", Severity.WARNING),
        ("numpy", "numpy<2", "2.0.1", Severity.ERROR),
        ("numpy", "numpy<2", "1.26.4", None),
        ("ml-dtypes", "ml-dtypes<0.5", "0.5.1", Severity.WARNING),
        ("nvidia-cublas-cu12", "nvidia-cublas-cu12==12.5.3.2;extra=='and-cuda'", "12.4.5.8", Severity.WARNING),
    ],
)
def test_what_is_only_outside_a_bound_is_milder_on_a_live_machine(
    package: str, requires: str, version: str, severity: Severity | None
) -> None:
    installed = live(Distribution("tensorflow", "2.18.0", "/site", requires=(requires,)), Distribution(package, version, "/site"))
    assert [finding.severity for finding in found(installed, level=Level.LOOK)] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("module", "severity"),
    [("typing_extensions", Severity.ERROR), ("absl", Severity.ERROR), ("", Severity.WARNING)],
)
def test_an_absent_package_that_the_import_asks_for_is_an_error(module: str, severity: Severity) -> None:
    seen = live(Distribution("torch", "2.8.0", "/site", lacks=("typing-extensions>=4.10.0", "sympy")))
    holes = (Damage(module, DamageKind.MISSING, "not installed", asked_by="/site/torch/__init__.py"),) if module else ()
    examined = Libraries((FrameworkLibraries("torch", absent_modules=holes),))
    framework = Framework(name="torch", distribution="torch", version=Fact("2.8.0", "torch/version.py"), cuda_build=True)
    whole = msgspec.structs.replace(seen, libraries=examined, frameworks=(framework,))
    (finding,) = (finding for finding in found(whole, level=Level.LOOK) if finding.name == "package-requirement-conflict")
    assert finding.severity is severity
    assert (f"`import torch` fails: torch/__init__.py imports {module}." in finding.message) is (severity is Severity.ERROR)


@pytest.mark.parametrize(("undefined", "codes"), [(("_ZN2at1xE",), {"GD514"}), ((), {"GD609"})])
def test_an_add_on_whose_functions_are_gone_is_said_once(undefined: tuple[str, ...], codes: set[str]) -> None:
    installed = live(Distribution("torch", "2.8.0", "/site"), Distribution("xformers", "0.0.28", "/site", requires=("torch==2.5.1",)))
    framework = Framework(name="torch", distribution="torch", version=Fact("2.8.0", "torch/version.py"), cuda_build=True)
    file = Extension("xformers", "0.0.28", "torch", "/site/xformers/_C.so", Missing(Cause.ABSENT, "no GPU code"), (), undefined)
    use = LibraryUse("cublas", "libcublas.so.12", "libtorch_cuda.so", Asking.LINKED, vital=True, file=LibraryFile("/site/libcublas.so.12"))
    seen = Libraries((FrameworkLibraries("torch", uses=(use,)),), (file,))
    findings = found(msgspec.structs.replace(installed, frameworks=(framework,), libraries=seen), level=Level.LOOK)
    assert {finding.code for finding in findings if finding.code in {"GD514", "GD609"}} == codes


FAILED = Stage(StageKind.IMPORT, StageState.FAILED, error="numpy.core.umath failed to import")


@pytest.mark.parametrize(
    ("stage", "severity"),
    [
        (FAILED, Severity.ERROR),
        (msgspec.structs.replace(FAILED, error="no word that is known"), Severity.ERROR),
        (msgspec.structs.replace(FAILED, error="libcudnn.so.9: file too short"), Severity.WARNING),
        (Stage(StageKind.IMPORT, StageState.DONE), Severity.WARNING),
    ],
)
def test_a_version_that_is_not_accepted_is_the_cause_of_an_import_that_failed_for_no_other(stage: Stage, severity: Severity) -> None:
    installed = live(Distribution("torch", "2.8.0", "/site", requires=("ml-dtypes>=0.5",)), Distribution("ml-dtypes", "0.2.0", "/site"))
    framework = Framework(name="torch", distribution="torch", version=Fact("2.8.0", "torch/version.py"), cuda_build=True)
    whole = msgspec.structs.replace(installed, frameworks=(framework,), smoke=(Smoke(framework="torch", version="2.8.0", stages=(stage,)),))
    findings = {finding.name: finding for finding in found(whole, level=Level.TRAIN)}
    conflict = findings["package-requirement-conflict"]
    assert (conflict.severity, "`import torch` fails" in conflict.message) == (severity, severity is Severity.ERROR)
    failing = findings.get("framework-import-fails")
    assert failing is None or (conflict.id in failing.because_of) is (severity is Severity.ERROR)


@pytest.mark.parametrize("owner", ["requests", "numpy", "unknown"])
def test_a_module_that_a_required_package_lacks_is_installed_with_what_that_one_requires(owner: str) -> None:
    packages = Packages((Distribution("torch", "2.8.0", "/site"), Distribution("numpy", "2.1.3", "/site")), others=("requests==2.32.3",))
    hole = Damage("urllib3", DamageKind.MISSING, "not installed", owner=owner, asked_by=f"/site/{owner}/sessions.py")
    examined = Libraries((FrameworkLibraries("torch", absent_modules=(hole,)),))
    framework = Framework(name="torch", distribution="torch", version=Fact("2.8.0", "torch/version.py"), cuda_build=True)
    whole = msgspec.structs.replace(live(), packages=packages, libraries=examined, frameworks=(framework,))
    findings = [finding for finding in found(whole, level=Level.LOOK) if finding.code == "GD609"]
    versions = {"requests": "2.32.3", "numpy": "2.1.3"}
    assert [list(one.fixes[0].installs) for one in findings] == ([[f"{owner}=={versions[owner]}"]] if owner in versions else [])
    assert all(one.severity is Severity.ERROR and f"{owner}/sessions.py of {owner} " in one.message for one in findings)


@pytest.mark.parametrize(("kind", "prefix", "warns"), [("venv", "/env", True), ("conda", "/conda", False), ("system", "/usr", False)])
def test_what_a_required_package_requires_is_a_risk_where_no_import_asks_for_it(kind: str, prefix: str, warns: bool) -> None:
    packages = Packages((Distribution("torch", "2.8.0", "/site"),), others=("sympy==1.13.1",))
    lacking = (Damage("mpmath", DamageKind.MISSING, "not installed", owner="sympy"),)
    names = ("torch", "tensorflow")
    examined = Libraries(tuple(FrameworkLibraries(name, absent_modules=lacking) for name in names))
    both = tuple(Framework(name=name, distribution=name, version=Fact("2.8.0", "version.py"), cuda_build=True) for name in names)
    python = Python("/env/bin/python", "named", version="3.12", kind=kind, prefix=prefix)
    whole = msgspec.structs.replace(live(), packages=packages, libraries=examined, frameworks=both, python=python)
    findings = [finding for finding in found(whole, level=Level.LOOK) if finding.code == "GD609"]
    assert [(one.severity, one.message) for one in findings] == [
        (Severity.WARNING, "sympy 1.13.1 requires mpmath, which is not installed.")
    ] * warns


@pytest.mark.parametrize("fails", [False, True])
def test_a_package_whose_files_are_gone_is_reinstalled(fails: bool) -> None:
    hollow = (Hollow("numpy==2.1.3", ("numpy",)), Hollow('colorama==0.4; platform_system == "Windows"', ("colorama",)))
    seen = live(Distribution("torch", "2.8.0", "/site", hollow=hollow))
    hole = Damage("numpy", DamageKind.MISSING, "not installed", asked_by="/site/torch/__init__.py")
    examined = Libraries((FrameworkLibraries("torch", absent_modules=(hole,) if fails else ()),))
    framework = Framework(name="torch", distribution="torch", version=Fact("2.8.0", "torch/version.py"), cuda_build=True)
    whole = msgspec.structs.replace(seen, libraries=examined, frameworks=(framework,))
    (finding,) = (finding for finding in found(whole, level=Level.LOOK) if finding.code == "GD609")
    assert finding.severity is (Severity.ERROR if fails else Severity.WARNING)
    assert finding.message.startswith("torch 2.8.0 requires numpy 2.1.3. Its files are gone, and only metadata is left.")
    assert "--force-reinstall --no-deps numpy==2.1.3" in finding.fixes[0].command


@pytest.mark.parametrize(
    ("by", "wanted"),
    [
        (Distribution("torch", "2.8.0", "/site"), ["filelock", "sympy>=1.13"]),
        (Distribution("torch", "2.8.0", "/site", installer="conda"), None),
        (Distribution("torch", "2.8.0", "/usr/lib/python3/dist-packages"), None),
    ],
)
def test_what_a_framework_requires_and_is_not_there_is_installed(by: Distribution, wanted: list[str] | None) -> None:
    lacks = ("filelock", "sympy>=1.13", 'colorama; platform_system == "Windows"')
    findings = [finding for finding in found(live(msgspec.structs.replace(by, lacks=lacks)), level=Level.LOOK) if finding.code == "GD609"]
    assert [list(finding.fixes[0].installs) for finding in findings] == ([wanted] if wanted else [])
    assert all(finding.message == "torch 2.8.0 requires filelock and sympy, which are not installed." for finding in findings)


def examined(*modules: UnfitModule, absent: tuple[Damage, ...] = (), requires: tuple[str, ...] = ()) -> Snapshot:
    """A live environment in which the import of torch was followed."""
    seen = live(
        Distribution("torch", "2.8.0", "/site", requires=requires),
        Distribution("ml-dtypes", "0.2.0", "/site"),
        Distribution("numpy", "2.1.3", "/site"),
    )
    framework = Framework(name="torch", distribution="torch", version=Fact("2.8.0", "torch/version.py"), cuda_build=True)
    libraries = Libraries((FrameworkLibraries("torch", unfit_modules=modules, absent_modules=absent),))
    packages = seen.packages
    assert isinstance(packages, Packages)
    others = ("requests==2.32.0", "rich==15.0.0")
    return msgspec.structs.replace(
        seen, libraries=libraries, frameworks=(framework,), packages=msgspec.structs.replace(packages, others=others)
    )


LACKING = UnfitModule(
    "typing_extensions.TypeIs", "/site/typing_extensions.py", UnfitKind.LACKS_NAME, "it does not define TypeIs",
    asked_by="/site/torch/serialization.py", owner="typing-extensions==4.0.1", requirement="typing-extensions>=4.10.0", required_by="torch==2.8.0",
)  # fmt: skip
FOR_NUMPY_1 = UnfitModule(
    "ml_dtypes._ext", "/site/ml_dtypes/_ext.so", UnfitKind.ANOTHER_NUMPY, "compiled for NumPy 1",
    asked_by="/site/ml_dtypes/__init__.py", owner="ml-dtypes==0.2.0",
)  # fmt: skip


def test_a_refused_version_that_lacks_what_the_import_wants_is_an_error() -> None:
    (finding,) = found(examined(LACKING), level=Level.LOOK)
    assert (finding.name, finding.severity) == ("package-requirement-conflict", Severity.ERROR)
    assert finding.message == (
        "torch 2.8.0 requires typing-extensions>=4.10.0, but typing-extensions 4.0.1 is installed. "
        "`import torch` fails: torch/serialization.py imports typing_extensions.TypeIs, which site/typing_extensions.py does not define."
    )
    assert finding.fixes[0].command == "/env/bin/python -m pip install 'typing-extensions>=4.10.0'"


@pytest.mark.parametrize("refused", [True, False])
def test_a_module_for_numpy_1_is_said_once_with_what_cures(refused: bool) -> None:
    stated_by = {"requirement": "ml-dtypes>=0.5.0", "required_by": "torch==2.8.0"} if refused else {}
    module = msgspec.structs.replace(FOR_NUMPY_1, **stated_by)
    (finding,) = found(examined(module, requires=("ml-dtypes>=0.5.0",) if refused else ()), level=Level.LOOK)
    assert finding.severity is Severity.ERROR
    assert "`import torch` fails" in finding.message
    assert "compiled for NumPy 1" in finding.message
    wanted = ("package-requirement-conflict", "'ml-dtypes>=0.5.0'") if refused else ("numpy2-abi-mismatch", "'numpy<2'")
    assert (finding.name, finding.fixes[0].command) == (wanted[0], f"/env/bin/python -m pip install {wanted[1]}")


def test_all_that_is_absent_is_said_at_once_with_one_command() -> None:
    absent = (
        Damage(
            "urllib3", DamageKind.MISSING, "its package is not installed", "requests", ("requests",), asked_by="/site/requests/__init__.py"
        ),
        Damage("idna", DamageKind.MISSING, "its package is not installed", "requests", ("requests",)),
        Damage("pygments", DamageKind.MISSING, "its package is not installed", "rich", ("rich",)),
    )
    (failing,) = found(examined(absent=absent), level=Level.LOOK)
    assert (failing.severity, failing.message) == (
        Severity.ERROR,
        "`import torch` fails: requests/__init__.py of requests 2.32.0 imports urllib3, which is not installed, nor are idna and pygments.",
    )
    (at_risk,) = found(examined(absent=absent[1:]), level=Level.LOOK)
    assert (at_risk.severity, at_risk.message) == (
        Severity.WARNING,
        "requests 2.32.0 and rich 15.0.0 require idna and pygments, which are not installed.",
    )
    for finding in (failing, at_risk):
        assert [fix.command for fix in finding.fixes] == ["/env/bin/python -m pip install requests==2.32.0 rich==15.0.0"]
