# ===- attention.py - Forms of attention at awkward shapes ----------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random forms of hk.attention, each of several features that are independent of each
# other: dense, ragged and paged keys in every layout, a cached prefix beside new tokens,
# head sizes that no tile has, groups of 1 to 128 heads, types and scales of queries, keys
# and values apart, masks, windows, sinks, soft caps, regions, results that are
# transposed, gated, summed, converted or quantised, with a scale for all or one for each
# group of columns, in views of rows. All are functions of one module, each called with
# its own sizes and checked against the reference interpreter's bounds.
import argparse
import math
import random
import sys
import tempfile

import regions
import runs
from regions import tensor

QUERIES = (0, 1, 2, 5, 17, 31, 33, 64, 65, 70)
KEYS = (0, 1, 7, 31, 33, 64, 65, 100, 129, 160)
HEADS = (8, 24, 33, 40, 64, 72, 80, 96, 112, 128, 160, 192, 256)
NARROW = ("f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "i8")


class Case:
    """One function and the options of its calls."""

    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        # What follows is drawn apart: a seed's attention stays the same.
        self.later = random.Random(name + " epilogue")
        self.args, self.lines, self.dims, self.ranges = [], [], {}, []
        self.products = {}  # sizes that are those of others, multiplied
        self.choose_heads()
        self.choose_types()
        self.choose_queries()
        results = self.body()
        types = ", ".join(t for _, t in results)
        self.text = (f"func.func @{name}({', '.join(f'%{n}: {t}' for n, t in self.args)}) -> ({types}) {{\n  "
                     + "\n  ".join(self.lines) + f"\n  return {', '.join('%' + n for n, _ in results)} : {types}\n}}\n")

    def maybe(self, chance):
        return self.rng.random() < chance

    def argument(self, name, *parts):
        self.args.append((name, tensor(*parts)))
        return self.args[-1][1]

    def bind(self, dim, size, more=0):
        """Gives a size that only a call knows, of as many elements as there are sequences."""
        if size == "?":
            self.dims[dim] = lambda _: self.batch + more

    def choose_heads(self):
        self.kv_heads, self.group = self.rng.choice(((1, 1), (2, 1), (3, 1), (1, 3), (2, 4), (1, 8), (2, 5), (1, 16), (1, 32), (1, 71), (1, 128)))
        self.heads = self.kv_heads * self.group
        self.size = self.rng.choice(HEADS)
        self.value = self.size if self.maybe(0.6) else self.rng.choice((7, 16, 40, 64, 96, 128))

    def choose_types(self):
        wide = self.rng.choice(("bf16", "bf16", "f16", "f16", "f32"))
        self.q_type = self.k_type = self.v_type = wide
        kind = self.rng.choice(("same",) * 5 + ("cache", "cache", "all", "mixed"))
        if kind != "same":
            self.k_type = self.v_type = self.rng.choice(NARROW)
            if self.maybe(0.3):
                self.v_type = self.rng.choice(NARROW + ("f16",))
        if kind == "all":
            self.q_type = self.k_type
        if kind == "mixed":
            self.k_type, self.v_type = self.rng.choice((("bf16", "f16"), ("f32", "bf16"), ("f16", "f8E5M2"), ("i8", "bf16")))
        self.out = self.rng.choice(("f32", "bf16", "f16")) if self.maybe(0.5) or len(wide) == 2 else wide
        self.scaled = [n for n, t in (("q", self.q_type), ("k", self.k_type), ("v", self.v_type)) if self.maybe(0.75 if t in NARROW else 0.05)]

    def choose_queries(self):
        self.ragged = self.maybe(0.5)
        # Sequences: a size of the graph, or of the call.
        self.batch = self.rng.choice((1, 2, 3))
        self.many = self.ragged and self.maybe(0.6)  # sequences are cut by offsets
        if self.ragged and not self.many:
            self.batch = 1
        self.b = "?" if self.maybe(0.3) and (self.many or not self.ragged) else self.batch
        self.bounds = "?" if self.b == "?" else self.batch + 1
        self.lead = ["?"] if self.ragged else [self.b, "?"]
        if not self.ragged and self.maybe(0.4):
            self.static = self.rng.choice(QUERIES[1:])
            self.lead = [self.b, self.static]
        else:
            self.static = None

    def queries(self):
        """The argument of queries, which may have heads in front of tokens."""
        self.q = tensor(*self.lead, self.heads, self.size, self.q_type)
        turned = self.maybe(0.15)
        if turned:
            order = [1, 0, 2] if self.ragged else [0, 2, 1, 3]
            parts = [([*self.lead, self.heads, self.size])[i] for i in order]
            given = self.argument("q", *parts, self.q_type)
            self.lines.append(f"%qt = hk.transpose %q [{', '.join(map(str, order))}] : {given} -> {self.q}")
        else:
            self.argument("q", *self.lead, self.heads, self.size, self.q_type)
        self.count = None  # the size of the call that is the number of queries
        if self.static is None:
            self.count = "q." + str((1 if self.ragged else 2) if turned else (0 if self.ragged else 1))
            self.dims[self.count] = self.rng.choice
        if self.b == "?" and not self.ragged:
            self.dims["q.0"] = lambda _: self.batch
        self.query = "%qt" if turned else "%q"

    def keys(self, form, n):
        """Arguments of segment `n` of the keys: words, types of their operands, names and types."""
        k, v = f"k{n}", f"v{n}"
        words, types, attributes = [], [], []

        def give(word, name, *parts):
            made = self.argument(name, *parts)
            words.append(f"{word} %{name}")
            types.append(f"{word} {made}")

        if form == "ragged":
            kt = self.argument(k, "?", self.kv_heads, self.size, self.k_type)
            vt = self.argument(v, "?", self.kv_heads, self.value, self.v_type)
            self.dims[f"{k}.0"] = "keys"
            if self.many:
                give("kv_offsets", f"ko{n}", self.bounds, "i32")
                self.bind(f"ko{n}.0", self.bounds, 1)
        elif form == "dense":
            b = self.b if not self.ragged or self.many else 1
            rows = "?" if self.maybe(0.6) else self.rng.choice(KEYS)
            major = self.maybe(0.25)
            parts = [b, self.kv_heads, rows] if major else [b, rows, self.kv_heads]
            kt, vt = self.argument(k, *parts, self.size, self.k_type), None
            vmajor = major if rows == "?" else self.maybe(0.25)
            parts = [b, self.kv_heads, rows] if vmajor else [b, rows, self.kv_heads]
            vt = self.argument(v, *parts, self.value, self.v_type)
            if rows == "?":
                self.dims[f"{k}.{2 if major else 1}"] = "keys"
            attributes += ["key_layout head_major"] * major + ["value_layout head_major"] * vmajor
            self.bind(f"{k}.0", b)
            if self.maybe(0.5):
                give("kv_lens", f"n{n}", b, "i32")
                self.bind(f"n{n}.0", b)
                self.ranges.append(lambda call, n=n, rows=rows: f"--range=n{n}=0:{call['keys'] if rows == '?' else rows}")
        else:
            kt, vt = self.pages(n, give, attributes)
        return words, types, attributes, (k, kt), (v, vt)

    def pages(self, n, give, attributes):
        rng, k, v = self.rng, f"k{n}", f"v{n}"
        pages, rows = rng.choice((3, 9, 20)), rng.choice((1, 3, 8, 16, 16, 24, 32, 64))
        layout = rng.choice(("token_major", "token_major", "head_major", "key_chunks"))
        chunk = next((c for c in (16, 8, 4) if self.size % c == 0), None) if layout == "key_chunks" else None
        if layout == "key_chunks" and not chunk:
            layout = "token_major"
        parts = {"token_major": [rows, self.kv_heads, self.size], "head_major": [self.kv_heads, rows, self.size],
                 "key_chunks": [self.kv_heads, self.size // (chunk or 1), rows, chunk]}[layout]
        kt = self.argument(k, pages, *parts, self.k_type)
        attributes += [f"key_layout {layout}"] * (layout != "token_major")
        layout = rng.choice(("token_major", "head_major", "transposed", "value_chunks"))
        if layout == "value_chunks" and rows % 8:
            layout = "transposed"
        parts = {"token_major": [rows, self.kv_heads, self.value], "head_major": [self.kv_heads, rows, self.value],
                 "transposed": [self.kv_heads, self.value, rows],
                 "value_chunks": [self.kv_heads, rows // 8, self.value, 8]}[layout]
        vt = self.argument(v, pages, *parts, self.v_type)
        attributes += [f"value_layout {layout}"] * (layout != "token_major")
        columns = rng.choice((1, 4, 7))
        b = self.b if not self.ragged or self.many else 1
        low = rng.choice(("distinct:%d" % (pages - 1), "-1:%d" % (pages - 1), "0:%d" % (pages - 1), "-3:%d" % (pages - 1)))
        one_dim = self.maybe(0.25)
        lens = self.maybe(0.75)
        if lens:
            give("kv_lens", f"n{n}", b, "i32")
            self.bind(f"n{n}.0", b)
        if one_dim:
            total = rng.choice((6, 14))
            give("block_table", f"t{n}", total, "i32")
            give("table_offsets", f"to{n}", "?" if b == "?" else (b + 1), "i32")
            self.bind(f"to{n}.0", b, 1)
            self.ranges.append(lambda call: f"--range=to{n}=bounds:{total}")
            if lens:  # as many as the shortest sequence's blocks would hold is not known
                self.ranges.append(lambda call: f"--range=n{n}=0:0")
        else:
            give("block_table", f"t{n}", b, columns, "i32")
            self.bind(f"t{n}.0", b)
            if lens:
                self.ranges.append(lambda call: f"--range=n{n}={rng.choice((0, 0, columns * rows // 2))}:{columns * rows}")
        self.ranges.append(lambda call: f"--range=t{n}={low}")
        return kt, vt

    def scale(self, n, which, form, words, types):
        """One scale for all, of heads, of rows or of channels."""
        rng = self.rng
        b = self.b if not self.ragged or self.many else 1
        heads = self.heads if which == "q" else self.kv_heads
        kind = rng.choice(("all", "heads", "heads"))
        shape = [] if kind == "all" else [rng.choice((1, b)), heads]
        if shape:
            self.bind(f"{which}s{n}.0", shape[0])
        name = f"{which}s{n}"
        made = self.argument(name, *shape, "f32")
        words.append(f"{which}_scale %{name}")
        types.append(f"{which}_scale {made}")

    def region(self, n, words, types):
        """Text of the regions; their operands join `words` and `types`."""
        reads, score, weight = [], [], []
        kind = self.rng.choice(("", "", "", "slopes", "bias", "mask", "boolean"))
        heads = self.heads
        if kind == "slopes":
            reads.append((f"slopes{n}", tensor(heads, "f32")))
            score = regions.slopes(f"slopes{n}", reads[-1][1])
        elif kind == "bias":
            reads.append((f"bias{n}", tensor(heads, self.rng.choice((5, 70)), 100, self.rng.choice(("f32", "bf16")))))
            element = reads[-1][1][-5:-1].strip("x")
            score = [f"%x = hk.gather_elements %bias{n} [%h, %i, %j] : {reads[-1][1]} [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<{element}>"]
            if element == "bf16":
                score += ["%y = hk.cast %x : tensor<bf16> -> tensor<f32>", "%t = hk.add %s, %y : tensor<f32>"]
            else:
                score += ["%t = hk.add %s, %x : tensor<f32>"]
        elif kind == "mask":
            score = regions.MASK
        elif kind == "boolean":
            reads.append((f"mask{n}", tensor(70, 160, "i8")))
            score = [f"%x = hk.gather_elements %mask{n} [%i, %j] : {reads[-1][1]} [tensor<i32>, tensor<i32>] -> tensor<i8>",
                     "%zero = hk.constant 0 : tensor<i8>", "%c = hk.compare gt %x, %zero : tensor<i8> -> tensor<i1>",
                     "%never = hk.constant 0xFF800000 : tensor<f32>",
                     "%t = hk.select %c, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>"]
        if self.maybe(0.15):
            reads.append((f"seed{n}", "tensor<i64>"))
            weight = regions.dropout(f"seed{n}", "add")
        self.args += reads
        if reads:
            words.append(f"reads ({', '.join('%' + a for a, _ in reads)})")
            types.append(f"reads ({', '.join(t for _, t in reads)})")
        return regions.text(reads, score, weight)

    def attend(self, n, form, out, lse, last, sink):
        """One hk.attention; the names of its results begin with `o` and `l`."""
        words, types, attributes, (k, kt), (v, vt) = self.keys(form, n)
        if self.many:
            words.insert(0, "q_offsets %o")
            types.insert(0, f"q_offsets {tensor(self.bounds, 'i32')}")
        order = ["q_offsets", "kv_offsets", "kv_lens", "block_table", "table_offsets"]
        rank = lambda w: order.index(w.split()[0])
        words.sort(key=rank)
        types.sort(key=rank)
        if sink:
            made = self.argument(f"sink{n}", self.heads, "f32")
            words.append(f"sink %sink{n}")
            types.append(f"sink {made}")
        for which in self.scaled:
            self.scale(n, which, form, words, types)
        region = self.region(n, words, types)
        text = f"scale {self.rng.choice((1, 1, 1, 3)) * self.size ** -0.5:.4f}"
        if last:
            text += " causal" if self.maybe(0.5) else ""
            for side in ("left", "right"):
                text += f" window_{side} {self.rng.choice((0, 1, 5, 40))}" if self.maybe(0.2) else ""
        text += " softcap 2.5" if self.maybe(0.2) else ""
        made = tensor(*self.lead, self.heads, self.value, out)
        results = f"%o{n}" + (f", %l{n}" if lse else "")
        made_lse = tensor(*self.lead, self.heads, "f32")
        self.lines.append(f"{results} = hk.attention {self.query}, %{k}, %{v} {' '.join(words)} {text} {' '.join(attributes)} : {self.q}, {kt}, {vt} "
                          f"{' '.join(types)} -> {made}" + (f", {made_lse}" if lse else "") + region)
        return (f"o{n}", made), (f"l{n}", made_lse)

    def body(self):
        self.queries()
        if self.many:
            self.argument("o", self.bounds, "i32")
            if self.bounds == "?":
                self.dims["o.0"] = lambda _: self.batch + 1
        forms = ["ragged", "dense", "paged", "paged"] if self.ragged and (self.many or self.batch == 1) else ["dense", "dense", "paged"]
        if self.maybe(0.2):
            first = self.attend(0, "paged" if self.maybe(0.7) else "dense", "f32", True, False, False)
            second = self.attend(1, self.rng.choice(forms), "f32", True, True, False)
            out = ("y", tensor(*self.lead, self.heads, self.value, self.out))
            parts = [*first, *second]
            self.lines.append(f"%y = hk.attention_combine {', '.join('%' + n for n, _ in parts)} : {', '.join(t for _, t in parts)} -> {out[1]}")
            return self.follow(out, [*self.lead, self.heads, self.value])
        lse = self.maybe(0.4)
        out, sums = self.attend(0, self.rng.choice(forms), self.out, lse, True, self.maybe(0.25))
        parts = [*self.lead, self.heads, self.value]
        if self.maybe(0.15):
            order = [1, 0, 2] if self.ragged else [0, 2, 1, 3]
            parts = [([*self.lead, self.heads, self.value])[i] for i in order]
            turned = tensor(*parts, self.out)
            self.lines.append(f"%y = hk.transpose %{out[0]} [{', '.join(map(str, order))}] : {out[1]} -> {turned}")
            out = ("y", turned)
        return self.follow(out, parts) + [sums] * lse

    def follow(self, out, parts):
        """What is computed of the elements of `out`, whose sizes are `parts`, and it itself at times."""
        rng, number = self.later, 0
        names = [["q.0" if p == "?" and self.b == "?" and not self.ragged and i == 0 else self.count] if p == "?" else [] for i, p in enumerate(parts)]
        element, results, scales = self.out, [out], []
        value, made = out
        if rng.random() < 0.4:
            return results
        keeps = rng.random() < 0.2

        def step(text, sizes, kind):
            nonlocal value, made, number
            value, made, number = f"e{number}", tensor(*sizes, kind), number + 1
            self.lines.append(f"%{value} = {text} -> {made}")

        for _ in range(rng.choice((1, 1, 2, 3))):
            kind = rng.choice(("join", "join", "gate", "gate", "add", "cast", "quantise", "groups", "self"))
            if element not in ("f32", "bf16", "f16"):
                break
            if kind == "join" and len(parts) > 1:
                first = rng.randrange(len(parts) - 1)
                both = "?" if "?" in parts[first:first + 2] else parts[first] * parts[first + 1]
                fixed = [p for p in parts[first:first + 2] if p != "?"]
                joined = names[first] + names[first + 1] + (fixed if both == "?" else [])
                groups = ", ".join(f"[{', '.join(map(str, g))}]" for g in
                                   [[i] for i in range(first)] + [[first, first + 1]] + [[i] for i in range(first + 2, len(parts))])
                parts = parts[:first] + [both] + parts[first + 2:]
                names = names[:first] + [joined] + names[first + 2:]
                new = tensor(*parts, element)
                self.lines.append(f"%e{number} = tensor.collapse_shape %{value} [{groups}] : {made} into {new}")
                value, made, number = f"e{number}", new, number + 1
            elif kind in ("gate", "add"):
                given = self.argument(f"g{number}", *parts, element)
                for i, p in enumerate(parts):
                    if p == "?":
                        self.products[f"g{number}.{i}"] = names[i]
                gate = f"%g{number}"
                if kind == "gate" and rng.random() < 0.7:
                    self.lines.append(f"%s{number} = hk.{rng.choice(('sigmoid', 'silu'))} {gate} : {given} -> {given}")
                    gate = f"%s{number}"
                step(f"hk.{'mul' if kind == 'gate' else 'add'} %{value}, {gate} : {made}, {given}", parts, element)
            elif kind == "cast":
                element = rng.choice([t for t in ("f32", "bf16", "f16") if t != element])
                step(f"hk.cast %{value} : {made}", parts, element)
            elif kind == "quantise":
                given = self.argument(f"es{number}", *rng.choice(([], [1])), "f32")
                element = rng.choice(("f8E4M3FN", "f8E4M3FNUZ", "i8"))
                step(f"hk.quantize_static %{value}, %es{number} : {made}, {given}", parts, element)
            elif kind == "groups":
                # Scales of columns of one head, or of several.
                columns = rng.choice((self.value, self.value, parts[-1]))
                group = rng.choice([g for g in (8, 16, 32, 64, 128, columns) if columns % g == 0])
                element = rng.choice(("f8E4M3FN", "f8E4M3FNUZ", "i8"))
                codes, sizes = tensor(*parts, element), tensor(*parts[:-1], parts[-1] // group, "f32")
                self.lines.append(f"%e{number}, %w{number} = hk.quantize per_group %{value} group {group} : {made} -> {codes}, {sizes}")
                scales = [(f"w{number}", sizes)]
                value, made, number = f"e{number}", codes, number + 1
            else:
                step(f"hk.{rng.choice(('sigmoid', 'silu'))} %{value} : {made}", parts, element)
        if value.startswith("e") and "collapse" in self.lines[-1]:
            step(f"hk.sigmoid %{value} : {made}", parts, element)
        return ([out] if keeps and value != out[0] else []) + [(value, made)] + scales

    def calls(self):
        for _ in range(2):
            call = {"keys": self.rng.choice(KEYS), "queries": self.rng.choice(QUERIES)}
            sizes = {n: call["keys"] if d == "keys" else d(QUERIES) for n, d in self.dims.items()}
            sizes |= {n: math.prod(p if isinstance(p, int) else sizes[p] for p in parts) for n, parts in self.products.items()}
            line = f"--function={self.name} " + " ".join(f"--dim={n}={size}" for n, size in sizes.items())
            line += " " + " ".join(r(call) for r in self.ranges)
            # Sums and products of factors that overflow depend on their order; what is not a number reaches
            # rows that do not see it (docs/attention.md, Numerics).
            kinds = ["normal", "normal", "equal", "tiny"]
            if not self.scaled and self.q_type == self.k_type == self.v_type and "reads" not in self.text and "%e0" not in self.text:
                kinds.append("huge")
            yield line + f" --data={self.rng.choice(kinds)}"


parser = argparse.ArgumentParser()
parser.add_argument("--seeds", type=int, default=24)
parser.add_argument("--first", type=int, default=0)
parser.add_argument("--target", default="host")
parser.add_argument("--device", default="hip:0")
parser.add_argument("--print", action="store_true")
parser.add_argument("--split-keys", type=int, default=0)
options = parser.parse_args()
texts, calls = [], []
for seed in range(options.first, options.first + options.seeds):
    case = Case(random.Random(seed), f"seed{seed}")
    texts.append(case.text)
    calls += case.calls()
if options.print:
    print("".join(texts), *("// " + call for call in calls), sep="\n")
    sys.exit()
failures = 0
with tempfile.TemporaryDirectory() as folder:
    more = [f"--split-keys={options.split_keys}"] * (options.split_keys > 0)
    for function, said in runs.problems(folder, "".join(texts), calls, options.target, options.device, *more):
        failures += 1
        print(f"FAIL {function}:\n{said}\n{''.join(t for t in texts if f'@{function}(' in t)}")
print(f"{len(calls)} calls of {len(texts)} functions, {failures} wrong")
sys.exit(failures != 0)
