# ===- inputs.py - Weights and calls of qwen3_next -----------------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Draws weights of the sizes of a trained model and writes them as safetensors:

  inputs.py FOLDER    FOLDER/qwen3_next.safetensors
"""

import json
import pathlib
import sys

import numpy as np

from config import Config, weight_shapes
from reference import to_bf16, to_f32


def draw_weights(c: Config, seed: int = 3) -> dict:
    """name -> float64 values of the weight's element type."""
    rng, weights = np.random.default_rng(seed), {}
    for name, (shape, element) in weight_shapes(c).items():
        if name.startswith("rope."):
            angles = np.outer(np.arange(c.context), c.theta ** (-np.arange(0, c.rotary, 2) / c.rotary))
            x = np.cos(angles) if name == "rope.cos" else np.sin(angles)
        elif name == "delta.a_log":
            x = np.log(rng.uniform(0.01, 2, shape))
        elif name == "delta.gated_norm" or name == "delta.dt_bias":
            x = 1 + 0.2 * rng.normal(size=shape)
        elif "norm" in name:
            x = 0.2 * rng.normal(size=shape)
        else:
            x = rng.normal(size=shape) * shape[-1]**-0.5
        weights[name] = (to_bf16 if element == "bf16" else to_f32)(x)
    return weights


def bits(x, element):
    """The bytes of values that the element type holds."""
    x = np.ascontiguousarray(x, np.float32)
    return x.tobytes() if element == "f32" else (x.view(np.uint32) >> 16).astype(np.uint16).tobytes()


def write_safetensors(path, c: Config, weights: dict) -> None:
    header, data = {}, b""
    for name, (shape, element) in weight_shapes(c).items():
        part = bits(weights[name], element)
        header[name] = {"dtype": element.upper(), "shape": list(shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data)


def draw_call(c: Config, function: str, tokens: int, seed: int = 5) -> dict:
    """Arguments by name: decode has `tokens` sequences at different positions, the last one
    of another line of the pools; prefill goes on after 3 tokens of one sequence."""
    rng = np.random.default_rng(seed)
    normal = lambda *shape: rng.normal(size=shape)
    sequences, lines = (1, 1) if function == "prefill" else (tokens, c.lines)
    cache = (sequences, c.context, c.kv_heads, c.head_dim)
    x = {"x": to_bf16(normal(tokens, c.hidden)), "conv": to_bf16(normal(lines, c.width - 1, c.channels)),
         "delta": to_f32(0.3 * normal(lines, c.value_heads, c.keys, c.values)),
         "keys": to_bf16(normal(*cache)), "values": to_bf16(normal(*cache))}
    if function == "prefill":
        positions = np.arange(3, 3 + tokens)
        return x | {"positions": positions, "slots": positions, "kv_len": np.array([3 + tokens])}
    positions = rng.integers(0, c.context, tokens)
    return x | {"positions": positions, "slots": positions + c.context * np.arange(tokens), "kv_len": positions + 1,
                "lines": rng.permutation(lines)[:tokens]}


def main() -> None:
    c = Config()
    write_safetensors(pathlib.Path(sys.argv[1]) / "qwen3_next.safetensors", c, draw_weights(c))


if __name__ == "__main__":
    main()
