# ===- graphs.py - Random valid hk functions ------------------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Grows a graph op by op from a seed: chains, forks, shared inputs, reshapes in
# the middle, products, quantisation, caches, several outputs; with a dynamic or
# a static number of tokens. Every function it returns verifies.
import random

import rowsteps

REALS = ("f32", "bf16", "f16")
UNARY = "neg abs exp tanh sigmoid silu gelu gelu_tanh relu sin cos floor".split()
BINARY = "add sub mul max min".split()


class Tensor:
    """A value: its sizes, where "T" is the number of tokens and ("T", n) n times that;
    of an argument of integers, what they are (--range of hk-run)."""

    def __init__(self, name, shape, element, numbers=None):
        self.name, self.shape, self.element, self.numbers = name, tuple(shape), element, numbers

    def rank(self):
        return len(self.shape)


class Graph(rowsteps.RowSteps):
    def __init__(self, seed, num_ops, dynamic, state=True, products=True):
        self.rng = random.Random(seed)
        self.dynamic = dynamic
        self.num_tokens = self.rng.choice((5, 5, 1, 18))  # of a static graph
        self.args, self.lines, self.values = [], [], []
        self.states, self.results = [], []
        self.ends = []  # results that are no operands of other steps
        self.raw_ends = []  # those of other sizes: name and type
        self.count = 0
        self.token_dim = None
        width = self.rng.choice((16, 32, 64, 64, 1, 3, 20, 130, 259, 1030))
        for _ in range(self.rng.randint(1, 3)):
            self.values.append(self.argument(("T", width), self.rng.choice(REALS)))
        self.steps = [self.unary] * 4 + [self.binary] * 6 + [
            self.broadcast, self.broadcast, self.cast, self.norm, self.norm, self.softmax,
            self.gated, self.heads, self.heads, self.flatten,
            self.flatten_rows, self.slice, self.concat, self.quantize, self.rope,
            self.constant, self.pad, self.gather, self.transpose, self.topk, self.topk, self.reduce,
            self.reduce, self.group_limit, self.conv, self.parameter, self.parameter,
            self.microscale, self.two_norms, self.own_angles, self.chain, self.chain]
        if products:
            self.steps += [self.matmul, self.matmul]
        if state:
            self.steps += [self.cache_write] * 2 + [self.heads_to_cache] + self.state_steps()
        self.steps += [self.attention] * 2 + [self.cumsum, self.sort] + self.row_steps()
        while self.count < num_ops:
            self.rng.choice(self.steps)()

    # Printing.
    def size(self, dim):
        if dim == "T" or isinstance(dim, tuple):
            factor = 1 if dim == "T" else dim[1]
            return "?" if self.dynamic else str(self.num_tokens * factor)
        return str(dim)

    def type(self, shape, element):
        return "tensor<" + "".join(self.size(d) + "x" for d in shape) + element + ">"

    def of(self, value):
        return self.type(value.shape, value.element)

    def tokens(self):
        """An SSA value or a constant for the number of tokens."""
        if not self.dynamic:
            return str(self.num_tokens)
        if self.token_dim is None:
            self.token_dim = "%t"
            self.lines.insert(0, "%t = tensor.dim %a0, %c0 : " + self.of(self.args[0]))
            self.lines.insert(0, "%c0 = arith.constant 0 : index")
        return self.token_dim

    def argument(self, shape, element, numbers=None):
        if numbers is None and element in ("i8", "i16", "i32", "i64"):
            numbers = "-1:16"
        value = Tensor(f"%a{len(self.args)}", shape, element, numbers)
        self.args.append(value)
        return value

    def emit(self, text, shape, element, keep=True):
        value = Tensor(f"%v{self.count}", shape, element)
        self.count += 1
        self.lines.append(f"{value.name} = {text}")
        if keep:
            self.values.append(value)
        return value

    # Choosing operands.
    def pick(self, where=lambda v: True):
        fits = [v for v in self.values if where(v)]
        if not fits:
            return None
        recent = fits[-6:]
        return self.rng.choice(recent if self.rng.random() < 0.7 else fits)

    def real(self, where=lambda v: True):
        return self.pick(lambda v: v.element in REALS and where(v))

    def weight(self, shape, element=None):
        for value in self.args:
            if value.shape == tuple(shape) and self.rng.random() < 0.6 and value.element in REALS \
                    and "T" not in value.shape and element in (None, value.element):
                return value
        return self.argument(shape, element or self.rng.choice(REALS))

    # Steps.
    def unary(self):
        x = self.real()
        if x:
            out = x.element if self.rng.random() < 0.8 else self.rng.choice(REALS)
            self.emit(f"hk.{self.rng.choice(UNARY)} {x.name} : {self.of(x)} -> {self.type(x.shape, out)}",
                      x.shape, out)

    def binary(self):
        x = self.real()
        y = x and self.real(lambda v: v.shape == x.shape)
        if y:
            self.emit(f"hk.{self.rng.choice(BINARY)} {x.name}, {y.name} : {self.of(x)}, {self.of(y)}"
                      f" -> {self.of(x)}", x.shape, x.element)

    def broadcast(self):
        x = self.real()
        if x:
            tail = x.shape[self.rng.randint(0, x.rank() - 1):]
            if "T" in tail or any(isinstance(d, tuple) for d in tail):
                tail = x.shape[-1:]
            y = self.weight(tail)
            self.emit(f"hk.{self.rng.choice(BINARY)} {x.name}, {y.name} : {self.of(x)}, {self.of(y)}"
                      f" -> {self.of(x)}", x.shape, x.element)

    def cast(self):
        x = self.real()
        if x:
            out = self.rng.choice(REALS)
            self.emit(f"hk.cast {x.name} : {self.of(x)} -> {self.type(x.shape, out)}", x.shape, out)

    def norm(self):
        x = self.real()
        if not x:
            return
        kind, result = self.rng.randint(0, 2), f"{self.of(x)} -> {self.of(x)}"
        if kind == 0:
            w = self.weight(x.shape[-1:])
            self.emit(f"hk.rms_norm {x.name}, {w.name} epsilon 1.0e-05 : {self.of(x)}, {self.of(w)}"
                      f" -> {self.of(x)}", x.shape, x.element)
        elif kind == 1:
            self.emit(f"hk.rms_norm {x.name} epsilon 1.0e-05 : {result}", x.shape, x.element)
        else:
            self.emit(f"hk.l2_norm {x.name} epsilon 1.0e-05 : {result}", x.shape, x.element)

    def softmax(self):
        x = self.real()
        if x:
            self.emit(f"hk.softmax {x.name} : {self.of(x)}", x.shape, x.element)

    def reduce(self):
        """A reduction of the last dim or, of heads, of the last two; and its use."""
        x = self.real()
        if not x:
            return
        dims = 2 if x.rank() == 3 and self.rng.random() < 0.3 else 1
        shape = x.shape[:x.rank() - dims] + (1,) * dims
        attr = f" dims {dims}" if dims > 1 else ""
        r = self.emit(f"hk.reduce {self.rng.choice(('sum', 'max', 'min', 'absmax'))} {x.name}{attr} : {self.of(x)}"
                      f" -> {self.type(shape, 'f32')}", shape, "f32")
        if self.rng.random() < 0.7:
            self.emit(f"hk.sub {x.name}, {r.name} : {self.of(x)}, {self.of(r)}", x.shape, x.element)

    def conv(self):
        """A causal convolution over the tokens, and sometimes its two halves."""
        x = self.real(lambda v: v.rank() == 2 and v.shape[0] == "T")
        if not x:
            return
        n, t = x.shape[1], self.tokens()
        w = self.weight((n, self.rng.choice((2, 3, 4))))
        shape = (1, "T", n)
        three = self.emit(f"tensor.expand_shape {x.name} [[0, 1], [2]] output_shape [1, {t}, {n}] : {self.of(x)} into"
                          f" {self.type(shape, x.element)}", shape, x.element, keep=False)
        ids, types = "", ""
        if self.rng.random() < 0.3:
            seq = self.argument((1, "T"), "i32")
            ids, types = f" seq_idx {seq.name}", f" seq_idx {self.of(seq)}"
        y = self.emit(f"hk.causal_conv1d channel_last {three.name}, {w.name}{ids} : {self.of(three)}, {self.of(w)}{types}"
                      f" -> {self.of(three)}", shape, x.element, keep=False)
        y = self.emit(f"hk.silu {y.name} : {self.of(y)}", shape, x.element, keep=False)
        y = self.emit(f"tensor.collapse_shape {y.name} [[0, 1], [2]] : {self.of(y)} into {self.of(x)}",
                      x.shape, x.element)
        if self.rng.random() < 0.5 and n % 2 == 0:
            half = ("T", n // 2)
            for offset in (0, n // 2):
                self.emit(f"tensor.extract_slice {y.name}[0, {offset}] [{t}, {n // 2}] [1, 1] : {self.of(y)} to"
                          f" {self.type(half, x.element)}", half, x.element)

    def gated(self):
        x = self.real(lambda v: v.shape[-1] % 16 == 0)
        if x:
            shape = x.shape[:-1] + (x.shape[-1] // 2,)
            kind = self.rng.choice(("silu", "gelu", "relu"))
            self.emit(f"hk.gated_activation {kind} {x.name} : {self.of(x)} -> {self.type(shape, x.element)}",
                      shape, x.element)

    def matmul(self):
        x = self.real(lambda v: v.rank() == 2)
        if x:
            n = self.rng.choice((16, 32, 64))
            w = self.weight((x.shape[1], n), x.element)
            shape = (x.shape[0], n)
            self.emit(f"hk.matmul {x.name}, {w.name} : {self.of(x)}, {self.of(w)}"
                      f" -> {self.type(shape, x.element)}", shape, x.element)

    def heads(self):
        x = self.pick(lambda v: v.rank() == 2 and v.shape[0] == "T")
        if x:
            h = self.rng.choice([n for n in (1, 2, 4, 5, 10) if x.shape[1] % n == 0])
            shape = ("T", h, x.shape[1] // h)
            self.emit(f"tensor.expand_shape {x.name} [[0], [1, 2]] output_shape [{self.tokens()}, {h},"
                      f" {shape[2]}] : {self.of(x)} into {self.type(shape, x.element)}", shape, x.element)

    def flatten(self):
        x = self.pick(lambda v: v.rank() == 3 and v.shape[0] == "T")
        if x:
            shape = ("T", x.shape[1] * x.shape[2])
            self.emit(f"tensor.collapse_shape {x.name} [[0], [1, 2]] : {self.of(x)} into"
                      f" {self.type(shape, x.element)}", shape, x.element)

    def flatten_rows(self):
        x = self.pick(lambda v: v.rank() == 3 and v.shape[0] == "T")
        if x:
            shape = (("T", x.shape[1]), x.shape[2])
            self.emit(f"tensor.collapse_shape {x.name} [[0, 1], [2]] : {self.of(x)} into"
                      f" {self.type(shape, x.element)}", shape, x.element)

    def slice(self):
        x = self.pick(lambda v: v.shape[0] == "T" and v.rank() > 1 and v.shape[-1] >= 16)
        if x:
            size = self.rng.choice((8, x.shape[-1] // 2))
            offset = self.rng.choice((0, x.shape[-1] - size, 3))
            if offset + size > x.shape[-1]:
                offset = 0
            shape = x.shape[:-1] + (size,)
            middle = [str(d) for d in x.shape[1:-1]]
            sizes = ", ".join([self.tokens()] + middle + [str(size)])
            offsets = ", ".join(["0"] * (x.rank() - 1) + [str(offset)])
            self.emit(f"tensor.extract_slice {x.name}[{offsets}] [{sizes}] [{', '.join(['1'] * x.rank())}]"
                      f" : {self.of(x)} to {self.type(shape, x.element)}", shape, x.element)

    def concat(self):
        x = self.pick(lambda v: v.rank() > 1)
        y = x and self.pick(lambda v: v.shape[:-1] == x.shape[:-1] and v.element == x.element)
        if y and x.shape[-1] + y.shape[-1] <= 128:
            shape = x.shape[:-1] + (x.shape[-1] + y.shape[-1],)
            self.emit(f"hk.concat {x.rank() - 1} ({x.name}, {y.name}) : {self.of(x)}, {self.of(y)}"
                      f" -> {self.type(shape, x.element)}", shape, x.element)

    def quantize(self):
        x = self.real()
        if not x:
            return
        group = 8 if x.shape[-1] % 8 == 0 and self.rng.random() < 0.5 else None
        scales = x.shape[:-1] + ((x.shape[-1] // group) if group else 1,)
        attr = f" group {group}" if group else ""
        scaling = attr
        if self.rng.random() < 0.3:
            scaling = f" group {group} power_of_two" if group else " power_of_two"
        element = self.rng.choice(("i8", "f8E4M3FN"))
        n = self.count
        self.count += 1
        self.lines.append(f"%q{n}, %s{n} = hk.quantize {'per_group' if group else 'per_token'} {x.name}{scaling}"
                          f" : {self.of(x)} -> {self.type(x.shape, element)}, {self.type(scales, 'f32')}")
        q, s = Tensor(f"%q{n}", x.shape, element), Tensor(f"%s{n}", scales, "f32")
        self.values.append(q)
        if self.rng.random() < 0.7:
            self.emit(f"hk.dequantize {q.name}, {s.name}{attr} : {self.of(q)}, {self.of(s)} -> {self.of(x)}",
                      x.shape, x.element)

    def rope(self):
        x = self.real(lambda v: v.rank() == 3 and v.shape[0] == "T" and v.shape[2] % 4 == 0)
        if x:
            rotated = self.rng.choice((x.shape[2], x.shape[2] // 2))
            own = self.rng.random() < 0.3
            table = self.table(rotated if own else rotated // 2)
            pos = self.argument(("T",), "i32")
            style = self.rng.choice(("neox", "gptj"))
            flags = ["angle_per_element"] * own + [f for f in ("nope_first", "inverse") if self.rng.random() < 0.3]
            attrs = f" {' '.join(flags)}" if flags else ""
            self.emit(f"hk.rope {style} {x.name}, {table.name}, {table.name} positions {pos.name}{attrs} : {self.of(x)},"
                      f" {self.of(table)}, {self.of(table)} positions {self.of(pos)} -> {self.of(x)}",
                      x.shape, x.element)

    def table(self, angles):
        """Cosines, or angles that the graph takes the cosines of."""
        table = self.weight((16, angles), "f32")
        if self.rng.random() < 0.3:
            table = self.emit(f"hk.cos {table.name} : {self.of(table)}", table.shape, "f32",
                              keep=False)
        return table

    def own_angles(self):
        """Rows of a table, gathered per token, turn the heads of that token."""
        x = self.real(lambda v: v.rank() == 3 and v.shape[0] == "T" and v.shape[2] % 4 == 0)
        if x:
            table = self.table(x.shape[2] // 2)
            pos = self.argument(("T",), "i32")
            row = self.emit(f"hk.gather_rows {table.name}, {pos.name} : {self.of(table)}, {self.of(pos)}"
                            f" -> {self.type(('T', x.shape[2] // 2), 'f32')}", ("T", x.shape[2] // 2), "f32",
                            keep=False)
            self.emit(f"hk.rope neox {x.name}, {row.name}, {row.name} : {self.of(x)}, {self.of(row)}, {self.of(row)}"
                      f" -> {self.of(x)}", x.shape, x.element)

    def parameter(self):
        """A weight that is computed, read by an operand that it broadcasts to."""
        x = self.real()
        if x:
            w = self.weight(x.shape[-1:])
            p = self.emit(f"hk.{self.rng.choice(('tanh', 'sigmoid', 'neg'))} {w.name} : {self.of(w)} -> {self.of(w)}",
                          w.shape, w.element, keep=self.rng.random() < 0.2)
            self.emit(f"hk.mul {p.name}, {x.name} : {self.of(p)}, {self.of(x)} -> {self.of(x)}", x.shape, x.element)

    def two_norms(self):
        x = self.real()
        if x:
            for _ in range(2):
                w = self.weight(x.shape[-1:])
                self.emit(f"hk.rms_norm {x.name}, {w.name} epsilon 1.0e-05 : {self.of(x)}, {self.of(w)}"
                          f" -> {self.of(x)}", x.shape, x.element)

    def microscale(self):
        x = self.real(lambda v: v.shape[-1] % 2 == 0)
        if x:
            scales = x.shape[:-1] + (-(-x.shape[-1] // 32),)
            element = self.rng.choice(("f4E2M1FN", "f8E4M3FN", "f8E5M2"))
            n = self.count
            self.count += 1
            q, s = Tensor(f"%q{n}", x.shape, element), Tensor(f"%s{n}", scales, "f8E8M0FNU")
            self.lines.append(f"{q.name}, {s.name} = hk.quantize_mx {self.rng.choice(('even', 'ceil', 'floor'))}"
                              f" {x.name} : {self.of(x)} -> {self.of(q)}, {self.of(s)}")
            self.emit(f"hk.dequantize {q.name}, {s.name} : {self.of(q)}, {self.of(s)} -> {self.of(x)}",
                      x.shape, x.element)

    def quantised(self, x, element):
        """x in MX blocks, whose values are taken, or in groups, both results kept."""
        n = self.count
        self.count += 1
        mx = element == "f4E2M1FN"
        size = 32 if mx else 16
        scales = x.shape[:-1] + (-(-x.shape[-1] // size),)
        q = Tensor(f"%q{n}", x.shape, element)
        s = Tensor(f"%s{n}", scales, "f8E8M0FNU" if mx else "f32")
        line = "hk.quantize_mx even" if mx else "hk.quantize per_group"
        attr = "" if mx else " group 16"
        self.lines.append(f"{q.name}, {s.name} = {line} {x.name}{attr} : {self.of(x)} -> {self.of(q)}, {self.of(s)}")
        if mx:
            self.emit(f"hk.dequantize {q.name}, {s.name} : {self.of(q)}, {self.of(s)} -> {self.of(x)}", x.shape, x.element)
        else:
            self.values += [q, s]

    def normalised(self, x, element):
        w = self.weight(x.shape[-1:])
        return self.emit(f"hk.rms_norm {x.name}, {w.name} epsilon 1.0e-06 : {self.of(x)}, {self.of(w)}"
                         f" -> {self.type(x.shape, element)}", x.shape, element, keep=False)

    def chain(self):
        """What models do in one go: a gated norm, an activation or a padded norm, quantised."""
        x = self.real(lambda v: v.rank() == 2 and v.shape[0] == "T" and v.shape[1] % 32 == 0)
        if not x:
            return
        kind, element = self.rng.randint(0, 2), self.rng.choice(("f4E2M1FN", "f8E4M3FN"))
        if kind == 0:
            z = self.pick(lambda v: v.shape == x.shape and v.element in REALS)
            n = self.normalised(x, "f32")
            g = self.emit(f"hk.silu {z.name} : {self.of(z)} -> {self.of(n)}", x.shape, "f32", keep=False)
            y = self.emit(f"hk.mul {n.name}, {g.name} : {self.of(n)}, {self.of(g)}", x.shape, "f32")
        elif kind == 1:
            shape = ("T", x.shape[1] // 2)
            y = self.emit(f"hk.gated_activation swiglu_oai {x.name} limit 7.0 : {self.of(x)}"
                          f" -> {self.type(shape, 'f32')}", shape, "f32")
        else:
            n = self.normalised(x, "f32")
            shape = ("T", x.shape[1] + 32)
            y = self.emit(f"hk.pad {n.name} : {self.of(n)} -> {self.type(shape, 'f32')}", shape, "f32")
        self.quantised(y, element)

    def heads_to_cache(self):
        """Norms of the heads, rotated, scaled to fp8 and written into a paged cache."""
        x = self.real(lambda v: v.rank() == 3 and v.shape[0] == "T" and v.shape[2] % 4 == 0)
        if not x:
            return
        table, pos = self.table(x.shape[2] // 2), self.argument(("T",), "i32")
        n = self.normalised(x, x.element)
        r = self.emit(f"hk.rope neox {n.name}, {table.name}, {table.name} positions {pos.name} : {self.of(n)},"
                      f" {self.of(table)}, {self.of(table)} positions {self.of(pos)} -> {self.type(x.shape, 'f32')}",
                      x.shape, "f32", keep=False)
        scale = self.emit("hk.constant 0.5 : tensor<1xf32>", (1,), "f32", keep=False)
        q = self.emit(f"hk.quantize_static {r.name}, {scale.name} : {self.of(r)}, {self.of(scale)}"
                      f" -> {self.type(x.shape, 'f8E4M3FN')}", x.shape, "f8E4M3FN", keep=False)
        cache = self.argument((1, 16) + x.shape[1:], "f8E4M3FN")
        slots = self.argument(("T",), "i32", "iota:-1")
        self.states.append(cache)
        self.results.append(self.emit(f"hk.kv_cache_write {q.name}, {slots.name} into {cache.name} : {self.of(q)},"
                                      f" {self.of(slots)}, {self.of(cache)}", cache.shape, cache.element, keep=False))

    def constant(self):
        x = self.real()
        if x:
            c = self.emit(f"hk.constant 1.5 : tensor<{x.element}>", (), x.element, keep=False)
            self.emit(f"hk.mul {x.name}, {c.name} : {self.of(x)}, {self.of(c)}",
                      x.shape, x.element)

    def pad(self):
        x = self.pick(lambda v: v.rank() > 1)
        if x and x.shape[-1] <= 64:
            shape = x.shape[:-1] + (x.shape[-1] + 8,)
            self.emit(f"hk.pad {x.name} : {self.of(x)} -> {self.type(shape, x.element)}", shape, x.element)

    def gather(self):
        table = self.weight((16, 32))
        ids = self.argument(("T",), "i32")
        self.emit(f"hk.has_row {table.name}, {ids.name} : {self.of(table)}, {self.of(ids)} -> "
                  f"{self.type(ids.shape, 'i1')}", ids.shape, "i1")
        self.emit(f"hk.gather_rows {table.name}, {ids.name} : {self.of(table)}, {self.of(ids)}"
                  f" -> {self.type(('T', 32), table.element)}", ("T", 32), table.element)

    def transpose(self):
        x = self.pick(lambda v: v.rank() == 3 and v.shape[0] == "T")
        if x:
            shape = ("T", x.shape[2], x.shape[1])
            if shape[2] >= 2:
                self.emit(f"hk.transpose {x.name} [0, 2, 1] : {self.of(x)} -> {self.type(shape, x.element)}",
                          shape, x.element)

    def topk(self):
        x = self.real()
        if not x:
            return
        k = min(self.rng.choice((1, 2, 5, 8)), x.shape[-1])
        shape = x.shape[:-1] + (k,)
        v = Tensor(f"%tv{self.count}", shape, x.element)
        i = Tensor(f"%ti{self.count}", shape, self.rng.choice(("i32", "i64")))
        self.count += 1
        rule = f"ties {self.rng.choice(('lowest', 'highest'))}_index order by_{self.rng.choice(('value', 'index'))}"
        self.lines.append(f"{v.name}, {i.name} = hk.topk {x.name} {rule} : {self.of(x)} -> {self.of(v)}, {self.of(i)}")
        self.values += [v, i]
        y = self.real(lambda v: v.shape[:-1] == x.shape[:-1])
        if self.rng.random() < 0.5:
            self.emit(f"hk.gather_last {y.name}, {i.name} : {self.of(y)}, {self.of(i)} -> {self.type(shape, y.element)}",
                      shape, y.element)
        if self.rng.random() < 0.3:
            words = x.shape[:-1] + ((x.shape[-1] + 31) // 32,)
            b = self.emit(f"hk.bitmatrix {i.name} : {self.of(i)} -> {self.type(words, 'i32')}", words, "i32")
            if b.rank() == 2:
                turned = words[::-1]
                self.emit(f"hk.transpose {b.name} [1, 0] : {self.of(b)} -> {self.type(turned, 'i32')}", turned, "i32",
                          keep=False)
                self.ends.append(Tensor(f"%v{self.count - 1}", turned, "i32"))

    def group_limit(self):
        x = self.real(lambda v: v.shape[-1] % 8 == 0)
        if x:
            self.emit(f"hk.group_limit {self.rng.choice(('maximum', 'top2_sum'))} {x.name} groups 4"
                      f" top_groups 2{self.rng.choice(('', ' fill 0.0'))} : {self.of(x)}", x.shape, x.element)

    def cumsum(self):
        x = self.real()
        if x:
            attr = f"dim {self.rng.randrange(x.rank())}"
            if self.rng.random() < 0.5:
                attr += f" chunk {self.rng.randint(2, 9)}"
            if self.rng.random() < 0.5:
                attr += " reverse"
            kind = self.rng.choice(("inclusive", "exclusive"))
            self.emit(f"hk.cumsum {kind} {x.name} {attr} : {self.of(x)}", x.shape, x.element)

    def sort(self):
        """Tokens by a key, or back."""
        x = self.real(lambda v: v.rank() == 2 and v.shape[0] == "T")
        if x:
            keys = self.argument(("T",), "i32")
            n = self.count
            self.count += 1
            self.lines.append(f"%o{n}, %p{n} = hk.sort_by_key {keys.name} bins 12 : {self.of(keys)}"
                              f" -> {self.of(keys)}, {self.of(keys)}")
            self.emit(f"hk.gather_rows {x.name}, %{self.rng.choice('op')}{n} : {self.of(x)}, {self.of(keys)}"
                      f" -> {self.of(x)}", x.shape, x.element)

    def attention(self):
        q = self.real(lambda v: v.rank() == 3 and v.shape[0] == "T" and v.shape[2] in (16, 32, 64))
        if not q:
            return
        k = self.pick(lambda v: v.shape == q.shape and v.element == q.element)
        v = self.pick(lambda v: v.shape == q.shape and v.element == q.element)
        causal = " causal" if self.rng.random() < 0.5 else ""
        self.emit(f"hk.attention {q.name}, {k.name}, {v.name} scale 0.25{causal} : {self.of(q)}, {self.of(k)},"
                  f" {self.of(v)} -> {self.of(q)}", q.shape, q.element)

    def cache_write(self):
        x = self.real(lambda v: v.rank() == 3 and v.shape[0] == "T")
        if not x:
            return
        layout = self.rng.choice(("token_major", "head_major", "transposed"))
        heads, size = x.shape[1:]
        cache = self.argument({"token_major": (1, 16, heads, size), "head_major": (1, heads, 16, size),
                               "transposed": (1, heads, size, 16)}[layout], x.element)
        slots = self.argument(("T",), "i32", "iota:-1")
        self.states.append(cache)
        if self.rng.random() < 0.3:  # somebody reads the old contents
            self.emit(f"hk.neg {cache.name} : {self.of(cache)}", cache.shape, cache.element)
        new = self.emit(f"hk.kv_cache_write {x.name}, {slots.name} into {cache.name}"
                        f" layout {layout} : {self.of(x)},"
                        f" {self.of(slots)}, {self.of(cache)}", cache.shape, cache.element, keep=False)
        if self.rng.random() < 0.3:  # or the new ones
            self.emit(f"hk.abs {new.name} : {self.of(new)}", new.shape, new.element)
        self.results.append(new)

    def text(self, name):
        outs = self.results + self.ends
        for _ in range(self.rng.randint(1, 4)):
            outs.append(self.rng.choice(self.values[-5:]))
        for _ in range(self.rng.randint(0, 3)):
            outs.append(self.rng.choice(self.values))
        args = ", ".join(f"{a.name}: {self.of(a)}" + (" {hk.state}" if a in self.states else "")
                         for a in self.args)
        names = ", ".join([v.name for v in outs] + [name for name, _ in self.raw_ends])
        types = ", ".join([self.of(v) for v in outs] + [kind for _, kind in self.raw_ends])
        body = "\n".join("    " + line for line in self.lines)
        return (f"  func.func @{name}({args}) -> ({types}) {{\n{body}\n"
                f"    return {names} : {types}\n  }}\n")


def graph(seed, max_ops=40, **options):
    rng = random.Random(seed * 7919 + 1)
    return Graph(seed, rng.randint(3, max_ops), rng.random() < 0.6, **options)


def module(seeds, **options):
    return "module {\n" + "".join(graph(s, **options).text(f"f{s}") for s in seeds) + "}\n"
