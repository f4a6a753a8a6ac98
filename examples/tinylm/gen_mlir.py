#!/usr/bin/env python3
# ===- gen_mlir.py - tinylm as an hk graph ------------------------------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Writes tinylm.mlir: the model of reference.py in base operators.

Two functions of the same graph, for a new piece of text and for one more byte:

  prefill(ids [T], positions [T], kv_len [1], 12 caches) -> logits [T, 256]
  decode (ids [1], positions [1], kv_len [1], 12 caches) -> logits [1, 256]

`positions` are the places of the tokens in the text, and in the cache; kv_len
is the number of tokens in the cache after the call. The caches (keys and
values of each layer) are states, written in place.
"""

import argparse
import pathlib

from config import Config, weight_shapes

HEADER = """\
// tinylm: a byte-level Llama-style language model in base hk operators.
// Written by gen_mlir.py. The shape of every weight and every rounding point is
// that of config.py and reference.py; nothing here says what is fused.

"""


class Function:
    """The text of one function over `tokens` ("?" or a number) tokens."""

    def __init__(self, config: Config, name: str, tokens: str):
        self.config, self.name, self.tokens = config, name, tokens
        self.lines = []

    def type(self, *shape, element="bf16", tokens=True):
        dims = ([self.tokens] if tokens else []) + [str(s) for s in shape]
        return f"tensor<{'x'.join(dims)}x{element}>"

    def add(self, line: str) -> None:
        self.lines.append("  " + line)

    def weight(self, name: str, type_: str) -> str:
        value = "%" + name.replace("layers.", "l").replace(".", "_")
        self.add(f"{value} = hk.weight_ref @{name} : {type_}")
        return value

    def norm(self, out: str, x: str, name: str) -> None:
        c = self.config
        row, vector = self.type(c.dim), self.type(c.dim, tokens=False)
        weight = self.weight(name, vector)
        self.add(f"{out} = hk.rms_norm {x}, {weight} epsilon {c.eps:.1e} : "
                 f"{row}, {vector}")

    def matmul(self, out, x, name, inputs, outputs, element="bf16") -> None:
        matrix = self.type(outputs, inputs, tokens=False)
        weight = self.weight(name, matrix)
        self.add(f"{out} = hk.matmul {x}, {weight} transpose_b : "
                 f"{self.type(inputs)}, {matrix} -> "
                 f"{self.type(outputs, element=element)}")

    def heads(self, out: str, qkv: str, first: int, count: int) -> None:
        """Heads first.. of the projections [tokens, all heads, head_dim]."""
        c = self.config
        total = c.heads + 2 * c.kv_heads
        size = "%tokens" if self.tokens == "?" else self.tokens
        self.add(f"{out} = tensor.extract_slice {qkv}[0, {first}, 0] "
                 f"[{size}, {count}, {c.head_dim}] [1, 1, 1] : "
                 f"{self.type(total, c.head_dim)} to "
                 f"{self.type(count, c.head_dim)}")

    def rope(self, out: str, x: str, heads: int) -> None:
        c = self.config
        type_ = self.type(heads, c.head_dim)
        table = self.type(c.context, c.head_dim // 2, element="f32",
                          tokens=False)
        self.add(f"{out} = hk.rope neox {x}, %cos, %sin positions %positions : "
                 f"{type_}, {table}, {table} positions "
                 f"{self.type(element='i32')}")

    def cache_type(self) -> str:
        c = self.config
        return self.type(1, c.context, c.kv_heads, c.head_dim, tokens=False)

    def cache_write(self, out: str, rows: str, cache: str) -> None:
        c = self.config
        self.add(f"{out} = hk.kv_cache_write {rows}, %positions into {cache} : "
                 f"{self.type(c.kv_heads, c.head_dim)}, "
                 f"{self.type(element='i32')}, {self.cache_type()}")

    def layer(self, i: int, x: str) -> str:
        """One block; returns the residual stream after it."""
        c, at, name = self.config, f"%l{i}_", f"layers.{i}."
        row, wide = self.type(c.dim), (c.heads + 2 * c.kv_heads) * c.head_dim
        inner = self.type(c.heads, c.head_dim)
        size = "%tokens" if self.tokens == "?" else self.tokens
        self.add(f"// Layer {i}: attention.")
        self.norm(at + "attn_in", x, name + "attn_norm")
        self.matmul(at + "qkv", at + "attn_in", name + "wqkv", c.dim, wide)
        self.add(f"{at}heads = tensor.expand_shape {at}qkv [[0], [1, 2]] "
                 f"output_shape [{size}, {wide // c.head_dim}, {c.head_dim}] : "
                 f"{self.type(wide)} into "
                 f"{self.type(wide // c.head_dim, c.head_dim)}")
        self.heads(at + "q", at + "heads", 0, c.heads)
        self.heads(at + "k", at + "heads", c.heads, c.kv_heads)
        self.heads(at + "v", at + "heads", c.heads + c.kv_heads, c.kv_heads)
        self.rope(at + "q_rotated", at + "q", c.heads)
        self.rope(at + "k_rotated", at + "k", c.kv_heads)
        self.cache_write(at + "keys", at + "k_rotated", f"%keys{i}")
        self.cache_write(at + "values", at + "v", f"%values{i}")
        cache, scale = self.cache_type(), c.head_dim ** -0.5
        self.add(f"{at}mixed = hk.attention {at}q_rotated, {at}keys, "
                 f"{at}values kv_lens %kv_len scale {scale} causal : "
                 f"{inner}, {cache}, {cache} kv_lens tensor<1xi32> -> {inner}")
        self.add(f"{at}flat = tensor.collapse_shape {at}mixed [[0], [1, 2]] : "
                 f"{inner} into {self.type(c.heads * c.head_dim)}")
        self.matmul(at + "attn_out", at + "flat", name + "wo",
                    c.heads * c.head_dim, c.dim)
        self.add(f"{at}mid = hk.add {x}, {at}attn_out : {row}")

        self.add(f"// Layer {i}: feed forward.")
        self.norm(at + "ffn_in", at + "mid", name + "ffn_norm")
        self.matmul(at + "gate_up", at + "ffn_in", name + "w_gate_up", c.dim,
                    2 * c.hidden)
        self.add(f"{at}gated = hk.gated_activation silu {at}gate_up : "
                 f"{self.type(2 * c.hidden)} -> {self.type(c.hidden)}")
        self.matmul(at + "down", at + "gated", name + "w_down", c.hidden, c.dim)
        self.add(f"{at}out = hk.add {at}mid, {at}down : {row}")
        return at + "out"

    def text(self) -> str:
        c, cache = self.config, self.cache_type()
        ids = self.type(element="i32")
        embed = self.type(c.vocab, c.dim, tokens=False)
        table = self.type(c.context, c.head_dim // 2, element="f32",
                          tokens=False)
        if self.tokens == "?":
            self.add("%c0 = arith.constant 0 : index")
            self.add(f"%tokens = tensor.dim %ids, %c0 : {ids}")
        for name in ("cos", "sin"):
            self.add(f"%{name} = hk.weight_ref @rope.{name} : {table}")
        self.weight("embed", embed)
        self.add(f"%x = hk.gather_rows %embed, %ids : {embed}, {ids} -> "
                 f"{self.type(c.dim)}")
        x = "%x"
        for i in range(c.layers):
            x = self.layer(i, x)
        self.norm("%normed", x, "norm")
        self.matmul("%logits", "%normed", "head", c.dim, c.vocab, "f32")

        states = [f"{kind}{i}" for kind in ("keys", "values")
                  for i in range(c.layers)]
        arguments = [f"%ids: {ids}", f"%positions: {ids}",
                     "%kv_len: tensor<1xi32>"]
        arguments += [f"%{state}: {cache} {{hk.state}}" for state in states]
        logits = self.type(c.vocab, element="f32")
        written = [f"%l{i}_{kind}" for kind in ("keys", "values")
                   for i in range(c.layers)]
        types = ",\n       ".join([logits] + [cache] * len(states))
        self.add(f"return %logits,\n    {', '.join(written)}\n"
                 f"    : {types}".replace("\n       ", "\n      "))
        separator = ",\n    "
        return (f"func.func @{self.name}(\n    {separator.join(arguments)})\n"
                f"    -> ({types}) {{\n" + "\n".join(self.lines) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-o", type=pathlib.Path, metavar="FILE",
                        default=pathlib.Path(__file__).parent / "tinylm.mlir")
    output = parser.parse_args().o
    config = Config()
    shapes = {name: "x".join(map(str, shape)) + "xbf16"
              for name, shape in weight_shapes(config).items()}
    for name in ("rope.cos", "rope.sin"):
        shapes[name] = f"{config.context}x{config.head_dim // 2}xf32"
    weights = "".join(f'hk.weight @{name} "{name}" : tensor<{shape}>\n'
                      for name, shape in shapes.items())
    output.write_text(HEADER + weights + "\n"
                      + Function(config, "prefill", "?").text() + "\n"
                      + Function(config, "decode", "1").text())


if __name__ == "__main__":
    main()
