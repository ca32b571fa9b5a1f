"""`gpudoctor smoke`: trains, shows the numbers, and applies only the rules that explain a failed or slow training run."""

from __future__ import annotations

import msgspec

from gpudoctor.cli import failure, options, system
from gpudoctor.cli.examine import run_check
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.settings import GivenOptions, Settings, settings_of_options
from gpudoctor.diagnose.rule_choice import training_rule_codes
from gpudoctor.diagnose.rules import RULES


@app.command(epilog=EPILOG)
def smoke(
    level: options.TrainLevel = "train",
    framework: options.Framework = None,
    allow_cpu: options.AllowCpu = False,
    force: options.Force = False,
    python: options.Python = None,
    cwd: options.Cwd = None,
    format: options.Format = None,
    output: options.Output = None,
    json: options.Json = None,
    junit: options.Junit = None,
    markdown: options.Markdown = None,
    sarif: options.Sarif = None,
    timeout: options.Timeout = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    root: options.Root = None,
) -> int:
    """Train a small network with each installed framework on each free GPU; show stages, losses, speed and agreement with the CPU.

    Applies only the rules that explain why training fails or is slow. Downloads nothing and changes nothing on the machine.
    """
    system.require_linux("smoke")
    settings = settings_of_options(GivenOptions.of(locals()), None)
    return failure.guarded_exit_code(lambda: _run_smoke(settings), as_json=settings.errors_as_json)


def _run_smoke(settings: Settings) -> int:
    policy = msgspec.structs.replace(settings.options.policy, only=training_rule_codes(RULES))
    chosen = msgspec.structs.replace(settings.options, policy=policy)
    return run_check(msgspec.structs.replace(settings, options=chosen), "smoke")
