"""Follows the few functions of a Python file that load libraries, without running them: a simulation answers every call.

Only known constructs are followed. Anything else raises Unknown, so new code is never guessed at. Parsed with `compile`: importing `ast`
would take as long as the whole X-ray.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

_SYNTAX_TREE_FLAG = 0x400  # PyCF_ONLY_AST
_MAX_STEPS = 200_000
_METHODS_BY_TYPE: dict[type, tuple[str, ...]] = {
    str: ("split", "rsplit", "partition", "rpartition", "startswith", "endswith", "strip", "lower", "join"),
    dict: ("items", "values", "keys", "get", "update"),
    list: ("append", "extend", "index"),
    tuple: ("index",),
}


class Unknown(Exception):  # noqa: N818 -- an answer
    """Something unknown that cannot be followed."""


class Failure(Exception):  # noqa: N818 -- the simulated program's, not ours
    """An exception of the program that is followed."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Space:
    """A module or an object with attributes that the program may read."""

    def __init__(self, **members: Any) -> None:
        self.members = members


class _Return(Exception):  # noqa: N818
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):  # noqa: N818
    pass


class _Continue(Exception):  # noqa: N818
    pass


def function(source: str, name: str) -> str:
    """The text of a function at module level; empty if there is none."""
    place = source.find(f"\ndef {name}(")
    if place < 0:
        return ""
    lines = source[place + 1 :].split("\n")
    end = next((number for number, line in enumerate(lines) if number and line[:1] not in {"", " ", "\t", ")", "#"}), len(lines))
    return "\n".join(lines[:end])


class Program:
    """The functions of one file; `names` are its globals, `modules` what it may import."""

    def __init__(self, source: str, names: Mapping[str, Any], modules: Mapping[str, Any]) -> None:
        self._source = f"\n{source}"
        self._globals = dict(names)
        self._modules = modules
        self._left = _MAX_STEPS

    def call(self, name: str) -> None:
        """Follow a function without arguments. Raises Failure if the program would end in an exception, and Unknown."""
        self._find(name)()

    def _find(self, name: str) -> Any:
        if name not in self._globals:
            text = function(self._source, name)
            if not text:
                raise Unknown(f"{name} is not known")
            try:
                (tree,) = compile(text, name, "exec", _SYNTAX_TREE_FLAG).body
            except (SyntaxError, ValueError, RecursionError) as error:
                raise Unknown(f"{name} cannot be read: {error}") from None
            self._globals[name] = self._function(tree, {})
        return self._globals[name]

    def _function(self, node: Any, around: dict[str, Any]) -> Callable[..., Any]:
        arguments = node.args
        if node.decorator_list or arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            raise Unknown(f"the signature of {node.name}")
        names = [argument.arg for argument in arguments.args]
        defaults = dict(
            zip(
                names[len(names) - len(arguments.defaults) :], (self._value(default, around) for default in arguments.defaults), strict=True
            )
        )

        def called(*given: Any, **named: Any) -> Any:
            local = {**around, **defaults, **dict(zip(names, given, strict=False)), **named}
            if len(given) > len(names) or not set(names) <= set(local) or not set(named) <= set(names):
                raise Unknown(f"the arguments of {node.name}")
            try:
                self._block(node.body, local)
            except _Return as done:
                return done.value
            return None

        return called

    def _block(self, nodes: Iterable[Any], names: dict[str, Any]) -> None:
        for node in nodes:
            self._left -= 1
            if self._left < 0:
                raise Unknown("it does not end")
            follow = getattr(self, f"_do_{type(node).__name__}", None)
            if follow is None:
                raise Unknown(f"{type(node).__name__} in line {node.lineno}")
            follow(node, names)

    def _do_Expr(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802 -- named as the tree's nodes
        self._value(node.value, names)

    def _do_Pass(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        pass

    def _do_Break(self, _node: Any, _names: dict[str, Any]) -> None:  # noqa: N802
        raise _Break

    def _do_Continue(self, _node: Any, _names: dict[str, Any]) -> None:  # noqa: N802
        raise _Continue

    def _do_Return(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        raise _Return(self._value(node.value, names) if node.value else None)

    def _do_FunctionDef(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        names[node.name] = self._function(node, names)

    def _do_Assign(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        value = self._value(node.value, names)
        for target in node.targets:
            self._assign(target, value, names)

    def _do_AnnAssign(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        if node.value is not None:
            self._assign(node.target, self._value(node.value, names), names)

    def _do_AugAssign(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        if type(node.op).__name__ != "Add":
            raise Unknown(type(node.op).__name__)
        self._assign(node.target, self._value(node.target, names) + self._value(node.value, names), names)

    def _assign(self, target: Any, value: Any, names: dict[str, Any]) -> None:
        kind = type(target).__name__
        if kind == "Name":
            names[target.id] = value
        elif kind == "Tuple":
            for one, part in zip(target.elts, tuple(value), strict=True):
                self._assign(one, part, names)
        elif kind == "Subscript":
            self._value(target.value, names)[self._value(target.slice, names)] = value
        else:
            raise Unknown(f"an assignment to {kind}")

    def _do_If(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        self._block(node.body if self._value(node.test, names) else node.orelse, names)

    def _do_For(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        for item in tuple(self._value(node.iter, names)):
            self._assign(node.target, item, names)
            try:
                self._block(node.body, names)
            except _Break:
                return
            except _Continue:
                continue
        self._block(node.orelse, names)

    def _do_Assert(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        if not self._value(node.test, names):
            raise Failure("AssertionError")

    def _do_Raise(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        value = self._value(node.exc, names) if node.exc else None
        if not isinstance(value, Failure):
            raise Unknown("what is raised")
        raise value

    def _do_Try(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        try:
            self._block(node.body, names)
        except Failure as failure:
            handler = next((one for one in node.handlers if _is_caught(one.type, failure)), None)
            if handler is None:
                raise
            if handler.name:
                names[handler.name] = failure
            self._block(handler.body, names)
        else:
            self._block(node.orelse, names)
        finally:
            self._block(node.finalbody, names)

    def _do_With(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        for item in node.items:
            value = self._value(item.context_expr, names)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, value, names)
        self._block(node.body, names)

    def _do_Import(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        for name in node.names:
            top = name.name.partition(".")[0]
            if top not in self._modules:
                raise Unknown(f"the module {name.name}")
            names[name.asname or top] = self._modules[top]

    def _do_ImportFrom(self, node: Any, names: dict[str, Any]) -> None:  # noqa: N802
        module = self._modules.get(node.module)
        for name in node.names:
            if module is None or name.name not in module.members:
                raise Unknown(f"{node.module}.{name.name}")
            names[name.asname or name.name] = module.members[name.name]

    def _value(self, node: Any, names: dict[str, Any]) -> Any:
        self._left -= 1
        find = getattr(self, f"_of_{type(node).__name__}", None)
        if find is None or self._left < 0:
            raise Unknown(f"{type(node).__name__} in line {getattr(node, 'lineno', 0)}")
        return find(node, names)

    def _of_Constant(self, node: Any, _names: dict[str, Any]) -> Any:  # noqa: N802
        return node.value

    def _of_Name(self, node: Any, names: dict[str, Any]) -> Any:  # noqa: N802
        return names[node.id] if node.id in names else self._find(node.id)

    def _of_Attribute(self, node: Any, names: dict[str, Any]) -> Any:  # noqa: N802
        value = self._value(node.value, names)
        if isinstance(value, Space) and node.attr in value.members:
            return value.members[node.attr]
        if isinstance(value, Failure) and node.attr == "args":
            return (value.message,)
        if node.attr in _METHODS_BY_TYPE.get(type(value), ()):
            return getattr(value, node.attr)
        raise Unknown(f"{node.attr} in line {node.lineno}")

    def _of_Call(self, node: Any, names: dict[str, Any]) -> Any:  # noqa: N802
        called = self._value(node.func, names)
        given = [self._value(argument, names) for argument in node.args]
        named = {keyword.arg: self._value(keyword.value, names) for keyword in node.keywords}
        if not callable(called) or None in named:
            raise Unknown(f"a call in line {node.lineno}")
        return called(*given, **named)

    def _of_JoinedStr(self, node: Any, names: dict[str, Any]) -> str:  # noqa: N802
        return "".join(str(self._value(one, names)) for one in node.values)

    def _of_FormattedValue(self, node: Any, names: dict[str, Any]) -> str:  # noqa: N802
        return str(self._value(node.value, names))

    def _of_List(self, node: Any, names: dict[str, Any]) -> list[Any]:  # noqa: N802
        return [self._value(leaf, names) for leaf in node.elts]

    def _of_Tuple(self, node: Any, names: dict[str, Any]) -> tuple[Any, ...]:  # noqa: N802
        return tuple(self._of_List(node, names))

    def _of_Dict(self, node: Any, names: dict[str, Any]) -> dict[Any, Any]:  # noqa: N802
        return {self._value(key, names): self._value(value, names) for key, value in zip(node.keys, node.values, strict=True)}

    def _of_Subscript(self, node: Any, names: dict[str, Any]) -> Any:  # noqa: N802
        return self._value(node.value, names)[self._value(node.slice, names)]

    def _of_IfExp(self, node: Any, names: dict[str, Any]) -> Any:  # noqa: N802
        return self._value(node.body if self._value(node.test, names) else node.orelse, names)

    def _of_BinOp(self, node: Any, names: dict[str, Any]) -> Any:  # noqa: N802
        if type(node.op).__name__ != "Add":
            raise Unknown(type(node.op).__name__)
        return self._value(node.left, names) + self._value(node.right, names)

    def _of_UnaryOp(self, node: Any, names: dict[str, Any]) -> bool:  # noqa: N802
        if type(node.op).__name__ != "Not":
            raise Unknown(type(node.op).__name__)
        return not self._value(node.operand, names)

    def _of_BoolOp(self, node: Any, names: dict[str, Any]) -> Any:  # noqa: N802
        ends = type(node.op).__name__ == "Or"
        value = None
        for one in node.values:
            value = self._value(one, names)
            if bool(value) is ends:
                return value
        return value

    def _of_Compare(self, node: Any, names: dict[str, Any]) -> bool:  # noqa: N802
        left = self._value(node.left, names)
        for operator, one in zip(node.ops, node.comparators, strict=True):
            right = self._value(one, names)
            compare = _COMPARISON_BY_OPERATOR.get(type(operator).__name__)
            if compare is None:
                raise Unknown(type(operator).__name__)
            if not compare(left, right):
                return False
            left = right
        return True

    def _of_ListComp(self, node: Any, names: dict[str, Any]) -> list[Any]:  # noqa: N802
        if len(node.generators) != 1:
            raise Unknown("a comprehension of several")
        (each,) = node.generators
        inner, found = dict(names), []
        for item in tuple(self._value(each.iter, names)):
            self._assign(each.target, item, inner)
            if all(self._value(one, inner) for one in each.ifs):
                found.append(self._value(node.elt, inner))
        return found


_COMPARISON_BY_OPERATOR: dict[str, Callable[[Any, Any], bool]] = {
    "Eq": lambda left, right: left == right,
    "NotEq": lambda left, right: left != right,
    "Lt": lambda left, right: left < right,
    "LtE": lambda left, right: left <= right,
    "Gt": lambda left, right: left > right,
    "GtE": lambda left, right: left >= right,
    "In": lambda left, right: left in right,
    "NotIn": lambda left, right: left not in right,
    "Is": lambda left, right: left is right,
    "IsNot": lambda left, right: left is not right,
}


def _is_caught(wanted: Any, failure: Failure) -> bool:
    if wanted is None:
        return True
    named = [leaf.id for leaf in (wanted.elts if type(wanted).__name__ == "Tuple" else [wanted]) if type(leaf).__name__ == "Name"]
    return failure.kind in named or "Exception" in named or "BaseException" in named
