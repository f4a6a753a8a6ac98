"""Experts that are modules of their own, each of two linear layers, of which a loop runs those
that a call's tokens chose: Switch Transformers. A token has one expert or, where that one had
enough tokens already, none.

Found by its values: the module with random weights must give what the formula gives.
"""

import inspect
import typing

import torch

from . import _replaced

Tensor = torch.Tensor


class Parts(typing.NamedTuple):
    """The first products of the experts, the second ones, and the function between them."""

    up: list[torch.nn.Linear]
    down: list[torch.nn.Linear]
    act: typing.Callable


def _parts(module: torch.nn.ModuleDict) -> Parts | None:
    layers = [[m for m in expert.children() if isinstance(m, torch.nn.Linear)]
              for expert in module.values()]
    act = getattr(next(iter(module.values()), None), "act", None)
    if act is None or any(len(two) != 2 for two in layers):
        return None
    return Parts([up for up, _ in layers], [down for _, down in layers], act)


def is_candidate(module: torch.nn.Module) -> bool:
    """A dict of experts that takes tokens, for each a row with a 1 for its expert, and weights."""
    return (isinstance(module, torch.nn.ModuleDict)
            and list(inspect.signature(module.forward).parameters)
            == ["hidden_states", "selected_experts", "routing_weights"]
            and _parts(module) is not None)


def _product(x: Tensor, layers: list[torch.nn.Linear], ids: Tensor, gathers: bool) -> Tensor:
    bias = None if layers[0].bias is None else torch.stack([m.bias for m in layers])
    return torch.ops.hk.grouped_linear(x, torch.stack([m.weight for m in layers]), bias, ids,
                                       gathers, False, not gathers)


def forward(self: torch.nn.ModuleDict, hidden_states: Tensor, selected_experts: Tensor,
            routing_weights: Tensor) -> Tensor:
    """Tokens [T, H], experts [T, 1, E], weights [T, 1]; zeros for a token without an expert."""
    parts = _parts(self)
    chosen = selected_experts[:, 0].float()
    ids = chosen.topk(1, -1).indices
    weights = routing_weights.float() * chosen.sum(-1, keepdim=True)
    y = parts.act(_product(hidden_states, parts.up, ids, True))
    return torch.ops.hk.experts_sum(_product(y, parts.down, ids, False), ids, weights,
                                    hidden_states)


def computes(module: torch.nn.Module) -> bool:
    """Whether the module, with random weights, is the formula."""
    def pairs(generator: torch.Generator) -> list:
        parts = _parts(module)
        x = torch.randn(9, parts.up[0].in_features, generator=generator)
        ids = torch.randint(0, len(parts.up), (9, 1), generator=generator)
        chosen = torch.nn.functional.one_hot(ids, len(parts.up))
        chosen[4] = 0
        weights = torch.rand(9, 1, generator=generator)
        return [(forward(module, x, chosen, weights), module(x, chosen, weights))]

    return _replaced.computes(module, pairs, seed=13)
