"""Attention of one sequence from its description, for the tests of attention modules."""

import numpy as np

from oracle import f32


def philox(seed, counter):
    """Philox4x32-10, its first word as a number of [0, 1), on arrays of counters."""
    mask = np.uint64(0xFFFFFFFF)
    c = [np.asarray(counter, np.uint64) & mask, np.asarray(counter, np.uint64) >> np.uint64(32)]
    c += [np.zeros_like(c[0]), np.zeros_like(c[0])]
    k = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), b & mask,
             (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    x = c[0].astype(np.uint32).view(np.int32).astype(np.int64)
    return f32(f32(np.where(x < 0, -x - 1, x)) * float.fromhex("0x1.fffffep-32"))


def dropped(seed, p, b, heads, n, length):
    """The factor of a probability under dropout: [heads, n, length]."""
    h, i, j = np.ogrid[:heads, :n, :length]
    return np.where(philox(seed, ((b * heads + h) * n + i) * length + j) > f32(p), f32(1 / (1 - p)), 0)


def band(n, length, causal=False, left=None, right=None):
    """Which keys a query sees; its own key is that as far from the last as it is itself."""
    own, j = np.arange(n)[:, None] + length - n, np.arange(length)[None]
    seen = np.ones((n, length), bool)
    if causal:
        seen &= j <= own
    if left is not None:
        seen &= j >= own - left
    if right is not None:
        seen &= j <= own + right
    return seen


def attend(q, k, v, scale, seen=None, score=None, factor=None, softcap=None, sink=None, normalise=True):
    """q [S, H, D], k [L, Hk, D], v [L, Hk, E]; score(s, h) on [S, L], factor [H, S, L] of
    probabilities -> o [S, H, E], log-sum-exp [S, H]."""
    n, heads, length, group = len(q), q.shape[1], len(k), q.shape[1] // k.shape[1]
    o, lse = np.zeros((n, heads, v.shape[-1])), np.full((n, heads), -np.inf)
    for h in range(heads):
        s = q[:, h] @ k[:, h // group].T * scale
        if softcap:
            s = softcap * np.tanh(s / softcap)
        if score:
            s = score(s, h)
        if not normalise:
            o[:, h] = s @ v[:, h // group]
            continue
        if seen is not None:
            s = np.where(seen, s, -np.inf)
        if sink is not None:
            s = np.concatenate([s, np.full((n, 1), sink[h])], 1)
        top = s.max(1, initial=-np.inf)
        some = np.isfinite(top)
        e = np.exp(s[some] - top[some, None])
        lse[some, h] = top[some] + np.log(e.sum(1))
        p = (e / e.sum(1, keepdims=True))[:, :length]
        if factor is not None:
            p = p * factor[h][some]
        o[some, h] = p @ v[:, h // group]
    return o, lse


def stacked(parts):
    """Of all sequences, those of a dense batch."""
    return [np.stack(x) for x in zip(*parts)]


def joined(parts, tokens):
    """Of all sequences, one behind the other; queries behind the last see nothing."""
    o, lse = (np.concatenate(x) for x in zip(*parts))
    rest = tokens - len(o)
    return [np.concatenate([o, np.zeros((rest, *o.shape[1:]))]),
            np.concatenate([lse, np.full((rest, lse.shape[1]), -np.inf)])]
