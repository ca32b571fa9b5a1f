"""The problem that a text's sign or words tell of: what speaks for its likeliest cause, how to tell the causes apart, and what fixes it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.by_hand import manual_check
from gpudoctor.diagnose.advice.logged_frameworks import releases_in_text
from gpudoctor.diagnose.advice.message_fixes import usual_fixes
from gpudoctor.diagnose.advice.system import read_page
from gpudoctor.diagnose.rule import Rule
from gpudoctor.expressions import expression
from gpudoctor.findings import MACHINE, Action, Confidence, Evidence, Fix, FixKind, Problem, Severity
from gpudoctor.frameworks import MISTAKEN, stack_of
from gpudoctor.signatures import SignatureMatch
from gpudoctor.snapshot import Platform, TextLog

_MAX_CANDIDATES = 4
_WORD = expression(r"[a-z][\w-]{1,60}")
_NEEDS_UNIX = expression(
    r"(?:^|[|;&] ?)(?:sudo|grep|ls|ldconfig|lspci|find|dmesg|systemctl|readelf|ldd|which|free)\b|/(?:proc|dev|etc|usr)\b|\$\w|'"
)
"""A program by its name where a command begins, a path, a variable, or quotes that cmd.exe does not know."""
_UNIX_SHELL = expression(r"(?:^|[|&;] ?)(?:sudo|export|unset) ")


def problem_of_sign(sign: SignatureMatch, likely: Sequence[Rule], log: TextLog, machine: MachineView, *, why: Evidence | None) -> Problem:
    """Return the problem that a sign tells of, with what speaks for its likeliest cause."""
    rule, of = likely[0], frameworks_of_sign(sign, machine)
    sure = is_cause_certain(sign, why)
    where = next((line.where for line in log.lines if sign.line in line.value or line.value in sign.line), "the text")
    return Problem(
        message=f"The log says that {sign.signature.meaning}.",
        evidence=tuple(dict.fromkeys((Evidence("log", sign.line, where), *((why,) if why else ())))),
        fixes=(
            *(() if sure else _distinguishing_checks(sign.signature.tells, likely, machine, of)),
            *fixes_for_cause(rule, sign.signature.cure, machine, of, sure=sure),
            read_page(rule.name),
        ),
        severity=max(rule.severity, Severity.WARNING),
        confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
        subject=MACHINE,
    )


def is_cause_certain(sign: SignatureMatch, why: Evidence | None) -> bool:
    """Return whether a sign names its cause: it is the only one, or something else, `why`, speaks for it."""
    return not sign.signature.guess and (why is not None or len(sign.signature.causes) == 1)


def problem_of_words(words: Sequence[str], likely: Sequence[Rule], machine: MachineView) -> Problem:
    """Return the problem of a cause that only these words of the text speak for: a warning, since nothing proves it."""
    of = releases_in_text(machine)
    return Problem(
        message=f"{likely[0].title}: only the words of the text suggest it, no error message proves it.",
        evidence=(Evidence("words", ", ".join(words), "the text"),),
        fixes=(
            *_distinguishing_checks("", likely, machine, of),
            *fixes_for_cause(likely[0], "", machine, of, sure=False),
            read_page(likely[0].name),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.POSSIBLE,
        subject=MACHINE,
    )


def _command_for_platform(command: str, machine: MachineView) -> str:
    """Return a command; empty on Windows if it is for a Unix shell."""
    return "" if machine.site.platform == Platform.WINDOWS and _NEEDS_UNIX.search(command) else command


def frameworks_of_sign(sign: SignatureMatch, machine: MachineView) -> Collection[str]:
    """Return the frameworks that a sign is about: those that it or its line names, otherwise those of the text."""
    return frameworks_named(sign.signature.meaning) or frameworks_named(sign.line) or releases_in_text(machine)


def frameworks_named(line: str) -> set[str]:
    """Return the frameworks whose packages a line names."""
    return {stack for word in _WORD.findall(line.lower()) if (stack := stack_of(MISTAKEN.get(word, word)))}


def _manual_check_for_platform(rule: Rule, machine: MachineView, of: Collection[str]) -> str:
    return _command_for_platform(manual_check(rule.name, of), machine)


def fixes_for_cause(rule: Rule, cure: str, machine: MachineView, of: Collection[str], *, sure: bool) -> Iterator[Fix]:
    """Yield what fixes a cause of these frameworks that only a log names, and how to confirm it; `cure` is what fixes this line."""
    if cure:
        yield Fix(cure)
        return
    command, generally = _manual_check_for_platform(rule, machine, of), usual_fixes(machine, rule.name)
    advice = rule.advice(machine) if rule.advice else generally
    if sure and command and advice == generally:
        yield Fix("Confirm it", command, kind=FixKind.CHECK)
    for number, fix in enumerate(_fixes_for_platform(advice, machine)):
        first = f"If it is {rule.name}: {fix.title[0].lower()}{fix.title[1:]}"
        title = fix.title if sure or number else first
        yield fix if sure else msgspec.structs.replace(fix, title=title, action=Action.INVESTIGATE)


def _fixes_for_platform(fixes: Iterable[Fix], machine: MachineView) -> Iterator[Fix]:
    """Yield the fixes; on Windows without checks and commands for a Unix shell."""
    for fix in fixes:
        if fix.kind is FixKind.CHECK and _command_for_platform(fix.command, machine) != fix.command:
            continue
        of_unix = machine.site.platform == Platform.WINDOWS and _UNIX_SHELL.search(fix.command)
        yield msgspec.structs.replace(fix, title=f"{fix.title}.", command="", needs=()) if of_unix else fix


def _distinguishing_checks(telling: str, likely: Sequence[Rule], machine: MachineView, of: Collection[str]) -> tuple[Fix, ...]:
    """Return the command that tells likely causes apart, `telling`, or one for each of the likeliest; their names if there is none here."""
    tells, first = _command_for_platform(telling, machine), likely[:_MAX_CANDIDATES]
    commands = [(rule, _manual_check_for_platform(rule, machine, of)) for rule in first]
    if telling or not any(command for _, command in commands):
        names = ", ".join(rule.name for rule in first)
        title = f"Find out which it is, likeliest first: {names}" if len(first) > 1 else "Confirm it"
        return (Fix(title if tells else f"{title}.", tells, kind=FixKind.CHECK),) if tells or len(first) > 1 else ()
    return tuple(
        Fix(f"Check for {rule.name}, candidate {number}" if len(likely) > 1 else "Confirm it", command, kind=FixKind.CHECK)
        for number, (rule, command) in enumerate(commands, 1)
        if command
    )
