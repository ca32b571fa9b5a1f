"""`gpudoctor diagnose`: the same diagnosis for a report, or for text that somebody pasted."""

from __future__ import annotations

from gpudoctor.cli import options
from gpudoctor.cli.examine_text import examine_text
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.settings import GivenOptions


@app.command(epilog=EPILOG)
def diagnose(
    files: options.Texts = ["-"],
    format: options.Format = None,
    output: options.Output = None,
    json: options.Json = None,
    junit: options.Junit = None,
    markdown: options.Markdown = None,
    sarif: options.Sarif = None,
    only: options.Only = None,
    skip: options.Skip = None,
    fail_on: options.FailOn = None,
    compat: options.Compat = None,
    verbose: options.Verbose = False,
    quiet: options.QuietReport = False,
    no_color: options.NoColor = False,
) -> int:
    """Find the cause of a fault in text: error messages, logs, nvidia-smi, torch.utils.collect_env, pip list, or several of them mixed.

    Several files describe one machine; one of them may be a gpudoctor report.

    Example: nvidia-smi 2>&1 | gpudoctor diagnose - train.log
    """
    return examine_text(files, GivenOptions.of(locals()))
