"""The branches of the rules on libraries, on XLA's needs, on builds and on add-ons that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Finding, Level, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Asking,
    Cause,
    Compiler,
    Distribution,
    Extension,
    Fact,
    FoundBy,
    Framework,
    FrameworkLibraries,
    GpuCode,
    Libcuda,
    Libraries,
    LibraryFile,
    LibraryUse,
    Missing,
    Packages,
    Place,
    Snapshot,
    Toolkit,
    Variables,
)
from tests.builders import ABSENT, bare, machine, smoke, tensorflow, torch
from tests.machines.store import NAMES, recorded

SITE = "/env/lib/python3.12/site-packages"
NOWHERE = Missing(Cause.ABSENT, "it is in none of the places looked at")
JAX = Framework(
    name="jax", distribution="jax", version=Fact("0.4.38", "dist-info"), cuda_build=True, built_with_cuda=Fact("12.6", "plugin")
)
RULES = (
    "cuda-library-missing", "cudnn-missing", "cuda-libs-not-on-loader-path", "pip-nvidia-libs-not-on-path", "ld-library-path-shadowing",
    "cudnn-shadowed-by-system", "libdevice-not-found", "ptxas-not-found", "ptxas-too-old", "nvcc-toolkit-missing",
    "nvcc-framework-cuda-mismatch", "host-compiler-unsupported", "extension-built-for-other-cuda", "extension-abi-mismatch",
    "extension-missing-arch", "nccl-version-conflict",
)  # fmt: skip


def use(component: str, wanted: str, path: str = "", **changes: Any) -> LibraryUse:
    """One that is opened by name, found at `path` by LD_LIBRARY_PATH, or nowhere."""
    release = wanted.partition(".so.")[2]
    version = changes.pop("version", release)
    owner = changes.pop("owner", ABSENT)
    owners = changes.pop("owners", ())
    found = LibraryFile(path, version=Fact(version, "file name") if version else ABSENT, owner=owner, owners=owners)
    file = found if path else NOWHERE
    whole = LibraryUse(
        component=component, wanted=wanted, asked_by=f"{SITE}/tensorflow/libtensorflow_framework.so.2", asking=Asking.OPENED, vital=True, file=file,
        why="LD_LIBRARY_PATH" if path else "",
        found_by=FoundBy.LIBRARY_PATH if path else FoundBy.OTHER,
    )  # fmt: skip
    return msgspec.structs.replace(whole, **changes)


def own(folder: str, name: str) -> Place:
    """The copy of NVIDIA's package, which the framework's RUNPATH names."""
    return Place(f"{SITE}/nvidia/{folder}/lib/{name}", "DT_RUNPATH of libtensorflow_framework.so.2", FoundBy.RUNPATH)


def environment(
    *uses: LibraryUse, framework: Framework | None = None, path: str = "", wheels: str = "", gpus: int = 1, **changes: Any
) -> Snapshot:
    """A healthy machine with these uses; `wheels` are distributions as "name version" lines."""
    one = framework or tensorflow()
    installed = tuple(Distribution(name, version, SITE) for name, version in (line.split() for line in wheels.splitlines()))
    extensions = changes.pop("extensions", ())
    sections: dict[str, Any] = {
        "frameworks": (one,),
        "libraries": Libraries(frameworks=(FrameworkLibraries(framework=one.name, uses=uses or (use("cudart", "libcudart.so.12", "/l/libcudart.so.12"),)),), extensions=extensions),
        "variables": Variables({"LD_LIBRARY_PATH": path} if path else {}),
        "packages": Packages(installed),
        "toolkits": (),
        "compilers": (),
    }  # fmt: skip
    return machine(gpus, **(sections | changes))


def findings(snapshot: Snapshot, matrix: Matrix, name: str) -> list[Finding]:
    return list(diagnose(snapshot, matrix, Policy(level=Level.LOOK, only=(name,))).findings)


def only(snapshot: Snapshot, matrix: Matrix, name: str) -> Finding:
    (found,) = findings(snapshot, matrix, name)
    return found


def outcome(snapshot: Snapshot, matrix: Matrix, name: str) -> OutcomeKind:
    (one,) = diagnose(snapshot, matrix, Policy(level=Level.LOOK, only=(name,))).outcomes
    return one.kind


@pytest.mark.parametrize("name", RULES)
def test_without_a_gpu_nothing_of_it_is_a_fault(matrix: Matrix, name: str) -> None:
    broken = environment(use("cudart", "libcudart.so.12"), use("ptxas", "ptxas"))
    snapshot = bare(**{section: getattr(broken, section) for section in ("frameworks", "libraries", "variables", "toolkits", "compilers")})
    assert outcome(snapshot, matrix, name) is OutcomeKind.NOT_APPLICABLE


@pytest.mark.parametrize("name", [name for name in RULES if not name.startswith(("nvcc", "host"))])
def test_without_an_xray_nothing_is_said(matrix: Matrix, name: str) -> None:
    assert outcome(machine(1), matrix, name) is OutcomeKind.NOT_ASKED
    assert outcome(machine(1, libraries=ABSENT), matrix, name) is OutcomeKind.NOT_APPLICABLE
    failed = environment(libraries=Missing(Cause.TIMED_OUT, "the X-ray gave no sign of life"))
    assert outcome(failed, matrix, name) is OutcomeKind.COULD_NOT_TELL


def test_a_framework_whose_files_are_not_there_is_no_pass(matrix: Matrix) -> None:
    gone = FrameworkLibraries(framework="tensorflow", code=Missing(Cause.ABSENT, "none of its files is there"), uses=())
    assert outcome(environment(libraries=Libraries(frameworks=(gone,))), matrix, "cuda-library-missing") is OutcomeKind.COULD_NOT_TELL


class TestMissing:
    def test_another_release_on_disk_is_said(self, matrix: Matrix) -> None:
        elsewhere = (Place(f"{SITE}/nvidia/cu13/lib/libcudart.so.13", "wheel", FoundBy.WHEEL),)
        found = only(environment(use("cudart", "libcudart.so.12", elsewhere=elsewhere)), matrix, "cuda-library-missing")
        assert "libcudart.so.13 is a different version" in found.message

    @pytest.mark.parametrize(
        ("framework", "command"),
        [
            (tensorflow(), "'tensorflow[and-cuda]==2.18.0'"),
            (torch(), "--force-reinstall torch==2.6.0"),
            (JAX, "'jax[cuda12]==0.4.38'"),
        ],
    )
    def test_the_fix_is_the_frameworks_own(self, matrix: Matrix, framework: Framework, command: str) -> None:
        found = only(environment(use("cudart", "libcudart.so.12"), framework=framework), matrix, "cuda-library-missing")
        assert found.fixes[0].command == f"/env/bin/python -m pip install {command}"

    def test_an_old_tensorflow_has_no_package_for_them(self, matrix: Matrix) -> None:
        old = tensorflow(version=Fact("2.10.1", "dist-info"), built_with_cuda=Fact("11.2", "build_info.py"))
        found = only(environment(use("cudart", "libcudart.so.11.0"), framework=old), matrix, "cuda-library-missing")
        assert not found.fixes[0].command
        assert "libcudart.so.11.0" in found.fixes[0].title

    def test_the_environments_own_package_is_nearer_than_a_toolkit(self, matrix: Matrix) -> None:
        name = "libcusolver.so.11"
        places = (Place(f"/usr/local/cuda/lib64/{name}", "toolkit"), Place(f"{SITE}/nvidia/cusolver/lib/{name}", "wheel", FoundBy.WHEEL))
        snapshot = environment(use("cusolver", name, elsewhere=places))
        assert f"{SITE}/nvidia/cusolver/lib" in only(snapshot, matrix, "pip-nvidia-libs-not-on-path").message
        assert outcome(snapshot, matrix, "cuda-libs-not-on-loader-path") is OutcomeKind.PASSED

    def test_what_is_not_vital_is_not_missed(self, matrix: Matrix) -> None:
        assert outcome(environment(use("cupti", "libcupti.so.12", vital=False)), matrix, "cuda-library-missing") is OutcomeKind.PASSED

    def test_a_library_that_could_not_be_read_is_not_said_to_be_nowhere(self, matrix: Matrix) -> None:
        failed = use("cudart", "libcudart.so.12", file=Missing(Cause.FAILED, "the search was given up"))
        assert findings(environment(failed), matrix, "cuda-library-missing") == []

    def test_where_it_was_seen_to_train_it_is_a_note(self, matrix: Matrix) -> None:
        snapshot = environment(use("cudart", "libcudart.so.12"), smoke=(smoke(1),))
        assert only(snapshot, matrix, "cuda-library-missing").severity is Severity.NOTE


CUBLAS = "nvidia-cublas-cu12 12.5.3.2"
OPT = "/opt/cuda/lib64"


class TestShadowing:
    def cublas(self, version: str, **changes: Any) -> LibraryUse:
        name = "libcublas.so.12"
        return use("cublas", name, f"{OPT}/{name}", version=version, shadows=(own("cublas", name),), **changes)

    @pytest.mark.parametrize(
        ("version", "asking", "severity"),
        [
            ("12.4.5.8", Asking.OPENED, Severity.WARNING),
            ("12.4.5.8", Asking.LINKED, Severity.ERROR),
            ("12.6.1.4", Asking.LINKED, Severity.WARNING),
            ("12.5.3.2", Asking.LINKED, Severity.NOTE),
            ("", Asking.LINKED, Severity.WARNING),
            ("12", Asking.LINKED, Severity.WARNING),
        ],
    )
    def test_how_bad_it_is(self, matrix: Matrix, version: str, asking: Asking, severity: Severity) -> None:
        snapshot = environment(self.cublas(version, asking=asking), path=OPT, wheels=CUBLAS)
        assert only(snapshot, matrix, "ld-library-path-shadowing").severity is severity

    def test_with_another_framework_that_can_train_it_is_a_warning(self, matrix: Matrix) -> None:
        snapshot = environment(self.cublas("12.4.5.8", asking=Asking.LINKED), path=OPT, wheels=CUBLAS)
        snapshot = msgspec.structs.replace(snapshot, frameworks=(tensorflow(), torch()))
        found = [one for one in findings(snapshot, matrix, "ld-library-path-shadowing") if one.subject.key == "tensorflow"]
        assert [one.severity for one in found] == [Severity.WARNING]

    @pytest.mark.parametrize(
        ("path", "command"),
        [
            (OPT, "unset LD_LIBRARY_PATH"),
            (f"/a:{OPT}/:/b:", "export LD_LIBRARY_PATH=/a:/b"),
            (f"~/my libraries:{OPT}", """export LD_LIBRARY_PATH="$HOME"/'my libraries'"""),
            ("/elsewhere", ""),
        ],
    )
    def test_the_fix_spells_what_remains(self, matrix: Matrix, path: str, command: str) -> None:
        found = only(environment(self.cublas("12.4.5.8"), path=path, wheels=CUBLAS), matrix, "ld-library-path-shadowing")
        assert found.fixes[0].command == command

    def test_a_folder_that_something_else_needs_stays_behind(self, matrix: Matrix) -> None:
        driver = use("cuda", "libcuda.so.1", f"{OPT}/libcuda.so.1")
        snapshot = environment(self.cublas("12.4.5.8"), driver, path=OPT, wheels=CUBLAS)
        (fix,) = only(snapshot, matrix, "ld-library-path-shadowing").fixes
        assert fix.command == f'export LD_LIBRARY_PATH={SITE}/nvidia/cublas/lib:"$LD_LIBRARY_PATH"'

    def test_a_path_that_replaces_nothing_is_the_users_own(self, matrix: Matrix) -> None:
        system = (Place("/usr/lib/x86_64-linux-gnu/libcublas.so.12", "/etc/ld.so.cache"),)
        alone = use("cublas", "libcublas.so.12", f"{OPT}/libcublas.so.12", shadows=system)
        assert outcome(environment(alone, path=OPT), matrix, "ld-library-path-shadowing") is OutcomeKind.PASSED

    def test_what_another_loaded_by_it_counts_too(self, matrix: Matrix) -> None:
        name = "libnvJitLink.so.12"
        already = use(
            "nvjitlink", name, f"{OPT}/{name}", version="12.4.127", asking=Asking.LINKED, why="already loaded by libcusparse.so.12: LD_LIBRARY_PATH", found_by=FoundBy.LIBRARY_PATH,
            elsewhere=(Place(f"{SITE}/nvidia/nvjitlink/lib/{name}", "wheel", FoundBy.WHEEL),),
        )  # fmt: skip
        found = only(environment(already, path=OPT, wheels="nvidia-nvjitlink-cu12 12.5.82"), matrix, "ld-library-path-shadowing")
        assert found.severity is Severity.ERROR

    def test_steps_back_are_not_shown(self, matrix: Matrix) -> None:
        name = "libcublas.so.12"
        back = Place(f"{SITE}/tensorflow/python/../../nvidia/cublas/lib/{name}", "DT_RUNPATH of x", FoundBy.RUNPATH)
        snapshot = environment(use("cublas", name, f"{OPT}/{name}", version="12.4.5.8", shadows=(back,)), path=OPT, wheels=CUBLAS)
        assert f"not from {SITE}/nvidia/cublas/lib" in only(snapshot, matrix, "ld-library-path-shadowing").message

    @pytest.mark.parametrize("owner", ["conda", "toolkit", "system"])
    def test_condas_cudnn_before_the_package(self, matrix: Matrix, owner: str) -> None:
        name = "libcudnn.so.9"
        wheel = (Place(f"{SITE}/nvidia/cudnn/lib/{name}", "wheel", FoundBy.WHEEL),)
        conda = use("cudnn", name, f"/conda/lib/{name}", version="9.3.0", owner=owner, why="DT_RPATH of python3.12", elsewhere=wheel)
        snapshot = environment(conda, wheels="nvidia-cudnn-cu12 9.3.0.75")
        assert only(snapshot, matrix, "cudnn-shadowed-by-system").severity is Severity.NOTE
        without = environment(msgspec.structs.replace(conda, elsewhere=()))
        assert outcome(without, matrix, "cudnn-shadowed-by-system") is OutcomeKind.PASSED


class TestNccl:
    def nccl(self, version: str, owner: Any = ABSENT, owners: tuple[str, ...] = ()) -> LibraryUse:
        other = () if owner is not ABSENT else (own("nccl", "libnccl.so.2"),)
        return use("nccl", "libnccl.so.2", f"{OPT}/libnccl.so.2", version=version, shadows=other, owner=owner, owners=owners)

    @pytest.mark.parametrize(
        ("framework", "gpus", "version", "severity"),
        [
            (torch(), 1, "2.21.4", Severity.ERROR),
            (torch(), 1, "2.22.3", Severity.NOTE),
            (tensorflow(), 1, "2.18.3", Severity.NOTE),
            (tensorflow(), 2, "2.18.3", Severity.WARNING),
        ],
    )
    def test_how_bad_it_is(self, matrix: Matrix, framework: Framework, gpus: int, version: str, severity: Severity) -> None:
        snapshot = environment(self.nccl(version), framework=framework, gpus=gpus, wheels="nvidia-nccl-cu12 2.21.5")
        assert only(snapshot, matrix, "nccl-version-conflict").severity is severity

    def test_two_packages_in_one_folder(self, matrix: Matrix) -> None:
        shared = self.nccl("2.20.5", "nvidia-nccl-cu12 or nvidia-nccl-cu13", owners=("nvidia-nccl-cu12", "nvidia-nccl-cu13"))
        found = only(environment(shared, framework=torch(), wheels="nvidia-nccl-cu12 2.21.5"), matrix, "nccl-version-conflict")
        assert "share a folder" in found.fixes[0].title

    def test_one_copy_is_no_conflict(self, matrix: Matrix) -> None:
        alone = self.nccl("2.20.5", "nvidia-nccl-cu12")
        assert outcome(environment(alone, framework=torch()), matrix, "nccl-version-conflict") is OutcomeKind.PASSED
        assert outcome(environment(framework=torch()), matrix, "nccl-version-conflict") is OutcomeKind.NOT_APPLICABLE


def xla(part: str, path: str = "", version: str = "", **changes: Any) -> LibraryUse:
    wanted, asking = ("libdevice.10.bc", Asking.READ) if part == "libdevice" else ("ptxas", Asking.STARTED)
    return use(part, wanted, path, version=version, asking=asking, vital=False, **changes)


class TestXla:
    @pytest.mark.parametrize(
        ("framework", "severity"),
        [
            (tensorflow(), Severity.ERROR),
            (tensorflow(version=Fact("2.10.1", "dist-info")), Severity.WARNING),
            (JAX, Severity.ERROR),
        ],
    )
    def test_keras_compiles_unasked_since_2_11(self, matrix: Matrix, framework: Framework, severity: Severity) -> None:
        assert only(environment(xla("libdevice"), framework=framework), matrix, "libdevice-not-found").severity is severity

    @pytest.mark.parametrize(
        ("part", "name", "inside"),
        [("libdevice", "libdevice-not-found", "nvvm/libdevice/libdevice.10.bc"), ("ptxas", "ptxas-not-found", "bin/ptxas")],
    )
    def test_a_folder_that_has_it_is_named_to_xla(self, matrix: Matrix, part: str, name: str, inside: str) -> None:
        there = (Place(f"/usr/local/cuda-12.5/{inside}", "toolkit"),)
        found = only(environment(xla(part, elsewhere=there)), matrix, name)
        assert found.fixes[0].command == 'export XLA_FLAGS=--xla_gpu_cuda_data_dir=/usr/local/cuda-12.5" $XLA_FLAGS"'

    def test_the_driver_may_compile(self, matrix: Matrix) -> None:
        flag = "--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found"
        told = environment(xla("ptxas"), variables=Variables({"XLA_FLAGS": f"--xla_dump_to=/d {flag}=true"}))
        assert outcome(told, matrix, "ptxas-not-found") is OutcomeKind.PASSED
        refused = environment(xla("ptxas"), variables=Variables({"XLA_FLAGS": f"{flag}=false"}))
        assert outcome(refused, matrix, "ptxas-not-found") is OutcomeKind.FOUND

    @pytest.mark.parametrize(
        ("release", "kind", "severity"),
        [
            ("0.4.28", OutcomeKind.FOUND, Severity.ERROR),
            ("0.4.38", OutcomeKind.FOUND, Severity.NOTE),
            ("0.10.2", OutcomeKind.NOT_APPLICABLE, None),
        ],
    )
    def test_newer_releases_of_jax_carry_a_compiler(
        self, matrix: Matrix, release: str, kind: OutcomeKind, severity: Severity | None
    ) -> None:
        snapshot = environment(xla("ptxas"), framework=msgspec.structs.replace(JAX, version=Fact(release, "dist-info")))
        assert outcome(snapshot, matrix, "ptxas-not-found") is kind
        assert [one.severity for one in findings(snapshot, matrix, "ptxas-not-found")] == [severity] * (severity is not None)

    @pytest.mark.parametrize(
        ("release", "ptxas", "another", "kind"),
        [
            ("2.18.0", "12.1.105", False, OutcomeKind.FOUND),  # writes PTX of 12.5
            ("2.21.0", "12.1.105", False, OutcomeKind.PASSED),  # writes older PTX for it
            ("2.21.0", "11.2.152", False, OutcomeKind.FOUND),  # passes over it, and there is no other
            ("2.21.0", "11.2.152", True, OutcomeKind.NOT_APPLICABLE),
        ],
    )
    def test_newer_releases_live_with_an_older_ptxas(
        self, matrix: Matrix, release: str, ptxas: str, another: bool, kind: OutcomeKind
    ) -> None:
        shadows = (Place(f"{SITE}/nvidia/cuda_nvcc/bin/ptxas", "a folder in XLA's own list"),) if another else ()
        use = xla("ptxas", "/usr/bin/ptxas", ptxas, shadows=shadows)
        snapshot = environment(use, framework=tensorflow(version=Fact(release, "dist-info")))
        assert outcome(snapshot, matrix, "ptxas-too-old") is kind

    def test_torch_has_no_xla(self, matrix: Matrix) -> None:
        assert outcome(environment(framework=torch()), matrix, "libdevice-not-found") is OutcomeKind.NOT_APPLICABLE

    def test_a_ptxas_older_than_the_gpu(self, matrix: Matrix) -> None:
        snapshot = environment(xla("ptxas", "/usr/bin/ptxas", "12.5.82"))
        nvml = snapshot.nvml
        assert not isinstance(nvml, Missing)
        assert isinstance(nvml.gpus, tuple)
        blackwell = msgspec.structs.replace(nvml, gpus=(msgspec.structs.replace(nvml.gpus[0], compute_capability="12.0"),))
        found = only(msgspec.structs.replace(snapshot, nvml=blackwell), matrix, "ptxas-too-old")
        assert "does not know sm_120" in found.message
        assert found.confidence is Confidence.CERTAIN
        assert found.fixes[0].command.endswith("--upgrade nvidia-cuda-nvcc-cu12")

    def test_a_ptxas_that_is_as_new_as_the_build(self, matrix: Matrix) -> None:
        assert outcome(environment(xla("ptxas", "/usr/bin/ptxas", "12.5.82")), matrix, "ptxas-too-old") is OutcomeKind.PASSED

    def test_a_ptxas_of_an_unknown_release(self, matrix: Matrix) -> None:
        unread = environment(xla("ptxas", "/usr/bin/ptxas"))
        assert outcome(unread, matrix, "ptxas-too-old") is OutcomeKind.COULD_NOT_TELL
        assert outcome(environment(xla("ptxas", "/usr/bin/ptxas", "99.1")), matrix, "ptxas-too-old") is OutcomeKind.NOT_ASKED


def toolkit(release: str, *named_by: str, nvcc: bool = True) -> Toolkit:
    path = f"/usr/local/cuda-{release}"
    there = f"{path}/bin/nvcc" if nvcc else ABSENT
    return Toolkit(path=path, named_by=named_by, toolkit_cuda=Fact(f"{release}.1", f"{path}/version.json"), nvcc=there)


def gcc(name: str, version: str, path: str = "") -> Compiler:
    return Compiler(name=name, path=path or f"/usr/bin/{name}", version=Fact(version, "file name"))


class TestBuilding:
    def building(self, *toolkits: Toolkit, compilers: tuple[Compiler, ...] = (), **variables: str) -> Snapshot:
        return environment(framework=torch(), toolkits=toolkits, compilers=compilers, variables=Variables(variables))

    def test_nobody_wants_to_build(self, matrix: Matrix) -> None:
        runtime = toolkit("12.4", "/usr/local/cuda", nvcc=False)
        for snapshot in (self.building(), self.building(runtime)):
            assert outcome(snapshot, matrix, "nvcc-toolkit-missing") is OutcomeKind.PASSED
            assert outcome(snapshot, matrix, "nvcc-framework-cuda-mismatch") is OutcomeKind.NOT_APPLICABLE
            assert outcome(snapshot, matrix, "host-compiler-unsupported") is OutcomeKind.NOT_APPLICABLE

    def test_a_variable_that_only_a_build_reads(self, matrix: Matrix) -> None:
        assert only(self.building(TORCH_CUDA_ARCH_LIST="8.0"), matrix, "nvcc-toolkit-missing").severity is Severity.NOTE
        there = self.building(toolkit("12.4", "PATH"), TORCH_CUDA_ARCH_LIST="8.0")
        assert outcome(there, matrix, "nvcc-toolkit-missing") is OutcomeKind.PASSED

    def test_cuda_home_that_is_wrong_outranks_the_path(self, matrix: Matrix) -> None:
        snapshot = self.building(toolkit("12.4", "PATH"), CUDA_HOME="/usr/local/cuda-12.1")
        assert only(snapshot, matrix, "nvcc-toolkit-missing").fixes[0].command == "export CUDA_HOME=/usr/local/cuda-12.4"

    def test_another_toolkit_that_fits_is_named(self, matrix: Matrix) -> None:
        snapshot = self.building(toolkit("11.8", "PATH"), toolkit("12.4"))
        found = only(snapshot, matrix, "nvcc-framework-cuda-mismatch")
        assert found.fixes[0].command == "export CUDA_HOME=/usr/local/cuda-12.4"
        fitting = self.building(toolkit("11.8", "PATH"), toolkit("12.4", "CUDA_HOME"))
        assert outcome(fitting, matrix, "nvcc-framework-cuda-mismatch") is OutcomeKind.PASSED

    def test_only_pytorch_compares(self, matrix: Matrix) -> None:
        snapshot = environment(toolkits=(toolkit("11.8", "PATH"),))
        assert outcome(snapshot, matrix, "nvcc-framework-cuda-mismatch") is OutcomeKind.NOT_APPLICABLE

    @pytest.mark.parametrize(
        ("compilers", "kind"),
        [
            ((gcc("g++", "14"),), OutcomeKind.FOUND),
            ((gcc("g++", "14"), gcc("NVCC_CCBIN", "12", "/usr/bin/g++-12")), OutcomeKind.PASSED),
            ((gcc("gcc", "13"),), OutcomeKind.PASSED),
            ((gcc("CUDAHOSTCXX", "19", "/usr/bin/clang++-19"),), OutcomeKind.NOT_APPLICABLE),
            ((), OutcomeKind.NOT_APPLICABLE),
        ],
    )
    def test_the_compiler_that_nvcc_would_call(self, matrix: Matrix, compilers: tuple[Compiler, ...], kind: OutcomeKind) -> None:
        assert outcome(self.building(toolkit("12.4", "PATH"), compilers=compilers), matrix, "host-compiler-unsupported") is kind

    def test_a_distributions_toolkit_brings_its_own(self, matrix: Matrix) -> None:
        debian = msgspec.structs.replace(toolkit("11.8", "PATH"), path="/usr/lib/cuda")
        snapshot = self.building(debian, compilers=(gcc("g++", "14"),))
        assert outcome(snapshot, matrix, "host-compiler-unsupported") is OutcomeKind.NOT_APPLICABLE


class TestAddOns:
    def addon(self, **changes: Any) -> Extension:
        whole = Extension(distribution="flash-attn", version="2.7.4", framework="torch", path=f"{SITE}/flash_attn_2_cuda.so")
        return msgspec.structs.replace(whole, **changes)

    def of(self, *addons: Extension, framework: Framework | None = None) -> Snapshot:
        return environment(framework=framework or torch(), extensions=addons)

    def test_each_release_names_its_own_libraries(self, matrix: Matrix) -> None:
        found = only(self.of(self.addon(wanted=("libcudart.so.12", "libcufft.so.10"))), matrix, "extension-built-for-other-cuda")
        assert "libcufft.so.10" in found.message

    def test_a_cuda_that_is_not_in_the_tables_is_told_by_the_runtime(self, matrix: Matrix) -> None:
        future = torch(built_with_cuda=Fact("99.1", "torch/version.py"))
        found = only(
            self.of(self.addon(wanted=("libcudart.so.12", "libcublas.so.12")), framework=future), matrix, "extension-built-for-other-cuda"
        )
        assert found.evidence[0].value == "libcudart.so.12"

    def test_what_was_not_read_is_not_passed(self, matrix: Matrix) -> None:
        assert outcome(self.of(self.addon()), matrix, "extension-built-for-other-cuda") is OutcomeKind.NOT_ASKED
        assert outcome(self.of(self.addon()), matrix, "extension-abi-mismatch") is OutcomeKind.NOT_ASKED

    def test_one_finding_for_a_distribution_of_many_files(self, matrix: Matrix) -> None:
        files = [self.addon(path=f"{SITE}/{name}.so", undefined=("_ZN3c105ErrorE", "_ZN2at5emptyE")) for name in "abc"]
        found = only(self.of(*files), matrix, "extension-abi-mismatch")
        assert "_ZN3c105ErrorE and 1 more," in found.message

    def test_portable_code_will_do(self, matrix: Matrix) -> None:
        code = GpuCode(sass=(), ptx=("compute_70",))
        snapshot = self.of(self.addon(code=code))
        assert outcome(snapshot, matrix, "extension-missing-arch") is OutcomeKind.PASSED

    def test_no_add_on(self, matrix: Matrix) -> None:
        assert outcome(self.of(), matrix, "extension-missing-arch") is OutcomeKind.NOT_APPLICABLE


def test_the_simulated_loader_and_the_real_one_take_the_same_libcuda() -> None:
    compared = 0
    for name in NAMES:
        snapshot = recorded(name)
        if isinstance(snapshot.libraries, Missing) or not isinstance(snapshot.libcuda, Libcuda):
            continue
        for framework in snapshot.libraries.frameworks:
            for one in framework.uses if isinstance(framework.uses, tuple) else ():
                if one.component == "cuda" and isinstance(one.file, LibraryFile) and isinstance(snapshot.libcuda.library, str):
                    real = one.file.real if isinstance(one.file.real, str) else one.file.path
                    assert real == snapshot.libcuda.library, name
                    compared += 1
    assert compared >= 20
