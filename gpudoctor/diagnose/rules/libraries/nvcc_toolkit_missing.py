from gpudoctor.derive import MachineView, known_or_none
from gpudoctor.derive.toolkits import HOME_VARIABLES, build_toolkit
from gpudoctor.diagnose.advice.logged_frameworks import install_toolkit
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.findings import Action, Evidence, Fix, Problem, Problems, Rung, Severity

_BUILD_VARIABLES = ("TORCH_CUDA_ARCH_LIST", "CUDAHOSTCXX", "NVCC_CCBIN", "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
"""Variables that only a build reads."""


@rule("GD415", severity=Severity.NOTE, breaks=Rung.TRAINED)
@advises(lambda machine: install_toolkit(machine, "nvcc-toolkit-missing"))
def nvcc_toolkit_missing(machine: MachineView) -> Problems:
    """nvcc is missing, although variables are set for a CUDA build."""
    variables = machine.variables.values
    machine.need_gpu()
    toolkits = machine.toolkits
    set_for_build = {name: variables[name] for name in (*HOME_VARIABLES, *_BUILD_VARIABLES) if variables.get(name)}
    home = next((name for name in HOME_VARIABLES if name in set_for_build), "")
    taken = next((toolkit for toolkit in toolkits if home in toolkit.named_by), None) if home else build_toolkit(toolkits)
    if not set_for_build or (taken is not None and isinstance(taken.nvcc, str)):
        return
    complete = [toolkit for toolkit in toolkits if known_or_none(toolkit.nvcc)]  # a text states releases, and rarely which parts are there
    variable, value = next(iter(set_for_build.items()))
    why = f"{variable} is set to {value}, which has no nvcc" if home else f"{variable} is set, but there is no nvcc"
    if complete:
        fix = Fix("Set CUDA_HOME to the toolkit that has nvcc", f"export CUDA_HOME={shell_path(complete[0].path)}")
    else:
        fix = Fix(
            "Install the CUDA toolkit of the framework's CUDA version if you build extensions; otherwise unset the variables.",
            action=Action.INSTALL_PACKAGE,
        )
    yield Problem(
        message=f"{why}: CUDA code cannot be compiled.",
        evidence=(
            *(Evidence(name, value, "environment") for name, value in set_for_build.items()),
            *(Evidence("a toolkit with nvcc", toolkit.path, str(toolkit.nvcc)) for toolkit in complete),
        ),
        fixes=(fix,),
    )
