"""Signals wait while msgspec looks at a type, which must not be interrupted."""

from __future__ import annotations

import ast
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

import gpudoctor
from gpudoctor import typed_values

PACKAGE = Path(gpudoctor.__file__).parent
OF_TYPES = {"convert", "Decoder"}


def looks_at_a_type(call: ast.Call) -> bool:
    """Whether a call has msgspec look at a type."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    decodes = function.attr == "decode" and any(word.arg == "type" for word in call.keywords)
    return "msgspec" in ast.unparse(function) and (function.attr in OF_TYPES or decodes)


def test_only_one_module_has_msgspec_look_at_types() -> None:
    found = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and looks_at_a_type(call)
    }
    assert found == {"typed_values.py"}


USES: Mapping[str, Callable[[], object]] = {
    "converted": lambda: typed_values.convert_value({}, dict),
    "from_json": lambda: typed_values.from_json(b"{}", dict),
    "json_decoder": lambda: typed_values.json_decoder(dict),
    "msgpack_decoder": lambda: typed_values.msgpack_decoder(dict),
}


@pytest.mark.parametrize("use", USES)
def test_a_signal_comes_when_msgspec_is_done(use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    def interrupted(*_: object, **__: object) -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # a process of tests has other threads that would take it
        done.append(use)

    names = {"convert": interrupted, "json": SimpleNamespace(decode=interrupted, Decoder=interrupted)}
    monkeypatch.setattr(typed_values, "msgspec", SimpleNamespace(**names, msgpack=SimpleNamespace(Decoder=interrupted)))
    with pytest.raises(KeyboardInterrupt):
        USES[use]()
    assert done == [use]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
