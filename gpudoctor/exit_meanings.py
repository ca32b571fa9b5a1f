"""What each exit code means and what to do about it: the one table behind the help, `gpudoctor explain exit-codes` and the documents."""

from __future__ import annotations

from typing import NamedTuple

from gpudoctor.exit_codes import BROKEN, CRASHED, READY, UNKNOWN, USAGE


class ExitCode(NamedTuple):
    """An exit code, or several that mean the same."""

    codes: tuple[int, ...]
    verdict: str
    """The verdicts that end so, empty where there is none."""
    short: str
    meaning: str
    action: str

    @property
    def name(self) -> str:
        """The name of its page: "exit-3", "exit-130"."""
        return f"exit-{self.codes[0]}"

    @property
    def label(self) -> str:
        """The codes as the help writes them: "130 or 143"."""
        return " or ".join(map(str, self.codes))


EXIT_CODES = (
    ExitCode(
        (READY,),
        "ready, degraded",
        "ready or degraded",
        "Training works here. With the verdict degraded it is slower than it should be, or something threatens it; the report says which.",
        "Start training. If degraded, apply the fixes in the report. To fail on degraded too, pass --fail-on warning.",
    ),
    ExitCode(
        (BROKEN,),
        "broken",
        "broken",
        "Something prevents training here, or on at least one GPU that is neither hidden nor assigned to a virtual machine, or a --require "
        "is not met. With --fail-on warning, degraded exits with 1 too. From `gpudoctor diff --golden`: the second report deviates from the first. "
        "From `gpudoctor fit`: the run does not fit.",
        "Apply the first fix in the report, then run the command again.",
    ),
    ExitCode(
        (USAGE,),
        "",
        "usage or output error",
        "The command line is wrong, a file named on it cannot be read, or the report could not be written. Nothing was diagnosed.",
        "Read the sentence on standard error: it names the option or the file. `gpudoctor COMMAND --help` lists the options.",
    ),
    ExitCode(
        (UNKNOWN,),
        "unknown",
        "unknown",
        "Nothing was found broken, but something that the level must check could not be checked: a GPU in use, a missing permission, a timeout, "
        "no framework installed, a release that the tables do not know, or a fact that a rule named by --only needs. Unknown is never a pass. "
        "From `gpudoctor diff --golden`: no deviation was found, but the second report does not know a fact that the first one has. From `gpudoctor fleet`: a node sent no report. "
        "From `gpudoctor fit`: activations are unknown, or no GPU's free memory is.",
        "Remove the reason that the report names: free the GPU or pass --force, run as root, raise --timeout, or name the environment with "
        "--python. To check the machine without a framework, use --node.",
    ),
    ExitCode(
        (CRASHED,),
        "",
        "gpudoctor failed",
        "A rule or probe of gpudoctor crashed. This says nothing about the machine. If the machine is broken as well, the exit code is 1.",
        "Report the error as a bug, with the output of the same command under GPUDOCTOR_DEBUG=1.",
    ),
    ExitCode(
        (129, 130, 143),
        "",
        "stopped by a signal",
        "SIGHUP (129, the terminal was closed), Ctrl-C (130) or SIGTERM (143) stopped the command. What was found until then is still reported.",
        "Run the command again. If a scheduler or service manager stopped it, give it more time or lower --timeout.",
    ),
)
"""Every exit code, in ascending order."""


def exit_codes_line() -> str:
    """Return one line that names them all."""
    return f"Exit codes: {', '.join(f'{code.label} {code.short}' for code in EXIT_CODES)}."
