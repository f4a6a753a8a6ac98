"""Quantisation to 8 bits. `out` says to which type; a scale times a code is the value."""

# Names of arguments are AITER's.
# ruff: noqa: A002, N803

import torch

from ._run import op, rows, run, unsupported


@op(mutates=("out",))
def static_per_tensor_quant(out: torch.Tensor, input: torch.Tensor, scale: torch.Tensor) -> None:
    """out = input / scale, scale of one element."""
    run("%out = hk.quantize_static %x, %scale : {x}, {scale} -> {out}",
        {"x": rows(input), "scale": scale.view(1)}, {"out": rows(out)}, dynamic={"scale": 0})


def _limit(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).max if dtype.is_floating_point else float(torch.iinfo(dtype).max)


@op(mutates=("out", "scale"))
def dynamic_per_tensor_quant(out: torch.Tensor, input: torch.Tensor, scale: torch.Tensor) -> None:
    """scale = max |input| / the largest number of out's type, 1 where that is 0."""
    one = "tensor<1x1xf32>"
    run(f"""%amax = hk.reduce absmax %x dims 2 : {{x}} -> {one}
            %limit = hk.constant {_limit(out.dtype):.1f} : tensor<f32>
            %zero = hk.constant 0.0 : tensor<f32>
            %unit = hk.constant 1.0 : tensor<f32>
            %raw = hk.div %amax, %limit : {one}, tensor<f32>
            %none = hk.compare eq %raw, %zero : {one}, tensor<f32> -> tensor<1x1xi1>
            %scale = hk.select %none, %unit, %raw : tensor<1x1xi1>, tensor<f32>, {one} -> {one}
            %out = hk.quantize_static %x, %scale : {{x}}, {one} -> {{out}}""",
        {"x": rows(input)}, {"out": rows(out), "scale": scale.view(1, 1)}, dynamic={"scale": 0})


@op(mutates=("out", "scales"))
def dynamic_per_token_scaled_quant(out: torch.Tensor, input: torch.Tensor, scales: torch.Tensor,
                                   scale_ub: torch.Tensor | None = None,
                                   shuffle_scale: bool = False,
                                   num_rows: torch.Tensor | None = None,
                                   num_rows_factor: int = 1) -> None:
    """A scale for each row: max |row| / the largest number of out's type, 1 where that is 0."""
    unsupported("dynamic_per_token_scaled_quant", scale_ub=(scale_ub, None),
                shuffle_scale=(shuffle_scale, False), num_rows=(num_rows, None),
                num_rows_factor=(num_rows_factor, 1))
    run("%out, %scales = hk.quantize per_token %x : {x} -> {out}, {scales}", {"x": rows(input)},
        {"out": rows(out), "scales": scales.view(-1, 1)})
