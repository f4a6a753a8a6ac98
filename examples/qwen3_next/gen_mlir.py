#!/usr/bin/env python3
# ===- gen_mlir.py - A pair of Qwen3-Next layers in base operators -------------===#
# Part of hk. Apache-2.0 WITH LLVM-exception
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ===------------------------------------------------------------------------===#
"""Writes qwen3_next.mlir: @decode, a token of each of several sequences, and @prefill,
the tokens of one sequence, through a gated delta rule layer and an attention layer."""

import argparse
import pathlib
import re

from config import FULL, Config, weight_shapes

HEADER = """\
// A gated delta rule layer and a gated attention layer of Qwen3-Next, each with its
// experts, in base hk operators. Written by gen_mlir.py; reference.py says the same in
// NumPy. Nothing here says what is fused.

"""


class Function:
    """The text of one function. Types are shapes with N for the tokens, S for the sequences."""

    def __init__(self, config: Config, name: str):
        self.c, self.name, self.lines, self.known = config, name, [], {}
        self.prefill = name == "prefill"

    def type(self, shape: str) -> str:
        text = shape.replace("N", "?").replace("S", "1" if self.prefill else "?")
        return f"tensor<{text}>"

    def put(self, out: str, text: str, shape: str) -> str:
        """A statement; {x} in its text is the type of %x."""
        for name in out.split(", "):
            self.known[name] = None
        shapes = shape.split(", ")
        for name, one in zip(out.split(", "), shapes):
            self.known[name] = self.type(one)
        text = re.sub(r"\{(\w+)\}", lambda m: self.known[m[1]], text)
        self.lines.append("  " + ", ".join("%" + n for n in out.split(", ")) + " = "
                          + text.replace("OUT", ", ".join(self.type(s) for s in shapes)))
        return out

    def weight(self, name: str) -> str:
        shape, element = weight_shapes(self.c)[name]
        value = "w_" + name.replace(".", "_")
        if value not in self.known:
            self.put(value, f"hk.weight_ref @{name} : OUT", "x".join(map(str, shape)) + "x" + element)
        return value

    def slice(self, out: str, x: str, shape: str, at: str) -> str:
        sizes = ", ".join("%n" if s == "N" else s for s in shape.split("x")[:-1])
        steps = ", ".join("1" for _ in shape.split("x")[:-1])
        return self.put(out, f"tensor.extract_slice %{x}[{at}] [{sizes}] [{steps}] : {{{x}}} to OUT", shape)

    def collapse(self, out: str, x: str, groups: str, shape: str) -> str:
        return self.put(out, f"tensor.collapse_shape %{x} {groups} : {{{x}}} into OUT", shape)

    def expand(self, out: str, x: str, groups: str, shape: str, n: str = "%n") -> str:
        sizes = ", ".join({"N": n, "S": "1" if self.prefill else "%n"}.get(s, s) for s in shape.split("x")[:-1])
        return self.put(out, f"tensor.expand_shape %{x} {groups} output_shape [{sizes}] : {{{x}}} into OUT", shape)

    def norm(self, out: str, x: str, name: str, shape: str) -> str:
        """Qwen3-Next's norms keep their weights around 0."""
        w = self.weight(name)
        return self.put(out, f"hk.rms_norm %{x}, %{w} epsilon {self.c.eps:.1e} weight_offset 1.0 : {{{x}}}, {{{w}}}", shape)

    def product(self, out: str, x: str, name: str, columns: int, element: str = "bf16") -> str:
        w = self.weight(name)
        return self.put(out, f"hk.matmul %{x}, %{w} transpose_b : {{{x}}}, {{{w}}} -> OUT", f"Nx{columns}x{element}")

    def experts(self, layer: str, x: str) -> str:
        """The experts of a layer and its residual connection."""
        c, p = self.c, layer + "_moe_"
        self.lines.append(f"  // {layer}: experts.")
        h = self.norm(p + "in", x, f"{layer}.moe.norm", f"Nx{c.hidden}xbf16")
        logits = self.product(p + "logits", h, f"{layer}.moe.router", c.experts, "f32")
        self.put(f"{p}best, {p}ids", f"hk.topk %{logits} : {{{logits}}} -> OUT", f"Nx{c.top_k}xf32, Nx{c.top_k}xi32")
        self.put(p + "weights", f"hk.softmax %{p}best : {{{p}best}}", f"Nx{c.top_k}xf32")
        self.collapse(p + "keys", p + "ids", "[[0, 1]]", "Nxi32")
        self.put(p + "counts", f"hk.histogram %{p}keys : {{{p}keys}} -> OUT", f"{c.experts}xi32")
        self.put(f"{p}order, {p}place", f"hk.sort_by_key %{p}keys bins {c.experts} : {{{p}keys}} -> OUT", "Nxi32, Nxi32")
        self.put(p + "bounds", f"hk.cumsum offsets %{p}counts : {{{p}counts}} -> OUT", f"{c.experts + 1}xi32")
        up, down = self.weight(f"{layer}.moe.gate_up"), self.weight(f"{layer}.moe.down")
        self.put(p + "up", f"hk.grouped_matmul %{h}, %{up} bounds %{p}bounds order %{p}order transpose_b top_k {c.top_k} : "
                 f"{{{h}}}, {{{up}}} groups {{{p}bounds}} order {{{p}order}} -> OUT", f"Nx{2 * c.expert}xbf16")
        self.put(p + "act", f"hk.gated_activation silu %{p}up : {{{p}up}} -> OUT", f"Nx{c.expert}xbf16")
        self.put(p + "down", f"hk.grouped_matmul %{p}act, %{down} bounds %{p}bounds transpose_b : "
                 f"{{{p}act}}, {{{down}}} groups {{{p}bounds}} -> OUT", f"Nx{c.hidden}xf32")
        self.collapse(p + "flat", p + "weights", "[[0, 1]]", "Nxf32")
        self.put(p + "sorted", f"hk.gather_rows %{p}flat, %{p}order : {{{p}flat}}, {{{p}order}} -> OUT", "Nxf32")
        self.lines.append(f"  %{p}n = tensor.dim %{p}flat, %c0 : {self.known[p + 'flat']}")
        self.expand(p + "column", p + "sorted", "[[0, 1]]", "Nx1xf32", f"%{p}n")
        self.put(p + "scaled", f"hk.mul %{p}down, %{p}column : {{{p}down}}, {{{p}column}}", f"Nx{c.hidden}xf32")
        self.put(p + "back", f"hk.gather_rows %{p}scaled, %{p}place : {{{p}scaled}}, {{{p}place}} -> OUT", f"Nx{c.hidden}xf32")
        self.expand(p + "slots", p + "back", "[[0, 1], [2]]", f"Nx{c.top_k}x{c.hidden}xf32")
        self.put(p + "turned", f"hk.transpose %{p}slots [1, 0, 2] : {{{p}slots}} -> OUT", f"{c.top_k}xNx{c.hidden}xf32")
        self.put(p + "routed", f"hk.sum_slices %{p}turned : {{{p}turned}} -> OUT", f"Nx{c.hidden}xf32")
        self.product(p + "sup", h, f"{layer}.moe.shared_gate_up", 2 * c.shared)
        self.put(p + "sact", f"hk.gated_activation silu %{p}sup : {{{p}sup}} -> OUT", f"Nx{c.shared}xbf16")
        self.product(p + "sdown", p + "sact", f"{layer}.moe.shared_down", c.hidden, "f32")
        self.product(p + "sgate", h, f"{layer}.moe.shared_gate", 1, "f32")
        self.put(p + "open", f"hk.sigmoid %{p}sgate : {{{p}sgate}}", "Nx1xf32")
        self.put(p + "shared", f"hk.mul %{p}sdown, %{p}open : {{{p}sdown}}, {{{p}open}}", f"Nx{c.hidden}xf32")
        self.put(p + "both", f"hk.add %{p}routed, %{p}shared : {{{p}routed}}", f"Nx{c.hidden}xf32")
        return self.put(p + "out", f"hk.add %{x}, %{p}both : {{{x}}}, {{{p}both}} -> OUT", f"Nx{c.hidden}xbf16")

    def split(self) -> None:
        """Columns of a key head are its query, key, values and gates."""
        c, r = self.c, self.c.share
        h = c.key_heads
        self.expand("grouped", "qkvz", "[[0], [1, 2]]", f"Nx{h}x{c.group}xbf16")
        for name, begin, size in (("q", 0, c.keys), ("k", c.keys, c.keys), ("v", 2 * c.keys, r * c.values),
                                  ("z", 2 * c.keys + r * c.values, r * c.values)):
            self.slice(name + "_g", "grouped", f"Nx{h}x{size}xbf16", f"0, 0, {begin}")
            self.collapse(name + "_c", name + "_g", "[[0], [1, 2]]", f"Nx{h * size}xbf16")
        self.put("mixed", "hk.concat 1 (%q_c, %k_c, %v_c) : {q_c}, {k_c}, {v_c} -> OUT", f"Nx{c.channels}xbf16")
        self.expand("z", "z_c", "[[0], [1, 2]]", f"Nx{c.value_heads}x{c.values}xbf16")
        self.expand("ba_g", "ba", "[[0], [1, 2]]", f"Nx{h}x{2 * r}xbf16")
        for name, begin in (("b", 0), ("a", r)):
            self.slice(name + "_g", "ba_g", f"Nx{h}x{r}xbf16", f"0, 0, {begin}")
            self.collapse(name + "_c", name + "_g", "[[0], [1, 2]]", f"Nx{c.value_heads}xbf16")
            groups, shape = self.tokens("", str(c.value_heads), "bf16")
            self.expand(name, name + "_c", groups, shape)

    def tokens(self, heads: str, rest: str, element: str):
        """How [N, heads..] becomes [sequences, tokens, heads..]."""
        shape = ("1xNx" if self.prefill else "Nx1x") + rest + "x" + element
        return "[[0, 1], " + ", ".join(f"[{i + 2}]" for i in range(rest.count("x") + 1)) + "]", shape

    def gates(self) -> None:
        t = self.tokens("", str(self.c.value_heads), "f32")[1]
        dt, a_log = self.weight("delta.dt_bias"), self.weight("delta.a_log")
        self.put("rate", f"hk.exp %{a_log} : {{{a_log}}}", f"{self.c.value_heads}xf32")
        self.put("minus", "hk.neg %rate : {rate}", f"{self.c.value_heads}xf32")
        self.put("shifted", f"hk.add %a, %{dt} : {{a}}, {{{dt}}} -> OUT", t)
        self.put("soft", "hk.softplus %shifted : {shifted}", t)
        self.put("g", "hk.mul %minus, %soft : {minus}, {soft} -> OUT", t)
        self.put("beta", "hk.sigmoid %b : {b} -> OUT", t)

    def convolution(self) -> None:
        c = self.c
        groups, shape = self.tokens("", str(c.channels), "bf16")
        self.expand("mixed3", "mixed", groups, shape)
        w = self.weight("delta.conv")
        state = f"{'1' if self.prefill else c.lines}x{c.width - 1}x{c.channels}xbf16"
        lines = "" if self.prefill else " indices %lines"
        types = "" if self.prefill else " indices {lines}"
        self.put("conv, conv1", f"hk.causal_conv1d channel_last %mixed3, %{w} state %conv0{lines} : {{mixed3}}, {{{w}}} "
                 f"state {{conv0}}{types} -> OUT", shape.replace("bf16", "f32") + ", " + state)
        self.put("qkv", "hk.silu %conv : {conv} -> OUT", shape)
        t = shape.split("x")[0] + "x" + shape.split("x")[1]
        at = 0
        for name, heads, size in (("q", c.key_heads, c.keys), ("k", c.key_heads, c.keys), ("v", c.value_heads, c.values)):
            self.slice(name + "_s", "qkv", f"{t}x{heads * size}xbf16", f"0, 0, {at}")
            self.expand(name, name + "_s", "[[0], [1], [2, 3]]", f"{t}x{heads}x{size}xbf16")
            at += heads * size

    def recurrence(self) -> None:
        c = self.c
        o = f"Nx1x{c.value_heads}x{c.values}xbf16"
        s = f"{c.lines}x{c.value_heads}x{c.keys}x{c.values}xf32"
        self.put("o, delta1", "hk.gated_delta_rule %q, %k, %v decay %g beta %beta state %delta0 indices %lines "
                 "l2norm 1.0e-06 : {q}, {k}, {v} decay {g} beta {beta} state {delta0} indices {lines} -> OUT", f"{o}, {s}")

    def chunks(self) -> None:
        c, t = self.c, f"1xNx{self.c.value_heads}x"
        for name in ("q", "k"):
            self.put(name + "n", f"hk.l2_norm %{name} epsilon 1.0e-06 : {{{name}}}", f"1xNx{c.key_heads}x{c.keys}xbf16")
        self.put("sums", f"hk.cumsum inclusive %g dim 1 chunk {c.chunk} : {{g}}", t + "f32")
        self.put("kkt", f"hk.chunk_kkt %kn decay %sums beta %beta chunk {c.chunk} : {{kn}} decay {{sums}} beta {{beta}} -> OUT",
                 f"{t}{c.chunk}xf32")
        self.put("inverse", "hk.solve_tril %kkt : {kkt} -> OUT", f"{t}{c.chunk}xbf16")
        self.put("w, u", "hk.chunk_wu %kn, %v, %inverse decay %sums beta %beta : {kn}, {v}, {inverse} decay {sums} beta {beta} "
                 "-> OUT", f"{t}{c.keys}xbf16, {t}{c.values}xbf16")
        self.put("h, vn, delta1", f"hk.chunk_state %kn, %w, %u decay %sums state %delta0 chunk {c.chunk} : {{kn}}, {{w}}, {{u}} "
                 "decay {sums} state {delta0} -> OUT",
                 f"{t}{c.keys}x{c.values}xbf16, {t}{c.values}xbf16, 1x{c.value_heads}x{c.keys}x{c.values}xf32")
        self.put("o", f"hk.chunk_output %qn, %kn, %vn, %h decay %sums chunk {c.chunk} : {{qn}}, {{kn}}, {{vn}}, {{h}} "
                 "decay {sums} -> OUT", f"{t}{c.values}xbf16")

    def delta(self, x: str) -> str:
        """The gated delta rule layer up to its residual connection."""
        c, rows = self.c, f"Nx{self.c.value_heads}x{self.c.values}x"
        self.lines.append("  // The gated delta rule.")
        self.norm("delta_in", x, "delta.norm", f"Nx{c.hidden}xbf16")
        self.product("qkvz", "delta_in", "delta.qkvz", c.key_heads * c.group)
        self.product("ba", "delta_in", "delta.ba", 2 * c.value_heads)
        self.split()
        self.gates()
        self.convolution()
        self.chunks() if self.prefill else self.recurrence()
        self.collapse("o_rows", "o", "[[0, 1], [2], [3]]", rows + "bf16")
        w = self.weight("delta.gated_norm")
        self.put("normed", f"hk.rms_norm %o_rows, %{w} epsilon {c.eps:.1e} : {{o_rows}}, {{{w}}} -> OUT", rows + "f32")
        self.put("gate", "hk.silu %z : {z} -> OUT", rows + "f32")
        self.put("gated", "hk.mul %normed, %gate : {normed} -> OUT", rows + "bf16")
        self.collapse("gated_row", "gated", "[[0], [1, 2]]", f"Nx{c.value_heads * c.values}xbf16")
        self.product("delta_out", "gated_row", "delta.out", c.hidden)
        return self.put("delta_x", f"hk.add %{x}, %delta_out : {{delta_out}}", f"Nx{c.hidden}xbf16")

    def attention(self, x: str) -> str:
        """The gated attention layer up to its residual connection."""
        c, d = self.c, self.c.head_dim
        self.lines.append("  // Gated attention.")
        h = self.norm("attn_in", x, "attn.norm", f"Nx{c.hidden}xbf16")
        self.product("qg", h, "attn.q", 2 * c.heads * d)
        self.product("ak", h, "attn.k", c.kv_heads * d)
        self.product("av", h, "attn.v", c.kv_heads * d)
        self.expand("qg_h", "qg", "[[0], [1, 2]]", f"Nx{c.heads}x{2 * d}xbf16")
        self.slice("aq_h", "qg_h", f"Nx{c.heads}x{d}xbf16", "0, 0, 0")
        self.slice("open_h", "qg_h", f"Nx{c.heads}x{d}xbf16", f"0, 0, {d}")
        for name in ("ak", "av"):
            self.expand(name + "_h", name, "[[0], [1, 2]]", f"Nx{c.kv_heads}x{d}xbf16")
        cos, sin = self.weight("rope.cos"), self.weight("rope.sin")
        for name, heads, weight in (("aq", c.heads, "attn.q_norm"), ("ak", c.kv_heads, "attn.k_norm")):
            self.norm(name + "_n", name + "_h", weight, f"Nx{heads}x{d}xbf16")
            self.put(name + "_r", f"hk.rope neox %{name}_n, %{cos}, %{sin} positions %positions : {{{name}_n}}, {{{cos}}}, "
                     f"{{{sin}}} positions {{positions}}", f"Nx{heads}x{d}xbf16")
        cache = f"Sx{c.context}x{c.kv_heads}x{d}xbf16"
        for name, rows in (("keys", "ak_r"), ("values", "av_h")):
            self.put(name + "1", f"hk.kv_cache_write %{rows}, %slots into %{name}0 : {{{rows}}}, {{slots}}, {{{name}0}}", cache)
        self.attend(d)
        self.put("opened", "hk.sigmoid %open_h : {open_h} -> OUT", f"Nx{c.heads}x{d}xf32")
        self.put("let", "hk.mul %seen_h, %opened : {seen_h}, {opened} -> OUT", f"Nx{c.heads}x{d}xbf16")
        self.collapse("let_row", "let", "[[0], [1, 2]]", f"Nx{c.heads * d}xbf16")
        self.product("attn_out", "let_row", "attn.out", c.hidden)
        return self.put("attn_x", f"hk.add %{x}, %attn_out : {{attn_out}}", f"Nx{c.hidden}xbf16")

    def attend(self, d: int) -> None:
        heads = self.c.heads
        tail = ("%keys1, %values1 kv_lens %kv_len scale " + repr(d**-0.5) + " causal : {Q}, {keys1}, {values1} "
                "kv_lens {kv_len} -> OUT")
        if self.prefill:
            self.put("seen_h", "hk.attention %aq_r, " + tail.replace("{Q}", "{aq_r}"), f"Nx{heads}x{d}xbf16")
            return
        self.expand("aq_4", "aq_r", "[[0, 1], [2], [3]]", f"Nx1x{heads}x{d}xbf16")
        self.put("seen", "hk.attention %aq_4, " + tail.replace("{Q}", "{aq_4}"), f"Nx1x{heads}x{d}xbf16")
        self.collapse("seen_h", "seen", "[[0, 1], [2], [3]]", f"Nx{heads}x{d}xbf16")

    def text(self) -> str:
        c = self.c
        lines = "1" if self.prefill else str(c.lines)
        cache = f"Sx{c.context}x{c.kv_heads}x{c.head_dim}xbf16"
        inputs = {"x": f"Nx{c.hidden}xbf16", "positions": "Nxi32", "slots": "Nxi32", "kv_len": "Sxi32"}
        if not self.prefill:
            inputs["lines"] = "Nxi32"
        states = {"conv": f"{lines}x{c.width - 1}x{c.channels}xbf16",
                  "delta": f"{lines}x{c.value_heads}x{c.keys}x{c.values}xf32", "keys": cache, "values": cache}
        self.known = {name: self.type(shape) for name, shape in inputs.items()}
        self.known |= {name + "0": self.type(shape) for name, shape in states.items()}
        self.lines += ["  %c0 = arith.constant 0 : index", f"  %n = tensor.dim %x, %c0 : {self.known['x']}"]
        x = self.experts("delta", self.delta("x"))
        x = self.experts("attn", self.attention(x))
        # What has an element per sequence says so: N counts tokens and sequences alike.
        dims = lambda shape: "[" + ", ".join('"N"' if s in "NS" else '"_"' for s in shape.split("x")[:-1]) + "]"
        named = lambda shape: f", hk.dims = {dims(shape)}" if "?" in self.type(shape) else ""
        args = [f'%{n}: {self.known[n]} {{hk.name = "{n}"{named(s)}}}' for n, s in inputs.items()]
        args += [f'%{n}0: {self.known[n + "0"]} {{hk.name = "{n}"{named(s)}, hk.state}}' for n, s in states.items()]
        results = ", ".join([self.known[x]] + [self.known[n + "1"] for n in states])
        named = [f'{self.known[x]} {{hk.name = "y"}}'] + [self.known[n + "1"] for n in states]
        returned = ", ".join(["%" + x] + [f"%{n}1" for n in states])
        body = "\n".join(line for line in self.lines if line)
        return (f"func.func @{self.name}(\n    " + ",\n    ".join(args) + ")\n    -> (" + ", ".join(named) + ") {\n"
                + body + f"\n  return {returned} : {results}\n}}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="the published sizes instead of small ones")
    parser.add_argument("-o", type=pathlib.Path, metavar="FILE", default=pathlib.Path(__file__).parent / "qwen3_next.mlir")
    options = parser.parse_args()
    config = FULL if options.full else Config()
    weights = "".join(f'hk.weight @{name} "{name}" : tensor<{"x".join(map(str, shape))}x{element}>\n'
                      for name, (shape, element) in weight_shapes(config).items())
    functions = [Function(config, name).text() for name in ("decode", "prefill")]
    options.o.write_text(HEADER + weights + "\n" + "\n".join(functions))


if __name__ == "__main__":
    main()
