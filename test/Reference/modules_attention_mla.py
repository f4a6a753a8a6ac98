"""Latent attention, caches of 8 bits and quantised attention against NumPy formulas of what
the modules are for: written from their descriptions, not from the graphs."""

import numpy as np

from formulas import compare, finish, normal, positive, rng, softmax
from oracle import f32, to


def attend(q, k, v, scale):
    """q [H, D], k [L, D], v [L, E] -> [H, E]; no key: zeros."""
    return softmax(q @ k.T * scale) @ v if len(k) else np.zeros((len(q), v.shape[1]))


# Slots chosen by an indexer; -1 is none.
for function, heads, latent, rest, blocks, rows, chosen, tokens, dtype, scale in (
        ("h16_c512", 16, 512, 64, 6, 16, 64, 3, "bf16", 0.0417),
        ("h32_c256_blocks_64", 32, 256, 64, 2, 64, 64, 2, "bf16", 0.0417),
        ("any_tokens_h16", 16, 512, 64, 6, 16, 64, 2, "bf16", 0.0417),
        ("f16_h8_c96", 8, 96, 32, 6, 16, 33, 2, "f16", 0.1)):
    q, cache = normal(dtype, tokens, heads, latent + rest), normal(dtype, blocks * rows, latent + rest)
    picks = rng.integers(-1, blocks * rows, (tokens, chosen)).astype(np.int32)
    picks[0] = -1
    o = [attend(x, cache[own[own >= 0]], cache[own[own >= 0], :latent], scale) for x, own in zip(q, picks)]
    compare("unified_attn_sparse_mla", function, [q, cache.reshape(blocks, rows, 1, -1), picks], np.stack(o))


# Decode: the last key is rotated on its way.
def rotated(x, angles, neox):
    """The last dim of x by angles [..., R / 2] of (cos, sin)."""
    cos, sin = angles
    a, b = np.split(x, 2, -1) if neox else (x[..., ::2], x[..., 1::2])
    turned = a * cos - b * sin, b * cos + a * sin
    return np.concatenate(turned, -1) if neox else np.stack(turned, -1).reshape(x.shape)


for function, batch, heads, latent, rest, slots, entries, neox, dtype, scale in (
        ("neox_h16", 3, 16, 512, 64, 40, 57, True, "bf16", 0.0417),
        ("no_rope", 4, 16, 512, 64, 40, 50, None, "bf16", 0.0417),
        ("f32_h8", 2, 8, 64, 32, 40, 41, True, "f32", 0.1),
        ("f16_c256_128", 2, 16, 256, 128, 40, 41, False, "f16", 0.05)):
    q, cache = normal(dtype, batch, heads, latent + rest), normal(dtype, slots, 1, latent + rest)
    bounds = np.concatenate([np.arange(batch) * 7, [entries]]).astype(np.int32)
    indices, pos = rng.integers(0, slots, entries).astype(np.int32), rng.integers(0, 64, batch).astype(np.int32)
    table = rng.normal(size=(64, rest // 2)) * 3
    table = f32(np.concatenate([np.cos(table), np.sin(table)], 1))
    inputs = [q, cache, bounds, indices] + ([] if neox is None else [table, pos])
    o, tokens = [], []
    for b in range(batch):
        x, k = q[b].copy(), cache[indices[bounds[b] : bounds[b + 1]], 0].copy()
        if neox is not None:
            angles = np.split(table[pos[b]], 2)
            x[:, latent:] = to(dtype, rotated(x[:, latent:], angles, neox))
            k[-1, latent:] = to(dtype, rotated(k[-1, latent:], angles, neox))
            tokens.append(k[-1:, latent:])
        o.append(attend(x, k, k[:, :latent], f32(scale)))
    compare("mla_decode_rope", function, inputs, [np.stack(o)] + ([np.stack(tokens)] if tokens else []))

# Caches of 8 bits: one scale, or one of every token and head.
for function, batch, heads, own, size, blocks, rows, entries, code, dtype, each, scale in (
        ("fn_scalar", 3, 8, 2, 128, 20, 16, 4, "f8E4M3FN", "bf16", False, 0.088),
        ("fnuz_per_token", 3, 8, 1, 128, 20, 16, 4, "f8E4M3FNUZ", "bf16", True, 0.088),
        ("int8_per_token", 4, 16, 16, 64, 20, 16, 4, "i8", "bf16", True, 0.125),
        ("one_column", 2, 2, 1, 1, 20, 16, 4, "i8", "f32", True, 1.0)):
    q = normal(dtype, batch, heads, size)
    shape = (blocks, own, rows, size)
    k, v = (rng.integers(-8, 8, shape) if code == "i8" else normal(code, *shape) for _ in "kv")
    ks, vs = (positive(*shape[:3]) / 4 if each else positive(1) / 4 for _ in "kv")
    table, lengths = rng.integers(0, blocks, (batch, entries)).astype(np.int32), np.array([57, 0, 1, 30], np.int32)[:batch]
    wide = [x * (s[..., None] if each else s) for x, s in ((k, ks), (v, vs))]
    o = np.zeros(q.shape)
    for b, h in np.ndindex(batch, heads):
        keys, values = (x[table[b], h * own // heads].reshape(-1, size)[: lengths[b]] for x in wide)
        o[b, h] = attend(q[b, h][None], keys, values, scale)[0]
    compare("pa_decode_quantised", function, [q, k.astype(np.int8) if code == "i8" else k, v.astype(np.int8)
            if code == "i8" else v, lengths, table, ks, vs], o)

# Int8 queries and keys with a scale per block of rows, values with one per channel.
for function, batch, queries, keys, heads, own, size, code, causal, lse in (
        ("int8_fnuz", 1, 33, 150, 2, 2, 128, "f8E4M3FNUZ", False, True),
        ("int8_fn_grouped_causal", 1, 40, 70, 4, 1, 128, "f8E4M3FN", True, True),
        ("f16_values", 1, 17, 40, 2, 2, 64, "f16", False, True),
        ("one_query", 2, 1, 140, 2, 1, 128, "f8E4M3FNUZ", False, False),
        ("two_query_blocks", 1, 270, 40, 1, 1, 64, "f8E4M3FN", True, False)):
    q, k = (rng.integers(-127, 128, (batch, n, h, size)).astype(np.int8) for n, h in ((queries, heads), (keys, own)))
    v = normal(code, batch, keys, own, size)
    qs, ks = positive(batch, -(-queries // 256), heads, 1) / 1e4, positive(batch, -(-keys // 128), own, 1) / 10
    vs = positive(batch, 1, own, size)
    wide = (q * np.repeat(qs, 256, 1)[:, :queries], k * np.repeat(ks, 128, 1)[:, :keys], v * vs)
    o, logs = np.zeros(q.shape), np.full(q.shape[:3], -np.inf)
    for b, h in np.ndindex(batch, heads):
        x, y, z = wide[0][b, :, h], wide[1][b, :, h * own // heads], wide[2][b, :, h * own // heads]
        s = x @ y.T * f32(0.6931472)
        if causal:
            i, j = np.ogrid[:queries, :keys]
            s = np.where(j <= i + keys - queries, s, -np.inf)
        seen = np.isfinite(s).any(1)
        o[b, seen, h] = softmax(s[seen]) @ z
        logs[b, seen, h] = s[seen].max(1) + np.log(np.exp(s[seen] - s[seen].max(1, keepdims=True)).sum(1))
    compare("sage_attention", function, [q, k, v, qs, ks, vs], [o, logs] if lse else o)

finish("unified_attn_sparse_mla", "mla_decode_rope", "pa_decode_quantised", "sage_attention")
