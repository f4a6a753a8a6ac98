# ===- config.py - The shape of tinylm ----------------------------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Sizes, and the names and shapes of the weights; needs no PyTorch."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Config:
    """The shape of the model. tinylm.mlir is written for these numbers."""
    vocab: int = 256
    dim: int = 256
    layers: int = 6
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    hidden: int = 704
    context: int = 512
    eps: float = 1e-5
    theta: float = 10000.0


def weight_shapes(config: Config) -> dict:
    """Name and shape of every bf16 tensor. Matrices are [outputs, inputs]."""
    heads = config.heads + 2 * config.kv_heads
    shapes = {"embed": (config.vocab, config.dim)}
    for i in range(config.layers):
        layer = f"layers.{i}."
        shapes[layer + "attn_norm"] = (config.dim,)
        shapes[layer + "wqkv"] = (heads * config.head_dim, config.dim)
        shapes[layer + "wo"] = (config.dim, config.heads * config.head_dim)
        shapes[layer + "ffn_norm"] = (config.dim,)
        shapes[layer + "w_gate_up"] = (2 * config.hidden, config.dim)
        shapes[layer + "w_down"] = (config.dim, config.hidden)
    shapes["norm"] = (config.dim,)
    shapes["head"] = (config.vocab, config.dim)
    return shapes
