"""Experts whose own code loops over those that a call's tokens chose, and does not go through
transformers' ExpertsInterface: DBRX (matrices of all experts one below the other) and LongCat
(the last experts give back what they get).

Found by its values: the module with random weights must give what the formula gives.
"""

import inspect
import typing

import torch

from . import _replaced


class Parts(typing.NamedTuple):
    """The first products' weights [E, N, K], the second's, whether that one is [E, K, N], the
    activation of the gate, and how many experts compute: those behind them change nothing."""

    up: list[torch.Tensor]
    down: torch.Tensor
    transposed: bool
    act: typing.Callable
    count: int


def _parts(module: typing.Any) -> Parts | None:
    up, down = (getattr(module, n, None) for n in ("gate_up_proj", "down_proj"))
    if isinstance(up, torch.Tensor) and isinstance(down, torch.Tensor) and up.dim() == 3:
        return Parts([up], down, False, module.act_fn, len(down)) if hasattr(
            module, "act_fn") else None
    mlp = getattr(module, "mlp", None)
    flat = [getattr(mlp, n, None) for n in ("w1", "v1", "w2")]
    if all(isinstance(w, torch.Tensor) and w.dim() == 2 for w in flat) and hasattr(
            module, "num_experts"):
        gate, up, down = (w.view(module.num_experts, -1, w.shape[1]) for w in flat)
        return Parts([gate, up], down, True, mlp.activation_fn, len(down))
    return None


def is_candidate(module: typing.Any) -> bool:
    """A module that takes tokens, their experts and weights."""
    return (list(inspect.signature(module.forward).parameters)
            == ["hidden_states", "top_k_index", "top_k_weights"]
            and not hasattr(type(module), "_apply_gate") and _parts(module) is not None)


def forward(self: typing.Any, hidden_states: torch.Tensor, top_k_index: torch.Tensor,
            top_k_weights: torch.Tensor) -> torch.Tensor:
    """The weighted sum over the experts of each token."""
    parts = _parts(self)
    rows = hidden_states.reshape(-1, hidden_states.shape[-1])
    ids, weights, product = top_k_index, top_k_weights, torch.ops.hk.grouped_linear
    passing = len(parts.up[0]) > parts.count
    if passing:
        # Those that give back what they get: the first expert in their place, for nothing.
        computes = ids < parts.count
        ids, weights = torch.where(computes, ids, 0), torch.where(computes, weights, 0.0)
    made = [product(rows, w, None, ids, True, False, False) for w in parts.up]
    gate, up = made if len(made) == 2 else made[0].chunk(2, dim=-1)
    y = product(parts.act(gate) * up, parts.down, None, ids, False, parts.transposed, True)
    out = torch.ops.hk.experts_sum(y, ids, weights, rows)
    if passing:
        out = out + rows * (top_k_weights - weights).sum(-1, keepdim=True).to(rows.dtype)
    return out.view(hidden_states.shape)


def computes(module: typing.Any) -> bool:
    """Whether the module, with random weights, is the formula."""
    def pairs(generator: torch.Generator) -> list:
        parts = _parts(module)
        experts = len(parts.up[0])
        x = torch.randn(1, 9, parts.up[0].shape[2], generator=generator)
        x = x if len(parts.up) == 2 else x[0]
        ids = torch.rand(9, experts, generator=generator).topk(2, -1).indices
        weights = torch.rand(9, 2, generator=generator)
        expected, found = module(x, ids, weights), forward(module, x, ids, weights)
        return [(found, expected)]

    return _replaced.computes(module, pairs, seed=11)
