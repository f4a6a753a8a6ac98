# ===- rowsteps.py - Steps that use every row-wise operator ---------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Steps of random graphs (graphs.py) for the operators and attributes that its own
# steps leave out, and for the chains of them that models run. Results of types or
# shapes that few operators take (fp4, ids, counts, states) are kept as `ends`: the
# function returns them and no other step sees them.

FLOATS8 = ("f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ")
QUANTS = ("i8",) + FLOATS8
REALS = ("f32", "bf16", "f16")
INTS = ("i8", "i16", "i32", "i64")
ROUNDINGS = ("even", "ceil", "floor", "ocp", "ocp_ceil")


class RowSteps:
    def row_steps(self):
        return [self.curve, self.curve, self.choose, self.integers, self.divide, self.numbers, self.layer_norm, self.gemma,
                self.limited_gate, self.quantize_any, self.quantize_any, self.static_scale, self.mx_any,
                self.other_flavour, self.pad_value, self.concat_heads, self.copy, self.slices,
                self.angles, self.angles, self.router, self.router, self.keys, self.ragged, self.ragged_sum,
                self.pieces, self.gated_norm, self.dual_norm, self.padded_norm, self.smooth, self.combine,
                self.conv_of_heads, self.parts_of_heads, self.heads_first, self.heads_summed]

    def state_steps(self):
        return [self.ragged_conv, self.decode_conv, self.block_conv, self.chunked_cache, self.heads_to_paged,
                self.projection_to_paged, self.projection_to_paged]

    # Helpers.
    def chance(self, probability):
        return self.rng.random() < probability

    def results_of(self, text, *types, ends=False):
        """A line with several results, given as (shape, element)."""
        made = [type(self.args[0])(f"%w{self.count}_{i}", *t) for i, t in enumerate(types)]
        self.count += 1
        self.lines.append(f"{', '.join(v.name for v in made)} = {text} -> {', '.join(self.of(v) for v in made)}")
        if ends:
            self.ends += made
        return made

    def put(self, op, operands, shape, element, attrs="", keep=False):
        """One line: an operator, its operands and result type."""
        names, types = ", ".join(v.name for v in operands), ", ".join(self.of(v) for v in operands)
        attrs = f" {attrs}" if attrs else ""
        return self.emit(f"hk.{op} {names}{attrs} : {types} -> {self.type(shape, element)}", shape, element, keep=keep)

    def end(self, value):
        self.ends.append(value)
        return value

    def scalar(self, number, element):
        return self.emit(f"hk.constant {number} : tensor<{element}>", (), element, keep=False)

    def flat(self, x):
        """All elements of x [T, n] in one line."""
        n = x.shape[1]
        return self.emit(f"tensor.collapse_shape {x.name} [[0, 1]] : {self.of(x)} into"
                         f" {self.type((('T', n),), x.element)}", (("T", n),), x.element, keep=False)

    def tokens_of(self, rank=2, where=lambda v: True):
        return self.real(lambda v: v.rank() == rank and v.shape[0] == "T" and where(v))

    def heads_of(self, where=lambda v: True):
        """Heads of tokens, made if there are none."""
        x = self.tokens_of(3, where)
        if not x:
            self.heads()
            x = self.tokens_of(3, where)
        return x

    # Pointwise.
    def curve(self):
        """The unary functions that fail for most numbers, of numbers they are for."""
        x = self.real()
        if x:
            kind = self.rng.choice("exp2 log log2 sqrt rsqrt reciprocal erf round relu gelu_tanh softplus".split())
            if kind in ("log", "log2", "sqrt", "rsqrt", "reciprocal"):
                x = self.put("abs", [x], x.shape, x.element)
                x = self.put("add", [x, self.scalar(0.25, x.element)], x.shape, x.element)
            self.put(kind, [x], x.shape, self.rng.choice(REALS), keep=True)

    def divide(self):
        x = self.real()
        y = x and self.real(lambda v: v.shape == x.shape)
        if y:
            y = self.put("abs", [y], y.shape, y.element)
            y = self.put("max", [y, self.scalar(0.5, y.element)], y.shape, y.element)
            self.put("div", [x, y], x.shape, x.element, keep=True)

    def choose(self):
        x = self.real()
        y = x and self.real(lambda v: v.shape == x.shape)
        if y:
            where = self.put(f"compare {self.rng.choice('eq ne lt le gt ge'.split())}", [x, y], x.shape, "i1",
                             keep=self.chance(0.2))
            other = self.scalar(self.rng.choice((0.0, -1.5)), x.element) if self.chance(0.5) else \
                self.put("neg", [x], x.shape, x.element)
            self.put("select", [where, x, other], x.shape, x.element, keep=True)

    def integers(self):
        x = self.real()
        if not x:
            return
        kind = self.rng.choice(INTS)
        scaled = self.put("mul", [x, self.scalar(8.0, x.element)], x.shape, x.element)
        if kind == "i64":  # the interpreter has none beyond 2^53
            scaled = self.put("cast", [scaled], x.shape, "i32")
        i = self.put("cast", [scaled], x.shape, kind)
        j = self.put(self.rng.choice("add sub mul max min div".split()), [i, self.scalar(3, kind)], x.shape, kind)
        if self.chance(0.4):
            where = self.put("compare ge", [i, j], x.shape, "i1")
            j = self.put("select", [where, j, i], x.shape, kind)
        if self.chance(0.5):
            j = self.put("cast", [j], x.shape, self.rng.choice([t for t in INTS if t != kind]))
        self.values.append(j)
        if self.chance(0.5):
            self.put("cast", [j], x.shape, self.rng.choice(REALS), keep=True)

    def numbers(self):
        """Those of the columns, written or of an operand's size."""
        x = self.tokens_of()
        if x:
            kind, shape = self.rng.choice(("f32", "i32", "i64")), x.shape[1:]
            i = self.emit(f"hk.iota like {x.name} dim 1 : {self.type(shape, kind)} like {self.of(x)}"
                          if self.chance(0.5) else f"hk.iota : {self.type(shape, kind)}", shape, kind, keep=False)
            if kind != "f32":
                i = self.put("cast", [i], shape, self.rng.choice(REALS))
            self.put(self.rng.choice(("add", "max")), [x, i], x.shape, x.element, keep=True)

    # Norms.
    def layer_norm(self):
        x = self.real()
        if x:
            w, b = self.weight(x.shape[-1:]), self.weight(x.shape[-1:])
            self.emit(f"hk.layer_norm {x.name}, {w.name}, {b.name} epsilon 1.0e-05 : {self.of(x)}, {self.of(w)},"
                      f" {self.of(b)} -> {self.type(x.shape, x.element)}", x.shape, x.element)

    def norm_of(self, x, element, attrs=""):
        w = self.weight(x.shape[-1:])
        return self.emit(f"hk.rms_norm {x.name}, {w.name} epsilon 1.0e-06{attrs} : {self.of(x)}, {self.of(w)}"
                         f" -> {self.type(x.shape, element)}", x.shape, element, keep=False)

    def gemma(self):
        x = self.real()
        if x:
            attrs = self.rng.choice((" weight_offset 1.0", " round_before_weight"))
            self.values.append(self.norm_of(x, self.rng.choice(REALS), attrs))

    def gated_norm(self):
        """norm(x) * silu(z), quantised in groups."""
        x = self.tokens_of()
        z = x and self.real(lambda v: v.shape == x.shape)
        if z:
            g = self.put("silu", [z], x.shape, "f32")
            self.quantised_any(self.put("mul", [self.norm_of(x, "f32"), g], x.shape, "f32"))

    def dual_norm(self):
        """A sum that is rounded, and two norms of it; one of them quantised."""
        x = self.tokens_of()
        y = x and self.real(lambda v: v.shape == x.shape)
        if y:
            s = self.put("add", [x, y], x.shape, x.element, keep=True)
            self.values.append(self.norm_of(s, x.element))
            self.quantised_any(self.norm_of(s, "f32"))

    def padded_norm(self):
        x = self.tokens_of()
        if x:
            n = self.norm_of(x, x.element)
            width = x.shape[1] + self.rng.choice((1, 32, 50))
            attrs = f"value {self.rng.choice((1.0, -2.5))}" if self.chance(0.5) else ""
            self.quantised_any(self.put("pad", [n], ("T", width), x.element, attrs))

    def smooth(self):
        """A norm, scaled per column, in int8 with a bound on the scale."""
        x = self.tokens_of()
        if x:
            n = self.put("mul", [self.norm_of(x, "f32"), self.weight(x.shape[-1:], "f32")], x.shape, "f32")
            amax = self.put("reduce absmax", [n], ("T", 1), "f32")
            s = self.put("min", [amax, self.scalar(3.0, "f32")], ("T", 1), "f32")
            s = self.put("div", [s, self.scalar(127.0, "f32")], ("T", 1), "f32", keep=True)
            self.put("quantize_static", [n, s], x.shape, "i8", keep=True)

    def limited_gate(self):
        x = self.real(lambda v: v.shape[-1] % 2 == 0)
        if x:
            shape = x.shape[:-1] + (x.shape[-1] // 2,)
            kind = self.rng.choice("silu gelu gelu_tanh relu swiglu_oai".split())
            attrs = f"limit {self.rng.choice((0.5, 7.0))}" if self.chance(0.5) else ""
            y = self.put(f"gated_activation {kind}", [x], shape, self.rng.choice(REALS), attrs, keep=True)
            if self.chance(0.4):
                self.quantised_any(y)

    # Quantisation.
    def quantize_any(self):
        x = self.real()
        if x:
            self.quantised_any(x)

    def quantised_any(self, x):
        """x in one of the formats, with any attributes; sometimes its values again."""
        if x.shape[-1] % 2 == 0 and self.chance(0.35):
            return self.mx(x)
        n, element = x.shape[-1], self.rng.choice(QUANTS)
        group = self.rng.choice((None, 1, 3, 16, 128))
        attrs = []
        if group:
            attrs.append(f"group {group}")
        if self.chance(0.3):
            attrs.append("amax_floor 1.0e-10")
        if self.chance(0.2):
            attrs.append("limit 100.0")
        if self.chance(0.3):
            attrs.append("power_of_two")
        scales = x.shape[:-1] + (-(-n // group) if group else 1,)
        q, s = self.results_of(f"hk.quantize {'per_group' if group else 'per_token'} {x.name}"
                               f"{' ' + ' '.join(attrs) if attrs else ''} : {self.of(x)}",
                               (x.shape, element), (scales, "f32"))
        self.values += [q, s]
        if self.chance(0.4):
            self.put("dequantize", [q, s], x.shape, self.rng.choice(REALS),
                     f"group {group}" if group else "", keep=True)
        if x.rank() == 2 and self.chance(0.2):  # scales column by column
            self.end(self.emit(f"hk.transpose {s.name} [1, 0] : {self.of(s)} -> {self.type(scales[::-1], 'f32')}",
                               scales[::-1], "f32", keep=False))

    def mx(self, x):
        scales = x.shape[:-1] + (-(-x.shape[-1] // 32),)
        element = self.rng.choice(("f4E2M1FN", "f4E2M1FN", "f8E4M3FN", "f8E5M2"))
        q, s = self.results_of(f"hk.quantize_mx {self.rng.choice(ROUNDINGS)} {x.name} : {self.of(x)}",
                               (x.shape, element), (scales, "f8E8M0FNU"), ends=True)
        if self.chance(0.4):
            self.put("dequantize", [q, s], x.shape, self.rng.choice(REALS), keep=True)
        if self.chance(0.3):  # padding that is 1, or nothing
            attrs = "value 1.0" if self.chance(0.5) else ""
            self.end(self.put("pad", [s], scales[:-1] + (scales[-1] + self.rng.choice((0, 3, 8)),), "f8E8M0FNU", attrs))

    def mx_any(self):
        x = self.real(lambda v: v.shape[-1] % 2 == 0)
        if x:
            self.mx(x)

    def static_scale(self):
        x = self.real()
        if x:
            n, group = x.shape[-1], self.rng.choice((5, 16))
            shape = self.rng.choice(((1,), x.shape[:-1] + (1,), x.shape[:-1] + (-(-n // group),)))
            s = self.argument(shape, "f32")
            s = self.put("exp", [s], shape, "f32")
            attrs = [f"group {group}"] if shape != (1,) and shape[-1] != 1 else []
            if self.chance(0.2):
                attrs.append("limit 100.0")
            self.put("quantize_static", [x, s], x.shape, self.rng.choice(QUANTS), " ".join(attrs), keep=True)

    def other_flavour(self):
        x = self.pick(lambda v: v.element in ("f8E4M3FN", "f8E4M3FNUZ"))
        if x:
            other = "f8E4M3FN" if x.element == "f8E4M3FNUZ" else "f8E4M3FNUZ"
            y = self.put("reencode", [x], x.shape, other, keep=True)
            if self.chance(0.5):
                self.put("cast", [y], x.shape, self.rng.choice(REALS), keep=True)

    # Shapes.
    def pad_value(self):
        x = self.pick(lambda v: v.element != "i1" and v.shape[-1] <= 300)
        if x:
            value = self.rng.choice((1.0, 2.0, -2.0))
            shape = x.shape[:-1] + (x.shape[-1] + self.rng.choice((1, 8, 13)),)
            self.put("pad", [x], shape, x.element, f"value {value}", keep=True)

    def concat_heads(self):
        x = self.pick(lambda v: v.rank() == 3 and v.shape[0] == "T")
        y = x and self.pick(lambda v: v.rank() == 3 and v.shape[0] == "T" and v.shape[2] == x.shape[2]
                            and v.element == x.element)
        if y and x.shape[1] + y.shape[1] <= 12:
            shape = ("T", x.shape[1] + y.shape[1], x.shape[2])
            self.emit(f"hk.concat 1 ({x.name}, {y.name}) : {self.of(x)}, {self.of(y)} -> {self.type(shape, x.element)}",
                      shape, x.element)

    def parts_of_heads(self):
        """Heads that are normed as a whole and go on in two parts, which then lie side by side again."""
        x = self.heads_of(lambda v: v.shape[2] >= 4)
        if not x or x.shape[2] < 4:
            return
        n = x.shape[2]
        cut = self.rng.choice([c for c in (n // 2, n // 4, n - 8, 8, 3) if 0 < c < n])
        whole = self.rng.choice((self.norm_of, lambda v, e: self.put("softmax", [v], v.shape, e),
                                 lambda v, e: self.put("l2_norm", [v], v.shape, e, "epsilon 1.0e-06")))(x, x.element)
        parts = []
        for offset, size in ((0, cut), (cut, n - cut)):
            shape = x.shape[:2] + (size,)
            parts.append(self.emit(f"tensor.extract_slice {whole.name}[0, 0, {offset}] [{self.tokens()}, {x.shape[1]},"
                                   f" {size}] [1, 1, 1] : {self.of(whole)} to {self.type(shape, x.element)}", shape,
                                   x.element, keep=False))
        changed = self.rng.randrange(2)
        parts[changed] = self.put(self.rng.choice(("neg", "silu", "tanh")), [parts[changed]], parts[changed].shape,
                                  x.element)
        if self.chance(0.3):
            parts.reverse()
        a, b = parts
        self.emit(f"hk.concat 2 ({a.name}, {b.name}) : {self.of(a)}, {self.of(b)} -> {self.type(x.shape, x.element)}",
                  x.shape, x.element)

    def heads_first(self):
        """Heads in front of tokens, and what is computed of them there."""
        x = self.heads_of()
        if not x:
            return
        order = self.rng.choice(((1, 0, 2), (1, 0, 2), (2, 0, 1), (1, 2, 0)))
        shape = tuple(x.shape[d] for d in order)
        y = self.put("transpose", [x], shape, x.element, str(list(order)))
        other = self.argument(shape, x.element)
        y = self.put(self.rng.choice(("mul", "add")), [y, other], shape, x.element)
        self.end(self.put("cast", [y], shape, self.rng.choice([e for e in REALS if e != x.element])))

    def heads_summed(self):
        """Heads in front of tokens, added up: slices of a token's own row, as the results of its experts."""
        x = self.heads_of()
        if not x or x.element not in REALS:
            return
        tokens, heads, size = x.shape
        y = self.put("transpose", [x], (heads, tokens, size), x.element, "[1, 0, 2]")
        self.put("sum_slices", [y], (tokens, size), self.rng.choice(REALS), keep=True)

    def copy(self):
        x = self.pick()
        if x:
            self.emit(f"hk.copy {x.name} : {self.of(x)}", x.shape, x.element)

    def slices(self):
        """Partial results of a split reduction, added up; integers wrap."""
        n, element = self.rng.choice((16, 20, 48)), self.rng.choice(REALS + ("i32", "i32"))
        p = self.argument((self.rng.choice((1, 2, 5)), "T", n), element,
                          "-2147483648:2147483647" if element == "i32" else None)
        self.put("sum_slices", [p], ("T", n), element if element == "i32" else self.rng.choice(REALS), keep=True)

    def combine(self):
        """Attentions to slices of the keys, put together."""
        slices, heads, size = self.rng.choice((1, 2, 5)), self.rng.choice((1, 3, 4)), self.rng.choice((8, 33, 64))
        p, l = self.argument((slices, "T", heads, size), "f32"), self.argument((slices, "T", heads), "f32")
        words, types = f"{p.name}, {l.name}", f"{self.of(p)}, {self.of(l)}"
        if self.chance(0.4):
            sink = self.weight((heads,), "f32")
            words, types = f"{words} sink {sink.name}", f"{types} sink {self.of(sink)}"
        made = [(("T", heads, size), self.rng.choice(REALS))] + [(("T", heads), "f32")] * self.chance(0.5)
        self.values += self.results_of(f"hk.attention_combine {words} : {types}", *made)

    def pieces(self):
        """What several projections made in one go, cut in pieces of odd sizes."""
        x = self.pick(lambda v: v.rank() == 2 and v.shape[0] == "T" and v.shape[1] >= 6)
        if x:
            n, t = x.shape[1], self.tokens()
            cuts = sorted(self.rng.sample(range(1, n), 2))
            for begin, stop in zip([0] + cuts, cuts + [n]):
                shape = ("T", stop - begin)
                self.emit(f"tensor.extract_slice {x.name}[0, {begin}] [{t}, {stop - begin}] [1, 1] : {self.of(x)} to"
                          f" {self.type(shape, x.element)}", shape, x.element)

    def angles(self):
        """RoPE in all its forms, of any even part of a head."""
        x = self.tokens_of(3, lambda v: v.shape[2] >= 2)
        if not x:
            return
        rotated = self.rng.choice([r for r in (2, 4, 6, 10, 16, 32, 64) if r <= x.shape[2]])
        own = self.chance(0.3)
        element = self.rng.choice(REALS)
        cos, sin = (self.weight((16, rotated if own else rotated // 2), element) for _ in range(2))
        flags = ["angle_per_element"] * own + [f for f in ("nope_first", "inverse") if self.chance(0.3)]
        words, types = "", ""
        form, index = self.rng.choice(("positions", "offsets", "bounds", "place")), self.rng.choice(("i32", "i64"))
        if form in ("positions", "offsets"):
            p = self.argument(("T",), index, "-1:16")
            words, types = f" positions {p.name}", f" positions {self.of(p)}"
        if form == "offsets":
            o = self.argument(("T",), index, "-3:3")
            words, types = f"{words} offsets {o.name}", f"{types} offsets {self.of(o)}"
        if form == "bounds":
            b = self.argument((4,), "i32", "bounds")
            words, types = f" bounds {b.name}", f" bounds {self.of(b)}"
        attrs = f" {' '.join(flags)}" if flags else ""
        y = self.emit(f"hk.rope {self.rng.choice(('neox', 'gptj'))} {x.name}, {cos.name}, {sin.name}{words}{attrs} :"
                      f" {self.of(x)}, {self.of(cos)}, {self.of(sin)}{types} -> {self.of(x)}", x.shape, x.element)
        if self.chance(0.3):
            self.quantised_any(y)

    # Selection and routing.
    def router(self):
        """Scores, the best of them, their weights, and the tokens sorted by expert."""
        x = self.tokens_of(2, lambda v: v.shape[1] >= 2)
        if not x:
            return
        experts = x.shape[1]
        scores = self.put(self.rng.choice(("softmax", "sigmoid")), [x], x.shape, "f32")
        chosen = scores
        if self.chance(0.4):
            chosen = self.put("add", [scores, self.weight((experts,), "f32")], x.shape, "f32")
        groups = [g for g in (2, 4, 8) if experts % g == 0 and experts // g >= 2]
        if groups and self.chance(0.4):
            g = self.rng.choice(groups)
            chosen = self.put(f"group_limit {self.rng.choice(('maximum', 'top2_sum'))}", [chosen], x.shape, "f32",
                              f"groups {g} top_groups {self.rng.randint(1, g)}{self.rng.choice(('', ' fill 0.0'))}")
        k = min(self.rng.choice((1, 2, 3, 6, 8)), experts)
        rule = f"ties {self.rng.choice(('lowest', 'highest'))}_index order by_{self.rng.choice(('value', 'index'))}"
        index = self.rng.choice(("i32", "i32", "i64"))
        best, ids = self.results_of(f"hk.topk {chosen.name} {rule} : {self.of(chosen)}", (("T", k), "f32"),
                                    (("T", k), index))
        w = self.put("gather_last", [scores, ids], ("T", k), "f32") if chosen is not scores else best
        if self.chance(0.7):
            s = self.put("reduce sum", [w], ("T", 1), "f32")
            w = self.put("div", [w, s], ("T", k), "f32")
        self.values.append(w)
        if self.chance(0.4):
            self.end(self.put("cast", [ids], ("T", k), "i16"))
        flat = self.flat(ids)
        if self.chance(0.6):
            self.aligned(flat, w, experts)
        if self.chance(0.5) and index == "i32":
            words = -(-experts // 32)
            bits = self.put("bitmatrix", [ids], ("T", words), "i32")
            bits = self.emit(f"hk.transpose {bits.name} [1, 0] : {self.of(bits)} -> {self.type((words, 'T'), 'i32')}",
                             (words, "T"), "i32", keep=False)
            self.end(bits)
            if self.chance(0.5):
                self.end(self.put("count_bits", [bits], (experts,), "i32"))
            else:
                block = self.rng.choice((1, 5, 32))
                rows = f"?x{experts}" if self.dynamic else f"{-(-self.num_tokens // block)}x{experts}"
                n = self.count
                self.count += 1
                self.lines.append(f"%c{n}, %b{n} = hk.count_bits {bits.name} block {block} : {self.of(bits)}"
                                  f" -> tensor<{experts}xi32>, tensor<{rows}xi32>")
                self.raw_ends += [(f"%c{n}", f"tensor<{experts}xi32>"), (f"%b{n}", f"tensor<{rows}xi32>")]

    def aligned(self, flat, weights, experts):
        """The places of the chosen experts' tokens, in blocks, and their weights there."""
        block = self.rng.choice((1, 1, 4, 16))
        total = None if self.dynamic else self.num_tokens * flat.shape[0][1] + experts * (block - 1)
        order = f"tensor<{'?' if total is None else total}xi32>"
        position = self.type(flat.shape, "i32")
        n = self.count
        self.count += 1
        self.lines.append(f"%o{n}, %p{n} = hk.sort_by_key {flat.name} bins {experts} block {block}"
                          f" : {self.of(flat)} -> {order}, {position}")
        self.raw_ends += [(f"%o{n}", order), (f"%p{n}", position)]
        counts = self.end(self.put("histogram", [flat], (experts,), "i32"))
        if self.chance(0.5):
            self.end(self.put("cumsum offsets", [counts], (experts + 1,), "i32"))
        if self.chance(0.5):
            self.segments(counts, "lengths", experts, flat)
        if self.chance(0.5) and block == 1 and weights.element in REALS:
            w = self.flat(weights)
            self.end(self.emit(f"hk.gather_rows {w.name}, %o{n} : {self.of(w)}, {order} -> {self.of(w)}",
                               w.shape, w.element, keep=False))

    def segments(self, segments, form, count, items):
        block = self.rng.choice((1, 4, 16))
        if self.dynamic:
            places = "?"
        else:
            m = self.num_tokens * (items.shape[0][1] if isinstance(items.shape[0], tuple) else 1)
            places = -(-(m + count * (block - 1)) // block)
        n = self.count
        self.count += 1
        kind = f"tensor<{places}xi32>"
        self.lines.append(f"%i{n}, %r{n}, %o{n} = hk.segments {form} {segments.name} items {items.name}"
                          f" block {block} : {self.of(segments)} items {self.of(items)} -> {kind}, {kind},"
                          f" tensor<{count + 1}xi32>")
        self.raw_ends += [(f"%i{n}", kind), (f"%r{n}", kind), (f"%o{n}", f"tensor<{count + 1}xi32>")]

    def keys(self):
        """Keys of the caller, some of them outside the bins."""
        bins = self.rng.choice((1, 7, 40, 256))
        x = self.pick(lambda v: v.rank() == 2 and v.shape[0] == "T" and v.element != "i1")
        if x:
            ids = self.argument(("T", self.rng.choice((1, 3))), self.rng.choice(("i32", "i64")), f"-2:{bins + 1}")
            self.aligned(self.flat(ids), self.weight(("T", ids.shape[1]), "f32"), bins)

    def ragged(self):
        """Sequences: which of them a token is of, and its place there."""
        x = self.pick(lambda v: v.shape[0] == "T")
        if x:
            count = self.rng.choice((1, 3, 6))
            self.segments(self.argument((count + 1,), "i32", "bounds"), "bounds", count, x)

    def ragged_sum(self):
        x = self.pick(lambda v: v.shape[0] == "T" and v.element in REALS + INTS)
        if x:
            attrs = ["dim 0"] + ["chunk 3"] * self.chance(0.4) + ["reverse"] * self.chance(0.4)
            kind = self.rng.choice(("inclusive", "exclusive"))
            element = x.element if x.element in REALS + ("i32", "i64") else self.rng.choice(("i32", "i64"))
            if x.element in REALS:
                element = self.rng.choice(REALS)
            b = self.argument((self.rng.choice((2, 4)),), "i32", "bounds")
            shape = self.type(x.shape, element)
            self.emit(f"hk.cumsum {kind} {x.name} bounds {b.name} {' '.join(attrs)} : {self.of(x)} bounds"
                      f" {self.of(b)} -> {shape}", x.shape, element)

    # Convolutions with a state.
    def conv_weights(self, n, width):
        """Weight and perhaps bias of n channels, in words and types."""
        w = self.weight((n, width))
        if self.chance(0.5):
            return w, "", ""
        b = self.weight((n,))
        return w, f" bias {b.name}", f" bias {self.of(b)}"

    def conv_operands(self, x, n, state_size, width):
        """The same, and a state."""
        w, words, types = self.conv_weights(n, width)
        turned = self.chance(0.5)
        s = self.argument((8, n, state_size) if turned else (8, state_size, n), x.element)
        self.states.append(s)
        return w, words, types, s, " state_layout channel_first" if turned else ""

    def tail_of_conv(self, y, shape, element):
        """What follows: an activation, pieces, and the norms of a piece."""
        if self.chance(0.7):
            y = self.put("silu", [y], shape, self.rng.choice(REALS))
        self.values.append(y) if len(shape) == 2 else self.ends.append(y)
        if len(shape) == 2 and self.chance(0.5):
            self.pieces()
        if len(shape) == 2 and shape[1] % 4 == 0 and self.chance(0.5):
            for begin in (0, shape[1] // 2):  # q and k of a gated delta rule
                h = self.heads_at(y, begin, 2, shape[1] // 4)
                self.emit(f"hk.l2_norm {h.name} epsilon 1.0e-06 : {self.of(h)}", h.shape, h.element)

    def heads_at(self, x, begin, heads, size):
        """Heads of a projection, from a column on."""
        t, part, shape = self.tokens(), ("T", heads * size), ("T", heads, size)
        y = self.emit(f"tensor.extract_slice {x.name}[0, {begin}] [{t}, {heads * size}] [1, 1] : {self.of(x)} to"
                      f" {self.type(part, x.element)}", part, x.element, keep=False)
        return self.emit(f"tensor.expand_shape {y.name} [[0], [1, 2]] output_shape [{t}, {heads}, {size}] :"
                         f" {self.of(y)} into {self.type(shape, x.element)}", shape, x.element, keep=False)

    def conv_of_heads(self):
        """[T, H, D] as T sequences of H channels, time innermost."""
        x = self.heads_of(lambda v: v.shape[2] <= 300)
        if x:
            w, words, types = self.conv_weights(x.shape[1], self.rng.choice((2, 3, 4)))
            if self.chance(0.4):
                ids = self.argument(("T", x.shape[2]), "i32", "0:2")
                words, types = f"{words} seq_idx {ids.name}", f"{types} seq_idx {self.of(ids)}"
            y, = self.results_of(f"hk.causal_conv1d channel_first {x.name}, {w.name}{words} : {self.of(x)},"
                                 f" {self.of(w)}{types}", (x.shape, self.rng.choice(REALS)))
            self.values.append(self.put("silu", [y], x.shape, self.rng.choice(REALS)) if self.chance(0.5) else y)

    def ragged_conv(self):
        """Sequences of a prefill, each with its state."""
        x = self.tokens_of()
        if x:
            width = self.rng.choice((2, 3, 4))
            w, words, types, s, layout = self.conv_operands(x, x.shape[1], width - 1 + self.rng.choice((0, 2)), width)
            count = self.rng.choice((1, 4))
            cu = self.argument((count + 1,), "i32", "bounds")
            lines = self.argument((count,), self.rng.choice(("i32", "i64")), f"iota:{self.rng.choice((-1, 2, 6))}")
            initial = self.argument((count,), "i1", "0:1") if self.chance(0.5) else None
            words += f" offsets {cu.name} state {s.name} indices {lines.name}"
            types += f" offsets {self.of(cu)} state {self.of(s)} indices {self.of(lines)}"
            if initial:
                words, types = f"{words} has_initial {initial.name}", f"{types} has_initial {self.of(initial)}"
            y, new = self.results_of(f"hk.causal_conv1d channel_last {x.name}, {w.name}{words}{layout} : {self.of(x)},"
                                     f" {self.of(w)}{types}", (x.shape, self.rng.choice(REALS)), (s.shape, s.element))
            self.results.append(new)
            self.tail_of_conv(y, x.shape, y.element)

    def block_conv(self):
        """Prefix caching: a line of the state for every block."""
        x = self.tokens_of()
        if x:
            width = self.rng.choice((2, 3, 4))
            w, words, types, s, layout = self.conv_operands(x, x.shape[1], width, width)
            count, blocks = 2, 3
            cu = self.argument((count + 1,), "i32", "bounds")
            lines = self.argument((count, blocks), "i32", "iota:-1")
            computed = self.argument((count,), "i32", "0:9")
            words += f" offsets {cu.name} state {s.name} indices {lines.name} computed {computed.name}"
            types += f" offsets {self.of(cu)} state {self.of(s)} indices {self.of(lines)} computed {self.of(computed)}"
            y, new = self.results_of(f"hk.causal_conv1d channel_last {x.name}, {w.name}{words}{layout}"
                                     f" block {self.rng.choice((2, 16))} : {self.of(x)}, {self.of(w)}{types}",
                                     (x.shape, self.rng.choice(REALS)), (s.shape, s.element))
            self.results.append(new)
            self.tail_of_conv(y, x.shape, y.element)

    def decode_conv(self):
        """A few tokens of every sequence, speculative or in a ring."""
        x = self.heads_of(lambda v: v.shape[2] <= 300)
        if not x:
            return
        # [T, H, D] as T sequences of H tokens, or of D: at most as many as the state has lines for.
        first = self.chance(0.4)
        width, (tokens, channels) = self.rng.choice((2, 3, 4)), x.shape[:0:-1] if first else x.shape[1:]
        w, words, types, s, layout = self.conv_operands(x, channels, width - 1 + tokens, width)
        lines = self.argument(("T",), "i32", "iota:-1")
        words += f" state {s.name} indices {lines.name}"
        types += f" state {self.of(s)} indices {self.of(lines)}"
        form = self.rng.choice(("plain", "accepted", "ring"))
        if form != "plain":
            extra = self.argument(("T",), "i32", "0:5")
            words, types = f"{words} {form} {extra.name}", f"{types} {form} {self.of(extra)}"
        made = [(x.shape, self.rng.choice(REALS)), (s.shape, s.element)]
        text = (f"hk.causal_conv1d channel_{'first' if first else 'last'} {x.name}, {w.name}{words}{layout} :"
                f" {self.of(x)}, {self.of(w)}{types}")
        if form != "ring" and self.chance(0.3):
            shape = ("T", tokens, channels, width - 1)
            n = self.count
            self.count += 1
            y, new = (type(x)(f"%w{n}_{i}", *t) for i, t in enumerate(made))
            windows = type(x)(f"%w{n}_2", shape, x.element)
            self.lines.append(f"{y.name}, {new.name}, {windows.name} = {text} -> {self.of(y)}, {self.of(new)} windows"
                              f" {self.of(windows)}")
            self.ends.append(windows)
        else:
            y, new = self.results_of(text, *made)
        self.results.append(new)
        self.tail_of_conv(y, x.shape, y.element)

    # Caches.
    def chunked_cache(self):
        """vLLM's caches: keys in chunks of a head, values in chunks of a block."""
        x = self.pick(lambda v: v.rank() == 3 and v.shape[0] == "T" and v.shape[2] % 8 == 0
                      and v.element not in ("i1", "f4E2M1FN"))
        if x:
            heads, size = x.shape[1:]
            layout = self.rng.choice(("key_chunks", "value_chunks"))
            shape = (3, heads, size // 8, 16, 8) if layout == "key_chunks" else (3, heads, 2, size, 8)
            self.write(x, shape, layout)

    def write(self, x, shape, layout):
        cache = self.argument(shape, x.element)
        slots = self.argument(("T",), self.rng.choice(("i32", "i64")), f"iota:{self.rng.choice((-2, 0, 9))}")
        self.states.append(cache)
        self.results.append(self.emit(f"hk.kv_cache_write {x.name}, {slots.name} into {cache.name} layout {layout} :"
                                      f" {self.of(x)}, {self.of(slots)}, {self.of(cache)}", cache.shape, cache.element,
                                      keep=False))

    def heads_to_paged(self):
        """Norms of the heads, rotated, kept as they are and written in fp8."""
        x = self.tokens_of(3, lambda v: v.shape[2] % 4 == 0)
        if x:
            heads, size = x.shape[1:]
            n = self.norm_of(x, "f32")
            table, p = self.weight((16, size // 2), "f32"), self.argument(("T",), "i64", "-1:16")
            r = self.emit(f"hk.rope gptj {n.name}, {table.name}, {table.name} positions {p.name} : {self.of(n)},"
                          f" {self.of(table)}, {self.of(table)} positions {self.of(p)} -> {self.of(n)}", x.shape, "f32",
                          keep=False)
            self.put("cast", [r], x.shape, "bf16", keep=True)
            s = self.put("exp", [self.argument((1,), "f32")], (1,), "f32")
            q = self.put("quantize_static", [r, s], x.shape, self.rng.choice(FLOATS8))
            layout = self.rng.choice(("head_major", "transposed"))
            self.write(q, (2, heads, 16, size) if layout == "head_major" else (2, heads, size, 16), layout)

    def projection_to_paged(self):
        """q, k and v of one projection: norms of q and k, both rotated, k and v written, in fp8 with scales."""
        x = self.tokens_of(2, lambda v: v.shape[1] % 16 == 0)
        if not x:
            return
        size = x.shape[1] // 8
        q, k, v = (self.heads_at(x, begin * size, heads, size) for begin, heads in ((0, 4), (4, 2), (6, 2)))
        table, p = self.weight((16, size // 2), "f32"), self.argument(("T",), "i32", "-1:16")
        style, layout = self.rng.choice(("neox", "gptj")), self.rng.choice(("token_major", "head_major", "transposed"))
        fp8 = self.rng.choice((None,) + FLOATS8)

        def rotated(h, element):
            n = self.norm_of(h, x.element)
            return self.emit(f"hk.rope {style} {n.name}, {table.name}, {table.name} positions {p.name} : {self.of(n)},"
                             f" {self.of(table)}, {self.of(table)} positions {self.of(p)} ->"
                             f" {self.type(h.shape, element)}", h.shape, element, keep=False)

        self.values.append(rotated(q, x.element))
        for h in (rotated(k, "f32" if fp8 else x.element), v):
            if fp8:
                s = self.put("exp", [self.argument((1,), "f32")], (1,), "f32")
                h = self.put("quantize_static", [h, s], h.shape, fp8)
            self.write(h, {"token_major": (2, 16, 2, size), "head_major": (2, 2, 16, size),
                           "transposed": (2, 2, size, 16)}[layout], layout)
