"""Lowering of what computes no numbers: constants, repeats, padding, and logic on truth values."""

import typing

from ..errors import UnsupportedModel
from ._aten import Result, _cat, handles
from ._builder import Builder, Size, Value, product
from ._integers import inverted, masked
from ._mlir import number


def filled(b: Builder, result: Result, value: float | int | bool) -> Value:
    """A scalar that repeats."""
    return b.constant(value, result.element)._replace(
        shape=result.shape, dims=(None,) * len(result.shape))


@handles("full", "full_like", "new_full")
def _full(b: Builder, result: Result, _: typing.Any, *rest: typing.Any, **__: object) -> Value:
    return filled(b, result, rest[-1])


@handles("zeros", "zeros_like", "new_zeros")
def _zeros(b: Builder, result: Result, *_: object, **__: object) -> Value:
    return filled(b, result, 0)


@handles("ones", "ones_like", "new_ones")
def _ones(b: Builder, result: Result, *_: object, **__: object) -> Value:
    return filled(b, result, 1)


@handles("scalar_tensor")
def _scalar(b: Builder, result: Result, value: float, **_: object) -> Value:
    return filled(b, result, value)


@handles("repeat")
def _repeat(b: Builder, result: Result, x: Value, times: list) -> Value:
    """Dims of one element repeat for nothing; others are joined to themselves."""
    added = len(times) - len(x.shape)
    x = x._replace(shape=(1,) * added + x.shape, dims=(None,) * added + x.dims)
    for dim, count in enumerate(times):
        shape = x.shape[:dim] + (x.shape[dim] * count,) + x.shape[dim + 1:]
        if x.shape[dim] == 1 and count != 1:
            x = b.squeezed(x, dim)
            x = x._replace(shape=shape, dims=x.dims[:dim] + (None,) + x.dims[dim:])
        elif count != 1:
            if not isinstance(count, int):
                raise UnsupportedModel(f"a repeat of dim {dim}, which has {x.shape[dim]} elements, "
                                       "by a size that is not known at compile time")
            x = _cat(b, Result(shape, x.element), [x] * count, dim)
    return x


@handles("constant_pad_nd")
def _pad(b: Builder, result: Result, x: Value, pads: list, value: float = 0) -> Value:
    """From the last dim on, (before, after) each; what is negative cuts."""
    for n, (before, after) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        dim = len(x.shape) - 1 - n
        size = x.shape[dim] + min(before, 0) + min(after, 0)
        x = b.sliced(x, dim, max(-before, 0), size)
        before, after = max(before, 0), max(after, 0)
        if before or after:
            x = _padded(b, x, dim, size, before, after, value)
    return x


def _padded(b: Builder, x: Value, dim: int, size: Size, before: int, after: int, value: float
            ) -> Value:
    """hk.pad appends to the last dim, here `dim` and what lies behind it in memory; what goes in
    front is cut off and joined again. What is added to a dim whose size a call tells is joined with
    it."""
    if not isinstance(size, int):
        added = [b.unrepeated(filled(b, Result((*x.shape[:dim], n, *x.shape[dim + 1:]), x.element),
                                      value)) if n else None for n in (before, after)]
        shape = (*x.shape[:dim], size + before + after, *x.shape[dim + 1:])
        parts = [part for part in (added[0], x, added[1]) if part is not None]
        return _cat(b, Result(shape, x.element), parts, dim)
    x = b.unrepeated(x)
    if x.dims[dim] is None:  # Of one element.
        x = b.reshaped(x, (*x.stored, 1))._replace(shape=x.shape, dims=tuple(
            len(x.stored) if d == dim else p for d, p in enumerate(x.dims)))
    at = x.dims[dim]
    if not all(isinstance(s, int) for s in x.stored[at:]):
        x = b.permuted(x, [d for d in x.order if d != dim] + [dim])
        at = x.dims[dim]
    rest = product(x.stored[at + 1:])
    rows = b.reshaped(x, (*x.stored[:at], size * rest))
    made = b.value("pad", (*rows.stored[:-1], (size + before + after) * rest), x.element,
                   x=rows.ssa, tx=rows.type, value=number(value, "f32"))
    if before:
        parts = [b.sliced(made, at, size * rest, before * rest),
                 b.sliced(made, at, 0, (size + after) * rest)]
        made = _cat(b, Result(made.shape, x.element), parts, at)
    stored = (*x.stored[:at], size + before + after, *x.stored[at + 1:])
    shape = x.shape[:dim] + (size + before + after,) + x.shape[dim + 1:]
    return b.reshaped(made, stored)._replace(shape=shape, dims=x.dims)


def _bits(b: Builder, x: Value) -> Value:
    """A truth value as 0 or 1 of i8, which hk computes with."""
    if x.element != "i1":
        x = b.elementwise("compare", [x, b.constant(0, x.element)], x.shape, "i1", predicate="ne")
    return b.cast(x, "i8")


def _logic(op: str) -> typing.Callable[..., Value]:
    def handler(b: Builder, result: Result, x: Value, y: Value) -> Value:
        if result.element != "i1":
            if op == "mul":
                return masked(b, result, x, y)
            raise UnsupportedModel("logic on the bits of integers; hk has it on truth values")
        made = b.elementwise("binary", [_bits(b, x), _bits(b, y)], result.shape, "i8", op=op)
        return b.elementwise("compare", [made, b.constant(0, "i8")], result.shape, "i1",
                             predicate="ne")
    return handler


handles("logical_and", "bitwise_and", "__and__")(_logic("mul"))
handles("logical_or", "bitwise_or", "__or__")(_logic("max"))
handles("logical_xor", "bitwise_xor", "__xor__")(_logic("sub"))


@handles("logical_not", "bitwise_not")
def _not(b: Builder, result: Result, x: Value) -> Value:
    if result.element != "i1":
        return inverted(b, result, x)
    return b.elementwise("compare", [_bits(b, x), b.constant(0, "i8")], result.shape, "i1",
                         predicate="eq")
