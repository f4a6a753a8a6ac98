"""Queries, keys and values that see the tokens before (ZAYA's compressed convolutional attention):
a filter of single channels, one that mixes the channels of a head, and values of which one half is
the token's before. A delayed row is a filter whose only weight is the oldest.

Found by its values: the module with random weights must give what the formula gives.
"""

import typing

import torch

from . import _replaced
from ._filters import conv1d

PARTS = ("q_proj", "k_proj", "v_proj_current", "v_proj_delayed", "conv_qk_depthwise",
         "conv_qk_grouped")
Filter = typing.Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def is_candidate(module: typing.Any) -> bool:
    """A module with these projections and filters, and sizes of heads."""
    return all(hasattr(module, n) for n in (*PARTS, "head_dim", "num_key_value_groups"))


def earlier(made: Filter, x: torch.Tensor, by: int) -> torch.Tensor:
    """x [1, C, T] of the tokens so many before."""
    first = torch.arange(by + 1, device=x.device) == 0
    return made(x, first.to(x.dtype).expand(x.shape[1], by + 1).contiguous()) if by else x


def _mixed(made: Filter, self: typing.Any, rows: torch.Tensor) -> torch.Tensor:
    """Both filters of rows [1, T, C]. In front of a sequence the first one gives its bias."""
    alone, within = self.conv_qk_depthwise, self.conv_qk_grouped
    x = made(rows.transpose(1, 2), alone.weight[:, 0])
    bias = 0 if alone.bias is None else alone.bias[:, None]
    taps, groups = within.weight.shape[2], within.groups
    seen = [(earlier(made, x, taps - 1 - i) + bias).unflatten(1, (groups, -1))[0]
            for i in range(taps)]
    # Rounded once: one product of all taps.
    weight = within.weight.unflatten(0, (groups, -1)).transpose(2, 3).flatten(2)
    y = torch.matmul(weight, torch.cat(seen, 1)).flatten(0, 1)[None]
    return (y if within.bias is None else y + within.bias[:, None]).transpose(1, 2)


def forward(made: Filter, self: typing.Any, hidden_states: torch.Tensor, *_: object, **__: object
            ) -> tuple:
    """`made`: the filter of x [1, C, T] with weight [C, W]."""
    def heads(x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (-1, self.head_dim))

    queries, keys = self.q_proj(hidden_states), self.k_proj(hidden_states)
    mixed = _mixed(made, self, torch.cat((queries, keys), -1))
    of_groups = heads(queries).unflatten(2, (-1, self.num_key_value_groups))
    both = (of_groups + heads(keys)[:, :, :, None]) * 0.5
    query = heads(mixed[..., :queries.shape[-1]]) + both.flatten(2, 3)
    key = heads(mixed[..., queries.shape[-1]:]) + both.mean(dim=-2)
    before = earlier(made, hidden_states.transpose(1, 2), 1).transpose(1, 2)
    values = torch.cat((self.v_proj_current(hidden_states), self.v_proj_delayed(before)), -1)
    return query, key, heads(values)


def computes(module: typing.Any) -> bool:
    """Whether the module, with random weights, is the formula."""
    def made(x, weight):
        rows = torch.nn.functional.pad(x, (weight.shape[1] - 1, 0))
        return conv1d(rows, weight[:, None], groups=weight.shape[0])

    def pairs(generator: torch.Generator) -> list:
        x = torch.randn(1, 9, module.q_proj.in_features, generator=generator)
        return list(zip(forward(made, module, x), module(x, None), strict=True))

    return _replaced.computes(module, pairs, seed=15, rtol=1e-4)
