"""Linear recurrent units (RecurrentGemma's RG-LRU): every channel decays on its own, a head of one
key and one value. The gates are the model's own code; its loop over tokens is hk's operator.

Found by its values: the loop must give what the formula gives.
"""

import typing

import torch

from . import _replaced

Scan = typing.Callable[..., torch.Tensor]
PARTS = ("recurrent_param", "input_gate_weight", "recurrent_gate_weight", "_rnn_scan")


def is_candidate(module: typing.Any) -> bool:
    """A unit with gates by head and a loop of its own."""
    return all(hasattr(module, n) for n in PARTS)


def scan(made: Scan, _self: typing.Any, hidden_states: torch.Tensor, recurrent_gate: torch.Tensor,
         reset: torch.Tensor, recurrent_states: torch.Tensor | None = None, **_: object) -> tuple:
    """`made`: of query, key [1, T, H, 1], value [1, T, H, 1] and the logarithm of the decay. A
    sequence begins with a state of 0, which is all that `reset` does."""
    value = hidden_states.float()[..., None]
    ones = torch.ones_like(value)
    y = made(ones, ones, value, recurrent_gate.float().log()[..., None])
    return y[..., 0].to(hidden_states.dtype), recurrent_states


def computes(module: typing.Any) -> bool:
    """Whether the module's loop is the formula."""
    def made(query, key, value, decay):
        return torch.ops.hk.gated_delta_rule(query, key, value, decay, None, torch.tensor([0, 9]),
                                             1.0, 0.0, "linear", 0)

    def pairs(generator: torch.Generator) -> list:
        width = module.recurrent_param.shape[0]
        x = torch.randn(1, 9, width, generator=generator)
        gate = torch.rand(1, 9, width, generator=generator)
        first = (torch.arange(9) == 0)[None, :, None]
        expected = module._rnn_scan(hidden_states=x, recurrent_gate=gate, reset=first,
                                    recurrent_states=None)[0]
        return [(scan(made, module, x, gate, first)[0], expected)]

    return _replaced.computes(module, pairs, seed=16, rtol=1e-4)
