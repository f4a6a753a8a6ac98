# ===- config.py - The shape of a pair of Qwen3-Next layers --------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Sizes, and the names and shapes of the weights; needs nothing but Python."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Config:
    """Small sizes that keep every ratio that matters: two value heads for a key head, two
    query heads for a key head, a quarter of a head rotated. qwen3_next.mlir has these."""
    hidden: int = 64
    key_heads: int = 2
    value_heads: int = 4
    keys: int = 64
    values: int = 64
    width: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    rotary: int = 8
    experts: int = 8
    top_k: int = 2
    expert: int = 32
    shared: int = 32
    context: int = 160
    lines: int = 4
    chunk: int = 64
    eps: float = 1e-6
    theta: float = 1e7

    @property
    def channels(self) -> int:
        """Of the convolution: queries, keys, values."""
        return 2 * self.key_heads * self.keys + self.value_heads * self.values

    @property
    def share(self) -> int:
        """Value heads of a key head."""
        return self.value_heads // self.key_heads

    @property
    def group(self) -> int:
        """Columns that a key head has of the projection: query, key, values, gates."""
        return 2 * self.keys + 2 * self.share * self.values


# What is published as Qwen3-Next-80B-A3B.
FULL = Config(hidden=2048, key_heads=16, value_heads=32, keys=128, values=128, heads=16,
              head_dim=256, rotary=64, experts=512, top_k=10, expert=512, shared=512,
              context=4096, lines=64)


def weight_shapes(c: Config) -> dict:
    """Name -> (shape, element type). Matrices are [outputs, inputs]."""
    shapes = {
        "delta.norm": ((c.hidden,), "bf16"),
        "delta.qkvz": ((c.key_heads * c.group, c.hidden), "bf16"),
        "delta.ba": ((2 * c.value_heads, c.hidden), "bf16"),
        "delta.conv": ((c.channels, c.width), "bf16"),
        "delta.a_log": ((c.value_heads,), "f32"),
        "delta.dt_bias": ((c.value_heads,), "f32"),
        "delta.gated_norm": ((c.values,), "bf16"),
        "delta.out": ((c.hidden, c.value_heads * c.values), "bf16"),
        "attn.norm": ((c.hidden,), "bf16"),
        "attn.q": ((2 * c.heads * c.head_dim, c.hidden), "bf16"),
        "attn.k": ((c.kv_heads * c.head_dim, c.hidden), "bf16"),
        "attn.v": ((c.kv_heads * c.head_dim, c.hidden), "bf16"),
        "attn.q_norm": ((c.head_dim,), "bf16"),
        "attn.k_norm": ((c.head_dim,), "bf16"),
        "attn.out": ((c.hidden, c.heads * c.head_dim), "bf16"),
        "rope.cos": ((c.context, c.rotary // 2), "f32"),
        "rope.sin": ((c.context, c.rotary // 2), "f32"),
    }
    for layer in ("delta", "attn"):
        shapes.update({
            f"{layer}.moe.norm": ((c.hidden,), "bf16"),
            f"{layer}.moe.router": ((c.experts, c.hidden), "bf16"),
            f"{layer}.moe.gate_up": ((c.experts, 2 * c.expert, c.hidden), "bf16"),
            f"{layer}.moe.down": ((c.experts, c.hidden, c.expert), "bf16"),
            f"{layer}.moe.shared_gate_up": ((2 * c.shared, c.hidden), "bf16"),
            f"{layer}.moe.shared_down": ((c.hidden, c.shared), "bf16"),
            f"{layer}.moe.shared_gate": ((1, c.hidden), "bf16"),
        })
    return shapes
