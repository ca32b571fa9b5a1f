"""What a trace, which has no values of tensors, takes for those that a step reads.

Conditions hold or do not, a number is 1, packed sequences have the full length, and a mask selects everything; but masks that exclude each other select
everything together: a tensor compared with one number after another, and the classes of one_hot, as experts find their tokens.
"""

import itertools
import math
import os
import traceback

NUMBERS, CONDITIONS = ("item", "tolist", "__float__"), ("__bool__", "equal", "allclose", "is_nonzero")
SIZES = ("numpy", "__array__", "__int__", "__index__")
SELDOM = ("any", "isnan", "isinf", "isneginf", "isposinf")
"""What holds for no tensor where other conditions hold: code that asks most often raises then."""
VIEWS = (
    *("__getitem__", "__get__", "select", "permute", "transpose", "movedim", "squeeze", "unsqueeze", "view", "reshape", "flatten"),
    *("contiguous", "bool", "to", "int", "long"),
)
"""What leaves the share of a mask that holds as it is."""
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
ARITHMETIC = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "neg", "abs")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne", "bool")
WHOLE = ("index", "int", "round", "floor", "ceil", "trunc")


MAX_CONDITIONS = 1000
"""Conditions in a step; a loop that asks more often may have no end."""


REFUSAL = "depends on values of tensors, which a trace does not have: return a model with a constant or a shape in their place"


class ValueNeededError(Exception):
    """What is computed depends on values of tensors."""


class Number(float):
    """A number that is not known, taken as 1, on which no size may depend."""

    def __new__(cls, values):
        made = super().__new__(cls, 1.0)
        made.values = values
        return made


def with_unknown_result(operation):
    """The operation of numbers, whose result is not known either."""

    def computed(self, *others):
        return NotImplemented if operation(self, *others) is NotImplemented else Number(self.values)

    return computed


def assumed_comparison(self, *_other):
    """Whether a comparison holds."""
    return self.values.condition()


def refuse_whole_number(_self, *_digits):
    """Raise for a whole number."""
    raise ValueNeededError


for _name in ARITHMETIC:
    setattr(Number, "__{}__".format(_name), with_unknown_result(getattr(float, "__{}__".format(_name))))
for _names, _answer in ((COMPARISONS, assumed_comparison), (WHOLE, refuse_whole_number)):
    for _name in _names:
        setattr(Number, "__{}__".format(_name), _answer)
Number.__hash__ = float.__hash__


class Values:
    """What is assumed, and where; before a step nothing is, and functions that read values raise."""

    def __init__(self, torch):
        self.hold, self.conditions, self.places = None, 0, {}
        self.compared = {}
        """By place, the numbers that a tensor is compared with."""
        self._torch = torch
        aten = torch.ops.aten
        self._selected = {
            aten.nonzero.default: lambda one: one.new_empty((held_places(one), one.dim()), dtype=torch.long),
            aten.masked_select.default: lambda one, mask: one.new_empty(torch.broadcast_shapes(one.shape, mask.shape).numel()),
            aten._unique2.default: lambda one, *_: self._unique(one),  # noqa: SLF001 -- what torch.unique calls
            aten.index.Tensor: self._indexed,
        }

    def note(self):
        """Note where a value is read; backward runs none of the user's code."""
        self.places.update({one: None for one in [place_in_user_code(self._torch)] if one})

    def condition(self, *, seldom=False):
        """Whether a condition holds."""
        self.conditions += 1
        self.note()
        if self.conditions > MAX_CONDITIONS:
            raise ValueNeededError
        return self.hold != seldom

    def number(self, shape=()):
        """What stands for a number, or for a list of them of this shape."""
        self.note()
        return [self.number(shape[1:]) for _ in range(shape[0])] if shape else Number(self)

    def mode(self):
        """A mode in which functions that read values get what is assumed."""
        from torch._subclasses.fake_tensor import FakeTensor
        from torch.overrides import TorchFunctionMode

        values, flags, torch = self, self._torch.bool, self._torch
        packed = Packed(torch)

        class Assumed(TorchFunctionMode):
            def __torch_function__(self, function, types, arguments=(), named=None):
                name, tensor = getattr(function, "__name__", ""), arguments[0] if arguments else None
                unknown = isinstance(tensor, FakeTensor) and tensor.constant is None
                if unknown and (name in SIZES or (values.hold is None and name in (*NUMBERS, *CONDITIONS))):
                    raise ValueNeededError
                if unknown and name in NUMBERS and tensor.dtype != flags:
                    return 1.0 if name == "__float__" else values.number(tensor.shape)
                if unknown and name in (*NUMBERS, *CONDITIONS):
                    return values.condition(seldom=hasattr(tensor, "seldom"))
                if name == "__getitem__":
                    arguments = tensor, index_without_unknown(arguments[1], FakeTensor)
                known = packed.result(name, function, arguments, named or {})
                if known is not None:
                    values.note()
                    return known
                result = function(*arguments, **(named or {}))
                if name in SELDOM:
                    result.seldom = True
                if isinstance(result, torch.Tensor):
                    values.share(name, tensor, arguments, result)
                return result

        return Assumed()

    def excluding(self):
        """How many masks are known to exclude others."""
        return sum(map(len, self.compared.values()))

    def share(self, name, tensor, arguments, result):
        """Note which share of a mask holds, if others exclude it."""
        if name in ("eq", "__eq__") and type(arguments[-1]) is int and not result.is_floating_point():
            numbers = self.compared.setdefault(place_in_user_code(self._torch), set())
            numbers.add(arguments[-1])
            result.share = 1 / len(numbers)
        elif name == "one_hot":
            result.share = 1 / result.shape[-1]
        elif hasattr(tensor, "share") and name in VIEWS:
            result.share = tensor.share
        elif hasattr(tensor, "share") and name == "any":
            result.share = min(1, tensor.share * tensor.numel() / result.numel())

    def selected(self, function, arguments):
        """What an operation returns whose size depends on values, if they select everything; None: it is no such operation."""
        known = self._selected.get(function)
        made = known(*arguments) if known else None
        if made is not None:
            self.note()
        return made

    def _unique(self, one):
        places = one.new_empty(one.shape, dtype=self._torch.long)
        return one.new_empty(one.numel()), places, places.new_empty(one.numel())

    def _masks(self, one):
        return one is not None and one.dtype == self._torch.bool

    def _indexed(self, tensor, index_without_unknown):
        """What a tensor holds at masks and indices; None if there is no mask."""
        if any(map(self._masks, index_without_unknown)):
            every = [
                [index.new_empty(held_places(index), dtype=self._torch.long)] * index.dim() if self._masks(index) else [index]
                for index in index_without_unknown
            ]
            return self._torch.ops.aten.index.Tensor(tensor, list(itertools.chain.from_iterable(every)))
        return None


class Packed:
    """Packed sequences, all of the full length: how many there are at each step is known."""

    def __init__(self, torch):
        self._torch, self._modes = torch, torch.utils._python_dispatch._disable_current_modes  # noqa: SLF001 -- there is no public one
        self._counts = []

    def result(self, name, function, arguments, named):
        """What a function of packed sequences returns; None: it is none."""
        if name == "_pack_padded_sequence":
            return self._pack(*arguments)
        if not any(argument is counts for argument in arguments for counts in self._counts):
            return None
        if name in RECURRENT:
            return self._recur(function, *arguments)
        if name == "_pad_packed_sequence":
            return self._pad(*arguments)
        with self._modes():
            found = function(*arguments, **named)
            return int(found) if isinstance(found, self._torch.Tensor) and not found.dim() else found

    def _pack(self, padded, lengths, batch_first):
        steps = padded.transpose(0, 1) if batch_first else padded
        with self._modes():
            self._counts.append(self._torch.full((len(steps),), len(lengths)))
        return steps.reshape(-1, *steps.shape[2:]), self._counts[-1]

    def _recur(self, function, rows, counts, *others):
        made, *states = function(rows.unflatten(0, (len(counts), -1)), *others, False)  # the batch is not first
        return (made.flatten(0, 1), *states)

    def _pad(self, rows, counts, batch_first, *_others):
        made = rows.unflatten(0, (len(counts), -1))
        lengths = self._torch.zeros(made.shape[1], dtype=self._torch.long)
        return made.transpose(0, 1) if batch_first else made, lengths


def held_places(mask):
    """How many places of a mask hold."""
    return math.ceil(mask.numel() * getattr(mask, "share", 1))


def index_without_unknown(index, unknown):
    """An index that is not known as 0, which makes the same shape."""
    if isinstance(index, tuple):
        return tuple(index_without_unknown(one, unknown) for one in index)
    return 0 if isinstance(index, unknown) and not index.dim() and index.constant is None and index.element_size() > 1 else index


def value_errors():
    """What is raised where a value is needed."""
    from torch._subclasses import fake_tensor

    return ValueNeededError, fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException


def place_in_user_code(framework):
    """Where the user's code is: the innermost frame outside of the framework and of this folder; "" in backward."""
    ours = os.path.dirname(os.path.abspath(__file__)), os.path.dirname(framework.__file__)
    frames = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(None))
    found = next((frame for frame in frames if not frame[0].startswith(ours)), None)
    return "{}, line {}".format(os.path.basename(found[0]), found[1]) if found else ""
