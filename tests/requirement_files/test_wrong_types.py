"""No value of a wrong type in a file crashes a reader: the rest of the file is read, or the file is refused in a sentence."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files import locks, pipfile_lock, pixi, pyproject
from gpudoctor.requirement_files.collector import StatementCollector

_PIXI = {
    "dependencies": {"pytorch": {"version": "2.*", "build": "cuda*"}},
    "pypi-dependencies": {"jax": {"version": "==1", "extras": ["cuda12"], "index": "https://example.org"}},
    "environments": {"default": {"features": ["cuda"]}},
    "feature": {"cuda": {"dependencies": {"python": "3.11"}}},
    "target": {"linux-64": {"dependencies": {"numpy": "1"}}},
}
_POETRY = {
    "source": [{"name": "own", "url": "https://example.org"}],
    "dependencies": {
        "python": "^3.9",
        "torch": {"version": "^2.0", "source": "own", "extras": ["a"], "markers": "os_name == 'posix'", "python": "^3.9"},
        "jax": ["1", {"version": "2"}],
        "keras": {"version": "1", "optional": True},
    },
    "extras": {"gpu": ["keras"]},
    "group": {"dev": {"dependencies": {"pytest": "*"}}},
}
_UV = {
    "override-dependencies": ["numpy<2"],
    "index-url": "https://example.org",
    "extra-index-url": ["https://example.org/more"],
    "index": [{"name": "own", "url": "https://example.org", "explicit": True}],
    "sources": {"torch": [{"index": "own", "marker": "os_name == 'posix'", "extra": "gpu"}], "numpy": {"git": "x"}},
}
_PROJECT = {
    "project": {
        "requires-python": ">=3.10",
        "dependencies": ["torch>=2.5", "numpy"],
        "dynamic": ["dependencies"],
        "optional-dependencies": {"gpu": ["jax[cuda12]"]},
    },
    "dependency-groups": {"dev": ["pytest", {"include-group": "lint"}], "lint": ["ruff"]},
    "tool": {"uv": _UV, "poetry": _POETRY, "pixi": _PIXI},
}
_WHEELS = [
    {"url": "https://example.org/torch-2.5.0-cp310-cp310-manylinux_x86_64.whl", "size": 100},
    {"url": "https://example.org/torch-2.5.0-macosx.whl", "size": 5},
]
_UV_LOCK = {
    "requires-python": ">=3.10",
    "package": [
        {
            "name": "own",
            "source": {"virtual": "."},
            "dependencies": [{"name": "torch", "version": "2.5.0", "extra": ["x"], "marker": "sys_platform == 'linux'"}],
            "optional-dependencies": {"gpu": [{"name": "numpy"}]},
            "dev-dependencies": {"dev": [{"name": "numpy"}]},
        },
        {"name": "torch", "version": "2.5.0", "source": {"registry": "https://example.org"}, "wheels": _WHEELS},
        {"name": "numpy", "version": "1.26", "source": {"registry": "https://example.org"}},
    ],
}
_POETRY_LOCK = {
    "package": [
        {
            "name": "torch",
            "version": "2.5.0",
            "optional": True,
            "groups": ["main", "dev"],
            "markers": {"main": "extra == 'gpu'"},
            "files": [{"file": "torch-2.5.0-py3-none-any.whl", "hash": "x"}],
            "source": {"type": "legacy", "url": "https://example.org"},
        },
        {"name": "numpy", "version": "1.2", "category": "main", "python-versions": ">=3", "files": [{"file": "numpy.whl"}]},
    ],
    "extras": {"gpu": ["torch"]},
    "metadata": {"python-versions": "^3.9"},
}
_PIPFILE_LOCK = {
    "_meta": {"requires": {"python_version": "3.11"}, "sources": [{"name": "pypi", "url": "https://example.org"}]},
    "default": {"torch": {"version": "==2.5", "index": "pypi", "extras": ["a"], "markers": "python_version > '3'"}, "jax": {"git": "x"}},
    "develop": {"pytest": {"version": "==8"}},
}
READERS: dict[str, tuple[Callable[[str, str, StatementCollector], None], dict[str, Any]]] = {
    "pyproject.toml": (pyproject.read, _PROJECT),
    "pixi.toml": (pixi.read, _PIXI),
    "uv.lock": (locks.read, _UV_LOCK),
    "poetry.lock": (locks.read, _POETRY_LOCK),
    "Pipfile.lock": (pipfile_lock.read, _PIPFILE_LOCK),
}
WRONG: tuple[Any, ...] = (
    5,
    2.5,
    True,
    "",
    "^",
    "~latest",
    "^" + "9" * 5000,
    "=",
    [],
    {},
    [5],
    [[]],
    [{}],
    {"a": 5},
    {"version": 5},
    {"name": []},
)


def places(document: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value in a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in items:
        yield (*way, key)
        yield from places(value, (*way, key))


@pytest.mark.parametrize("name", READERS)
def test_no_value_of_a_wrong_type_crashes_a_reader(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, document = READERS[name]
    for module in (locks, pixi, pyproject):
        monkeypatch.setattr(module, "parse_toml", lambda text, _: json.loads(text))
    for way in places(document):
        for value in WRONG:
            changed = copy.deepcopy(document)
            holder = changed
            for key in way[:-1]:
                holder = holder[key]
            holder[way[-1]] = value
            into = StatementCollector(frozenset({"gpu"}), frozenset({"dev"}))
            try:
                read(json.dumps(changed), name, into)
            except UsageError:
                continue
            except Exception as crash:
                raise AssertionError(f"{'.'.join(map(str, way))} = {str(value)[:40]}") from crash
