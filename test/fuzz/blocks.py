# ===- blocks.py - Blocks of models in random surroundings -----------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random graphs (graphs.py) of what a layer is made of, written as a stranger would: experts
# behind a router of any kind, attention of projections, the gated delta rule behind its
# convolution, and gradients in base operators, with sums over columns and products of either
# orientation. Row-wise steps lie in front of, between and behind them.
import random

import graphs
from graphs import REALS

FLOATS8 = ("f8E4M3FN", "f8E4M3FNUZ", "f8E5M2")


class Blocks(graphs.Graph):
    def __init__(self, seed, num_ops, dynamic, kinds):
        self.kinds = kinds
        super().__init__(seed, num_ops, dynamic)

    def row_steps(self):
        """What graphs.Graph asks for: all steps are in place, so ours join them in their share."""
        blocks = {"gradients": [self.column_sums, self.weight_gradient, self.input_gradient, self.softmax_gradient,
                                self.norm_gradient, self.activation_gradient, self.gate_gradient, self.loss,
                                self.attention_by_hand, self.whole_sum],
                  "experts": [self.experts, self.experts, self.experts, self.blocks_of_experts],
                  "attention": [self.attend, self.attend, self.attend_cache],
                  "delta": [self.delta, self.delta, self.delta_dense]}
        ours = [step for kind in self.kinds for step in blocks[kind]]
        usual = super().row_steps()
        every = self.steps + usual
        # Half of all steps are ours, but for the shapes of values: a graph grows from either.
        return usual + ours * max(1, len(every) // len(ours))

    # Other sizes of rows than T.
    def pick(self, where=lambda v: True):
        return super().pick(lambda v: (v.rank() == 0 or isinstance(v.shape[-1], int)) and where(v))

    def rows(self, dim):
        """An SSA value or a constant for a dim."""
        if isinstance(dim, int) or not self.dynamic:
            return self.size(dim)
        if dim == "T":
            return self.tokens()
        n = self.count
        self.count += 1
        self.lines += [f"%f{n} = arith.constant {dim[1]} : index", f"%m{n} = arith.muli {self.tokens()}, %f{n} : index"]
        return f"%m{n}"

    def cut(self, x, dim, offset, size, keep=False):
        """A slice of one dim."""
        shape = x.shape[:dim] + (size,) + x.shape[dim + 1:]
        offsets = ", ".join(str(offset) if i == dim else "0" for i in range(x.rank()))
        sizes = ", ".join(str(self.rows(d)) for d in shape)
        return self.emit(f"tensor.extract_slice {x.name}[{offsets}] [{sizes}] [{', '.join('1' * x.rank())}] : {self.of(x)}"
                         f" to {self.type(shape, x.element)}", shape, x.element, keep=keep)

    def view(self, x, groups, shape, keep=False):
        """Dims split or joined: `groups` are those of the longer shape."""
        text = "[" + ", ".join("[" + ", ".join(map(str, g)) + "]" for g in groups) + "]"
        if len(shape) > x.rank():
            sizes = ", ".join(str(self.rows(d)) for d in shape)
            line = f"tensor.expand_shape {x.name} {text} output_shape [{sizes}] : {self.of(x)} into"
        else:
            line = f"tensor.collapse_shape {x.name} {text} : {self.of(x)} into"
        return self.emit(f"{line} {self.type(shape, x.element)}", shape, x.element, keep=keep)

    def split(self, x, heads, keep=False):
        return self.view(x, [[0], [1, 2]], (x.shape[0], heads, x.shape[1] // heads), keep)

    def join(self, x, keep=False):
        return self.view(x, [[0], [1, 2]], (x.shape[0], x.shape[1] * x.shape[2]), keep)

    def real_type(self):
        return self.rng.choice(REALS)

    def product(self, x, n, element=None, keep=False):
        """x [T, K] by a weight in any orientation and type."""
        k, kind = x.shape[1], x.element if self.chance(0.8) else self.real_type()
        element = element or self.real_type()
        turned = self.chance(0.6)
        if self.chance(0.2):
            w = self.decoded(n, k, kind)
            turned = True
        else:
            w = self.weight((n, k) if turned else (k, n), kind)
        return self.put("matmul", [x, w], (x.shape[0], n), element, "transpose_b" * turned, keep=keep)

    def decoded(self, *shape_and_kind, lead=()):
        """A weight of narrow codes."""
        n, k, kind = shape_and_kind
        if self.chance(0.5):
            group = self.rng.choice((16, 32, 128))
            code = self.rng.choice(("i8", "i4", "ui4")) if k % 2 == 0 else "i8"
            q = self.argument(lead + (n, k), code, {"i8": "-128:127", "i4": "-128:127", "ui4": "-128:127"}[code])
            s = self.argument(lead + (n, -(-k // group)), self.rng.choice(("f32", "f16", "bf16")))
            operands = [q, s]
            if self.chance(0.5):
                operands.append(self.argument(s.shape, self.rng.choice(("f32", "f16"))))
            return self.put("dequantize", operands, lead + (n, k), kind, f"group {group}")
        q = self.argument(lead + (n, k), self.rng.choice(FLOATS8))
        s = self.argument(self.rng.choice(((1,), lead + (n, 1))), "f32")
        return self.put("dequantize", [q, s], lead + (n, k), kind)

    def two(self, rank=2):
        """Values of one shape."""
        x = self.tokens_of(rank)
        y = x and self.real(lambda v: v.shape == x.shape)
        return x, y

    def f32(self, op, *operands):
        return self.put(op, list(operands), max((o.shape for o in operands), key=len), "f32")

    # Gradients.
    def column_sums(self):
        """A gradient of a bias or a gain; sometimes used at once."""
        x, y = self.two()
        if not x:
            return
        if self.chance(0.5):
            x = self.put("mul", [x, y], x.shape, self.real_type())
        n = x.shape[1]
        kind = self.rng.choice(("sum", "sum", "sum", "max", "absmax", "min"))
        turned = self.put("transpose", [x], (n, "T"), x.element, "[1, 0]")
        s = self.put(f"reduce {kind}", [turned], (n, 1), "f32" if self.chance(0.7) else x.element)
        if kind == "max" and not self.dynamic and self.num_tokens == 0:
            return
        flat = self.view(s, [[0, 1]], (n,))
        if self.chance(0.5):
            self.end(flat)
        if self.chance(0.4):
            flat = self.put(self.rng.choice(("tanh", "neg", "sigmoid")), [flat], (n,), self.real_type())
        if self.chance(0.5):
            self.put(self.rng.choice(("mul", "sub")), [x, flat], x.shape, x.element, keep=True)

    def weight_gradient(self):
        """x^T dy, added to what was there, or decayed."""
        x = self.tokens_of()
        y = x and self.tokens_of()
        if not y:
            return
        shape = (x.shape[1], y.shape[1])
        if self.chance(0.3):
            x = self.put("transpose", [x], x.shape[::-1], x.element, "[1, 0]")
            g = self.put("matmul", [x, y], shape, self.real_type())
        else:
            g = self.put("matmul", [x, y], shape, self.real_type(), "transpose_a")
        for _ in range(self.rng.randint(0, 3)):
            kind = self.rng.choice(("add", "scale", "turn", "cut", "absmax", "cast", "flat"))
            if kind == "add":
                g = self.put("add", [g, self.weight(g.shape)], g.shape, g.element)
            elif kind == "scale":
                g = self.put("mul", [g, self.scalar(0.125, "f32")], g.shape, g.element)
            elif kind == "turn" and g.rank() == 2:
                g = self.put("transpose", [g], g.shape[::-1], g.element, "[1, 0]")
            elif kind == "cut" and g.shape[-1] > 4:
                g = self.cut(g, g.rank() - 1, self.rng.choice((0, 2, g.shape[-1] // 2)), g.shape[-1] // 2)
            elif kind == "absmax" and g.rank() == 2:
                self.end(self.put("reduce absmax", [g], (1, 1), "f32", "dims 2"))
            elif kind == "cast":
                g = self.put("cast", [g], g.shape, self.real_type())
            elif kind == "flat" and g.rank() == 2:
                g = self.view(g, [[0, 1]], (g.shape[0] * g.shape[1],))
        self.end(g)
        if g.rank() == 2 and self.chance(0.4):  # the next token's product uses it
            x = self.tokens_of(2, lambda v: v.shape[1] == g.shape[0])
            if x:
                self.put("matmul", [x, g], ("T", g.shape[1]), x.element, keep=True)

    def input_gradient(self):
        """dy w^T and dx w share w."""
        x = self.tokens_of()
        if not x:
            return
        n = self.rng.choice((16, 24, 64, 33))
        w = self.weight((x.shape[1], n), x.element)
        y = self.put("matmul", [x, w], ("T", n), self.real_type(), keep=True)
        z = self.put(self.rng.choice(("silu", "neg", "relu")), [y], y.shape, w.element)
        self.put("matmul", [z, w], x.shape, self.real_type(), "transpose_b", keep=True)

    def softmax_gradient(self):
        x, y = self.two(self.rng.choice((2, 3)))
        if not x:
            return
        p = self.put("softmax", [x], x.shape, "f32" if self.chance(0.6) else x.element, keep=self.chance(0.3))
        m = self.f32("mul", p, y)
        s = self.put("reduce sum", [m], x.shape[:-1] + (1,), "f32")
        if self.chance(0.5):
            d = self.put("mul", [self.f32("sub", y, s), p], x.shape, x.element)
        else:
            d = self.put("sub", [m, self.f32("mul", p, s)], x.shape, x.element)
        self.values.append(d)

    def norm_gradient(self):
        """Of an RMS or layer norm, from what the forward pass saved or from x, with those of the weights."""
        x, dy = self.two()
        if not x:
            return
        n, one = x.shape[1], ("T", 1)
        size = self.scalar(float(n), "f32")
        layer = self.chance(0.5)
        c = x
        if layer:
            mean = self.put("div", [self.put("reduce sum", [x], one, "f32"), size], one, "f32")
            c = self.f32("sub", x, mean)
        square = self.f32("mul", c, c)
        v = self.put("div", [self.put("reduce sum", [square], one, "f32"), size], one, "f32")
        r = self.put("rsqrt", [self.put("add", [v, self.scalar("1.0e-05", "f32")], one, "f32")], one, "f32")
        xn = self.f32("mul", c, r)
        w = self.weight((n,))
        self.put("mul", [xn, w], x.shape, x.element, keep=True)
        g = self.f32("mul", dy, w)
        m = self.put("div", [self.put("reduce sum", [self.f32("mul", g, xn)], one, "f32"), size], one, "f32")
        d = self.f32("sub", g, self.f32("mul", xn, m))
        if layer:
            d = self.f32("sub", d, self.put("div", [self.put("reduce sum", [g], one, "f32"), size], one, "f32"))
        self.values.append(self.put("mul", [d, r], x.shape, x.element))
        for part in [self.f32("mul", dy, xn)] + [dy] * layer:
            turned = self.put("transpose", [part], (n, "T"), part.element, "[1, 0]")
            s = self.put("reduce sum", [turned], (n, 1), self.rng.choice(("f32", "bf16")))
            self.end(self.view(s, [[0, 1]], (n,)) if self.chance(0.5) else s)

    def activation_gradient(self):
        x, dy = self.two(self.rng.choice((2, 2, 3)))
        if not x:
            return
        kind = self.rng.choice(("silu", "tanh", "relu", "gelu", "sigmoid"))
        one = self.scalar(1.0, "f32")
        if kind == "relu":
            c = self.put("compare gt", [x, self.scalar(0.0, x.element)], x.shape, "i1")
            zero = self.scalar(0.0, dy.element)
            self.values.append(self.put("select", [c, dy, zero], x.shape, dy.element))
            return
        if kind == "gelu":
            e = self.f32("erf", self.f32("mul", x, self.scalar(0.70710678, "f32")))
            d = self.f32("mul", self.f32("add", e, one), self.scalar(0.5, "f32"))
            p = self.f32("exp", self.f32("mul", self.f32("mul", x, x), self.scalar(-0.5, "f32")))
            d = self.f32("add", d, self.f32("mul", self.f32("mul", p, x), self.scalar(0.39894228, "f32")))
        else:
            s = self.f32("tanh" if kind == "tanh" else "sigmoid", x)
            d = self.f32("sub", one, self.f32("mul", s, s)) if kind == "tanh" else self.f32("sub", one, s)
            if kind == "silu":
                d = self.f32("add", self.f32("mul", x, d), one)
            if kind != "tanh":
                d = self.f32("mul", d, s)
        self.values.append(self.put("mul", [d, dy], x.shape, dy.element))

    def gate_gradient(self):
        """Of silu(a) * b for x = [a, b], joined again."""
        x = self.tokens_of(2, lambda v: v.shape[1] % 2 == 0 and v.shape[1] >= 2)
        if not x:
            return
        half = x.shape[1] // 2
        dy = self.tokens_of(2, lambda v: v.shape[1] == half)
        if not dy:
            dy = self.argument(("T", half), x.element)
            self.values.append(dy)
        a, b = self.cut(x, 1, 0, half), self.cut(x, 1, half, half)
        s = self.f32("sigmoid", a)
        y = self.f32("mul", a, s)
        db = self.put("mul", [y, dy], a.shape, x.element)
        one = self.scalar(1.0, "f32")
        d = self.f32("add", one, self.f32("mul", a, self.f32("sub", one, s)))
        da = self.put("mul", [self.f32("mul", self.f32("mul", d, s), b), dy], a.shape, x.element)
        if self.chance(0.7):
            self.emit(f"hk.concat 1 ({da.name}, {db.name}) : {self.of(da)}, {self.of(db)} -> {self.of(x)}", x.shape, x.element)
        else:
            self.values += [da, db]

    def loss(self):
        """Cross entropy of given labels and its gradient."""
        x = self.tokens_of(2, lambda v: v.shape[1] >= 2)
        if not x:
            return
        n, one = x.shape[1], ("T", 1)
        labels = self.argument(one, "i32", f"-1:{n}")
        m = self.put("reduce max", [x], one, "f32")
        e = self.f32("exp", self.f32("sub", x, m))
        s = self.put("reduce sum", [e], one, "f32")
        lse = self.put("add", [self.put("log", [s], one, "f32"), m], one, "f32")
        at = self.put("gather_last", [x, labels], one, x.element)
        each = self.put("sub", [lse, at], one, "f32")
        valid = self.put("compare ge", [labels, self.scalar(0, "i32")], one, "i1")
        each = self.put("select", [valid, each, self.scalar(0.0, "f32")], one, "f32")
        self.end(self.put("reduce sum", [each], (1, 1), "f32", "dims 2"))
        ids = self.emit(f"hk.iota : tensor<{n}xi32>", (n,), "i32", keep=False)
        hot = self.put("cast", [self.put("compare eq", [labels, ids], x.shape, "i1")], x.shape, self.rng.choice(("f32", "bf16")))
        self.values.append(self.put("sub", [self.f32("div", e, s), hot], x.shape, x.element))

    def whole_sum(self):
        """A scale for everything: the norm of a gradient, clipped."""
        x = self.tokens_of(self.rng.choice((2, 3)))
        if not x:
            return
        ones = (1,) * x.rank()
        s = self.put("reduce sum", [self.f32("mul", x, x)], ones, "f32", f"dims {x.rank()}")
        s = self.put("max", [self.put("sqrt", [s], ones, "f32"), self.scalar(1.0, "f32")], ones, "f32")
        self.put("div", [x, s], x.shape, x.element, keep=True)

    def attention_by_hand(self):
        """Scores, weights and their gradients as products of heads in front of tokens."""
        x = self.heads_of(lambda v: v.shape[1] <= 5)
        if not x or x.shape[1] > 8:
            return
        h, d = x.shape[1:]
        y = self.real(lambda v: v.shape == x.shape and v.element == x.element)
        q, k = (self.put("transpose", [v], (h, "T", d), v.element, "[1, 0, 2]") for v in (x, y))
        square = (h, "T", "T")
        s = self.put("matmul", [q, k], square, self.rng.choice(("f32", x.element)), "transpose_b")
        s = self.put("mul", [s, self.scalar(0.25, "f32")], square, s.element)
        p = self.put("softmax", [s], square, x.element)
        o = self.put("matmul", [p, q], (h, "T", d), x.element)
        self.values.append(self.put("transpose", [o], ("T", h, d), x.element, "[1, 0, 2]"))
        if self.chance(0.5):
            dv = self.put("matmul", [p, k], (h, "T", d), x.element, "transpose_a")
            self.values.append(self.put("transpose", [dv], ("T", h, d), x.element, "[1, 0, 2]"))

    # Experts.
    def choice(self, x, experts, k):
        """Which experts a token goes to, and with which weights: by any router, or a caller's."""
        if self.chance(0.2):
            return self.argument(("T", k), "i32", f"-1:{experts - 1}"), self.argument(("T", k), "f32")
        logits = self.product(x, experts, self.rng.choice(("f32", "f32", "bf16"))) if self.chance(0.6) else \
            self.argument(("T", experts), "f32")
        kind = self.rng.choice(("softmax", "sigmoid", "none", "bias", "sqrt"))
        scores = logits if kind == "none" else self.put("softplus" if kind == "sqrt" else
                                                        "softmax" if kind == "softmax" else "sigmoid", [logits],
                                                        logits.shape, "f32")
        if kind == "sqrt":
            scores = self.put("sqrt", [scores], scores.shape, "f32")
        chosen = self.put("add", [scores, self.weight((experts,), "f32")], scores.shape, "f32") if kind == "bias" else scores
        best, ids = self.results_of(f"hk.topk {chosen.name} : {self.of(chosen)}", (("T", k), chosen.element), (("T", k), "i32"))
        if kind == "bias":
            best = self.put("gather_last", [scores, ids], ("T", k), scores.element)
        if kind == "none":
            best = self.put("softmax", [best], ("T", k), "f32")
        elif self.chance(0.5):
            s = self.put("reduce sum", [best], ("T", 1), "f32")
            best = self.put("div", [best, s], ("T", k), self.rng.choice(("f32", "bf16")))
        if self.chance(0.2):
            best = self.put("mul", [best, self.scalar(2.5, "f32")], ("T", k), best.element)
        return ids, best

    def grouped(self, x, experts, n, form, form_type, places, attrs=""):
        """A product with the matrices of experts, of any type, with a bias, scales."""
        k, element = x.shape[-1], self.real_type()
        words, types, scales, scale_types = "", "", "", ""
        if x.element in FLOATS8:
            w = self.argument((experts, n, k), x.element)
        elif self.chance(0.25):
            w = self.decoded(n, k, x.element, lead=(experts,))
        else:
            w = None
        turned = w is not None or self.chance(0.6)
        if w is None:
            w = self.argument((experts, n, k) if turned else (experts, k, n), x.element)
        if self.chance(0.4):
            b = self.argument((experts, n), self.real_type())
            words, types = f" bias {b.name}", f" bias {self.of(b)}"
        if self.chance(0.2):
            b = self.argument((experts,), "f32")
            words, types = f"{words} group_scale {b.name}", f"{types} group_scale {self.of(b)}"
        attrs = " transpose_b" * turned + attrs
        shape = (places, n)
        return self.emit(f"hk.grouped_matmul {x.name}, {w.name} {form}{words}{attrs} : {self.of(x)}, {self.of(w)} {form_type}"
                         f"{types} -> {self.type(shape, element)}", shape, element, keep=False)

    def behind(self, y, steps=3):
        """What follows a product of rows: any steps that keep its rows; the last value, and results kept."""
        for _ in range(self.rng.randint(0, steps)):
            kind = self.rng.choice(("gate", "cut", "cast", "act", "row", "column", "norm", "quant", "add", "halves", "odd", "self",
                                    "clamp", "result", "heads"))
            n = y.shape[-1]
            if kind == "gate" and n % 2 == 0:
                attrs = self.rng.choice(("", " limit 7.0", " interleaved"))
                y = self.put(f"gated_activation {self.rng.choice(('silu', 'gelu', 'swiglu_oai', 'relu'))}", [y],
                             y.shape[:-1] + (n // 2,), self.real_type(), attrs.strip())
            elif kind == "cut" and n >= 16:
                y = self.cut(y, 1, self.rng.choice((0, 8, n - n // 2)), n // 2)
            elif kind == "cast":
                y = self.put("cast", [y], y.shape, self.real_type())
            elif kind == "act":
                y = self.put(self.rng.choice(("silu", "gelu", "relu", "sigmoid", "tanh")), [y], y.shape, self.real_type())
            elif kind == "row":
                y = self.put("mul", [y, self.argument((y.shape[0], 1), self.rng.choice(("f32", "bf16")))], y.shape, y.element)
            elif kind == "column":
                y = self.put(self.rng.choice(("mul", "add")), [y, self.argument((n,), self.real_type())], y.shape, y.element)
            elif kind == "norm":
                y = self.norm_of(y, y.element)
            elif kind == "add":
                y = self.put("add", [y, self.argument(y.shape, self.real_type())], y.shape, y.element)
            elif kind == "halves" and n % 2 == 0:
                a, b = self.cut(y, 1, 0, n // 2), self.cut(y, 1, n // 2, n // 2)
                a = self.put(self.rng.choice(("silu", "sigmoid", "gelu_tanh")), [a], a.shape, a.element)
                y = self.put("mul", [a, b], a.shape, self.real_type())
            elif kind == "odd" and n > 5:
                self.end(self.cut(y, 1, 1, 3))
            elif kind == "self":
                y = self.put("mul", [y, y], y.shape, y.element)
            elif kind == "clamp":
                y = self.put("min", [y, self.scalar(7.0, y.element)], y.shape, y.element)
            elif kind == "result":
                self.end(y)
            elif kind == "heads" and n % 4 == 0:
                z = self.split(y, 4)
                y = self.join(self.norm_of(z, z.element) if self.chance(0.5) else self.put("neg", [z], z.shape, z.element))
            elif kind == "quant":
                group = self.rng.choice((None, 16, 128))
                element = self.rng.choice(("i8",) + FLOATS8)
                scales = y.shape[:-1] + (-(-n // group) if group else 1,)
                q, s = self.results_of(f"hk.quantize {'per_group' if group else 'per_token'} {y.name}"
                                       f"{f' group {group}' if group else ''} : {self.of(y)}", (y.shape, element), (scales, "f32"),
                                       ends=self.chance(0.7))
                if self.chance(0.5):
                    y = self.put("dequantize", [q, s], y.shape, y.element, f"group {group}" if group else "")
        return y

    def experts(self):
        """Rows sorted by expert, two products, back to tokens and added up."""
        x = self.tokens_of(2, lambda v: v.shape[1] >= 3)
        if not x:
            return
        e = self.rng.choice((2, 4, 8, 5))
        k = self.rng.choice([n for n in (1, 2, 4) if n <= e])
        ids, weights = self.choice(x, e, k)
        flat = self.flat(ids)
        counts = self.put("histogram", [flat], (e,), "i32")
        order, place = self.results_of(f"hk.sort_by_key {flat.name} bins {e} : {self.of(flat)}", (flat.shape, "i32"), (flat.shape, "i32"))
        bounds = self.put("cumsum offsets", [counts], (e + 1,), "i32")
        many = flat.shape[0]
        n = self.rng.choice((16, 32, 96, 40, 128))
        form, kind = f"bounds {bounds.name} order {order.name}", f"groups {self.of(bounds)} order {self.of(order)}"
        y = self.grouped(x, e, n, form, kind, many, f" top_k {k}")
        y = self.behind(y)
        if self.chance(0.7) and y.shape[-1] >= 1:
            if self.chance(0.5):
                form, kind = f"bounds {bounds.name}", f"groups {self.of(bounds)}"
            else:
                form, kind = f"lengths {counts.name}", f"groups {self.of(counts)}"
            y = self.grouped(y, e, self.rng.choice((16, 24, 64)), form, kind, many)
            y = self.behind(y, 2)
        self.gathered(y, place, order, weights, k)

    def gathered(self, y, place, order, weights, k):
        """The rows of a token's experts, weighted and added up, in one of the ways there are."""
        many, n = y.shape
        w = self.view(self.flat(weights), [[0, 1]], (many, 1))
        kind = self.rng.choice(("sum", "take", "sorted", "rows"))
        if kind == "rows":
            self.values.append(y)
            return
        if kind == "sorted":  # weights where the rows lie
            flat = self.flat(weights)
            s = self.put("gather_rows", [flat, order], flat.shape, flat.element)
            y = self.put("mul", [y, self.view(s, [[0, 1]], (many, 1))], y.shape, y.element)
        p = self.put("gather_rows", [y, place], y.shape, y.element)
        if kind != "sorted":
            p = self.put("mul", [p, w], y.shape, self.rng.choice(("f32", y.element)))
        three = self.view(p, [[0, 1], [2]], ("T", k, n))
        if kind == "take" and k > 1:
            total = None
            for i in range(k):
                part = self.view(self.cut(three, 1, i, 1), [[0], [1, 2]], ("T", n))
                total = part if total is None else self.put("add", [total, part], part.shape, part.element)
        else:
            turned = self.put("transpose", [three], (k, "T", n), p.element, "[1, 0, 2]")
            total = self.put("sum_slices", [turned], ("T", n), self.real_type())
        self.values.append(total)

    def blocks_of_experts(self):
        """The form of vLLM: blocks of rows of one expert, results where a token's expert lies."""
        x = self.tokens_of(2, lambda v: v.shape[1] >= 3)
        if not x:
            return
        e, block = self.rng.choice((2, 4, 8)), self.rng.choice((4, 16, 32))
        k = self.rng.choice([n for n in (1, 2, 3) if n <= e])
        ids, weights = self.choice(x, e, k)
        flat = self.flat(ids)
        counts = self.put("histogram", [flat], (e,), "i32")
        total = None if self.dynamic else self.num_tokens * k + e * (block - 1)
        order_type = f"tensor<{'?' if total is None else total}xi32>"
        blocks_type = f"tensor<{'?' if total is None else -(-total // block)}xi32>"
        n = self.count
        self.count += 1
        self.lines += [
            f"%o{n}, %p{n} = hk.sort_by_key {flat.name} bins {e} block {block} : {self.of(flat)} -> {order_type}, {self.of(flat)}",
            f"%i{n}, %r{n}, %z{n} = hk.segments lengths {counts.name} items {flat.name} block {block} : {self.of(counts)}"
            f" items {self.of(flat)} -> {blocks_type}, {blocks_type}, tensor<{e + 1}xi32>"]
        form, kind = f"blocks %i{n} order %o{n}", f"groups {blocks_type} order {order_type}"
        y = self.grouped(x, e, self.rng.choice((16, 64, 96)), form, kind, flat.shape[0], f" block {block} top_k {k}")
        y = self.behind(y)
        if self.chance(0.7):
            y = self.grouped(y, e, self.rng.choice((16, 24, 64)), form, kind, flat.shape[0], f" block {block}")
            y = self.behind(y, 2)
        w = self.view(self.flat(weights), [[0, 1]], (flat.shape[0], 1))
        y = self.put("mul", [y, w], y.shape, self.rng.choice(("f32", y.element)))
        three = self.view(y, [[0, 1], [2]], ("T", k, y.shape[1]))
        if self.chance(0.3):
            self.values.append(three)
            return
        turned = self.put("transpose", [three], (k, "T", y.shape[1]), y.element, "[1, 0, 2]")
        self.values.append(self.put("sum_slices", [turned], ("T", y.shape[1]), self.real_type()))

    # Attention.
    def rotated(self, x):
        if self.chance(0.4) or x.shape[2] % 2:
            return x
        table, pos = self.table(x.shape[2] // 2), self.argument(("T",), "i32", "-1:16")
        return self.emit(f"hk.rope {self.rng.choice(('neox', 'gptj'))} {x.name}, {table.name}, {table.name} positions {pos.name} :"
                         f" {self.of(x)}, {self.of(table)}, {self.of(table)} positions {self.of(pos)} -> {self.of(x)}",
                         x.shape, x.element, keep=False)

    def projections(self, x, heads, kv, d, element):
        """q, k and v of one product or of three, normed and rotated."""
        if self.chance(0.6):
            y = self.product(x, (heads + 2 * kv) * d, element)
            parts = [self.cut(y, 1, o * d, n * d) for o, n in ((0, heads), (heads, kv), (heads + kv, kv))]
        else:
            parts = [self.product(x, n * d, element) for n in (heads, kv, kv)]
        q, k, v = (self.split(p, n) for p, n in zip(parts, (heads, kv, kv)))
        if self.chance(0.4):
            q, k = self.norm_of(q, element), self.norm_of(k, element)
        q, k = self.rotated(q), self.rotated(k)
        if self.chance(0.15):
            v = self.put("mul", [v, v], v.shape, element)
        if self.chance(0.2):
            q = self.put("mul", [q, self.scalar(0.5, "f32")], q.shape, element)
        return q, k, v

    def words(self):
        words = f" scale {self.rng.choice((0.125, 0.25))}" + " causal" * self.chance(0.6)
        words += " window_left 3" * self.chance(0.2)
        return words + " softcap 5.0" * self.chance(0.2)

    def behind_attention(self, o):
        """Gates, slices of heads, quantisation, the projection, the residual."""
        if self.chance(0.25):
            g = self.argument((o.shape[0], o.shape[1], 1), self.real_type())
            o = self.put("mul", [o, self.put("sigmoid", [g], g.shape, g.element)], o.shape, o.element)
        if self.chance(0.2):
            self.end(o)
        if self.chance(0.2):
            o = self.norm_of(o, o.element)
        if self.chance(0.15) and o.shape[1] > 1:
            o = self.cut(o, 1, 1, o.shape[1] - 1)
        if self.chance(0.15):
            self.end(self.put("transpose", [o], (o.shape[1], "T", o.shape[2]), o.element, "[1, 0, 2]"))
        o = self.behind(self.join(o))
        self.values.append(o)
        if self.chance(0.6):
            x = self.product(o, self.rng.choice((16, 64, 33)), keep=True)
            r = self.tokens_of(2, lambda v: v.shape == x.shape)
            self.put("add", [x, r], x.shape, self.real_type(), keep=True)

    def head_sizes(self):
        heads, kv = self.rng.choice(((1, 1), (2, 1), (4, 2), (3, 3), (8, 1)))
        return heads, kv, self.rng.choice((8, 16, 32, 64, 64, 128, 20))

    def heads_of_tokens(self):
        """Numbers of heads and their size; queries, keys and values of some tokens. None without tokens."""
        x = self.tokens_of()
        if not x:
            return None
        sizes = self.head_sizes()
        return sizes, self.projections(x, *sizes, self.real_type())

    def attend(self):
        made = self.heads_of_tokens()
        if not made:
            return
        (heads, kv, d), (q, k, v) = made
        words, types = "", ""
        if self.chance(0.4):
            cu = self.argument((self.rng.choice((2, 4)),), "i32", "bounds")
            words, types = f" q_offsets {cu.name} kv_offsets {cu.name}", f" q_offsets {self.of(cu)} kv_offsets {self.of(cu)}"
        if self.chance(0.2):
            s = self.weight((heads,), "f32")
            words, types = f"{words} sink {s.name}", f"{types} sink {self.of(s)}"
        made = [(("T", heads, d), self.real_type())] + [(("T", heads), "f32")] * self.chance(0.2)
        o, *lse = self.results_of(f"hk.attention {q.name}, {k.name}, {v.name}{words}{self.words()} : {self.of(q)}, {self.of(k)},"
                                  f" {self.of(v)}{types}", *made)
        self.ends += lse
        self.behind_attention(o)

    def attend_cache(self):
        """New tokens are written into pages, which the attention then reads."""
        made = self.heads_of_tokens()
        if not made:
            return
        (heads, kv, d), (q, k, v) = made
        narrow = self.rng.choice(FLOATS8) if self.chance(0.3) else None
        slots = self.argument(("T",), "i32", f"iota:{self.rng.choice((-1, 0, 5))}")
        caches = []
        for part in (k, v):
            if narrow:
                s = self.emit("hk.constant 0.5 : tensor<1xf32>", (1,), "f32", keep=False)
                part = self.put("quantize_static", [part, s], part.shape, narrow)
            layout = self.rng.choice(("token_major", "head_major"))
            shape = (6, 16, kv, d) if layout == "token_major" else (6, kv, 16, d)
            cache = self.argument(shape, part.element)
            self.states.append(cache)
            new = self.emit(f"hk.kv_cache_write {part.name}, {slots.name} into {cache.name} layout {layout} : {self.of(part)},"
                            f" {self.of(slots)}, {self.of(cache)}", shape, part.element, keep=False)
            self.results.append(new)
            caches.append((new, layout))
        (kc, kl), (vc, vl) = caches
        b = self.rng.choice((1, 3))
        cu, table = self.argument((b + 1,), "i32", "bounds"), self.argument((b, 2), "i32", "-1:5")
        lens = self.argument((b,), "i32", "0:32")
        scales, scale_types = "", ""
        if narrow:
            s = self.argument((), "f32")
            scales, scale_types = f" k_scale {s.name} v_scale {s.name}", f" k_scale {self.of(s)} v_scale {self.of(s)}"
        layouts = f" key_layout {kl}" * (kl != "token_major") + f" value_layout {vl}" * (vl != "token_major")
        o, = self.results_of(f"hk.attention {q.name}, {kc.name}, {vc.name} q_offsets {cu.name} kv_lens {lens.name}"
                             f" block_table {table.name}{scales}{self.words()}{layouts} : {self.of(q)}, {self.of(kc)}, {self.of(vc)}"
                             f" q_offsets {self.of(cu)} kv_lens {self.of(lens)} block_table {self.of(table)}{scale_types}",
                             (("T", heads, d), self.real_type()))
        self.behind_attention(o)

    # Gated delta rule.
    def decays(self, x, heads):
        """-exp(A) softplus(a + bias) and sigmoid(b), of products of x."""
        both = self.product(x, 2 * heads, self.rng.choice(("f32", "bf16")))
        a, b = self.cut(both, 1, 0, heads), self.cut(both, 1, heads, heads)
        if self.chance(0.5):
            b, a = a, b
        bias, log = self.weight((heads,), "f32"), self.weight((heads,), "f32")
        soft = self.f32("softplus", self.f32("add", a, bias))
        decay = self.f32("mul", self.f32("neg", self.f32("exp", log)), soft)
        return decay, self.put("sigmoid", [b], b.shape, self.rng.choice(("f32", b.element)))

    def delta(self):
        """Ragged tokens: convolution with its state, heads, the rule with its states, the gated norm."""
        x = self.tokens_of()
        if not x:
            return
        h, hv = self.rng.choice(((1, 1), (2, 2), (1, 2), (2, 4), (1, 3)))
        d, dv = self.rng.choice(((16, 16), (32, 64), (64, 64), (24, 8), (64, 32)))
        n, element = 2 * h * d + hv * dv, self.real_type()
        y = self.product(x, n + (hv * dv if self.chance(0.5) else 0), element)
        z = None
        if y.shape[1] > n:
            y, z = self.cut(y, 1, 0, n), self.cut(y, 1, n, hv * dv)
        count = self.rng.choice((1, 3))
        cu = self.argument((count + 1,), "i32", "bounds")
        lines = self.argument((count,), self.rng.choice(("i32", "i64")), f"iota:{self.rng.choice((-1, 0, 3))}")
        initial = self.argument((count,), "i1", "0:1") if self.chance(0.5) else None
        has, has_type = (f" has_initial {initial.name}", f" has_initial {self.of(initial)}") if initial else ("", "")
        if self.chance(0.7):
            w = self.weight((n, 4))
            s = self.argument((5, 3, n), element)
            self.states.append(s)
            y, new = self.results_of(f"hk.causal_conv1d channel_last {y.name}, {w.name} offsets {cu.name} state {s.name} indices"
                                     f" {lines.name}{has} : {self.of(y)}, {self.of(w)} offsets {self.of(cu)} state {self.of(s)} indices"
                                     f" {self.of(lines)}{has_type}", (y.shape, self.real_type()), (s.shape, element))
            self.results.append(new)
            y = self.put("silu", [y], y.shape, self.real_type())
        q, k = (self.split(self.cut(y, 1, i * h * d, h * d), h) for i in range(2))
        v = self.split(self.cut(y, 1, 2 * h * d, hv * dv), hv)
        flags = ""
        if self.chance(0.4):
            q, k = (self.put("l2_norm", [p], p.shape, p.element, "epsilon 1.0e-06") for p in (q, k))
        elif self.chance(0.8):
            flags = " l2norm 1.0e-06"
        words, types, extra = "", "", ""
        if self.chance(0.85):
            decay, beta = self.decays(x, hv)
            words, types = f" decay {decay.name} beta {beta.name}", f" decay {self.of(decay)} beta {self.of(beta)}"
        major = self.chance(0.3)
        s = self.argument((5, hv, dv, d) if major else (5, hv, d, dv), self.rng.choice(("f32", "f32", "bf16")))
        self.states.append(s)
        o, new = self.results_of(
            f"hk.gated_delta_rule {q.name}, {k.name}, {v.name}{words} offsets {cu.name} state {s.name} indices {lines.name}{has}"
            f"{' state_layout value_major' if major else ''}{flags} : {self.of(q)}, {self.of(k)}, {self.of(v)}{types} offsets"
            f" {self.of(cu)} state {self.of(s)} indices {self.of(lines)}{has_type}", (v.shape, self.real_type()), (s.shape, s.element))
        self.results.append(new)
        self.behind_delta(o, z)

    def behind_delta(self, o, z):
        if self.chance(0.7):
            o = self.norm_of(o, self.rng.choice(("f32", o.element)))
        if z is not None:
            g = self.put(self.rng.choice(("silu", "sigmoid")), [self.split(z, o.shape[1])], o.shape, self.rng.choice(("f32", z.element)))
            o = self.put("mul", [o, g], o.shape, self.real_type())
        if self.chance(0.2):
            self.end(o)
        o = self.behind(self.join(o), 2)
        self.values.append(o)
        if self.chance(0.5):
            self.product(o, self.rng.choice((16, 64)), keep=True)

    def delta_dense(self):
        """A token of each of T sequences, whose states lie in a pool."""
        x = self.tokens_of()
        if not x:
            return
        h, hv = self.rng.choice(((1, 1), (2, 2), (1, 2), (2, 4)))
        d, dv = self.rng.choice(((16, 16), (64, 64), (24, 8), (64, 32)))
        n, element = 2 * h * d + hv * dv, self.real_type()
        y = self.product(x, n, element)
        lines = self.argument(("T",), "i32", f"iota:{self.rng.choice((-1, 0))}")
        if self.chance(0.6):
            w = self.weight((n, 4))
            s = self.argument((80, 3, n), element)
            self.states.append(s)
            three = self.view(y, [[0, 1], [2]], ("T", 1, n))
            y, new = self.results_of(f"hk.causal_conv1d channel_last {three.name}, {w.name} state {s.name} indices {lines.name} :"
                                     f" {self.of(three)}, {self.of(w)} state {self.of(s)} indices {self.of(lines)}",
                                     (three.shape, self.real_type()), (s.shape, element))
            self.results.append(new)
            y = self.view(self.put("silu", [y], y.shape, self.real_type()), [[0, 1], [2]], ("T", n))
        parts = [self.split(self.cut(y, 1, o, m), heads) for o, m, heads in
                 ((0, h * d, h), (h * d, h * d, h), (2 * h * d, hv * dv, hv))]
        q, k, v = (self.view(p, [[0, 1], [2], [3]], ("T", 1) + p.shape[1:]) for p in parts)
        decay, beta = (self.view(p, [[0, 1], [2]], ("T", 1, hv)) for p in self.decays(x, hv))
        s = self.argument((80, hv, d, dv), "f32")
        self.states.append(s)
        o, new = self.results_of(
            f"hk.gated_delta_rule {q.name}, {k.name}, {v.name} decay {decay.name} beta {beta.name} state {s.name} indices {lines.name}"
            f" l2norm 1.0e-06 : {self.of(q)}, {self.of(k)}, {self.of(v)} decay {self.of(decay)} beta {self.of(beta)} state {self.of(s)}"
            f" indices {self.of(lines)}", (v.shape, self.real_type()), (s.shape, "f32"))
        self.results.append(new)
        self.behind_delta(self.view(o, [[0, 1], [2], [3]], ("T", hv, dv)), None)


KINDS = ("gradients", "experts", "attention", "delta")


def graph(seed, max_ops=40, kinds=KINDS):
    rng = random.Random(seed * 7907 + 3)
    some = rng.sample(kinds, rng.randint(1, min(2, len(kinds))))
    return Blocks(seed, rng.randint(4, max_ops), rng.random() < 0.6, some)
