"""Reads the commands of pip, uv and conda in a shell's line."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

from gpudoctor.frameworks import CATALOGUE
from gpudoctor.requirement_files import conda, requirements_txt
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import text_of_file
from gpudoctor.requirement_files.model import FileLine

_INSTALL_COMMAND = re.compile(
    r"(?:^|[\s/;&|])(?:pip[\d.]* +(?:-\S+ +){0,4}install|uv +(?:pip +(?:install|sync)|add|sync)|"
    r"(?:conda|mamba|micromamba|poetry|pipenv|pdm|pixi) +(?:-\S+ +){0,4}(?:install|add|sync|create|env|update))\b"
)
_COMMAND_SUBSTITUTION = re.compile(r"\$\([^()]{0,500}\)|`[^`]{0,500}`")
_UNKNOWN_VALUE = "$COMPUTED"
_WRAPPER_WORDS = frozenset(("sudo", "exec", "env", "time", "command", "then", "do", "else", "if", "&&", "!", "{", "set", "xargs"))
_PYTHON_PROGRAM = re.compile(r"(?:.*/)?python[\d.]*")
_PIP_PROGRAM = re.compile(r"(?:.*/)?pip[\d.]*")
_CONDA_PROGRAM = re.compile(r"(?:.*/)?(?:conda|mamba|micromamba)")
_INDEX_OPTIONS = ("-i", "--index-url", "--extra-index-url", "--index", "--default-index", "-f", "--find-links")
_REPLACING_OPTIONS = ("-i", "--index-url", "--default-index")
_VALUE_OPTIONS = (
    *("-t", "--target", "--prefix", "--root", "--cache-dir", "--timeout", "--retries", "--python", "-p", "--platform", "--python-version"),
    *("--implementation", "--abi", "--trusted-host", "--proxy", "--cert", "--no-binary", "--only-binary", "--src", "--log", "--group"),
    *(
        "--progress-bar",
        "--config-settings",
        "--global-option",
        "--root-user-action",
        "--upgrade-strategy",
        "--use-feature",
        "--resolution",
    ),
    *(
        "--link-mode",
        "--index-strategy",
        "--prerelease",
        "--exclude-newer",
        "--no-build-isolation-package",
        "--upgrade-package",
        "-P",
        "--report",
    ),
    *("--no-build", "--no-binary-package", "--refresh-package", "--extra"),
)
_CONDA_OPTIONS = ("-n", "--name", "-p", "--prefix", "-c", "--channel", "--solver", "--file", "-f", "--override-frozen")
_SYSTEM_PACKAGE_NAMES = re.compile(r"(?:cuda|libcudnn|cudnn|libnccl|nvidia|tensorrt|libnvinfer|python3-(?:torch|tensorflow))[\w.+=*-]*")


def is_install_command(command: str) -> bool:
    """Whether a shell's line may install Python packages."""
    return _INSTALL_COMMAND.search(command) is not None


def add_installed(command: str, place: FileLine, into: StatementCollector, written: str) -> None:
    """Take what the commands of a shell's line install; `written` is the line before its variables were replaced."""
    conditions = 0
    for written_words in _simple_commands(_COMMAND_SUBSTITUTION.sub(_UNKNOWN_VALUE, command)):
        conditions += (written_words[:1] == ["if"]) - (written_words[:1] == ["fi"])
        words = _without_wrappers(written_words)
        if conditions and is_install_command(" ".join(words)):
            into.not_read(" ".join(words), "the shell runs it only under a condition", place)
        elif not _add_command(words, place, into) and is_install_command(" ".join(words)):
            into.not_read(" ".join(words), "this form of the command is not read", place)
    if not any(True for _ in _simple_commands(command)) and is_install_command(written):
        into.not_read(written, "the shell's quotation marks do not match", place)


def _simple_commands(command: str) -> Iterator[list[str]]:
    """The simple commands of a line."""
    lines = (line for line in command.split("\n") if not line.lstrip().startswith("#"))
    lexer = shlex.shlex(" ; ".join(lines), posix=True, punctuation_chars="();|&")
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        for word in lexer:
            if word and set(word) <= set("();|&"):
                yield words
                words = []
            else:
                words.append(word)
    except ValueError:
        return
    yield words


def _without_wrappers(words: list[str]) -> list[str]:
    """A command without what precedes the program."""
    place = 0
    while place < len(words) and (words[place] in _WRAPPER_WORDS or re.match(r"[A-Za-z_]\w*=|-[eux]+$", words[place])):
        place += 1
    return words[place:]


def _add_command(words: list[str], place: FileLine, into: StatementCollector) -> bool:
    """Take one command; whether it was understood."""
    if len(words) > 2 and _PYTHON_PROGRAM.fullmatch(words[0]) and words[1] == "-m":
        words = words[2:]
    if words[:2] == ["conda", "run"] or words[:2] == ["micromamba", "run"]:
        words = words[
            next((at for at, word in enumerate(words) if _PIP_PROGRAM.fullmatch(word) or _PYTHON_PROGRAM.fullmatch(word)), len(words)) :
        ]
        return _add_command(words, place, into) if words else True
    if not words:
        return True
    if words[0].rpartition("/")[2] == "uv":
        return _add_uv_command(words[1:], place, into)
    if _PIP_PROGRAM.fullmatch(words[0]) and "install" in words:
        _add_pip_arguments(words[words.index("install") + 1 :], place, into)
        return True
    if _CONDA_PROGRAM.fullmatch(words[0]):
        return _add_conda_command(words[1:], place, into)
    if words[0] in {"apt-get", "apt", "dnf", "yum", "microdnf"} and "install" in words:
        for word in words:
            if _SYSTEM_PACKAGE_NAMES.fullmatch(word):
                into.not_read(word, "system packages are not read; state CUDA with --system-cuda", place, package=False)
    return False


def _add_uv_command(words: list[str], place: FileLine, into: StatementCollector) -> bool:
    if words[:2] == ["pip", "install"]:
        _add_pip_arguments(words[2:], place, into)
        return True
    if words[:1] == ["add"]:
        _add_pip_arguments(words[1:], place, into)
        return True
    if words[:1] == ["sync"] or words[:2] == ["pip", "sync"]:
        files = [word for word in words[2:] if not word.startswith("-")] if words[0] == "pip" else []
        for file in files:
            _add_included_file(file, place, into, constraint=False)
        if not files:
            into.not_read(" ".join(("uv", *words)), "uv installs what its lock file lists; pass uv.lock too", place)
        return True
    return False


def _add_pip_arguments(words: list[str], place: FileLine, into: StatementCollector) -> None:
    """Take the arguments of pip install; an index counts for this command's packages only."""
    options, packages = _options_and_arguments(words)
    urls = [(value, name in _REPLACING_OPTIONS) for name, value in options if name in _INDEX_OPTIONS]
    backend = next((value for name, value in options if name == "--torch-backend"), "")
    if backend and backend != "auto":
        urls += [(f"{spec.wheel_index}/{backend}", True) for spec in CATALOGUE if spec.wheel_index]
    for url, _ in urls:
        if "$" in url:
            into.not_read(url, "the address of this index is computed when the image is built", place)
    for name, value in options:
        if name in {"-r", "--requirement", "-c", "--constraint"}:
            _add_included_file(value, place, into, constraint=name in {"-c", "--constraint"})
        elif name in {"-e", "--editable"}:
            packages.append(value)
    for word in packages:
        if re.match(r"\.{0,2}(?:/|$|\[)|.*/$", word.partition("[")[0]) and not word.endswith(".whl"):
            into.not_read(f"pip install {word}", "the source folder states its own requirements; pass its pyproject.toml too", place)
        elif "$" in word:
            into.not_read(word, "its variable is not set in the Dockerfile", place)
        else:
            requirements_txt.add_requirement(word, place, into, index=next(iter(urls), ("", True)))


def _options_and_arguments(words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The options with their values, and the other arguments."""
    options, others = [], []
    known = (*_INDEX_OPTIONS, *_VALUE_OPTIONS, "-r", "--requirement", "-c", "--constraint", "-e", "--editable", "--torch-backend")
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            redirected = re.fullmatch(r"\d?[<>]+(.*)", word)
            if redirected is None:
                others.append(word)
            elif not redirected[1]:
                next(rest, "")
        elif equals:
            options.append((name, value))
        elif word in known:
            options.append((word, next(rest, "")))
        elif word[:2] in {"-r", "-c", "-i", "-f", "-e"} and not word.startswith("--"):
            options.append((word[:2], word[2:]))
    return options, others


def _add_included_file(file: str, place: FileLine, into: StatementCollector, *, constraint: bool) -> None:
    """Read a requirements file that the image copies from beside the Dockerfile."""
    folder = os.path.dirname(place.file)
    inside = file.lstrip("/")
    tried = [inside, *(inside.split("/", count)[-1] for count in range(1, inside.count("/") + 1))]
    found = next((path for one in tried if os.path.isfile(path := os.path.join(folder, one))), None)
    if found is None:
        into.not_read(file, "no such file lies beside the Dockerfile", place)
        return
    into.file(found)
    requirements_txt.read(text_of_file(found, f"installed by {place}"), found, into, constraint=constraint)


def _add_conda_command(words: list[str], place: FileLine, into: StatementCollector) -> bool:
    if words[:1] == ["env"]:
        file = next((words[at + 1] for at, word in enumerate(words[:-1]) if word in {"-f", "--file"}), "environment.yml")
        into.not_read(" ".join(("conda", *words)), f"pass {os.path.basename(file)} too", place)
        return True
    if not {"install", "create", "update"} & set(words[:1]):
        return words[:1] in (["clean"], ["config"], ["init"], ["activate"], ["info"])
    rest = iter(words[1:])
    for word in rest:
        if word in _CONDA_OPTIONS:
            next(rest, "")
        elif not word.startswith("-"):
            conda.add_specification(word, place, into)
    return True
