"""`gpudoctor diff`: what changed between two reports, or between a reference machine and another one."""

from __future__ import annotations

from gpudoctor.changes import compare_examinations
from gpudoctor.cli import failure, options, output
from gpudoctor.cli.content import examine_files
from gpudoctor.cli.field_patterns import field_patterns
from gpudoctor.cli.formats import TextMarkdownOrJson
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.screen import is_terminal, look_of_output, redactor_for_output
from gpudoctor.cli.settings import diagnosis_policy
from gpudoctor.errors import UsageError
from gpudoctor.matrix_files import open_matrix
from gpudoctor.report import diff_text, document
from gpudoctor.report.diff import Diff


@app.command(epilog=EPILOG)
def diff(
    before: options.Before,
    after: options.After,
    golden: options.Golden = False,
    ignore: options.Ignore = None,
    ignore_file: options.IgnoreFile = None,
    format: options.DiffFormat = TextMarkdownOrJson.TEXT,
    output_: options.ResultOutput = None,
    compat: options.Compat = None,
    verbose: options.VerboseDiff = False,
    no_color: options.NoColor = False,
) -> int:
    """Show what changed from report A to report B: causes first, then facts that rules read, then the rest.

    A and B are reports of `check --format json`, or any text that `diagnose` reads.

    Example: gpudoctor diff --golden healthy.json today.json
    """
    file = output.file_named(output_)

    def carry_out() -> int:
        output.require_writable(file)
        found = _diff_of_files(before, after, (*(ignore or ()), *field_patterns(ignore_file)), compat, golden=golden)
        found = redactor_for_output("/", stays=format is TextMarkdownOrJson.TEXT and file is None and is_terminal()).struct(found)
        output.write_output(_rendered_diff(found, format, verbose=verbose, no_color=no_color, to_stdout=file is None), file)
        return found.exit_code

    return failure.guarded_exit_code(carry_out, as_json=format is TextMarkdownOrJson.JSON and file is None)


def _diff_of_files(before: str, after: str, ignore: tuple[str, ...], compat: str | None, *, golden: bool) -> Diff:
    if before == after == "-":
        raise UsageError("Only one of the two reports can come from standard input; name a file for the other.")
    matrix = open_matrix(compat)
    policy = diagnosis_policy()
    examination, other = (examine_files([file], matrix, policy) for file in (before, after))
    return compare_examinations(examination, other, matrix, (_file_name(before), _file_name(after)), ignore=ignore, golden=golden)


def _file_name(file: str) -> str:
    return "standard input" if file == "-" else file


def _rendered_diff(found: Diff, form: TextMarkdownOrJson, *, verbose: bool, no_color: bool, to_stdout: bool) -> bytes:
    if form is TextMarkdownOrJson.JSON:
        return document.encode_document(found)
    if form is TextMarkdownOrJson.MARKDOWN:
        return diff_text.diff_as_markdown(found, verbose=verbose).encode("utf-8", "backslashreplace")
    shown = look_of_output(no_color=no_color, verbose=verbose, to_stdout=to_stdout)
    return shown.encoded_text(diff_text.render(found, shown))
