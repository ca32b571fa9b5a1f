"""Reads Dockerfiles: the image, and what RUN lines install. No shell runs; variables have the values that ARG and ENV give them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files import images, install_commands
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.model import FileLine

_MAX_BYTES = 256 << 10
"""Characters of a Dockerfile; joining the lines of one instruction takes quadratic time."""
_HEREDOC_START = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_VARIABLE_FORM = re.compile(r"\$(?:\{(\w+)(?::?([-+])([^{}]*))?\}|(\w+))")
_INSTRUCTION_FLAGS = re.compile(r"^(?:--\w[\w-]*(?:=\S+)?\s+)+")


class Instruction(msgspec.Struct, frozen=True):
    """One instruction, its continuation lines joined."""

    word: str
    """In capitals."""
    rest: str
    line: int


class BuildStage(msgspec.Struct):
    """One build stage."""

    name: str
    image: str
    line: int
    instructions: list[Instruction]
    variables: dict[str, str]


def read(text: str, file: str, into: StatementCollector) -> None:
    """Take what the last build stage installs, with the stages that it builds on or copies from."""
    if len(text) > _MAX_BYTES:
        raise UsageError(f"{file} is larger than {_MAX_BYTES >> 10} KiB, too large for a Dockerfile; name a file that lists requirements.")
    stages = _build_stages(parsed_instructions(text))
    if not stages:
        return
    used = _used_stages(stages)
    for stage in stages:
        if stage.name not in used and any(
            instruction.word == "RUN" and install_commands.is_install_command(instruction.rest) for instruction in stage.instructions
        ):
            into.not_read(
                f"FROM {stage.image} AS {stage.name}", "the last stage does not use this one", FileLine(file, stage.line), package=False
            )
    base = _base_stage(stages)
    images.add_image(base.image, FileLine(file, base.line), into)
    for stage in (one for one in stages if one.name in used):
        variables = dict(stage.variables)
        for instruction in stage.instructions:
            if instruction.word in {"ARG", "ENV"}:
                variables.update(_assigned_variables(instruction, variables))
            elif instruction.word == "RUN":
                place = FileLine(file, instruction.line)
                install_commands.add_installed(with_variables(_shell_command(instruction.rest), variables), place, into, instruction.rest)


def parsed_instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile; the lines of a here-document belong to the instruction that begins it."""
    lines = iter(enumerate(text.split("\n"), 1))
    for number, line in lines:
        joined = line.strip()
        if not joined or joined.startswith("#"):
            continue
        while joined.endswith("\\"):
            following = next(lines, None)
            if following is None:
                break
            added = following[1].strip()
            joined = f"{joined[:-1].rstrip()} {added}" if added and not added.startswith("#") else joined
        word, _, rest = joined.partition(" ")
        documents = [found[2] for found in _HEREDOC_START.finditer(rest)] if word.upper() in {"RUN", "COPY"} else []
        body = [one for end in documents for one in _lines_until(end, lines)]
        if word.upper() == "RUN" and documents:
            rest = "\n".join((_HEREDOC_START.sub("", rest), *body))
        yield Instruction(word.upper(), rest.strip(), number)


def _lines_until(end: str, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == end:
            return
        yield line


def _build_stages(found: Iterator[Instruction]) -> list[BuildStage]:
    before: dict[str, str] = {}
    stages: list[BuildStage] = []
    for instruction in found:
        if instruction.word == "FROM":
            words = with_variables(_INSTRUCTION_FLAGS.sub("", instruction.rest), before).split()
            named = words[2].lower() if len(words) > 2 and words[1].lower() == "as" else str(len(stages))
            stages.append(BuildStage(named, words[0] if words else "", instruction.line, [], dict(before)))
        elif stages:
            stages[-1].instructions.append(instruction)
        elif instruction.word == "ARG":
            before.update(_assigned_variables(instruction, before))
    return stages


def _used_stages(stages: list[BuildStage]) -> set[str]:
    """The names of the last stage and of those that it builds on or copies from."""
    by_name = {stage.name: stage for stage in stages} | {str(place): stage for place, stage in enumerate(stages)}
    used, left = set(), [stages[-1]]
    while left:
        stage = left.pop()
        if stage.name in used:
            continue
        used.add(stage.name)
        copied = (re.search(r"--from=(\S+)", instruction.rest) for instruction in stage.instructions if instruction.word == "COPY")
        names = [stage.image.lower(), *(found[1].lower() for found in copied if found)]
        left += [by_name[name] for name in names if name in by_name]
    return used


def _base_stage(stages: list[BuildStage]) -> BuildStage:
    """The stage whose image the last one is built on."""
    by_name = {stage.name: stage for stage in stages}
    base, seen = stages[-1], set()
    while base.image.lower() in by_name and base.name not in seen:
        seen.add(base.name)
        base = by_name[base.image.lower()]
    return base


def _assigned_variables(instruction: Instruction, variables: dict[str, str]) -> dict[str, str]:
    """What ARG or ENV sets; an ARG without a value keeps the one it had before the first FROM."""
    if instruction.word == "ENV" and "=" not in instruction.rest.split(" ")[0]:
        name, _, value = instruction.rest.partition(" ")
        return {name: with_variables(value.strip().strip("\"'"), variables)}
    pairs = re.findall(r"""(?<![\w.])([\w.]+)=("(?:[^"\\]|\\.)*"|'[^']*'|\S*)""", instruction.rest)
    return {name: with_variables(value.strip("\"'"), variables) for name, value in pairs}


def _shell_command(rest: str) -> str:
    """The shell's words of RUN, also of its JSON form."""
    command = _INSTRUCTION_FLAGS.sub("", rest)
    if command.startswith("["):
        try:
            return " ".join(f"'{word}'" for word in msgspec.json.decode(command))
        except (ValueError, TypeError, RecursionError):
            return command
    return command


def with_variables(text: str, variables: dict[str, str]) -> str:
    """The text with the variables that are known; others stay as they are written."""

    def value(found: re.Match[str]) -> str:
        known = variables.get(found[1] or found[4])
        if found[2] == "+":
            return found[3] if known else ""
        return known or (found[3] if found[2] == "-" else found[0] if known is None else "")

    return _VARIABLE_FORM.sub(value, text)
