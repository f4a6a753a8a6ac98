"""Gated activations: of a row [gate, up] act(gate) * up."""

# Names of arguments are AITER's.
# ruff: noqa: A002, N803

import torch

from ._run import op, rows, run


def _gated(kind: str, out: torch.Tensor, input: torch.Tensor) -> None:
    run(f"%out = hk.gated_activation {kind} %x : {{x}} -> {{out}}", {"x": rows(input)},
        {"out": rows(out)})


@op(mutates=("out",))
def silu_and_mul(out: torch.Tensor, input: torch.Tensor) -> None:
    """out [.., N] of input [.., 2N]."""
    _gated("silu", out, input)


@op(mutates=("out",))
def gelu_and_mul(out: torch.Tensor, input: torch.Tensor) -> None:
    """With the error function."""
    _gated("gelu", out, input)


@op(mutates=("out",))
def gelu_tanh_and_mul(out: torch.Tensor, input: torch.Tensor) -> None:
    """With the approximation by tanh."""
    _gated("gelu_tanh", out, input)
