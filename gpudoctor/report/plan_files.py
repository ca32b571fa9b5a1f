"""A plan as a file that an installer reads."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpudoctor.errors import UsageError
from gpudoctor.report.plan import Environment, Plan
from gpudoctor.report.plan_text import assumption_text

_PYTHON_IMAGE = "python:{}-slim"
FileWriter = Callable[[Plan, Environment, str], str]


def file_content(plan: Plan, lock: str, name: str) -> str:
    """Return what the file of this name holds. Raises UsageError for a name that says no format, or if there is nothing to write."""
    if plan.environment is None:
        raise UsageError(f"{name} was not written: nothing works on this machine.")
    return _writer_for_name(name)(plan, plan.environment, lock)


def refuse_unknown_name(name: str) -> None:
    """Raise UsageError for a name that says no format."""
    _writer_for_name(name)


def _writer_for_name(name: str) -> FileWriter:
    found = next((writer for pattern, writer in _WRITERS_BY_PATTERN if re.fullmatch(pattern, name.rpartition("/")[2])), None)
    if found is None:
        raise UsageError(f"--write {name}: name it requirements.txt, pyproject.toml, pylock.toml, Dockerfile or environment.yml.")
    return found


def _requirements_text(plan: Plan, here: Environment, _: str) -> str:
    index = [f"--extra-index-url {here.index}"] if here.index else []
    return _joined_lines(*_comment_lines(plan, here), *index, *_all_requirements(here))


def _pyproject_text(plan: Plan, here: Environment, _: str) -> str:
    pins = [f"  {_toml_string(pin.requirement)}," for pin in here.pins]
    project = [
        "[project]",
        'name = "training"',
        'version = "0"',
        f'requires-python = "=={here.python or 3}.*"',
        "dependencies = [",
        *pins,
        "]",
    ]
    return _joined_lines(*_comment_lines(plan, here), *project, *_uv_index_lines(here))


def _uv_index_lines(here: Environment) -> list[str]:
    """Return where uv takes the build from: https://docs.astral.sh/uv/guides/integration/pytorch/."""
    if not here.index:
        return []
    label = f"pytorch-{here.torch_backend}"
    names = [pin.requirement.partition("==")[0] for pin in here.pins if pin.requirement.endswith(f"+{here.torch_backend}")]
    sources = [f'{name} = {{ index = "{label}" }}' for name in names]
    index = ["", "[[tool.uv.index]]", f'name = "{label}"', f'url = "{here.index}"', "explicit = true"]
    return ["", "[tool.uv.sources]", *sources, *index]


def _pylock_text(plan: Plan, here: Environment, lock: str) -> str:
    if not lock:
        raise UsageError(f"pylock.toml needs the files' hashes, which only uv finds out. {plan.resolver_note}")
    return _joined_lines(*_comment_lines(plan, here)) + lock


def _dockerfile_text(plan: Plan, here: Environment, _: str) -> str:
    pins = [f"    {_shell_word(pin)} \\" for pin in _all_requirements(here)]
    index = f"    --extra-index-url {here.index}" if here.index else ""
    last = [index] if index else [pins.pop().removesuffix(" \\")]
    run = ["RUN python -m pip install --no-cache-dir \\", *pins, *last]
    return _joined_lines(*_comment_lines(plan, here), f"FROM {_PYTHON_IMAGE.format(here.python or 3)}", *run)


def _conda_text(plan: Plan, here: Environment, _: str) -> str:
    index = [f"      - --extra-index-url {here.index}"] if here.index else []
    pins = [f"      - {_toml_string(pin)}" for pin in _all_requirements(here)]
    packages = [f"  - python={here.python or 3}", "  - pip", "  - pip:", *index, *pins]
    return _joined_lines(*_comment_lines(plan, here), "name: training", "channels:", "  - conda-forge", "dependencies:", *packages)


_WRITERS_BY_PATTERN: tuple[tuple[str, FileWriter], ...] = (
    (r"pyproject\.toml", _pyproject_text),
    (r"pylock(?:\.\w+)?\.toml", _pylock_text),
    (r".*\.ya?ml", _conda_text),
    (r"(?:.*\.)?(?:Docker|Container)file(?:\..*)?", _dockerfile_text),
    (r".*\.(?:txt|in)", _requirements_text),
)


def _comment_lines(plan: Plan, here: Environment) -> list[str]:
    """Return comments that say for which machine and Python the file is."""
    machine = "; ".join(map(assumption_text, plan.machine))
    chosen = "resolved by uv" if plan.resolver == "uv" else "from gpudoctor's tables, other packages not pinned"
    return [f"# {plan.tool.name} {plan.tool.version}: {here.name}, Python {here.python or 'any'}, {chosen}", f"# for {machine}"]


def _all_requirements(here: Environment) -> list[str]:
    """Return the pins, then the other packages if they are known; an open bound gives way to the release that was resolved."""
    locked = {one.partition("==")[0]: one for one in here.locked}
    pins = {re.split(r"[\[=<>!~; ]", pin.requirement, maxsplit=1)[0]: pin.requirement for pin in here.pins}
    exact = [pin if "==" in pin else locked.get(name, pin) for name, pin in pins.items()]
    return [*exact, *(one for name, one in locked.items() if name not in pins)]


def _toml_string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _shell_word(text: str) -> str:
    return text if re.fullmatch(r"[\w.+=-]+", text) else f"'{text}'"


def _joined_lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)
