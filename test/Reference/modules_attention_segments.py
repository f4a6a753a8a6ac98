"""Attention of new tokens behind a cached prefix against one softmax over the keys of both, put
side by side: written from what the modules are for, not from their graphs."""

import numpy as np

from attention_formula import attend, joined
from formulas import compare, f32, finish, normal, rng, to

i32 = np.int32


def new_and_old(n, prefix, causal=True, window=None):
    """Which of `prefix` keys and then n new ones n queries see; None: all before."""
    own, j = prefix + np.arange(n)[:, None], np.arange(prefix + n)[None]
    seen = (j <= own) | (not causal)
    return seen if window is None else seen & (own - j < window)


# extend_attn: bounds of the new tokens, of the prefixes, and the slots of these.
M = "extend_attn"


def extend(function, kinds, heads, own, size, columns, scale, bounds=(0, 17, 17, 18, 38), prefixes=(0, 9, 30, 30, 55), tokens=40,
           slots=48, entries=60, shared=False, dynamic=False, masked=None, softcap=None):
    q = normal(kinds, tokens, heads, size)
    k, kb = normal(kinds, tokens, own, size), normal(kinds, slots, own, size)
    v, vb = (k[..., :columns], kb[..., :columns]) if shared else (normal(kinds, tokens, own, columns), normal(kinds, slots, own, columns))
    picks, parts, flat, starts = rng.integers(0, slots, entries).astype(i32), [], [], [0]
    for a, c, p, e in zip(bounds, bounds[1:], prefixes, prefixes[1:]):
        n, prefix, at = c - a, e - p, picks[p:e]
        seen = new_and_old(n, prefix)
        if masked:
            # Not triangular: a later token may be seen, and a row may see nothing.
            seen = rng.integers(0, 2, (n, prefix + n)).astype(bool)
            seen[n // 2 :][:1] = False
            flat.append(seen.ravel())
            starts.append(starts[-1] + seen.size)
            if masked == "new":
                seen = seen | (np.arange(prefix + n) < prefix)
        parts.append(attend(q[a:c], np.concatenate([kb[at], k[a:c]]), np.concatenate([vb[at], v[a:c]]), f32(scale), seen,
                            softcap=softcap))
    o, _ = joined(parts, tokens)
    inputs = [q, k, kb] if shared else [q, k, v, kb, vb]
    inputs += [np.array(bounds, i32), np.array(prefixes, i32), picks]
    if masked:
        mask = np.concatenate(flat + [np.zeros(5, bool)])
        inputs += [np.where(mask, 7, 0).astype(np.int8) if masked == "new" else mask, np.array(starts, i32)]
    compare(M, function, inputs, to(kinds, o))


short = {"bounds": (0, 11, 11, 20), "prefixes": (0, 20, 22, 22)}
extend("d48_32", "bf16", 4, 1, 48, 32, 0.144)
extend("d31_17_f32", "f32", 5, 5, 31, 17, 0.18, bounds=(0, 3, 3, 40), prefixes=(2, 40, 44, 44))
extend("d18_17", "bf16", 5, 5, 18, 17, 0.2357, bounds=(0, 3, 3, 33), prefixes=(2, 40, 44, 44), tokens=35)
extend("d18_19_f32", "f32", 5, 1, 18, 19, 0.2357, bounds=(0, 0, 30, 33), prefixes=(0, 0, 0, 0), tokens=33, slots=0, entries=0)
extend("d64_grouped_softcap", "bf16", 8, 2, 64, 64, 0.125, softcap=30.0)
extend("d128_f16", "f16", 4, 1, 128, 128, 0.088)
extend("latent_576", "bf16", 16, 1, 576, 512, 0.0417, tokens=20, shared=True, **short)
extend("d192_128", "bf16", 4, 2, 192, 128, 0.072)
extend("d288_256", "bf16", 2, 1, 288, 256, 0.059, tokens=20, **short)
extend("custom_mask", "bf16", 4, 2, 64, 64, 0.125, masked="all")
extend("mask_of_new_tokens", "f16", 4, 1, 64, 64, 0.125, masked="new")


def in_chunks(x, width):
    """Keys [blocks, rows, heads, size] with `width` elements of each row side by side."""
    blocks, rows, heads, size = x.shape
    return x.reshape(blocks, rows, heads, size // width, width).transpose(0, 2, 3, 1, 4)


def paged(function, kinds, heads, own, size, scale, bounds, lengths, tokens=40, blocks=24, rows=16, entries=5, code=None,
          layout=None, width=8, window=None, softcap=None, sink=False, lse=False, alibi=False, decode=False, scaled=False):
    """`decode`: sequences of one new token take it from the cache."""
    q, k, v = normal(kinds, tokens, heads, size), normal(kinds, tokens, own, size), normal(kinds, tokens, own, size)
    shape = (blocks, rows, own, size)
    kc, vc = (rng.integers(-8, 8, shape).astype(np.int8) if code == "i8" else normal(code or kinds, *shape) for _ in "kv")
    ks, vs = (f32(rng.uniform(0.1, 0.4, ())) if scaled else f32(1) for _ in "kv")
    table = np.stack([rng.permutation(blocks)[:entries] for _ in lengths]).astype(i32)
    slopes, bias = f32(rng.uniform(0.05, 0.5, heads)), normal("f32", heads)
    parts = []
    for b, length in enumerate(lengths):
        a, c = bounds[b : b + 2]
        n, step = c - a, decode and c - a == 1
        prefix = length - (0 if step else n)
        j = np.arange(max(prefix, 0))
        at = table[b, j // rows] * rows + j % rows
        keys, values = (x.reshape(-1, own, size)[at].astype(float) * s for x, s in ((kc, ks), (vc, vs)))
        own_keys = slice(a, a if step else c)
        before = (prefix - 1 if step else prefix) + np.arange(n)[:, None]
        far = np.concatenate([j, prefix + np.arange(0 if step else n)])[None] - before
        seen = far <= 0 if window is None else (far <= 0) & (-far < window)
        score = (lambda s, h: s + slopes[h] * far) if alibi else None
        parts.append(attend(q[a:c], np.concatenate([keys, k[own_keys]]), np.concatenate([values, v[own_keys]]), f32(scale), seen,
                            score, softcap=softcap, sink=bias if sink else None))
    o, l = joined(parts, tokens)
    if layout == "chunks":
        kc, vc = in_chunks(kc, width), vc.transpose(0, 2, 3, 1)
    elif layout == "heads":
        kc, vc = kc.swapaxes(1, 2), vc.swapaxes(1, 2)
    inputs = [q, k, v, kc, vc, table, np.array(bounds, i32), np.array(lengths, i32)]
    inputs += [ks, vs] if scaled else []
    inputs += [slopes] if alibi else []
    inputs += [bias] if sink else []
    if sink:
        l[bounds[-1] :], o[bounds[-1] :] = bias, 0
    module = "chunked_pa_prefill" if decode else "pa_prefill"
    compare(module, function, inputs, [to(kinds, o), f32(l)] if lse else to(kinds, o))


# Of sequences without a prefix, with no new tokens, with one, with many; padding behind.
four = dict(bounds=(0, 17, 17, 18, 37), lengths=(17, 33, 80, 59))
three = dict(bounds=(0, 1, 1, 11), lengths=(40, 7, 25), tokens=12)
paged("group_1", "bf16", 8, 8, 128, 0.088, **four)
paged("group_8", "f16", 16, 2, 64, 0.125, **four)
paged("group_64", "bf16", 64, 1, 128, 0.088, **three)
paged("f32", "f32", 4, 2, 64, 0.125, **four)
paged("window_20", "bf16", 8, 2, 64, 0.125, window=20, **four)
paged("window_128_softcap", "bf16", 4, 1, 64, 0.125, window=128, softcap=30.0, entries=10,
      bounds=(0, 17, 17, 18, 37), lengths=(17, 33, 160, 151))
paged("sink_lse", "bf16", 8, 2, 64, 0.125, sink=True, lse=True, **four)
paged("alibi", "bf16", 8, 2, 64, 0.125, alibi=True, **four)
paged("pages", "bf16", 4, 2, 64, 0.125, bounds=(0, 30, 31, 31, 33), lengths=(70, 1, 0, 2), tokens=33, blocks=9)
paged("head_major_pages_of_5", "f16", 4, 2, 64, 0.125, layout="heads", rows=5, entries=9,
      bounds=(0, 17, 17, 18, 37), lengths=(17, 33, 45, 44))
paged("chunked_cache", "bf16", 8, 2, 64, 0.125, layout="chunks", **four)
paged("fp8_cache", "bf16", 8, 2, 128, 0.088, code="f8E4M3FN", scaled=True, **four)
paged("fp8_chunked_cache", "bf16", 4, 1, 64, 0.125, code="f8E4M3FNUZ", scaled=True, layout="chunks", width=16, **four)
paged("int8_cache", "f16", 4, 2, 64, 0.125, code="i8", scaled=True, window=20, **four)

# chunked_pa_prefill: the same, but decode steps have their token in the cache.
chunks = dict(decode=True, layout="chunks")
paged("group_1", "bf16", 8, 8, 128, 0.088, **chunks, **four)
paged("group_8", "bf16", 16, 2, 128, 0.088, **chunks, **four)
paged("group_64", "bf16", 64, 1, 128, 0.088, **chunks, **three)
paged("window_256_f16", "f16", 8, 1, 64, 0.125, window=256, entries=20, **chunks,
      bounds=(0, 17, 17, 18, 37), lengths=(17, 33, 320, 300))
paged("window_20_alibi", "bf16", 8, 2, 64, 0.125, window=20, alibi=True, **chunks, **four)
paged("pages_of_rows", "bf16", 8, 2, 64, 0.125, decode=True, **four)
paged("fp8_cache", "bf16", 8, 1, 128, 0.088, code="f8E4M3FN", scaled=True, width=16, **chunks, **four)
paged("fp8_rows_f16", "f16", 8, 2, 64, 0.125, code="f8E5M2", scaled=True, decode=True, **four)

finish()
