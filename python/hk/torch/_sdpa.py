"""torch.nn.functional.scaled_dot_product_attention as hk.attention: masks become the score
region of the operator."""

import typing

from ..errors import UnsupportedModel
from ._aten import Result, handles
from ._builder import Builder, Value
from ._mlir import masked_region, seen_region


def _rows(b: Builder, x: Value) -> Value:
    """[B, H, S, D] or [B, S, D] stored as [B, S, H, D]."""
    if len(x.shape) == 3:
        x = x._replace(shape=(x.shape[0], 1, *x.shape[1:]), dims=(x.dims[0], None, *x.dims[1:]))
    x = b.permuted(b.unrepeated(x), (0, 2, 1, 3))
    return b.reshaped(x, tuple(x.shape[d] for d in (0, 2, 1, 3)))


def _masked(b: Builder, mask: Value) -> tuple[str, Value]:
    """The region that reads a mask which broadcasts to [B, H, Sq, Sk]; what repeats in it is
    stored once."""
    names = ("sequence", "head", "i", "j")[4 - len(mask.shape):]
    kept = [n for n, at in zip(names, mask.dims, strict=True)
            if at is not None and mask.stored[at] != 1]
    for dim in reversed(range(len(mask.shape))):
        if names[dim] not in kept:
            mask = b.squeezed(mask, dim)
    mask = b.dense(mask)
    if not kept:  # One number for all.
        mask, kept = b.reshaped(mask, (1,)), ["first"]
    return masked_region(mask.type, mask.element, kept), mask


def _causal(b: Builder, q: Value, k: Value, v: Value) -> tuple[str, Value, Value]:
    """Attributes, keys and values of query i that sees keys 0 to i: PyTorch's diagonal begins at
    the first key, hk's ends at the last. No attributes where only a call tells by how much they
    differ."""
    queries, keys = q.shape[-2], k.shape[-2]
    if queries == keys:
        return " causal", k, v
    if not isinstance(queries, int) or not isinstance(keys, int):
        return "", k, v
    if queries > keys:
        return f" window_right {queries - keys}", k, v
    # No query sees the keys behind.
    k, v = (b.sliced(x, len(x.shape) - 2, 0, queries) for x in (k, v))
    return " causal", k, v


@handles("scaled_dot_product_attention")
def _sdpa(b: Builder, result: Result, q: Value, k: Value, v: Value, mask: Value | None = None,
          dropout: float = 0.0, causal: bool = False, *, scale: float | None = None,
          enable_gqa: bool = False) -> Value:
    if dropout:
        raise UnsupportedModel(f"attention with dropout {dropout}; put the model into eval()")
    if not 3 <= len(q.shape) <= 4:
        raise UnsupportedModel(f"attention of queries of {len(q.shape)} dims; hk has "
                               "[batch, heads, tokens, head size] and [batch, tokens, head size]")
    attributes = ""
    if causal and mask is None:
        attributes, k, v = _causal(b, q, k, v)
    width = q.shape[-1]
    rows = [_rows(b, x) for x in (q, k, v)]
    region, operands, types = "", "", ""
    if mask is not None:
        region, read = _masked(b, mask)
        operands, types = f"reads ({read.ssa})", f"reads ({read.type})"
    elif causal and not attributes:
        region = seen_region([("j", "i", 0)])
    made = b.value("attention", (*rows[0].stored[:-1], rows[2].stored[-1]), result.element,
                   **{n: x.ssa for n, x in zip("qkv", rows, strict=True)},
                   **{f"t{n}": x.type for n, x in zip("qkv", rows, strict=True)},
                   scale=f"{width ** -0.5 if scale is None else scale:.9e}", operands=operands,
                   toperands=types, attributes=attributes, region=region)
    shape: tuple[typing.Any, ...] = result.shape
    return made._replace(shape=shape, dims=(0, 2, 1, 3) if len(shape) == 4 else (0, 1, 3))
