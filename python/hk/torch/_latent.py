"""Latent attention (DeepSeek's MLA): the cache holds one latent row per token, and the matrices
that would expand it to keys and values of every head go to the queries and to the result.

transformers expands latents in a method of the attention module, `expand_kv`, right before it
calls the attention interface. For the export that method gives a Latent, which hk's attention
takes in place of keys and values.
"""

import contextlib
import typing

import torch

from ..errors import UnsupportedModel
from . import _replaced

_NUMBERS = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


class Latent:
    """Stands for keys and values: `rows` [B, 1, S, rank + rope], and the matrices by head,
    `keys` [H, nope, rank] and `values` [H, V, rank]."""

    def __init__(self, module: typing.Any, latent: torch.Tensor, rope: torch.Tensor):
        self.rank, nope = module.kv_lora_rank, module.qk_nope_head_dim
        # Without the head dim, which the two have in different layouts.
        self.rows = torch.cat((latent[:, 0], rope[:, 0]), -1)[:, None]
        heads = module.kv_b_proj.weight.unflatten(0, (-1, nope + module.v_head_dim))
        self.keys, self.values = heads[:, :nope], heads[:, nope:]

    def __getattr__(self, name: str) -> typing.NoReturn:
        raise UnsupportedModel(f"the model computes with expanded keys or values (.{name}) before "
                               "it attends; hk keeps the latent rows only")


def is_latent(module: torch.nn.Module) -> bool:
    """A module whose expand_kv is the product with kv_b_proj, rotary keys shared by the heads."""
    if not hasattr(module, "expand_kv") or not all(hasattr(module, n) for n in _NUMBERS):
        return False
    rank, nope, rope, v = (getattr(module, n) for n in _NUMBERS)
    generator = torch.Generator().manual_seed(8)
    latent = torch.randn(1, 1, 5, rank, generator=generator)
    rotary = torch.randn(1, 1, 5, rope, generator=generator)
    weight = module.kv_b_proj.weight
    with torch.no_grad():
        try:
            keys, values = module.expand_kv(latent, rotary)
        except Exception:  # noqa: BLE001 - another method of that name
            return False
        expected = (latent @ weight.mT).unflatten(-1, (-1, nope + v)).squeeze(1).transpose(1, 2)
        heads = expected.shape[1]
        return (module.kv_b_proj.bias is None and keys.shape == (1, heads, 5, nope + rope)
                and torch.equal(keys[..., nope:], rotary.expand(-1, heads, -1, -1))
                and torch.allclose(keys[..., :nope], expected[..., :nope], atol=1e-6)
                and torch.allclose(values, expected[..., nope:], atol=1e-6))


def attend(query: torch.Tensor, latent: Latent, extents: torch.Tensor, sink: torch.Tensor | None,
           *rest: typing.Any) -> torch.Tensor:
    """hk::attention of queries [1, H, S, nope + rope]: [1, S, H, V]. `rest` is what follows
    `dense` there."""
    nope = latent.keys.shape[1]
    narrow, rotary = query.split([nope, query.shape[-1] - nope], -1)
    wide = torch.matmul(narrow.squeeze(0), latent.keys)[None]
    rows = latent.rows
    out = torch.ops.hk.attention(torch.cat((wide, rotary), -1), rows, rows[..., :latent.rank],
                                 extents, sink, None, False, *rest)
    heads = torch.matmul(out.squeeze(0).transpose(0, 1), latent.values.mT)
    return heads.transpose(0, 1)[None]


def active(modules: typing.Iterable[torch.nn.Module]) -> contextlib.AbstractContextManager:
    """The modules give a Latent for as long."""
    def expand(self, latent, rope):
        made = Latent(self, latent, rope)
        return made, made

    return _replaced.methods("expand_kv", dict.fromkeys(modules, expand))
