"""Attention with regions, scales, cache layouts and ragged tables against NumPy formulas."""

import numpy as np

from oracle import FORMATS, check, f32, finish, run, tensor, to

rng = np.random.default_rng(11)


def data(dtype, *shape):
    return to(dtype, rng.normal(size=shape)) if dtype != "i8" else rng.integers(-9, 10, shape).astype(float)


def philox(seed, counter):
    """The first word of Philox4x32-10 as a number of [0, 1), with Python's integers."""
    k, c, m = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF], [counter & 0xFFFFFFFF, counter >> 32 & 0xFFFFFFFF, 0, 0], 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & m, (a >> 32) ^ c[3] ^ k[1], a & m]
        k = [(k[0] + 0x9E3779B9) & m, (k[1] + 0xBB67AE85) & m]
    x = c[0] - (1 << 32) if c[0] >> 31 else c[0]
    return f32(f32(float(-x - 1 if x < 0 else x)) * float.fromhex("0x1.fffffep-32"))


def attend(q, k, v, scale, score=None, weight=None, seen=None, normalise=True):
    """q [S, H, D], k [L, Hk, D], v [L, Hk, E] of one sequence; score(s, h, i, j) and weight(h, i, j)
    on arrays; seen[i, j]."""
    heads, group = q.shape[1], q.shape[1] // k.shape[1]
    o, lse = np.zeros(q.shape[:2] + v.shape[-1:]), np.full(q.shape[:2], -np.inf)
    i, j = np.arange(len(q))[:, None], np.arange(len(k))[None]
    for h in range(heads):
        s = q[:, h] @ k[:, h // group].T * scale
        if score:
            s = score(s, h, i, j)
        factor = weight(h, i, j) if weight else 1.0
        visible = np.broadcast_to(np.ones(s.shape, bool) if seen is None else seen, s.shape)
        if not normalise:
            o[:, h] = (np.where(visible, s, 0) * factor) @ v[:, h // group]
            continue
        s = np.where(visible, s, -np.inf)
        some = np.isfinite(s).any(1)
        e = np.exp(s[some] - s[some].max(1, keepdims=True))
        lse[some, h] = s[some].max(1) + np.log(e.sum(1))
        o[some, h] = (e / e.sum(1, keepdims=True) * (factor if np.ndim(factor) == 0 else factor[some])) @ v[:, h // group]
    return o, lse


SCORE = "%s: tensor<f32>, "
POSITION = ", ".join(f"%{n}: tensor<i32>" for n in ["b", "h", "i", "j", "nq", "nk"])


def region(name, body, result, reads=""):
    return f"{name} {{\n^bb0({SCORE if name == 'score' else ''}{POSITION}{reads}):\n{body}\n  hk.yield {result} : tensor<f32>\n}}"


def test(name, q, k, v, expected, kinds, regions="", extra=(), reads=(), attrs="scale 0.25", result="f32", lse=False):
    operands = [(q, kinds[0]), (k, kinds[1]), (v, kinds[2])]
    types = ", ".join(tensor(a, t) for a, t in operands)
    words = ""
    for keyword, array, t in extra:
        words += f" {keyword} %{len(operands)}"
        types += f" {keyword} {tensor(array, t)}"
        operands.append((array, t))
    if reads:
        words += " reads (" + ", ".join(f"%{len(operands) + n}" for n in range(len(reads))) + ")"
        types += " reads (" + ", ".join(tensor(a, t) for a, t in reads) + ")"
        operands += reads
    out = [(expected[0].shape, result)] + ([(expected[1].shape, "f32")] if lse else [])
    case = run(f"hk.attention %0, %1, %2{words} {attrs} : {types} -> OUTS {regions}", operands, out)
    check(name, case, [to(result, expected[0])] + ([f32(expected[1])] if lse else []))
    return case



q, k, v = data("bf16", 2, 7, 4, 16), data("bf16", 2, 9, 2, 16), data("bf16", 2, 9, 2, 8)


def both(**options):
    parts = [attend(q[b], k[b], v[b], 0.25, **options) for b in range(2)]
    return np.stack([o for o, _ in parts]), np.stack([l for _, l in parts])


# ALiBi: -slope * |i + Sk - Sq - j|, slopes of a sequence and head.
slopes = f32(rng.uniform(0.1, 1, (2, 4)))
parts = [attend(q[b], k[b], v[b], 0.25, lambda s, h, i, j: s - slopes[b, h] * abs(i + 2 - j)) for b in range(2)]
ALIBI = region("score", """  %own = hk.add %i, %nk : tensor<i32>
  %own1 = hk.sub %own, %nq : tensor<i32>
  %d = hk.sub %own1, %j : tensor<i32>
  %f = hk.cast %d : tensor<i32> -> tensor<f32>
  %a = hk.abs %f : tensor<f32>
  %m = hk.gather_elements %t [%b, %h] : tensor<2x4xf32> [tensor<i32>, tensor<i32>] -> tensor<f32>
  %p = hk.mul %a, %m : tensor<f32>
  %r = hk.sub %s, %p : tensor<f32>""", "%r", ", %t: tensor<2x4xf32>")
case = test("alibi", q, k, v, tuple(np.stack(x) for x in zip(*parts)), ["bf16"] * 3, ALIBI, reads=[(slopes, "f32")], lse=True)
assert case.bounds[0].max() < 0.05, case.bounds[0].max()

# A bias tensor with a dim that repeats, under a causal mask.
bias = to("bf16", rng.normal(size=(1, 7, 9)))
seen = np.arange(9)[None] <= np.arange(7)[:, None] + 2
BIAS = region("score", """  %zero = hk.constant 0 : tensor<i32>
  %x = hk.gather_elements %t [%zero, %i, %j] : tensor<1x7x9xbf16> [tensor<i32>, tensor<i32>, tensor<i32>] -> tensor<bf16>
  %f = hk.cast %x : tensor<bf16> -> tensor<f32>
  %r = hk.add %s, %f : tensor<f32>""", "%r", ", %t: tensor<1x7x9xbf16>")
test("bias", q, k, v, both(score=lambda s, h, i, j: s + bias[0], seen=seen), ["bf16"] * 3, BIAS,
     reads=[(bias, "bf16")], attrs="scale 0.25 causal", lse=True)

# A boolean mask; some query sees nothing, some value at a masked key is infinite.
mask = rng.integers(0, 2, (7, 9))
mask[3] = 0
MASK = region("score", """  %x = hk.gather_elements %t [%i, %j] : tensor<7x9xi1> [tensor<i32>, tensor<i32>] -> tensor<i1>
  %never = hk.constant 0xFF800000 : tensor<f32>
  %r = hk.select %x, %s, %never : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>""", "%r", ", %t: tensor<7x9xi1>")
test("mask", q, k, v, both(seen=mask != 0), ["bf16"] * 3, MASK, reads=[(mask, "i1")], lse=True)
hot = v.copy()
hot[:, 4, :, 2] = np.inf
mask[:, 4] = 0
case = test("mask of inf", q, k, hot, both(seen=mask != 0), ["bf16"] * 3, MASK, reads=[(mask, "i1")])
assert np.isinf(np.delete(case.bounds[0], 3, 1)[..., 2]).all() and not case.bounds[0][:, 3].any() and not np.isinf(case.bounds[0][..., 3]).any()

# Dropout by position; the sum is taken before it.
seed, keep = 1234567890123, 0.6
uniform = np.array([[[[philox(seed, ((b * 4 + h) * 7 + i) * 9 + j) for j in range(9)] for i in range(7)] for h in range(4)]
                    for b in range(2)])
DROPOUT = region("weight", """  %c4 = hk.constant 4 : tensor<i32>
  %bh = hk.mul %b, %c4 : tensor<i32>
  %bh1 = hk.add %bh, %h : tensor<i32>
  %bhi = hk.mul %bh1, %nq : tensor<i32>
  %bhi1 = hk.add %bhi, %i : tensor<i32>
  %at = hk.mul %bhi1, %nk : tensor<i32>
  %at1 = hk.add %at, %j : tensor<i32>
  %wide = hk.cast %at1 : tensor<i32> -> tensor<i64>
  %u = hk.philox %t, %wide : tensor<i64>, tensor<i64> -> tensor<f32>
  %p = hk.constant 0.4 : tensor<f32>
  %kept = hk.compare gt %u, %p : tensor<f32> -> tensor<i1>
  %up = hk.constant 1.6666666 : tensor<f32>
  %zero = hk.constant 0.0 : tensor<f32>
  %r = hk.select %kept, %up, %zero : tensor<i1>, tensor<f32>, tensor<f32> -> tensor<f32>""", "%r", ", %t: tensor<i64>")
parts = [attend(q[b], k[b], v[b], 0.25, weight=lambda h, i, j: (uniform[b, h] > f32(0.4)) * f32(1.6666666)) for b in range(2)]
test("dropout", q, k, v, tuple(np.stack(x) for x in zip(*parts)), ["bf16"] * 3, DROPOUT,
     reads=[(np.array(seed, np.int64), "i64")], lse=True)
assert 0.5 < (uniform > 0.4).mean() < 0.7

# No normaliser: weights are silu(s) / 9 where a window is seen.
SILU = region("score", """  %y = hk.silu %s : tensor<f32>
  %n = hk.constant 0.11111111 : tensor<f32>
  %r = hk.mul %y, %n : tensor<f32>""", "%r")
window = (np.arange(9)[None] <= np.arange(7)[:, None] + 2) & (np.arange(9)[None] >= np.arange(7)[:, None] - 1)
expected = both(score=lambda s, h, i, j: s / (1 + np.exp(-s)) * f32(0.11111111), seen=window, normalise=False)
case = test("silu", q, k, v, expected, ["bf16"] * 3, SILU, attrs="scale 0.25 causal window_left 3 normalizer none")
assert case.bounds[0].max() < 0.05, case.bounds[0].max()

# Scales in every form, of every type of 8 bits, with probabilities of their own type.
for qt, kt, vt, pt in [("i8", "i8", "f8E4M3FN", "f8E4M3FN"), ("f8E4M3FNUZ", "f8E4M3FNUZ", "f8E4M3FNUZ", "f8E4M3FNUZ"),
                       ("bf16", "f8E4M3FN", "f8E5M2", None), ("f8E5M2", "f8E5M2", "bf16", "bf16"), ("f32", "i8", "i8", "f32")]:
    eq, ek, ev = data(qt, 2, 7, 4, 16), data(kt, 2, 9, 2, 16), data(vt, 2, 9, 2, 8)
    for form in ["one", "head", "row", "block", "channel"]:
        def make(rows, heads, width, per_channel):
            shape = {"one": (), "head": (2, heads), "row": (2, rows, heads, 1), "block": (2, -(-rows // 4), heads, 1),
                     "channel": (1, 1, heads, width) if per_channel else (1, heads)}[form]
            s = f32(rng.uniform(0.02, 0.1, shape))
            whole = {"one": lambda: s, "head": lambda: s[:, None, :, None], "row": lambda: s,
                     "block": lambda: s.repeat(4, 1)[:, :rows], "channel": lambda: s if per_channel else s[:, None, :, None]}[form]()
            return s, whole
        (qs, wq), (ks, wk), (vs, wv) = make(7, 4, 16, False), make(9, 2, 16, False), make(9, 2, 8, True)
        if form == "block":
            vs, wv = f32(np.array(0.05)), f32(np.array(0.05))
        parts = [attend((eq * wq)[b], (ek * wk)[b], (ev * wv)[b], 3.0) for b in range(2)]
        attrs = "scale 3.0" + (f" p_type {pt}" if pt else "") + (" q_block 4 k_block 4" if form == "block" else "")
        case = test(f"scales {qt} {kt} {vt} {form}", eq, ek, ev, tuple(np.stack(x) for x in zip(*parts)), [qt, kt, vt],
                    extra=[("q_scale", qs, "f32"), ("k_scale", ks, "f32"), ("v_scale", vs, "f32")], attrs=attrs, lse=True)
        # The bound is that of the rounding of probabilities, 8 standard deviations of the mean of values.
        step = 2.0 ** -(1 + FORMATS[pt or "bf16"][0])
        limit = 8 * step * np.abs(ev * wv).max() + 1e-5
        assert case.bounds[0].max() < limit, (qt, form, case.bounds[0].max(), limit)

# Cache layouts, pages in any order, entries below 0, ragged tables, page size 1.
lens, table = np.array([7, 4, 0]), np.array([[5, -1], [0, 3], [-1, -1]])
rq, offsets = data("f16", 5, 4, 16), np.array([0, 2, 4, 5])
pages_k, pages_v = data("f16", 6, 4, 2, 16), data("f16", 6, 4, 2, 8)


def paged(rows_of, **options):
    """rows_of(b): rows of the cache (-1: none), in order."""
    o, lse = np.zeros((5, 4, 8)), np.full((5, 4), -np.inf)
    for b in range(3):
        rows = np.array(rows_of(b), int)
        at = slice(offsets[b], offsets[b + 1])
        seen = (rows >= 0)[None] & (np.arange(len(rows))[None] <= np.arange(offsets[b + 1] - offsets[b])[:, None]
                                    + len(rows) - (offsets[b + 1] - offsets[b]))
        if len(rows):
            o[at], lse[at] = attend(rq[at], pages_k.reshape(24, 2, 16)[rows], pages_v.reshape(24, 2, 8)[rows], 0.25, seen=seen)
    return o, lse


expected = paged(lambda b: [-1 if table[b, j // 4] < 0 else table[b, j // 4] * 4 + j % 4 for j in range(lens[b])])
chunks = np.ascontiguousarray(pages_k.reshape(6, 4, 2, 2, 8).transpose(0, 2, 3, 1, 4))
for name, a, b, attrs in [
        ("token_major", pages_k, pages_v, ""),
        ("head_major", pages_k.transpose(0, 2, 1, 3), pages_v.transpose(0, 2, 1, 3), " key_layout head_major value_layout head_major"),
        ("chunks", chunks, pages_v.transpose(0, 2, 3, 1), " key_layout key_chunks value_layout transposed"),
        ("value chunks", chunks, pages_v.reshape(6, 2, 2, 2, 8).transpose(0, 3, 1, 4, 2),
         " key_layout key_chunks value_layout value_chunks")]:
    test("layout " + name, rq, a, b, expected, ["f16"] * 3, attrs="scale 0.25 causal" + attrs, lse=True, result="f16",
         extra=[("q_offsets", offsets, "i32"), ("kv_lens", lens, "i32"), ("block_table", table, "i32")])
bounds, blocks = np.array([0, 3, 4, 4]), np.array([2, -1, 5, 1])
expected = paged(lambda b: [-1 if x < 0 else x * 4 + r for x in blocks[bounds[b]:bounds[b + 1]] for r in range(4)])
test("ragged table", rq, pages_k, pages_v, expected, ["f16"] * 3, attrs="scale 0.25 causal", lse=True, result="f16",
     extra=[("q_offsets", offsets, "i32"), ("block_table", blocks, "i32"), ("table_offsets", bounds, "i32")])
slots = np.array([20, 3, -1, 9, 23, 0, 1])
bounds = np.array([0, 3, 7, 7])
expected = paged(lambda b: slots[bounds[b]:bounds[b + 1]])
test("page size 1", rq, pages_k.reshape(24, 1, 2, 16), pages_v.reshape(24, 1, 2, 8), expected, ["f16"] * 3,
     attrs="scale 0.25 causal", lse=True, result="f16",
     extra=[("q_offsets", offsets, "i32"), ("block_table", slots, "i32"), ("table_offsets", bounds, "i32")])

# The two operators that regions are made of, by themselves.
counters = np.concatenate([np.arange(8), 2**32 + np.arange(8), [2**52]]).astype(np.int64)
case = run("hk.philox %0, %1 : INS -> OUTS", [(np.array(seed, np.int64), "i64"), (counters, "i64")], [((17,), "f32")])
check("philox", case, [np.array([philox(seed, int(c)) for c in counters])], exact=True)
# numpy.random.Philox is the 64-bit sibling; this is the known answer of the 32-bit one for a zero key and counter.
check("philox of zero", run("hk.philox %0, %1 : INS -> OUTS", [(np.array(0, np.int64), "i64")] * 2, [((), "f32")]),
      [f32(f32(float(0x6627E8D5)) * float.fromhex("0x1.fffffep-32"))], exact=True)
table = data("f32", 3, 4)
x, y = np.array([[0, 2, -1], [2, 3, 1]]), np.array([[3], [1]])
found = np.where((x >= 0) & (x < 3), table[np.clip(x, 0, 2), y.repeat(3, 1)], 0)
check("gather", run("hk.gather_elements %0 [%1, %2] : tensor<3x4xf32> [tensor<2x3xi32>, tensor<2x1xi64>] -> OUTS",
                    [(table, "f32"), (x, "i32"), (y, "i64")], [((2, 3), "f32")]), [found], exact=True)
finish()
