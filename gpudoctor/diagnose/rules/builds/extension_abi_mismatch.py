from gpudoctor.derive import FrameworkView, require_known
from gpudoctor.derive.add_ons import file_name
from gpudoctor.diagnose.advice.logged_frameworks import install_extension
from gpudoctor.diagnose.rule import advises, rule
from gpudoctor.diagnose.rules.builds.add_ons import install_fitting_add_on
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_and_more, first_few


@rule("GD514", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY)
@advises(lambda machine: install_extension(machine, "extension-abi-mismatch"))
def extension_abi_mismatch(framework: FrameworkView) -> Problems:
    """Extension is compiled for a different framework version."""
    for add_on in framework.add_ons:
        broken = [(file, file.undefined) for file in add_on.files if isinstance(file.undefined, tuple) and file.undefined]
        if broken:
            file, symbols = min(broken, key=lambda pair: pair[0].path not in add_on.main_paths)
            main = file.path in add_on.main_paths
            needs = f"needs {first_and_more(symbols)}, which {framework.label} does not define"
            yield Problem(
                message=f"{add_on.label} {needs}: it cannot be imported." if main else f"{file_name(file)} of {add_on.label} {needs}.",
                severity=None if main else Severity.NOTE,
                evidence=tuple(Evidence("undefined symbol", symbol, file.path) for symbol in first_few(symbols)),
                fixes=install_fitting_add_on(framework, add_on),
            )
    for file in (file for add_on in framework.add_ons for file in add_on.files):
        require_known(file.undefined)
