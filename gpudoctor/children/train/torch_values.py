"""What a trace, which has no values of tensors, takes for those that a step reads: conditions hold or do not, a number is 1, and a mask selects everything."""

import itertools
import os
import traceback

NUMBERS, CONDITIONS = ("item", "tolist", "__float__"), ("__bool__", "equal", "allclose", "is_nonzero")
SIZES = ("numpy", "__array__", "__int__", "__index__")
SELDOM = ("any", "isnan", "isinf", "isneginf", "isposinf")
"""What holds for no tensor where other conditions hold: code that asks most often raises then."""
ARITHMETIC = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "rpow", "neg", "abs")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne", "bool")
WHOLE = ("index", "int", "round", "floor", "ceil", "trunc")


MOST = 1000
"""Conditions in a step; a loop that asks more often may have no end."""


NEEDED = "depends on values of tensors, which a trace does not have: return a model with a constant or a shape in their place"


class ValueNeededError(Exception):
    """What is computed depends on values of tensors."""


class Number(float):
    """A number that is not known, taken as 1, on which no size may depend."""

    def __new__(cls, values):
        made = super().__new__(cls, 1.0)
        made.values = values
        return made


def arithmetic(operation):
    """The operation of numbers, whose result is not known either."""

    def computed(self, *others):
        return NotImplemented if operation(self, *others) is NotImplemented else Number(self.values)

    return computed


def compared(self, *_other):
    """Whether a comparison holds."""
    return self.values.condition()


def refused(_self, *_digits):
    """Raise for a whole number."""
    raise ValueNeededError


for _name in ARITHMETIC:
    setattr(Number, "__{}__".format(_name), arithmetic(getattr(float, "__{}__".format(_name))))
for _names, _answer in ((COMPARISONS, compared), (WHOLE, refused)):
    for _name in _names:
        setattr(Number, "__{}__".format(_name), _answer)
Number.__hash__ = float.__hash__


class Values:
    """What is assumed, and where; before a step nothing is, and functions that read values raise."""

    def __init__(self, torch):
        self.hold, self.conditions, self.places = None, 0, {}
        self._torch = torch
        aten = torch.ops.aten
        self._selected = {
            aten.nonzero.default: lambda one: one.new_empty((one.numel(), one.dim()), dtype=torch.long),
            aten.masked_select.default: lambda one, mask: one.new_empty(torch.broadcast_shapes(one.shape, mask.shape).numel()),
            aten._unique2.default: lambda one, *_: self._unique(one),  # noqa: SLF001 -- what torch.unique calls
            aten.index.Tensor: self._indexed,
        }

    def condition(self, *, seldom=False):
        """Whether a condition holds."""
        self.conditions += 1
        self.places[place(self._torch)] = None
        if self.conditions > MOST:
            raise ValueNeededError
        return self.hold != seldom

    def number(self, shape=()):
        """What stands for a number, or for a list of them of this shape."""
        self.places[place(self._torch)] = None
        return [self.number(shape[1:]) for _ in range(shape[0])] if shape else Number(self)

    def mode(self):
        """A mode in which functions that read values get what is assumed."""
        from torch._subclasses.fake_tensor import FakeTensor
        from torch.overrides import TorchFunctionMode

        values, flags = self, self._torch.bool

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
                result = function(*arguments, **(named or {}))
                if name in SELDOM:
                    result.seldom = True
                return result

        return Assumed()

    def selected(self, function, arguments):
        """What an operation returns whose size depends on values, if they select everything; None: it is no such operation."""
        known = self._selected.get(function)
        made = known(*arguments) if known else None
        if made is not None:
            self.places[place(self._torch)] = None
        return made

    def _unique(self, one):
        places = one.new_empty(one.shape, dtype=self._torch.long)
        return one.new_empty(one.numel()), places, places.new_empty(one.numel())

    def _masks(self, one):
        return one is not None and one.dtype == self._torch.bool

    def _indexed(self, tensor, indices):
        """What a tensor holds at masks and indices; None if there is no mask."""
        if any(map(self._masks, indices)):
            every = [[one.new_empty(one.numel(), dtype=self._torch.long)] * one.dim() if self._masks(one) else [one] for one in indices]
            return self._torch.ops.aten.index.Tensor(tensor, list(itertools.chain.from_iterable(every)))
        return None


def errors():
    """What is raised where a value is needed."""
    from torch._subclasses import fake_tensor

    return ValueNeededError, fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException


def place(framework):
    """Where the user's code is: the innermost frame outside of the framework and of this folder."""
    ours = os.path.dirname(os.path.abspath(__file__)), os.path.dirname(framework.__file__)
    frames = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(None))
    name, line = next(one for one in frames if not one[0].startswith(ours))
    return "{}, line {}".format(os.path.basename(name), line)
