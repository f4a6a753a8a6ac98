"""Attention to many keys by few queries against softmax(q k^T scale) v, for the layouts of
lean attention: written from its description, not from the graphs."""

import numpy as np

from formulas import compare, finish, normal, rng, softmax


def attend(q, k, v, scale, causal=False):
    """q [S, H, D], k, v [L, Hk, D] of one sequence -> [S, H, D]."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    if len(k) == 0:
        return np.zeros(q.shape)
    s = np.einsum("shd,lhd->hsl", q, k) * scale
    if causal:
        i, j = np.ogrid[: len(q), : len(k)]
        s = np.where(j <= i + len(k) - len(q), s, -np.inf)
    return np.einsum("hsl,lhd->shd", softmax(s), v)


for function, batch, queries, keys, heads, own, size, dtype, scale, causal in (
        ("decode_d64", 2, 1, 333, 4, 4, 64, "f16", 0.125, False),
        ("decode_d16_grouped", 2, 16, 300, 8, 2, 16, "f16", 0.3, False),
        ("prefill_causal", 2, 130, 130, 4, 1, 64, "f16", 0.125, True)):
    q = normal(dtype, batch, queries, heads, size)
    k, v = (normal(dtype, batch, keys, own, size) for _ in "kv")
    o = np.stack([attend(*sequence, scale, causal) for sequence in zip(q, k, v)])
    compare("lean_atten", function, [q.reshape(-1, heads, size), k, v], o.reshape(-1, heads, size))
q, k, v = normal("f16", 9, 4, 64), normal("f16", 70, 4, 64), normal("f16", 70, 4, 64)
bounds, behind = np.array([0, 2, 2, 9], np.int32), np.array([0, 40, 41, 70], np.int32)
o = [attend(q[a:b], k[c:d], v[c:d], 0.125) for a, b, c, d in zip(bounds, bounds[1:], behind, behind[1:])]
compare("lean_atten", "ragged", [q, k, v, bounds, behind], np.concatenate(o))

# Heads in front of tokens, blocks of a cache in any order.
for function, batch, queries, heads, own, size, blocks, rows, entries, dtype, scale in (
        ("d64", 2, 1, 4, 4, 64, 24, 64, 6, "f16", 0.125), ("grouped", 2, 2, 6, 2, 32, 24, 64, 6, "f16", 0.125)):
    q = normal(dtype, heads, batch * queries, size)
    k, v = (normal(dtype, own, blocks * rows, size) for _ in "kv")
    table = np.stack([rng.permutation(blocks)[:entries] for _ in range(batch)]).astype(np.int32)
    lengths = np.array([rows * entries - 3, 70], np.int32)
    o = np.zeros(q.shape)
    for b in range(batch):
        slots = (table[b][:, None] * rows + np.arange(rows)).reshape(-1)[: lengths[b]]
        part = slice(b * queries, (b + 1) * queries)
        own_keys = (x[:, slots].swapaxes(0, 1) for x in (k, v))
        o[:, part] = attend(q[:, part].swapaxes(0, 1), *own_keys, scale).swapaxes(0, 1)
    compare("lean_atten_paged", function, [q, k, v, lengths, table], o)
q, k, v = normal("f16", 5, 2, 64), normal("f16", 5, 640, 64), normal("f16", 5, 640, 64)
compare("lean_atten_paged", "whole", [q, k, v], attend(*(x.swapaxes(0, 1) for x in (q, k, v)), 0.125, True).swapaxes(0, 1))

finish("lean_atten", "lean_atten_paged")
