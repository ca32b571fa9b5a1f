"""Runs gpudoctor with a defect in one of its functions, or writes down which functions a run calls.

python scripts/torture_parts/defect.py MODULE:FUNCTION ARGUMENTS...
python scripts/torture_parts/defect.py --called FILE ARGUMENTS...
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

PLANTED = "planted defect"


def planted(*_: object, **__: object) -> None:
    """Raise what stands for any defect."""
    raise ZeroDivisionError("planted defect")


def plant(name: str) -> None:
    """Put the defect in the place of a function's code, whoever has imported it."""
    module, _, path = name.partition(":")
    place: Any = import_module(module)
    *classes, last = path.split(".")
    for class_ in classes:
        place = getattr(place, class_)
    function = bare(vars(place)[last])
    assert isinstance(function, FunctionType)
    function.__code__ = planted.__code__.replace(co_name=function.__name__)


def bare(member: Any) -> Any:
    """Return the function of a property, a cached one, a static one or a class's."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    return getattr(member, "__wrapped__", getattr(member, "__func__", member))


def functions() -> dict[CodeType, str]:
    """Return the name of each function and method of the loaded modules of gpudoctor, by its code; closures are left out."""
    modules = [module for name, module in sys.modules.items() if name.startswith("gpudoctor.")]
    return {function.__code__: name for module in modules for name, function in _of(module, module.__name__, f"{module.__name__}:")}


def _of(place: Any, module: str, prefix: str) -> Iterator[tuple[str, FunctionType]]:
    for name, member in vars(place).items():
        function = bare(member)
        if isinstance(function, FunctionType) and function.__module__ == module and not function.__code__.co_freevars:
            yield f"{prefix}{name}", function
        elif isinstance(member, type) and member.__module__ == module and member is not place:
            yield from _of(member, module, f"{prefix}{name}.")


def called(file: str) -> None:
    """Run gpudoctor, and write to a file which of its functions were called."""
    seen: set[CodeType] = set()
    leave = os._exit

    def write(status: int) -> None:
        sys.setprofile(None)
        known = functions()
        Path(file).write_text("\n".join(sorted({known[code] for code in seen & known.keys()})))
        leave(status)

    os._exit = write  # type: ignore[assignment]
    sys.setprofile(lambda frame, event, _: seen.add(frame.f_code) if event == "call" else None)
    run()


def run() -> None:
    """Run gpudoctor with the other arguments."""
    main = import_module("gpudoctor.__main__").main
    del sys.argv[1]
    main()


if __name__ == "__main__":
    if sys.argv[1] == "--called":
        del sys.argv[1]
        called(sys.argv[1])
    else:
        plant(sys.argv[1])
        run()
