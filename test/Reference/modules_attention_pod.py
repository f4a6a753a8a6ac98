"""Prefill and decode side by side against softmax(q k^T scale) v of each: written from the
description, not from the graph."""

import numpy as np

from formulas import compare, finish, normal, rng, softmax


def attend(q, k, v, scale, causal):
    """q [S, H, D], k, v [L, Hk, D] of one sequence -> [S, H, D]; no keys give zeros."""
    if len(k) == 0:
        return np.zeros(q.shape)
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = np.einsum("shd,lhd->hsl", q, k) * scale
    if causal:
        i, j = np.ogrid[: len(q), : len(k)]
        s = np.where(j <= i + len(k) - len(q), s, -np.inf)
    return np.einsum("hsl,lhd->shd", softmax(s), v)


def prompt(dtype, tokens, heads, own, size):
    return [normal(dtype, 1, tokens, n, size) for n in (heads, own, own)]


for name, dtype, sequences, keys, heads, own, size, tokens, scale in [
        ("grouped", "bf16", 3, 40, 4, 2, 64, 70, 0.125), ("heads_of_128", "bf16", 2, 24, 2, 1, 128, 40, 0.088)]:
    q = normal(dtype, sequences, 1, heads, size)
    k, v = (normal(dtype, sequences, keys, own, size) for _ in "kv")
    p = prompt(dtype, tokens, heads, own, size)
    compare("pod_attn", name, [q, k, v] + p,
            [np.stack([attend(*one, scale, False) for one in zip(q, k, v)]),
             attend(*(x[0] for x in p), scale, True)[None]])

q, k, v = normal("f16", 2, 1, 4, 32), normal("f16", 16, 8, 1, 32), normal("f16", 16, 8, 1, 32)
table = np.stack([rng.permutation(16)[:5] for _ in range(2)]).astype(np.int32)
lengths, p = np.array([37, 0], np.int32), prompt("f16", 33, 4, 1, 32)
o = []
for one, row, length in zip(q, table, lengths):
    slots = (row[:, None] * 8 + np.arange(8)).reshape(-1)[:length]
    o.append(attend(one, *(x.reshape(-1, 1, 32)[slots] for x in (k, v)), 0.25, True))
compare("pod_attn", "paged_f16", [q, k, v, lengths, table] + p,
        [np.stack(o), attend(*(x[0] for x in p), 0.25, True)[None]])

finish("pod_attn")
