"""Lowering of arithmetic of integers. What does not fit wraps in PyTorch: hk's sums and products
wrap, its casts saturate."""

import typing

from ..errors import UnsupportedModel
from ._aten import Result, _binary, _dim, _expand, _reduced, handles, lower, operand
from ._builder import Builder, Value, product

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


def narrowed(b: Builder, x: Value, element: str) -> Value:
    """The low bits of an integer: moved to the top, where the others fall out, and back."""
    lost = BITS[x.element] - BITS[element]
    if lost <= 0:
        return b.cast(x, element)
    for op in ("mul", "div"):
        x = b.elementwise("binary", [x, b.constant(_power(lost, x.element), x.element)], x.shape,
                          x.element, names="xy", op=op)
    return b.cast(x, element)


def _power(exponent: int, element: str) -> int:
    """2^exponent; of the sign's bit the number that has it."""
    return -(1 << exponent) if exponent == BITS[element] - 1 else 1 << exponent


@handles("copy")
def _copy(b: Builder, result: Result, _: Value, given: Value, *__: object) -> Value:
    return _expand(b, result, _to(b, result, given))


@handles("to", "_to_copy", "type_as", "float", "half", "bfloat16")
def _to(b: Builder, result: Result, x: Value, *_: object, **__: object) -> Value:
    if result.element not in BITS or x.element == "i1":
        return b.cast(x, result.element)
    if x.element not in BITS:
        # The fraction is cut off; to i8 hk rounds. Beyond i32 PyTorch's values are unspecified.
        x = b.cast(x, "i64" if result.element == "i64" else "i32")
    return narrowed(b, x, result.element)


# ---- division

@handles("div")
def _div(b: Builder, result: Result, x: typing.Any, y: typing.Any, *,
         rounding_mode: str | None = None) -> Value:
    if rounding_mode is None:
        return _binary(b, result, "div", x, y)
    if result.element in BITS:
        quotient, rest, _ = _parts(b, result, x, y)
        return quotient if rounding_mode == "trunc" else _binary(
            b, result, "sub", quotient, b.cast(_across(b, result, rest, y), result.element))
    if rounding_mode == "floor":
        raise UnsupportedModel("the floor of a quotient of real numbers, as // has it, asks for "
                               "more than the rounded quotient; write torch.floor(x / y)")
    quotient = _binary(b, result, "div", x, y)
    down = b.unary("floor", b.unary("abs", quotient))
    negative = lower(b, "lt", Result(result.shape, "i1"), (quotient, 0.0), {})
    return b.elementwise("select", [negative, b.unary("neg", down), down], result.shape,
                         result.element, names="cxy")


@handles("remainder")
def _remainder(b: Builder, result: Result, x: typing.Any, y: typing.Any) -> Value:
    """Of the divisor's sign."""
    _, rest, divisor = _parts(b, result, x, y)
    return b.elementwise("select", [_across(b, result, rest, y), _binary(
        b, result, "add", rest, divisor), rest], result.shape, result.element, names="cxy")


@handles("fmod")
def _fmod(b: Builder, result: Result, x: typing.Any, y: typing.Any) -> Value:
    return _parts(b, result, x, y)[1]


def _parts(b: Builder, result: Result, x: typing.Any, y: typing.Any) -> tuple[Value, Value, Value]:
    """The quotient without its fraction, the rest, of the dividend's sign, and the divisor."""
    if result.element not in BITS:
        raise UnsupportedModel("the remainder of real numbers; hk's import has that of integers")
    x, y = (b.cast(operand(b, v, result.element), result.element) for v in (x, y))
    quotient = _binary(b, result, "div", x, y)
    return quotient, _binary(b, result, "sub", x, _binary(b, result, "mul", quotient, y)), y


def _across(b: Builder, result: Result, rest: Value, y: typing.Any) -> Value:
    """Whether a rest is not 0 and not of the divisor's sign."""
    truth = Result(result.shape, "i1")
    if not isinstance(y, Value):
        return lower(b, "lt" if y > 0 else "gt", truth, (rest, 0), {})
    below = lower(b, "lt", truth, (rest, 0), {})
    other = lower(b, "ne", truth, (below, lower(b, "lt", Result(y.shape, "i1"), (y, 0), {})), {})
    return lower(b, "logical_and", truth, (other, lower(b, "ne", truth, (rest, 0), {})), {})


# ---- bits

@handles("__lshift__", "bitwise_left_shift")
def _left(b: Builder, result: Result, x: Value, places: typing.Any) -> Value:
    return _binary(b, result, "mul", x, _power(_places(result, places), result.element))


@handles("__rshift__", "bitwise_right_shift")
def _right(b: Builder, result: Result, x: Value, places: typing.Any) -> Value:
    return _div(b, result, x, 1 << _places(result, places), rounding_mode="floor")


def _places(result: Result, places: typing.Any) -> int:
    most = BITS[result.element] - 1
    if not isinstance(places, int) or not 0 <= places < most:
        raise UnsupportedModel(f"a shift by a tensor, or not by 0 to {most - 1} places")
    return places


def inverted(b: Builder, result: Result, x: Value) -> Value:
    """All bits of an integer."""
    return _binary(b, result, "sub", -1, x)


def masked(b: Builder, result: Result, x: typing.Any, y: typing.Any) -> Value:
    """The low bits of an integer."""
    x, y = (y, x) if isinstance(x, int) else (x, y)
    if not isinstance(y, int) or y < 0 or y & (y + 1) or y >= 1 << (BITS[result.element] - 2):
        raise UnsupportedModel("logic on the bits of integers; hk has it on truth values, and x & n "
                               "where n is a power of two less one")
    return _remainder(b, result, x, y + 1)


# ---- functions of reals that integers have, too

@handles("floor")
def _floor(b: Builder, _: Result, x: Value) -> Value:
    return x if x.element in BITS else b.unary("floor", x)


@handles("relu")
def _relu(b: Builder, result: Result, x: Value) -> Value:
    return _binary(b, result, "max", x, 0) if x.element in BITS else b.unary("relu", x)


# ---- sums and extremes

@handles("sum")
def _sum(b: Builder, result: Result, x: Value, dims: typing.Any = None, keepdim: bool = False,
         **_: object) -> Value:
    if x.element == "i1" and result.element in BITS:  # Exact below 2^24.
        wide = _reduced(b, Result(result.shape, "f32"), "sum", b.cast(x, "f32"), dims, keepdim)
        return b.cast(wide, result.element)
    if result.element in BITS:
        return _total(b, result, x, dims)
    return _reduced(b, result, "sum", b.cast(x, result.element) if x.element in BITS else x, dims,
                    keepdim)


def _total(b: Builder, result: Result, x: Value, dims: typing.Any) -> Value:
    """What stands behind the prefix sums, which wrap as integers do."""
    rank = len(x.shape)
    dims = [dims] if isinstance(dims, int) else list(range(rank) if not dims else dims)
    dims = [_dim(d, rank) for d in dims]
    kept = [d for d in range(rank) if d not in dims]
    x = b.permuted(b.full(x), [*kept, *dims])
    sizes = tuple(x.shape[d] for d in kept)
    count = product(x.shape[d] for d in dims)
    x = b.reshaped(x, (*sizes, count))
    sums = b.value("cumsum", (*sizes, count + 1), result.element, kind="offsets", x=x.ssa, tx=x.type,
                   attributes=f" dim {len(sizes)}")
    return b.viewed(b.sliced(sums, len(sizes), count, 1), result.shape)


WIDTHS = {"i32": (16, 16), "i64": (21, 21, 22)}  # Of parts that f32 holds, from the highest on.


@handles("amax")
def _amax(b: Builder, result: Result, x: Value, dims: typing.Any = None, keepdim: bool = False
          ) -> Value:
    """Of wide integers the highest bits decide, then those behind, of the elements left."""
    if x.element not in BITS and x.element != "i1":
        return _reduced(b, result, "max", x, dims, keepdim)
    if x.element not in WIDTHS:
        wide = _reduced(b, Result(result.shape, "f32"), "max", b.cast(x, "f32"), dims, keepdim)
        return b.cast(wide, result.element)
    whole, truth = Result(x.shape, x.element), Result(x.shape, "i1")
    least, made, left = BITS[x.element], None, None
    for width in WIDTHS[x.element]:
        least -= width
        part = _right(b, whole, x, least) if least else x
        x = _binary(b, whole, "sub", x, _binary(b, whole, "mul", part, 1 << least))
        part = b.cast(part, "f32")
        if left is not None:
            part = lower(b, "where", Result(x.shape, "f32"), (left, part, -1.0), {})
        largest = _reduced(b, Result(result.shape, "f32"), "max", part, dims, True)
        left = lower(b, "eq", truth, (part, largest), {})
        bits = b.cast(largest, whole.element)
        sizes = Result(bits.shape, whole.element)
        made = bits if made is None else _binary(
            b, sizes, "add", _binary(b, sizes, "mul", made, 1 << width), bits)
    return b.cast(b.viewed(made, result.shape), result.element)
