"""Linear attention whose state decays by a number of each head (MiniMax's lightning attention): the
gated delta rule without its correction, `rule linear`.

Found by its values: the layer with random weights must give what the formula gives.
"""

import typing

import torch

from . import _replaced

PARTS = ("qkv_proj", "out_proj", "output_gate", "norm")
Rule = typing.Callable[..., torch.Tensor]


def is_candidate(module: typing.Any) -> bool:
    """A layer with one projection to queries, keys and values, a gate, and slopes of heads."""
    return (isinstance(getattr(module, "slope_rate", None), torch.Tensor)
            and all(hasattr(module, n) for n in (*PARTS, "act_fn", "head_dim")))


def forward(rule: Rule, self: typing.Any, hidden_states: torch.Tensor, *_: object, **__: object
            ) -> tuple:
    """`rule`: of query, key, value [1, T, H, D] and the logarithm of the decay [1, T, H]."""
    heads = self.slope_rate.numel()
    rows = self.act_fn(self.qkv_proj(hidden_states))
    query, key, value = rows.unflatten(-1, (heads, -1)).split(self.head_dim, dim=3)
    slopes = -self.slope_rate.flatten()
    # hk's operator takes a decay of each token.
    decay = torch.where(key[..., 0] == key[..., 0], slopes, slopes)
    y = self.norm(rule(query, key, value, decay).flatten(2).to(rows.dtype))
    return self.out_proj(torch.sigmoid(self.output_gate(hidden_states)) * y), None


def computes(module: typing.Any) -> bool:
    """Whether the layer, with random weights, is the formula."""
    def rule(query, key, value, decay):
        return torch.ops.hk.gated_delta_rule(query, key, value, decay, None, torch.tensor([0, 9]),
                                             1.0, 0.0, "linear", 0)

    def pairs(generator: torch.Generator) -> list:
        x = torch.randn(1, 9, module.qkv_proj.in_features, generator=generator)
        expected = module(x, position_embeddings=None, attention_mask=None)[0]
        return [(forward(rule, module, x)[0], expected)]

    return _replaced.computes(module, pairs, seed=14, rtol=1e-4)
