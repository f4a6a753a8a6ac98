"""RWKV's linear attention: of every channel a mean of the values of all tokens, whose weights are
exponentials of keys and decay; the token itself has another weight. Numerator and denominator are
two values of a head with one key, which sum the tokens before: those are rows of the token before.

The model's loop subtracts the largest exponent so far; here exponentials are what they are, in f32.
Keys beyond 88 give infinity, which no check lets through.
"""

import typing

import torch

from ._delayed import Filter, earlier
from ._lru import Scan

LEAST = -80.0  # An exponent that is 0 beside any other: a mean of nothing is the token's own value.


def is_shift(module: torch.nn.Module) -> bool:
    """A module that gives the row of the token before."""
    return isinstance(module, torch.nn.ZeroPad2d) and tuple(module.padding) == (0, 0, 1, -1)


def shifted(made: Filter, _self: typing.Any, hidden: torch.Tensor) -> torch.Tensor:
    """`made`: the filter of x [1, C, T] with weight [C, W]."""
    return earlier(made, hidden.transpose(1, 2), 1).transpose(1, 2)


def mean(made: Filter, scan: Scan, time_decay: torch.Tensor, time_first: torch.Tensor,
         key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Of keys and values [1, T, H]. `scan`: of query, key [1, T, H, 1], value [1, T, H, 2] and the
    logarithm of the decay [1, T, H]."""
    channels = key.shape[-1]
    rows = torch.cat((key, value, torch.ones_like(key[..., :1])), -1)
    before = shifted(made, None, rows).float()
    keys, values, any_ = before.split((channels, channels, 1), -1)
    weight = keys.exp()[..., None]
    pairs = torch.stack((values, any_.expand(values.shape)), -1)
    # hk's operator takes a decay of each token.
    decay = torch.where(keys == keys, -time_decay.float().exp(), 0.0)
    sums = scan(torch.ones_like(weight), weight, pairs, decay)
    own = (key.float() + time_first).clamp(min=LEAST).exp()
    return ((sums[..., 0] + own * value) / (sums[..., 1] + own)).to(value.dtype)


def leave_weights(model: torch.nn.Module) -> None:
    """A model that halves weights of its later layers before it first runs, and their results in
    between (for the range of f16), shall do neither: the weights may be another model's memory."""
    for module in model.modules():
        if hasattr(module, "_rescale_layers") and not getattr(module, "layers_are_rescaled", True):
            module.config.rescale_every = 0
            module.layers_are_rescaled = True
