"""Mixtures whose modules sort the tokens themselves and give each matrix of a stack its run of them
(JetMoE's): a layer of experts, and attention whose projections of queries and results are experts.

Found by its values: the module with random weights must give what the formula gives.
"""

import typing

import torch

from . import _replaced

Tensor = torch.Tensor


def is_candidate(module: typing.Any) -> bool:
    """A module with a router of one matrix and stacks [E, N, K] for what it takes and gives."""
    stacks = [getattr(getattr(module, n, None), "weight", None)
              for n in ("input_linear", "output_linear")]
    router = getattr(module, "router", None)
    return (all(isinstance(w, Tensor) and w.dim() == 3 for w in stacks)
            and hasattr(router, "top_k") and isinstance(getattr(router, "layer", None),
                                                        torch.nn.Linear))


def is_attention(module: typing.Any) -> bool:
    """Whether its experts project queries and results (`map`, `reduce`) in place of rows."""
    return hasattr(module, "map") and hasattr(module, "reduce")


def _chosen(router: typing.Any, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, experts and weights of tokens."""
    logits = router.layer(rows).float()
    best, ids = logits.topk(router.top_k, dim=1)
    return logits, ids, torch.softmax(best, dim=1).to(rows.dtype)


def forward(self: typing.Any, layer_input: Tensor) -> Tensor:
    """The weighted sum over the experts of each token, plus a bias."""
    rows = layer_input.reshape(-1, layer_input.shape[-1])
    _, ids, weights = _chosen(self.router, rows)
    product = torch.ops.hk.grouped_linear
    gate, up = product(rows, self.input_linear.weight, None, ids, True, False, False).chunk(2, -1)
    y = product(self.activation(gate) * up, self.output_linear.weight, None, ids, False, False, True)
    out = torch.ops.hk.experts_sum(y, ids, weights, rows)
    return out.view(layer_input.shape) + self.bias


def _projected(rows: Tensor, weight: Tensor, ids: Tensor, weights: Tensor) -> Tensor:
    """Rows times the matrices of one expert each."""
    y = torch.ops.hk.grouped_linear(rows, weight, None, ids, True, False, True)
    return torch.ops.hk.experts_sum(y, ids, weights, rows)


def map_(self: typing.Any, layer_input: Tensor) -> tuple:
    """Queries [B, S, k, N], logits, and what `reduce` wants to know of the choice."""
    rows = layer_input.reshape(-1, layer_input.shape[-1])
    logits, ids, weights = _chosen(self.router, rows)
    choice = [(ids[:, i:i + 1], weights[:, i:i + 1]) for i in range(self.router.top_k)]
    made = [_projected(rows, self.input_linear.weight, one, (one >= 0).to(rows.dtype))
            for one, _ in choice]
    return torch.stack(made, 1).view(*layer_input.shape[:2], len(made), -1), logits, choice


def reduce_(self: typing.Any, layer_input: Tensor, choice: list) -> Tensor:
    """The weighted sum of the results [B, S, k, N], plus a bias."""
    total = self.bias
    for i, (one, weight) in enumerate(choice):
        rows = layer_input[:, :, i].reshape(-1, layer_input.shape[-1])
        total = _projected(rows, self.output_linear.weight, one, weight) + total
    return total.view(*layer_input.shape[:2], -1)


def computes(module: typing.Any) -> bool:
    """Whether the module, with random weights, is the formula."""
    def pairs(generator: torch.Generator) -> list:
        x = torch.randn(1, 9, module.router.layer.in_features, generator=generator)
        if not is_attention(module):
            return [(forward(module, x), module(x))]
        expected, _, topology = module.map(x)
        made, _, choice = map_(module, x)
        return [(made, expected), (reduce_(module, made, choice),
                                   module.reduce(expected, topology).view(x.shape))]

    return _replaced.computes(module, pairs, seed=13)
