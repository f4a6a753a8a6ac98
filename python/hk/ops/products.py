"""Products of [M, K] with a transposed weight [N, K]."""

# Names of arguments are AITER's.
# ruff: noqa: A002, N803

import torch

from ._run import op, run, unsupported


def _product(x: torch.Tensor, w: torch.Tensor, *_: object, dtype: torch.dtype = torch.bfloat16,
             **__: object) -> torch.Tensor:
    return x.new_empty((x.shape[0], w.shape[0]), dtype=dtype)


@op(fake=lambda x, w, dtype=torch.bfloat16: _product(x, w, dtype=dtype))
def gemm_a16w16(x: torch.Tensor, w: torch.Tensor, dtype: torch.dtype = torch.bfloat16
                ) -> torch.Tensor:
    """x w^T, summed in f32."""
    out = _product(x, w, dtype=dtype)
    run("%out = hk.matmul %x, %w transpose_b : {x}, {w} -> {out}", {"x": x, "w": w}, {"out": out},
        dynamic={"w": 0})
    return out


@op(fake=lambda XQ, WQ, x_scale, w_scale, bias=None, dtype=torch.bfloat16, splitK=None:
    _product(XQ, WQ, dtype=dtype))
def gemm_a8w8(XQ: torch.Tensor, WQ: torch.Tensor, x_scale: torch.Tensor, w_scale: torch.Tensor,
              bias: torch.Tensor | None = None, dtype: torch.dtype = torch.bfloat16,
              splitK: int | None = None) -> torch.Tensor:
    """XQ WQ^T times a scale per row of each, plus a bias [N]; int8 or fp8."""
    out = _product(XQ, WQ, dtype=dtype)
    inputs = {"x": XQ, "w": WQ, "xs": x_scale.view(-1, 1), "ws": w_scale.view(-1, 1)}
    product = ("hk.matmul %x, %w scales (%xs, %ws) transpose_b : {x}, {w} scales ({xs}, {ws}) "
               "-> {out}")
    if bias is None:
        body = f"%out = {product}"
    else:
        inputs["b"] = bias.view(-1)
        body = f"%y = {product}\n%out = hk.add %y, %b : {{out}}, {{b}} -> {{out}}"
    run(body, inputs, {"out": out}, dynamic={"w": 0, "ws": 0, "b": 0})
    return out


@op(fake=lambda XQ, WQ, x_scale, w_scale, dtype=torch.bfloat16, isBpreshuffled=False:
    _product(XQ, WQ, dtype=dtype))
def gemm_a8w8_blockscale(XQ: torch.Tensor, WQ: torch.Tensor, x_scale: torch.Tensor,
                         w_scale: torch.Tensor, dtype: torch.dtype = torch.bfloat16,
                         isBpreshuffled: bool = False) -> torch.Tensor:
    """x_scale [M, K/128] of runs of a row, w_scale [N/128, K/128] of blocks."""
    unsupported("gemm_a8w8_blockscale", isBpreshuffled=(isBpreshuffled, False))
    out = _product(XQ, WQ, dtype=dtype)
    run("%out = hk.matmul %x, %w scales (%xs, %ws) transpose_b : {x}, {w} scales ({xs}, {ws}) "
        "-> {out}", {"x": XQ, "w": WQ, "xs": x_scale, "ws": w_scale}, {"out": out},
        dynamic={"w": 0, "ws": 0})
    return out
