"""Lowering of routing and experts (_experts.py): the order of a layer's tokens by expert is made
once, products read and write rows in it, and the sum over the experts of a token undoes it."""

import typing

from ..errors import UnsupportedModel
from ._aten import Result, handles
from ._builder import Builder, Value, product
from ._mlir import number, tensor_type


class Order(typing.NamedTuple):
    """Tokens' experts, flat, sorted: which is where, and where each expert starts."""

    order: Value
    place: Value
    bounds: Value


def _order(b: Builder, ids: Value, experts: int) -> Order:
    """The order of ids [T, k]; one for all that ask."""
    key = (ids.ssa, experts)
    if key not in b.orders:
        kept, b.hint = b.hint, "experts"
        keys = b.reshaped(b.full(ids), (product(ids.shape),))
        counts = b.value("histogram", (experts,), "i32", x=keys.ssa, tx=keys.type)
        place = b.writer.fresh("places")
        order = b.value("sort_by_key", keys.stored, "i32", x=keys.ssa, tx=keys.type, bins=experts,
                        place=place)
        bounds = b.value("bounds", (experts + 1,), "i32", x=counts.ssa, tx=counts.type)
        b.orders[key] = Order(order, order._replace(ssa=place), bounds)
        b.hint = kept
    return b.orders[key]


@handles("hk.grouped_linear")
def _grouped_linear(b: Builder, result: Result, x: Value, w: Value, bias: Value | None, ids: Value,
                    gathers: bool, transposed: bool, _wide: bool) -> Value:
    x = b.full(x)
    if w.dims == (0, 2, 1):  # Stored the other way round.
        transposed = not transposed
    else:
        w = b.full(w)
    order = _order(b, ids, w.shape[0])
    operands = [("order", order.order)] * gathers
    if bias is not None:
        operands.append(("bias", b.full(bias)))
    attributes = " transpose_b" * (not transposed) + f" top_k {ids.shape[1]}" * gathers
    return b.value("grouped_matmul", result.shape, result.element, x=x.ssa, tx=x.type, w=w.ssa,
                   tw=w.type, bounds=order.bounds.ssa, tbounds=order.bounds.type,
                   attributes=attributes,
                   operands="".join(f" {n} {v.ssa}" for n, v in operands),
                   toperands="".join(f" {n} {v.type}" for n, v in operands))


@handles("hk.experts_sum")
def _experts_sum(b: Builder, result: Result, y: Value, ids: Value, weights: Value, _like: Value
                 ) -> Value:
    tokens, k = ids.shape
    # Every layer that asks has made the order: its key ends with the number of experts.
    order = next(o for (ssa, _), o in b.orders.items() if ssa == ids.ssa)
    places = b.reshaped(order.place, (tokens, k))
    weights = b.cast(b.full(weights), "f32")
    total = None
    for i in range(k):
        at = b.value("slice", (tokens,), "i32", x=places.ssa, tx=places.type, strides="1, 1",
                     offsets=f"0, {i}", sizes=b.sizes((tokens, 1)))
        rows = b.value("gather_rows", (tokens, y.shape[1]), y.element, table=y.ssa, ttable=y.type,
                       ids=at.ssa, tids=at.type)
        rows = b.elementwise("binary", [b.cast(rows, "f32"), b.sliced(weights, 1, i, 1)],
                             result.shape, "f32", op="mul")
        total = rows if total is None else b.elementwise("binary", [total, rows], result.shape,
                                                         "f32", op="add")
    return b.cast(total, result.element)


@handles("hk.swiglu_oai")
def _swiglu_oai(b: Builder, result: Result, x: Value, limit: float, interleaved: bool) -> Value:
    x = b.last_stored_last(x)
    attributes = f" limit {number(limit, 'f32')}" + " interleaved" * interleaved
    made = b.value("gated_activation", (*x.stored[:-1], result.shape[-1]), x.element,
                   kind="swiglu_oai", x=x.ssa, tx=x.type, attributes=attributes)
    return made._replace(shape=result.shape, dims=x.dims)


@handles("hk.group_limit")
def _group_limit(b: Builder, result: Result, x: Value, score: str, groups: int, top: int) -> Value:
    x = b.last_stored_last(x)
    made = b.value("group_limit", x.stored, x.element, x=x.ssa, tx=x.type, score=score,
                   groups=groups, top=top)
    return made._replace(shape=result.shape, dims=x.dims)


@handles("topk")
def _topk(b: Builder, result: list, x: Value, k: int, dim: int = -1, largest: bool = True,
          _sorted: bool = True) -> list:
    """(values, indices), as parts of a split are: the caller takes one or both."""
    if not largest:
        raise UnsupportedModel("topk with largest=False; hk has the largest: negate it before and "
                               "behind")
    if x.element[0] == "i":
        raise UnsupportedModel("topk of integers; hk has that of real numbers: convert them before, "
                               "which f32 does exactly up to 2^24")
    rank = len(x.shape)
    if not rank or not k:
        raise UnsupportedModel(f"topk of {k} elements of a tensor of {rank} dims; hk has at least one "
                               "of a row")
    order = [d for d in range(rank) if d != dim % rank] + [dim % rank]
    x = b.last_stored_last(_turned(x, order))
    indices = b.writer.fresh("chosen")
    shape = (*x.stored[:-1], k)
    made = b.value("topk", shape, x.element, x=x.ssa, tx=x.type, indices=indices,
                   tindices=tensor_type(shape, "i32"))
    values = _turned(made._replace(shape=(*x.shape[:-1], k), dims=x.dims),
                     [order.index(d) for d in range(rank)])
    return [values, values._replace(ssa=indices, element="i32")]


def _turned(x: Value, order: list[int]) -> Value:
    """The same with dims in another order."""
    return x._replace(shape=tuple(x.shape[d] for d in order), dims=tuple(x.dims[d] for d in order))
