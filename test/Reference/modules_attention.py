"""Whole graphs of the attention modules against softmax(q k^T scale) v: written from what a
module is for, not from its graph."""

import numpy as np

from attention_formula import attend, band, dropped, joined, stacked
from formulas import angles, compare, f32, finish, normal, rng, rotated, silu, to

i32 = np.int32


def slopes(*shape):
    return f32(rng.uniform(0.05, 0.5, shape))


def distance(n, length):
    """From a query's own key to a key."""
    return np.arange(length)[None] - np.arange(n)[:, None] - (length - n)


def dense(module, function, kinds, q, k, v, scale, extra=(), lse=False, keys=lambda x: x, sequence=lambda b: {}, **mask):
    """q [B, S, H, D]; k, v [B, L, Hk, D]; keys(x): k and v as the graph has them."""
    q, k, v = (normal(kinds, *shape) for shape in (q, k, v))
    parts = [attend(q[b], k[b], v[b], scale, seen=band(q.shape[1], k.shape[1], **mask), **sequence(b)) for b in range(len(q))]
    o, l = stacked(parts)
    compare(module, function, [q, keys(k), keys(v), *extra], [to(kinds, o), f32(l)] if lse else to(kinds, o))


Q_BOUNDS, K_BOUNDS = np.array([0, 17, 17, 48], i32), np.array([0, 30, 41, 75], i32)


def ragged(module, function, kinds, q, k, v, scale, extra=(), lse=False, sequence=lambda b, n, length: {}, **mask):
    q, k, v = (normal(kinds, *shape) for shape in (q, k, v))
    parts = []
    for b in range(3):
        a, c = slice(*Q_BOUNDS[b : b + 2]), slice(*K_BOUNDS[b : b + 2])
        n, length = len(q[a]), len(k[c])
        parts.append(attend(q[a], k[c], v[c], scale, seen=band(n, length, **mask), **sequence(b, n, length)))
    o, l = joined(parts, len(q))
    compare(module, function, [q, k, v, Q_BOUNDS, K_BOUNDS, *extra], [to(kinds, o), f32(l)] if lse else to(kinds, o))


# mha.
dense("mha", "one_key", "bf16", (2, 1, 8, 64), (2, 1, 8, 64), (2, 1, 8, 64), 0.125, lse=True)
dense("mha", "full_d128", "bf16", (1, 64, 8, 128), (1, 128, 8, 128), (1, 128, 8, 128), f32(0.088))
dense("mha", "causal_empty_rows", "f16", (2, 32, 8, 64), (2, 16, 8, 64), (2, 16, 8, 64), 0.125, lse=True, causal=True)
dense("mha", "causal_grouped_48_8", "bf16", (1, 33, 48, 64), (1, 40, 8, 64), (1, 40, 8, 64), 0.125, causal=True)
dense("mha", "window_left", "bf16", (1, 70, 2, 64), (1, 90, 2, 64), (1, 90, 2, 64), 0.125, left=20)
sink = normal("f32", 4)
dense("mha", "sink_causal", "bf16", (1, 40, 4, 64), (1, 60, 2, 64), (1, 60, 2, 64), 0.125, [sink], True,
      sequence=lambda b: {"sink": sink}, causal=True)
ragged("mha", "varlen_causal", "bf16", (50, 4, 32), (75, 2, 32), (75, 2, 32), f32(0.2), lse=True, causal=True)
ragged("mha", "varlen_d8", "f32", (50, 2, 8), (75, 1, 8), (75, 1, 8), f32(0.3))
dense("mha", "rope_part_192_128", "bf16", (1, 20, 4, 192), (1, 33, 1, 192), (1, 33, 1, 128), f32(0.07), causal=True)
ragged("mha", "rope_part_96_64_varlen", "f16", (50, 2, 96), (75, 2, 96), (75, 2, 64), f32(0.1), causal=True)
far, m = abs(distance(20, 37)), slopes(4)
dense("mha", "alibi_heads", "bf16", (2, 20, 4, 64), (2, 37, 2, 64), (2, 37, 2, 64), 0.125, [m], True,
      sequence=lambda b: {"score": lambda s, h: s - m[h] * far}, causal=True)
mb = slopes(2, 4)
dense("mha", "alibi_sequences", "bf16", (2, 20, 4, 64), (2, 37, 2, 64), (2, 37, 2, 64), 0.125, [mb],
      sequence=lambda b: {"score": lambda s, h: s - mb[b, h] * far})
seed = np.array(8765432109876, np.int64)
dense("mha", "dropout", "bf16", (2, 20, 4, 64), (2, 37, 2, 64), (2, 37, 2, 64), 0.125, [seed], True,
      sequence=lambda b: {"factor": dropped(int(seed), 0.2, b, 4, 20, 37)}, causal=True)

# prefill_attn.
M = "prefill_attn"
dense(M, "causal", "bf16", (2, 33, 4, 64), (2, 47, 2, 64), (2, 47, 2, 64), 0.125, causal=True)
dense(M, "window_softcap_lse", "bf16", (1, 70, 2, 128), (1, 70, 2, 128), (1, 70, 2, 128), f32(0.088), lse=True,
      sequence=lambda b: {"softcap": 30.0}, causal=True, left=16)
dense(M, "not_causal_f16", "f16", (1, 5, 3, 80), (1, 129, 3, 80), (1, 129, 3, 80), f32(0.1))
q, k, v, bounds = normal("f16", 40, 4, 64), normal("f16", 40, 4, 64), normal("f16", 40, 4, 64), np.array([0, 22, 22, 37], i32)
parts = [attend(q[a:c], k[a:c], v[a:c], 0.125, band(c - a, c - a, True)) for a, c in zip(bounds, bounds[1:])]
compare(M, "ragged_f16", [q, k, v, bounds], to("f16", joined(parts, 40)[0]))

# flash_attn_fwd_prefill.
M = "flash_attn_fwd_prefill"
dense(M, "bshd_causal", "bf16", (2, 33, 4, 64), (2, 47, 2, 64), (2, 47, 2, 64), 0.125, lse=True, causal=True)
dense(M, "bhsd", "f16", (2, 33, 4, 64), (2, 47, 2, 64), (2, 47, 2, 64), 0.125, keys=lambda x: x.swapaxes(1, 2))
ragged(M, "thd", "bf16", (50, 4, 64), (75, 2, 64), (75, 2, 64), 0.125, lse=True)
dense(M, "windows", "bf16", (1, 50, 2, 64), (1, 70, 2, 64), (1, 70, 2, 64), 0.125, lse=True, left=3, right=5)
dense(M, "window_right", "f16", (1, 50, 2, 64), (1, 70, 2, 64), (1, 70, 2, 64), 0.125, right=7)
ragged(M, "alibi", "bf16", (50, 4, 64), (75, 2, 64), (75, 2, 64), 0.125, [m], True,
       sequence=lambda b, n, length: {"score": lambda s, h: s - m[h] * abs(distance(n, length))}, causal=True)
bias = normal("bf16", 1, 4, 20, 37)
dense(M, "bias_of_heads", "bf16", (2, 20, 4, 64), (2, 37, 2, 64), (2, 37, 2, 64), 0.125, [bias], True,
      sequence=lambda b: {"score": lambda s, h: s + bias[0, h]}, causal=True)
each = normal("bf16", 2, 1, 20, 37)
dense(M, "bias_of_sequences", "bf16", (2, 20, 4, 64), (2, 37, 2, 64), (2, 37, 2, 64), 0.125, [each], True,
      sequence=lambda b: {"score": lambda s, h: s + each[b, 0]})
mask = rng.integers(0, 2, (20, 37))
mask[5] = 0
dense(M, "boolean_mask", "f16", (2, 20, 4, 64), (2, 37, 2, 64), (2, 37, 2, 64), 0.125, [mask], True,
      sequence=lambda b: {"score": lambda s, h: np.where(mask, s, -np.inf)})
dense(M, "dropout_full", "f16", (1, 20, 4, 64), (1, 37, 4, 64), (1, 37, 4, 64), 0.125, [seed],
      sequence=lambda b: {"factor": dropped(int(seed), 0.5, b, 4, 20, 37)})
dense(M, "keys_wider", "bf16", (1, 20, 4, 80), (1, 37, 2, 80), (1, 37, 2, 40), f32(0.1), causal=True)


def cached(module, function, kinds, heads, own, size, blocks, rows, lens, bounds, entries, scale, extra=(), layout=None,
           lse=False, missing=True, sequence=lambda b, n, length: {}, dense_queries=False, after=None, **mask):
    """Queries of ragged sequences over the rows of a cache [blocks, rows, own, size]; `after`: what the graph makes of
    the result."""
    q = normal(kinds, bounds[-1] + (0 if dense_queries else 3), heads, size)
    k, v = (normal(kinds, blocks, rows, own, size) for _ in "kv")
    table = np.stack([rng.permutation(blocks)[:entries] for _ in lens]).astype(i32)
    if missing:
        table[0, 0] = -1
    parts = []
    for b, length in enumerate(lens):
        n, j = bounds[b + 1] - bounds[b], np.arange(length)
        block = table[b, j // rows]
        at = np.maximum(block, 0) * rows + j % rows
        parts.append(attend(q[bounds[b] : bounds[b + 1]], k.reshape(-1, own, size)[at], v.reshape(-1, own, size)[at], scale,
                            seen=band(n, length, **mask) & (block >= 0), **sequence(b, n, length)))
    o, l = joined(parts, len(q))
    to_keys, to_values = layout or (lambda x: x, lambda x: x)
    inputs = [q.reshape(len(lens), -1, heads, size) if dense_queries else q, to_keys(k), to_values(v)]
    if not dense_queries:
        inputs.append(np.array(bounds, i32))
    o, l = (x.reshape(len(lens), -1, *x.shape[1:]) if dense_queries else x for x in (o, l))
    made = after(o) if after else to(kinds, o)
    compare(module, function, inputs + [np.array(lens, i32), table, *extra], [made, f32(l)] if lse else made)


def chunks(x):
    """Keys [blocks, rows, heads, size] with 8 elements of each row side by side."""
    blocks, rows, heads, size = x.shape
    return x.reshape(blocks, rows, heads, size // 8, 8).transpose(0, 2, 3, 1, 4)


def value_chunks(x):
    """Values with 8 rows of each element side by side."""
    blocks, rows, heads, size = x.shape
    return x.reshape(blocks, rows // 8, 8, heads, size).transpose(0, 3, 1, 4, 2)


def heads_first(x):
    return x.swapaxes(1, 2)


# unified_attn: some sequences have more new tokens than keys, one has none.
M, BOUNDS, LENS = "unified_attn", [0, 1, 13, 13, 37], [15, 60, 7, 20]
cached(M, "d64", "bf16", 8, 2, 64, 24, 16, LENS, BOUNDS, 5, 0.125, causal=True)
cached(M, "d128_window_softcap", "bf16", 4, 1, 128, 24, 16, LENS, BOUNDS, 5, f32(0.088), causal=True, left=20,
       sequence=lambda b, n, length: {"softcap": 50.0})
sinks = normal("f32", 8)
cached(M, "sinks_f16", "f16", 8, 8, 64, 24, 16, LENS, BOUNDS, 5, 0.125, [sinks], causal=True, left=31,
       sequence=lambda b, n, length: {"sink": sinks})
m8 = slopes(8)
cached(M, "alibi", "bf16", 8, 2, 64, 24, 16, LENS, BOUNDS, 5, 0.125, [m8], causal=True,
       sequence=lambda b, n, length: {"score": lambda s, h: s + m8[h] * distance(n, length)})
tree = normal("f32", 40, 40)


def tree_bias(b, n, length):
    """Added for keys among the new tokens, from the row of the query."""
    added = np.zeros((n, length))
    for i in range(n):
        for j in range(max(length - n, 0), length):
            added[i, j] = tree[BOUNDS[b] + i, j - (length - n)]
    return {"score": lambda s, h: s + added}


cached(M, "qq_bias", "bf16", 8, 2, 64, 24, 16, LENS, BOUNDS, 5, 0.125, [tree], causal=True, sequence=tree_bias)
cached(M, "chunked_caches", "bf16", 8, 2, 64, 24, 16, LENS, BOUNDS, 5, 0.125, layout=(chunks, value_chunks), causal=True)
cached(M, "decode", "bf16", 64, 8, 64, 24, 16, [130, 0, 33], [0, 1, 2, 3], 9, 0.125, causal=True, dense_queries=True)
gate = normal("bf16", 40, 4, 1)
cached(M, "gated", "bf16", 4, 2, 32, 24, 16, LENS, BOUNDS, 5, 0.125, [gate], causal=True,
       after=lambda o: to("f16", to("f16", o) * to("bf16", 1 / (1 + np.exp(-np.float64(gate))))))

# pa_decode.
M = "pa_decode"
for function, kinds, batch, heads, own, size, blocks, rows, entries in [
        ("d128_pages_of_16", "bf16", 3, 8, 1, 128, 24, 16, 6), ("d64_pages_of_1", "f16", 2, 4, 4, 64, 80, 1, 33),
        ("d1_pages_of_4", "f32", 3, 4, 4, 1, 24, 4, 9), ("d64_pages_of_4", "bf16", 4, 8, 1, 64, 24, 4, 9)]:
    cached(M, function, kinds, heads, own, size, blocks, rows, [33, 1, 17, 0][:batch], list(range(batch + 1)), entries, 0.125,
           layout=(heads_first, heads_first), dense_queries=True)
cached(M, "alibi", "bf16", 8, 2, 64, 24, 16, [33, 70, 5], [0, 1, 2, 3], 6, 0.125, [m8], (heads_first, heads_first),
       sequence=lambda b, n, length: {"score": lambda s, h: s + m8[h] * distance(n, length)}, dense_queries=True)
cached(M, "key_chunks", "bf16", 8, 2, 64, 24, 16, [33, 70, 5], [0, 1, 2, 3], 6, 0.125,
       layout=(chunks, lambda x: x.transpose(0, 2, 3, 1)), dense_queries=True)
q, k, v = normal("bf16", 3, 4, 64), normal("bf16", 60, 1, 2, 64), normal("bf16", 60, 1, 2, 64)
slots, q_bounds, bounds = rng.permutation(60)[:50].astype(i32), np.arange(4, dtype=i32), np.array([0, 20, 21, 50], i32)
slots[3] = -1
parts = []
for b in range(3):
    at = slots[bounds[b] : bounds[b + 1]]
    parts.append(attend(q[b : b + 1], k[:, 0][at], v[:, 0][at], 0.125, seen=(at >= 0)[None]))
compare(M, "page_lists", [q, k, v, q_bounds, slots, bounds], to("bf16", joined(parts, 3)[0]))

# flash_attn_fwd_decode.
M = "flash_attn_fwd_decode"


def steps(function, kinds, queries, heads, own, size, capacity, lens, scale, extra=(), sequence=lambda b, n, length: {}, **mask):
    q, k, v = normal(kinds, 2, queries, heads, size), normal(kinds, 2, capacity, own, size), normal(kinds, 2, capacity, own, size)
    o, l = stacked([attend(q[b], k[b, :length], v[b, :length], scale, seen=band(queries, length, **mask),
                           **sequence(b, queries, length)) for b, length in enumerate(lens)])
    compare(M, function, [q, k, v, np.array(lens, i32), *extra], [to(kinds, o), f32(l)])


steps("contiguous", "bf16", 1, 8, 2, 128, 200, [200, 0], f32(0.088), causal=True)
steps("window", "f16", 3, 4, 4, 64, 200, [131, 2], 0.125, causal=True, left=40)
steps("alibi", "bf16", 3, 4, 2, 64, 90, [90, 7], 0.125, [mb], causal=True,
      sequence=lambda b, n, length: {"score": lambda s, h: s - mb[b, h] * abs(distance(n, length))})
cached(M, "paged", "bf16", 8, 2, 64, 24, 16, [90, 3], [0, 2, 4], 6, 0.125, lse=True, dense_queries=True, causal=True)
q, new_k, new_v = normal("bf16", 2, 1, 4, 64), normal("bf16", 2, 1, 2, 64), normal("bf16", 2, 1, 2, 64)
k, v, cos, sin = normal("bf16", 2, 96, 2, 64), normal("bf16", 2, 96, 2, 64), normal("f32", 96, 32), normal("f32", 96, 32)
at, lens = np.array([41, 7]), np.array([42, 8], i32)
turned = [to("bf16", rotated(x[:, 0], angles(cos, at), angles(sin, at))) for x in (q, new_k)]
nk, nv = k.copy(), v.copy()
for b in range(2):
    nk[b, at[b]], nv[b, at[b]] = turned[1][b], new_v[b, 0]
o = np.stack([attend(turned[0][b][None], nk[b, : lens[b]], nv[b, : lens[b]], 0.125)[0] for b in range(2)])
compare(M, "appended_with_rotary", [q, new_k, new_v, k, v, cos, sin, at.astype(i32), (at + [0, 96]).astype(i32), lens],
        [to("bf16", o), nk, nv])

# hstu_attn: weights silu(s) / 64 by the ids of positions.
HISTORY = np.array([0, 40, 40, 85], i32)


def visible(n, targets, contextual, window):
    ids, largest = np.arange(n), n
    if contextual:
        ids, largest = np.maximum(ids - contextual + 1, 0), n - contextual + 1
    if targets is not None:
        largest = largest - targets
        ids = np.minimum(ids, largest)
    d = ids[:, None] - ids[None]
    seen = d > 0
    if window:
        seen &= d <= window
    seen |= np.eye(n, dtype=bool)
    if contextual:
        seen |= (ids == 0)[:, None] & (ids < largest)[None]
    return seen


def gradients(q, k, v, do, scale, seen, weight, slope, cap=None, factor=1.0):
    """One sequence: dq, dk, dv of sum(do * o), o = sum of weight(s) factor v over seen keys."""
    group = q.shape[1] // k.shape[1]
    s, capped = np.einsum("ihd,jhd->hij", q, np.repeat(k, group, 1)) * scale, 1.0
    if cap:
        s, capped = cap * np.tanh(s / cap), 1 - np.tanh(s / cap) ** 2
    p = np.where(seen, weight(s), 0) * factor
    ds = np.where(seen, slope(s), 0) * factor * np.einsum("ihd,jhd->hij", do, np.repeat(v, group, 1)) * capped * scale

    def shared(x):  # [L, H, ...] -> [L, Hk, ...]
        return x.reshape(len(k), k.shape[1], group, x.shape[-1]).sum(2)

    return (np.einsum("hij,jhd->ihd", ds, np.repeat(k, group, 1)), shared(np.einsum("hij,ihd->jhd", ds, q)),
            shared(np.einsum("hij,ihd->jhd", p, do)))


def silu_slope(s):
    sigma = 1 / (1 + np.exp(-s))
    return sigma * (1 + s * (1 - sigma))


# The formula is the gradient of sum(do * o).
factor = rng.integers(0, 2, (4, 6, 7)) * 1.5
options = dict(score=lambda s, h: np.where(band(6, 7, causal=True), silu(s), 0) * factor[h], softcap=1.5, normalise=False)
inputs, do = [rng.normal(size=n) for n in ((6, 4, 5), (7, 2, 5), (7, 2, 3))], rng.normal(size=(6, 4, 3))
slopes = gradients(*inputs, do, 0.7, band(6, 7, causal=True), silu, silu_slope, 1.5, factor)
for x, slope in zip(inputs, slopes):
    for at in np.ndindex(x.shape):
        ends, here = [], x[at]
        for step in (1e-6, -1e-6):
            x[at] = here + step
            ends.append((attend(*inputs, 0.7, **options)[0] * do).sum())
        x[at] = here
        assert abs((ends[0] - ends[1]) / 2e-6 - slope[at]) < 1e-7, "the formula is not the gradient"

for function, kinds, size, width, targets, contextual, window in [
        ("plain", "bf16", 64, 64, False, 0, 0), ("hidden", "bf16", 64, 64, False, 0, 0),
        ("targets", "bf16", 128, 128, True, 0, 0), ("window", "f16", 32, 64, False, 0, 16),
        ("contextual", "bf16", 64, 64, False, 5, 0), ("all", "bf16", 64, 32, True, 4, 12)]:
    q, k, v = normal(kinds, 90, 2, size), normal(kinds, 90, 2, size), normal(kinds, 90, 2, width)
    do, results = normal(kinds, 90, 2, width), [np.zeros(x.shape) for x in (q, k, v)]
    count, parts = np.array([3, 0, 6], i32), []
    for b in range(3):
        part = slice(*HISTORY[b : b + 2])
        seen = visible(len(q[part]), count[b] if targets else None, contextual, window)
        parts.append(attend(q[part], k[part], v[part], f32(0.3), normalise=False,
                            score=lambda s, h: np.where(seen, silu(s) / 64, 0)))
        for made, x in zip(results, gradients(q[part], k[part], v[part], do[part], f32(0.3), seen, lambda s: silu(s) / 64,
                                              lambda s: silu_slope(s) / 64)):
            made[part] = x
    more = [HISTORY] + ([count] if targets else [])
    compare("hstu_attn", function, [q, k, v, *more], to(kinds, joined(parts, 90)[0]))
    compare("hstu_attn", f"{function}_bwd", [q, k, v, do, *more], [to(kinds, x) for x in results])
q, k, v, do = (normal("f32", *n) for n in ((2, 33, 4, 64), (2, 47, 2, 64), (2, 47, 2, 32), (2, 33, 4, 32)))
seed = 0x123456789ABC
parts = [gradients(q[b], k[b], v[b], do[b], 0.125, band(33, 47, causal=True, left=30), silu, silu_slope, 2.0,
                   dropped(seed, 0.2, b, 4, 33, 47)) for b in range(2)]
compare("hstu_attn", "dropout_bwd", [q, k, v, do, np.array(seed, np.int64)], [np.stack(x) for x in zip(*parts)])
q, k, v, do = (normal("bf16", *n) for n in ((21, 3, 33), (17, 3, 33), (17, 3, 7), (21, 3, 7)))
compare("hstu_attn", "linear_bwd", [q, k, v, do],
        [to("bf16", x) for x in gradients(q, k, v, do, 0.125, band(21, 17, causal=True), lambda s: s, np.ones_like)])

finish("mha", "prefill_attn", "flash_attn_fwd_prefill", "unified_attn", "pa_decode", "flash_attn_fwd_decode", "hstu_attn")
