"""Mixtures whose code runs every expert on every token, with rows scaled by the router (Llama 4):
only those that the router chooses give anything, so only those are computed.

Found by its values: the layer with random weights must give what the formula gives.
"""

import typing

import torch

from . import _replaced


def is_candidate(module: typing.Any) -> bool:
    """A layer with a router, experts stacked [E, H, 2 N] and [E, N, H], and a shared expert."""
    parts = dict(module.named_children())
    if not {"router", "experts", "shared_expert"} <= parts.keys() or not hasattr(module, "top_k"):
        return False
    weights = [getattr(parts["experts"], n, None) for n in ("gate_up_proj", "down_proj")]
    return (all(isinstance(w, torch.Tensor) and w.dim() == 3 for w in weights)
            and hasattr(parts["experts"], "act_fn")
            and isinstance(parts["router"], torch.nn.Linear))


def forward(self: typing.Any, hidden_states: torch.Tensor) -> tuple:
    """Rows of the tokens, scaled by the sigmoid of their logits, to the experts that have the
    largest; the sum is added to the shared expert's."""
    rows = hidden_states.reshape(-1, hidden_states.shape[-1])
    logits = torch.nn.functional.linear(rows, self.router.weight, self.router.bias)
    best, ids = torch.topk(logits, self.top_k, dim=1)
    scores = best.float().sigmoid().to(rows.dtype)
    out = self.shared_expert(rows)
    product, experts = torch.ops.hk.grouped_linear, self.experts
    whole = (ids[:, :1] >= 0).to(rows.dtype)  # Ones: the rows are scaled already.
    for k in range(self.top_k):
        one = ids[:, k:k + 1]
        up = product(rows * scores[:, k:k + 1], experts.gate_up_proj, None, one, True, True, False)
        gate, up = up.chunk(2, dim=-1)
        y = product(up * experts.act_fn(gate), experts.down_proj, None, one, False, True, True)
        out = out + torch.ops.hk.experts_sum(y, one, whole, rows)
    return out, logits


def computes(module: typing.Any) -> bool:
    """Whether the layer, with random weights, is the formula."""
    def pairs(generator: torch.Generator) -> list:
        x = torch.randn(1, 9, module.router.weight.shape[1], generator=generator)
        expected, found = module(x), forward(module, x)
        if not isinstance(expected, tuple):
            raise TypeError("not with its logits")
        return [(found[0], expected[0].view_as(found[0]))]

    return _replaced.computes(module, pairs, seed=10)
