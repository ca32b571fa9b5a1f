"""Reads what conda writes: environment.yml, `conda list`, and its specifications of packages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from gpudoctor.errors import UsageError
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.model import FileLine, StatedRequirement
from gpudoctor.requirement_files.requirements_txt import add_line as pip_line

_MAX_BYTES = 256 << 10
"""Bytes of an environment.yml; exported ones have 30 kB, and the parser reads 100 kB in a second."""
_DISTRIBUTION_BY_NAME = {conda: distribution for spec in CATALOGUE for conda, distribution in spec.conda_names.items()}
_SPECIFICATION_FORM = re.compile(r"(?:[^\s:]{1,200}::)?(?P<name>[\w.-]{1,100})(?P<rest>.{0,400})")
_BRACKET_ENTRY = re.compile(r"""\b(\w+)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^,\]]+))""")
_PACKAGE_FILE = re.compile(r"/(?P<name>[\w.-]+?)-(?P<version>[^-/\s]+)-(?P<build>[^-/\s]+?)\.(?:conda|tar\.bz2)(?:#\S*)?$")


def read_environment(text: str, file: str, into: StatementCollector) -> None:
    """Take the dependencies of an environment.yml, those of pip among them."""
    if len(text) > _MAX_BYTES:
        raise UsageError(
            f"{file} is larger than {_MAX_BYTES >> 10} KiB, too large for an environment.yml; name a file that lists requirements."
        )
    import yaml  # noqa: PLC0415 -- costs 20 ms, and only these files need it

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)  # the C parser overflows its stack on deep nesting
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
        raise UsageError(f"{FileLine(file, line)} is not valid YAML: {getattr(error, 'problem', None) or 'it cannot be parsed'}.") from None
    except RecursionError:
        raise UsageError(f"{file} is nested too deeply to be an environment.yml.") from None
    for item in _list_items(root, "dependencies"):
        if item.id == "scalar":
            add_specification(item.value, FileLine(file, item.start_mark.line + 1), into)
        for one in _list_items(item, "pip"):
            if one.id == "scalar":
                pip_line(one.value.strip(), FileLine(file, one.start_mark.line + 1), into)


def _list_items(node: Any, key: str) -> Iterator[Any]:
    """The nodes of the list below a key of a YAML mapping; none for anything else. Nothing is expanded, so aliases cannot grow."""
    for name, listed in node.value if getattr(node, "id", "") == "mapping" else ():
        if name.value == key and listed.id == "sequence":
            yield from listed.value


def add_specification(text: str, place: FileLine, into: StatementCollector) -> None:
    """Take a specification such as pytorch=2.5.1=py3.12_cuda12.4* or conda-forge::jaxlib[version='>=0.5', build=*cuda12*]."""
    found = _SPECIFICATION_FORM.fullmatch(text.partition(" #")[0].strip())
    if found is None:
        into.not_read(text, "it is not a specification of conda", place)
        return
    rest = found["rest"].strip()
    if rest.startswith("["):
        named = {key: one or two or three for key, one, two, three in _BRACKET_ENTRY.findall(rest)}
        version, build = named.get("version", ""), named.get("build", "")
    else:
        version, build = _version_and_build(rest)
    add_package((found["name"], version, build), place, into)


def _version_and_build(rest: str) -> tuple[str, str]:
    """The version and the build of `=2.5=py3*`, `2.5 py3*` or `>=2.5`."""
    words = rest.split()
    if len(words) == 2 and not rest.startswith(("<", ">", "!", "~", "=")):
        return f"=={words[0]}", words[1]
    joined = "".join(words)
    parts = re.fullmatch(r"={0,2}([^=<>!~,|]+)=([^=<>!~,|]+)", joined)
    if parts is not None:
        return ("" if parts[1] == "*" else f"=={parts[1]}"), parts[2]
    return joined, ""


def add_package(named: tuple[str, str, str], place: FileLine, into: StatementCollector) -> None:
    """Take a conda package, its name, version and build, under the name of the distribution that it holds."""
    name, version, build = named
    specifier = ",".join(_pep440_clause(part) for part in version.split(",") if part.strip() not in {"", "*"})
    if name == "python":
        if specifier:
            into.python(specifier, place)
        return
    try:
        wanted = Requirement(f"{_DISTRIBUTION_BY_NAME.get(name, name)}{specifier}")
    except InvalidRequirement:
        into.not_read(
            f"{name} {version}".strip(), "its name or version is written as only conda writes it", place, package=not name.startswith("_")
        )
        return
    into.add(StatedRequirement(requirement=wanted, places=(place,), conda=True, build="" if build in {"*", "<pip>"} else build))


def _pep440_clause(part: str) -> str:
    """One comparison as PEP 440 writes it; =2.5 also allows 2.5.1."""
    text = part.strip()
    if text.startswith("=") and not text.startswith("=="):
        version = text[1:].rstrip("*").rstrip(".")
        return f"=={version}" if version.count(".") > 1 else f"=={version}.*"  # nothing below a patch release is published
    return text if text[:1] in "<>=!~" else f"=={text}"


def read_list(text: str, file: str, into: StatementCollector) -> None:
    """Take what `conda list` prints: its table, --export or --explicit."""
    for number, one in enumerate(text.split("\n"), 1):
        line, place = one.strip(), FileLine(file, number)
        if not line or line.startswith(("#", "@EXPLICIT")):
            continue
        words = line.split()
        explicit = _PACKAGE_FILE.search(line) if "://" in line else None
        if explicit is not None:
            add_package((explicit["name"], explicit["version"], explicit["build"]), place, into)
        elif len(words) == 1 and line.count("=") == 2:
            name, version, build = line.split("=")
            add_package((name, version, build), place, into)
        elif len(words) in {2, 3, 4} and words[-1] == "pypi":
            into.text(f"{words[0]}=={words[1]}", place)
        elif len(words) in {2, 3, 4}:
            add_package((words[0], words[1], words[2] if len(words) > 2 else ""), place, into)
        else:
            into.not_read(line, "it is no line of `conda list`", place)
