"""The settings of a command: the command line overrides the configuration file, which overrides the defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

import msgspec

from gpudoctor.check.model import CheckOptions
from gpudoctor.cli.destinations import EXTRA_FORMATS, Destination, report_destinations
from gpudoctor.cli.formats import Format
from gpudoctor.conditions import FRAMEWORKS, parse_condition
from gpudoctor.errors import UsageError
from gpudoctor.findings import Level, Policy, Severity
from gpudoctor.frameworks import MISTAKEN, TRAINED
from gpudoctor.probe.script_folder import absolute_folder
from gpudoctor.regular_files import file_beginning
from gpudoctor.snapshot import printable_text
from gpudoctor.suggestions import suggestion
from gpudoctor.typed_values import convert_value

_MAX_BYTES = 1 << 20
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


def settings_of_options(given: GivenOptions, config: str | None) -> Settings:
    """Return the settings that the command line and the configuration file ask for.

    Raises UsageError, one sentence that names the option, the key or the file.
    """
    asked = _merged_options(_with_level(given), _with_level(_configured_options(config)) if config is not None else NO_OPTIONS)
    if asked.node:
        _refuse_with_node(asked)
    policy = msgspec.structs.replace(
        diagnosis_policy(asked),
        level=Level(asked.level or ("look" if asked.node else "train")),
        node=asked.node,
        allow_cpu=asked.allow_cpu,
        require=_parsed_conditions(asked.require),
        frameworks=_framework_names(asked.framework),
    )
    options = CheckOptions(
        policy=policy,
        python=asked.python,
        cwd=None if asked.cwd is None else absolute_folder(asked.cwd),
        timeout=CheckOptions().timeout if asked.timeout is None else positive_seconds("--timeout", asked.timeout),
        wait=0.0 if asked.wait is None else positive_seconds("--wait", asked.wait),
        compat=asked.compat,
        identify=asked.identify,
        force=asked.force,
        root=asked.root or "/",
    )
    return Settings(options=options, **msgspec.structs.asdict(delivery_of_options(asked)))


def delivery_of_options(given: GivenOptions) -> Delivery:
    """Return where the reports go. Raises UsageError if two would overwrite each other."""
    beside = {form: getattr(given, form.value) for form in EXTRA_FORMATS}
    return Delivery(
        destinations=report_destinations(given.format or Format.TEXT, given.output, beside),
        verbose=given.verbose,
        quiet=given.quiet,
        no_color=given.no_color,
        identify=given.identify,
        root=given.root or "/",
    )


def diagnosis_policy(given: GivenOptions = NO_OPTIONS) -> Policy:
    """Return the policy of a diagnosis for which no stage must be proven."""
    reasons = _skip_reasons(given.skip)
    return Policy(
        level=None,
        only=_required_names("--only", given.only),
        skip=tuple(reasons),
        reasons={name: reason for name, reason in reasons.items() if reason},
        fail_on=Severity(given.fail_on or "error"),
    )


def _with_level(asked: GivenOptions) -> GivenOptions:
    """Return the options with --no-smoke written as --level look."""
    if not asked.no_smoke:
        return asked
    if asked.level not in {None, "look"}:
        raise UsageError(f"--no-smoke means --level look and contradicts --level {asked.level}; give one of them.")
    return msgspec.structs.replace(asked, level="look", no_smoke=False)


def _refuse_with_node(asked: GivenOptions) -> None:
    """Raise UsageError for an option that --node rules out."""
    training = asked.level if asked.level in {"train", "full"} else None
    beside = {
        f"--level {training}": training,
        "--python": asked.python if asked.python != os.environ.get("GPUDOCTOR_PYTHON") else None,
        "--framework": asked.framework,
        "--allow-cpu": asked.allow_cpu,
        "--require": [text for text in asked.require if parse_condition(text).subject in FRAMEWORKS],
    }
    clash = next((option for option, value in beside.items() if value), None)
    if clash is not None:
        raise UsageError(f"--node checks the machine without a Python environment; leave out {clash} or --node.")


def _merged_options(first: GivenOptions, second: GivenOptions) -> GivenOptions:
    """Return `first`, with what it does not give taken from `second`."""
    names = GivenOptions.__struct_fields__
    silent = {name for name in names if getattr(first, name) in (None, ()) or getattr(first, name) is False}
    return GivenOptions(**{name: getattr(second if name in silent else first, name) for name in names})


def _split_names(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(printable_text(name) for text in given for part in text.split(",") if (name := part.strip()))


def _required_names(option: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that an option lists. Raises UsageError if it is given without one."""
    names = _split_names(given)
    if given and not names:
        raise UsageError(f"{option} is empty; name what it applies to, or leave it out.")
    return names


def _skip_reasons(given: tuple[str, ...]) -> dict[str, str]:
    """Return the reason for skipping each rule: "GD712=a laptop, no server" and "GD712: a laptop" give one, "GD503,GD712" none."""
    reasons: dict[str, str] = {}
    for text in given:
        sign = next((letter for letter in text if letter in "=:"), "=")
        names, _, reason = text.partition(sign)
        reasons.update(dict.fromkeys(_split_names((names,)), printable_text(reason.strip())))
    return reasons


def _parsed_conditions(given: tuple[str, ...]) -> tuple[str, ...]:
    if not given:
        return ()
    return tuple(parse_condition(text).text for text in given)


def _framework_names(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return each framework once, in the order given."""
    if not given:
        return ()
    names = tuple(dict.fromkeys(name.lower() for name in _required_names("--framework", given)))
    unknown = next((name for name in names if name not in TRAINED), None)
    if unknown is not None:
        meant = suggestion(MISTAKEN.get(unknown, unknown), TRAINED, f"gpudoctor trains with {', '.join(TRAINED)}.")
        raise UsageError(f"--framework {unknown}: {meant}")
    return names


def positive_seconds(option: str, given: float) -> float:
    """Return a number of seconds. Raises UsageError if it is not positive."""
    if not (math.isfinite(given) and given > 0):
        raise UsageError(f"{option} takes a positive number of seconds, not {given:g}.")
    return given


def _configured_options(file: str) -> GivenOptions:
    fields = {field.encode_name: field for field in msgspec.structs.fields(GivenOptions) if field.name != "root"}
    values: dict[str, Any] = {}
    for key, value in _configuration_table(file).items():
        if key not in fields:
            known = f"the options are {', '.join(fields)}."
            raise UsageError(f"{file}: there is no option {key!r}; {suggestion(key, fields, known)}")
        try:
            if key == "skip" and isinstance(value, dict):  # the table [skip]: rule = "reason"
                values[key] = tuple(f"{rule}={reason}" for rule, reason in convert_value(value, dict[str, str]).items())
            else:
                values[fields[key].name] = convert_value(value, fields[key].type)
        except msgspec.ValidationError as error:
            raise UsageError(f"{file}: {key}: {error}.") from None
    return GivenOptions(**values)


def _configuration_table(file: str) -> dict[str, object]:
    what = f"The configuration file {file}"
    return dict(import_module("gpudoctor.toml_text").parse_toml(text_of_file(file, what), what))  # few checks have such a file


def text_of_file(file: str, what: str) -> str:
    """Return the text of a file that an option names. Raises UsageError, which begins with `what`, if it is no text or too long."""
    try:
        content = file_beginning(file, _MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise UsageError(f"{what} has more than {_MAX_BYTES >> 20} MiB; name a smaller file.")
        return content.decode()
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{what} is not UTF-8 text; save it as UTF-8.") from None
