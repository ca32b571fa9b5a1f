"""The settings of a command: the command line overrides the configuration file, which overrides the defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

import msgspec

from gpudoctor.check.model import CheckOptions
from gpudoctor.cli.destinations import BESIDE, Destination, destinations
from gpudoctor.cli.formats import Format
from gpudoctor.errors import UsageError
from gpudoctor.findings import Level, Policy, Severity
from gpudoctor.frameworks import MISTAKEN, TRAINED
from gpudoctor.nearest import suggestion
from gpudoctor.preflight import FRAMEWORKS, parse
from gpudoctor.probe.script_folder import absolute_folder
from gpudoctor.regular_files import beginning
from gpudoctor.snapshot import readable
from gpudoctor.typed import converted

_LARGEST = 1 << 20
"""Bytes of a file that an option names."""


class GivenOptions(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The options of `check` that one source gives, by name; None, False and () mean not given."""

    level: Literal["look", "touch", "train", "full"] | None = None
    no_smoke: bool = False
    node: bool = False
    allow_cpu: bool = False
    python: str | None = None
    cwd: str | None = None
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    framework: tuple[str, ...] = ()
    fail_on: Literal["error", "warning"] | None = None
    timeout: float | None = None
    wait: float | None = None
    force: bool = False
    compat: str | None = None
    format: Format | None = None
    output: str | None = None
    json: str | None = None
    junit: str | None = None
    markdown: str | None = None
    sarif: str | None = None
    identify: bool = False
    verbose: bool = False
    quiet: bool = False
    no_color: bool = False
    root: str | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> GivenOptions:
        """Return the options among the arguments of a command."""
        given: dict[str, Any] = {name: arguments[name] for name in cls.__struct_fields__ if arguments.get(name) is not None}
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return cls(**given | lists)


NO_OPTIONS = GivenOptions()


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """The formats and destinations of the reports."""

    destinations: tuple[Destination, ...]
    """The first is the one of --format and -o."""
    quiet: bool
    no_color: bool
    verbose: bool = False
    """Leave nothing out of the text."""
    identify: bool = False
    """Keep host and user names, home folders and addresses in a report that leaves the machine."""
    root: str = "/"
    """The tree that was examined."""

    @property
    def main(self) -> Destination:
        """The report of --format and -o."""
        return self.destinations[0]

    @property
    def errors_as_json(self) -> bool:
        """Whether a program that reads JSON waits for an answer on standard output."""
        return any(
            destination.format is Format.JSON and (destination is self.main or destination.file is None)
            for destination in self.destinations
        )


class Settings(Delivery, frozen=True, kw_only=True):
    """What to check, and where the report goes."""

    options: CheckOptions


def settle(given: GivenOptions, config: str | None) -> Settings:
    """Return the settings that the command line and the configuration file ask for.

    Raises UsageError, one sentence that names the option, the key or the file.
    """
    asked = _over(_levelled(given), _levelled(_configured(config)) if config is not None else NO_OPTIONS)
    if asked.node:
        _alone(asked)
    policy = msgspec.structs.replace(
        supposing(asked),
        level=Level(asked.level or ("look" if asked.node else "train")),
        node=asked.node,
        allow_cpu=asked.allow_cpu,
        require=_required(asked.require),
        frameworks=_frameworks(asked.framework),
    )
    options = CheckOptions(
        policy=policy,
        python=asked.python,
        cwd=None if asked.cwd is None else absolute_folder(asked.cwd),
        timeout=CheckOptions().timeout if asked.timeout is None else seconds("--timeout", asked.timeout),
        wait=0.0 if asked.wait is None else seconds("--wait", asked.wait),
        compat=asked.compat,
        identify=asked.identify,
        force=asked.force,
        root=asked.root or "/",
    )
    return Settings(options=options, **msgspec.structs.asdict(delivery(asked)))


def delivery(given: GivenOptions) -> Delivery:
    """Return where the reports go. Raises UsageError if two would overwrite each other."""
    beside = {form: getattr(given, form.value) for form in BESIDE}
    return Delivery(
        destinations=destinations(given.format or Format.TEXT, given.output, beside),
        verbose=given.verbose,
        quiet=given.quiet,
        no_color=given.no_color,
        identify=given.identify,
        root=given.root or "/",
    )


def supposing(given: GivenOptions = NO_OPTIONS) -> Policy:
    """Return the policy of a diagnosis for which no stage must be proven."""
    reasons = _reasons(given.skip)
    return Policy(
        level=None,
        only=_names_given("--only", given.only),
        skip=tuple(reasons),
        reasons={name: reason for name, reason in reasons.items() if reason},
        fail_on=Severity(given.fail_on or "error"),
    )


def _levelled(asked: GivenOptions) -> GivenOptions:
    """Return the options with --no-smoke written as --level look."""
    if not asked.no_smoke:
        return asked
    if asked.level not in {None, "look"}:
        raise UsageError(f"--no-smoke means --level look and contradicts --level {asked.level}; give one of them.")
    return msgspec.structs.replace(asked, level="look", no_smoke=False)


def _alone(asked: GivenOptions) -> None:
    """Raise UsageError for an option that --node rules out."""
    training = asked.level if asked.level in {"train", "full"} else None
    beside = {
        f"--level {training}": training,
        "--python": asked.python if asked.python != os.environ.get("GPUDOCTOR_PYTHON") else None,
        "--framework": asked.framework,
        "--allow-cpu": asked.allow_cpu,
        "--require": [text for text in asked.require if parse(text).subject in FRAMEWORKS],
    }
    clash = next((option for option, value in beside.items() if value), None)
    if clash is not None:
        raise UsageError(f"--node checks the machine without a Python environment; leave out {clash} or --node.")


def _over(first: GivenOptions, second: GivenOptions) -> GivenOptions:
    """Return `first`, with what it does not give taken from `second`."""
    names = GivenOptions.__struct_fields__
    silent = {name for name in names if getattr(first, name) in (None, ()) or getattr(first, name) is False}
    return GivenOptions(**{name: getattr(second if name in silent else first, name) for name in names})


def _names(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(readable(name) for text in given for part in text.split(",") if (name := part.strip()))


def _names_given(option: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that an option lists. Raises UsageError if it is given without one."""
    names = _names(given)
    if given and not names:
        raise UsageError(f"{option} is empty; name what it applies to, or leave it out.")
    return names


def _reasons(given: tuple[str, ...]) -> dict[str, str]:
    """Return the reason for skipping each rule: "GD712=a laptop, no server" and "GD712: a laptop" give one, "GD503,GD712" none."""
    reasons: dict[str, str] = {}
    for text in given:
        sign = next((letter for letter in text if letter in "=:"), "=")
        names, _, reason = text.partition(sign)
        reasons.update(dict.fromkeys(_names((names,)), readable(reason.strip())))
    return reasons


def _required(given: tuple[str, ...]) -> tuple[str, ...]:
    if not given:
        return ()
    return tuple(parse(text).text for text in given)


def _frameworks(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return each framework once, in the order given."""
    if not given:
        return ()
    names = tuple(dict.fromkeys(name.lower() for name in _names_given("--framework", given)))
    unknown = next((name for name in names if name not in TRAINED), None)
    if unknown is not None:
        meant = suggestion(MISTAKEN.get(unknown, unknown), TRAINED, f"gpudoctor trains with {', '.join(TRAINED)}.")
        raise UsageError(f"--framework {unknown}: {meant}")
    return names


def seconds(option: str, given: float) -> float:
    """Return a number of seconds. Raises UsageError if it is not positive."""
    if not (math.isfinite(given) and given > 0):
        raise UsageError(f"{option} takes a positive number of seconds, not {given:g}.")
    return given


def _configured(file: str) -> GivenOptions:
    fields = {field.encode_name: field for field in msgspec.structs.fields(GivenOptions) if field.name != "root"}
    values: dict[str, Any] = {}
    for key, value in _toml(file).items():
        if key not in fields:
            known = f"the options are {', '.join(fields)}."
            raise UsageError(f"{file}: there is no option {key!r}; {suggestion(key, fields, known)}")
        try:
            if key == "skip" and isinstance(value, dict):  # the table [skip]: rule = "reason"
                values[key] = tuple(f"{rule}={reason}" for rule, reason in converted(value, dict[str, str]).items())
            else:
                values[fields[key].name] = converted(value, fields[key].type)
        except msgspec.ValidationError as error:
            raise UsageError(f"{file}: {key}: {error}.") from None
    return GivenOptions(**values)


def _toml(file: str) -> dict[str, object]:
    what = f"The configuration file {file}"
    return dict(import_module("gpudoctor.toml_text").parsed(text_of(file, what), what))  # few checks have such a file


def text_of(file: str, what: str) -> str:
    """Return the text of a file that an option names. Raises UsageError, which begins with `what`, if it is no text or too long."""
    try:
        content = beginning(file, _LARGEST + 1)
        if len(content) > _LARGEST:
            raise UsageError(f"{what} has more than {_LARGEST >> 20} MiB; name a smaller file.")
        return content.decode()
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8 text; save it as UTF-8.") from None
