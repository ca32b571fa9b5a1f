"""GD415: nvcc-toolkit-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import need, rule
from gpudoctor.diagnose.rules.libraries.building import HOMES, _with_gpu, chosen
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Snapshot, Variables

_INTENT = ("TORCH_CUDA_ARCH_LIST", "CUDAHOSTCXX", "NVCC_CCBIN", "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
"""Variables that nothing but a build reads."""


@rule("GD415", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1")
def nvcc_toolkit_missing(snapshot: Snapshot, hardware: Hardware, variables: Variables) -> Iterator[Problem]:
    """Something is to be built for CUDA, by its settings, and there is no nvcc.

    ## Why it matters
    Extensions such as flash-attn or apex are compiled when they are installed, and need NVIDIA's compiler nvcc. The packages that bring
    CUDA's libraries for PyTorch or TensorFlow do not hold it. CUDA_HOME that names a folder without bin/nvcc ends a build too. Training
    needs none of this.

    ## What to do
    Install a CUDA toolkit of the framework's CUDA release and let CUDA_HOME name it; or unset the variables, if nothing is built.

    ## References
    - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/
    - https://docs.pytorch.org/docs/stable/cpp_extension.html
    """
    _with_gpu(hardware)
    toolkits = need(snapshot.toolkits)
    said = {name: variables.values[name] for name in (*HOMES, *_INTENT) if variables.values.get(name)}
    home = next((name for name in HOMES if name in said), "")
    taken = next((one for one in toolkits if home in one.named_by), None) if home else chosen(toolkits)
    if not said or (taken is not None and isinstance(taken.nvcc, str)):
        return
    where = f"{home} names {said[home]}, where there is no nvcc" if home else f"{next(iter(said))} is set, and there is no nvcc"
    others = [one for one in toolkits if isinstance(one.nvcc, str)]
    yield Problem(
        message=f"{where}: nothing can be built for CUDA here.",
        evidence=(
            *(Evidence(name, value, "environment") for name, value in said.items()),
            *(Evidence("a toolkit with nvcc", one.path, str(one.nvcc)) for one in others),
        ),
        fixes=(
            Fix("Name the toolkit that has one", f"export CUDA_HOME={shell_path(others[0].path)}")
            if others
            else Fix("Install a CUDA toolkit of the framework's CUDA release, if anything is to be built."),
        ),
    )
