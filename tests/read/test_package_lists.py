"""Which packages a list states, and that prose and requirements state none."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.read.hits import hits_in
from gpudoctor.read.lines import lines_of
from gpudoctor.read.statement_search import statements_in
from gpudoctor.snapshot import Missing, Packages
from tests.read.reading import causes, read


def stated(text: str) -> dict[str, str]:
    lines = lines_of(text.encode(), "list")
    return {statement.what: statement.value for statement in statements_in(lines, hits_in(lines))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Package Version\n------- -------\nmy-own-thing 0.3.1\n", {"package:my-own-thing": "0.3.1"}),
        ("Package Version Editable project location\n---- ---- ----\nmylib 1.0 /home/u/mylib\n", {"package:mylib": "1.0"}),
        ("torch        2.4.0+cu121\nsome-dep     7.1\n", {"package:torch": "2.4.0+cu121", "package:some-dep": "7.1"}),
        ("tensorflow-gpu (1.7.0)\nmylib (0.2.dev3, /home/u/mylib)\n", {"package:tensorflow-gpu": "1.7.0", "package:mylib": "0.2.dev3"}),
        ("torch==2.4.0+cu121\nfoo-bar==1!2.0\n", {"package:torch": "2.4.0+cu121"}),
        ("numpy @ file:///build/numpy/dist/numpy-1.26.4-cp311-cp311-linux_x86_64.whl#sha256=d8\n", {"package:numpy": "1.26.4"}),
        ("├── torch v2.13.0+cpu (*)\n│   └── mpmath v1.3.0\n", {"package:torch": "2.13.0+cpu", "package:mpmath": "1.3.0"}),
        ("Name: torch\nVersion: 2.2.2\nSummary: x\nLocation: /opt/v/lib\n", {"package:torch": "2.2.2", "location:torch": "/opt/v/lib"}),
        ("Successfully installed foo-1.0 torch-2.1.0+cu118\n", {"package:foo": "1.0", "package:torch": "2.1.0+cu118"}),
        ("Requirement already satisfied: torch>=1.7 in /v/lib/python3.9/site-packages (from x) (2.0.1)\n", {"package:torch": "2.0.1"}),
        ("torchvision 0.15.2 requires torch==2.0.1, but you have torch 2.1.0 which is incompatible.\n", {"package:torchvision": "0.15.2", "package:torch": "2.1.0"}),
        ("# Name Version Build Channel\npytorch 1.11.0 py3.9_cuda11.3_cudnn8.2.0_0 pytorch\n", {"conda:pytorch": "1.11.0 py3.9_cuda11.3_cudnn8.2.0_0 pytorch"}),
        ("torch 2.0.1 pypi_0 pypi\n", {"package:torch": "2.0.1", "installer:torch": "pip"}),
        ("  - pytorch=2.1.0=py3.10_cuda12.1_cudnn8.9.2_0\n", {"conda:pytorch": "2.1.0=py3.10_cuda12.1_cudnn8.9.2_0"}),
        ("dependencies:\n  - pip=24.0\n  - pip:\n      - torch==2.3.1\n  - six==1.16.0\n", {"package:torch": "2.3.1", "installer:torch": "pip"}),
        ("  pytorch  pytorch::pytorch-2.2.1-py3.11_cuda12.1~ --> pkgs/main::pytorch-2.2.0-cpu_py311h1_0\n", {"conda:pytorch": "2.2.0 cpu_py311h1_0 pkgs"}),
        ("  - pytorch    2.1.0  cuda120py39h1_301   conda-forge     Cached\n  + pytorch    2.1.2  cpu_generic_py39h2_0  conda-forge  31MB\n", {"conda:pytorch": "2.1.2 cpu_generic_py39h2_0 conda-forge"}),
        ("    pytorch-1.4.0              | py3.7_cuda9.2.148_cudnn7.6.3_0       427.3 MB  pytorch\n", {"conda:pytorch": "1.4.0 py3.7_cuda9.2.148_cudnn7.6.3_0 pytorch"}),
        ("    tensorflow:          1.13.1-mkl_py36h27d456a_0 defaults\n  will be installed\n", {"conda:tensorflow": "1.13.1 mkl_py36h27d456a_0 defaults"}),
        ("absl-py 2.1.0 Abseil libraries\ngrpcio 1.64 HTTP/2 RPC\nh5py 3.11.0 Read HDF5\nkeras 3.3.3 Deep learning\nnumpy 1.26.4 Arrays\n", {"package:grpcio": "1.64"}),
    ],
)  # fmt: skip
def test_a_list_states_packages(text: str, expected: dict[str, str]) -> None:
    assert stated(text).items() >= expected.items()


_CONDA = "# Name Version Build Channel\npytorch 1.12.1 py3.9_cuda11.3_cudnn8.3.2_0 pytorch\n"


def test_an_empty_line_ends_a_table_unless_its_rows_go_on() -> None:
    assert "package:requests" not in stated(f"{_CONDA}\nrequests 2.31 is what I want to build\n")
    assert "conda:torchvision" in stated(f"{_CONDA}\ntorchvision 0.13.1 py39_cu113 pytorch\n")
    assert "package:numpy" in stated("Package Version\n\ntorch 2.4.0\n\nnumpy 1.26.4\n")


@pytest.mark.parametrize(
    "text",
    [
        "It works with torch 2.6, fails with 2.7 on the same box.\n",
        "Maybe install tensorflow 2.10.0 instead of 2.11.0?\n",
        "I think torchvision 0.15 requires torch 2.0.\n",
        "The conflict is caused by: a 1.0 depends on torch==2.0\n",
        "epoch 1\nepoch 2\nloss 0.31\n",
        "  cause: Because torch==2.3.1+cpu has no wheels with a matching Python ABI tag and only torch==2.3.1+cpu is available, we can conclude that torch cannot be used.\n",
        "PackagesNotFoundError: The following packages are not available from current channels:\n\n  - pytorch==3.1\n  - torchvision=0.30\n",
        "UnsatisfiableError: The following specifications were found to be in conflict:\n  - cudatoolkit 11.2*\n  - tensorflow-gpu 2.4.1* -> cudatoolkit 10.1.*\n",
        "Could not solve for environment specs\nThe following packages are incompatible\n├─ python 3.13 is requested and can be installed;\n└─ pytorch 2.1.0 would require\n",
    ],
)
def test_prose_states_no_installed_package(text: str) -> None:
    assert not [what for what in stated(text) if what.startswith(("package:", "conda:"))]


def test_of_several_installations_the_last_counts() -> None:
    assert stated("Successfully installed torch-2.0.1\nSuccessfully installed torch-2.3.0\n")["package:torch"] == "2.3.0"


def test_a_selection_is_no_whole_list(matrix: Matrix) -> None:
    few, many = "torch 2.4.0\nnumpy 1.26.4\n", "".join(f"package-{number} 1.0\n" for number in range(30)) + "torch 2.4.0\n"
    assert [selected(text, matrix) for text in (few, many)] == [True, False]


def selected(text: str, matrix: Matrix) -> bool:
    packages = read(text, matrix).packages
    assert isinstance(packages, Packages)
    return packages.selected


def test_conda_and_pip_are_told_apart(matrix: Matrix) -> None:
    snapshot = read("pytorch 1.13.1 py3.10_cuda11.7_cudnn8.5.0_0 pytorch\ntorch 2.0.1 pypi_0 pypi\n", matrix)
    assert isinstance(snapshot.packages, Packages)
    assert snapshot.packages.conda == ("pytorch-1.13.1-py3.10_cuda11.7_cudnn8.5.0_0",)
    assert [distribution.installer for distribution in snapshot.packages.distributions if distribution.name == "torch"] == ["pip"]
    assert not isinstance(snapshot.python, Missing)
    assert snapshot.python.kind == "conda"


@pytest.mark.parametrize(
    "text",
    [
        "tensorflow 1.15.0 has requirement numpy<2.0,>=1.16.0, but you'll have numpy 1.14.6 which is incompatible.\n",
        "Successfully installed numpy-1.16.4 tensorflow-1.15.0\n",
        "- TensorFlow version: 1.15.0\n- GPU model: Tesla T4\n",
    ],
)
def test_a_version_that_also_has_a_gpu_package_is_not_said_to_lack_cuda(text: str, matrix: Matrix) -> None:
    assert "cpu-only-build" not in causes(text, matrix)


@pytest.mark.parametrize("text", ["tensorflow==1.14.0\nnumpy==1.16.4\n", "Successfully installed numpy-1.16.4 torch-2.4.1+cpu\n"])
def test_a_listed_package_without_cuda_is_said_to_lack_it(text: str, matrix: Matrix) -> None:
    assert "cpu-only-build" in causes(text, matrix)
