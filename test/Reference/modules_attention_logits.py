"""The logits of sparse attention's indexer against NumPy formulas of what DeepSeek's
lightning indexer computes: written from its description, not from the graphs."""

import numpy as np

from formulas import compare, finish, normal, positive, rng


def logits(q, keys, weights, scales):
    """q [T, H, D], keys [N, D], weights [T, H], scales [N] -> [T, N]."""
    products = np.maximum(np.einsum("thd,nd->thn", q, keys) * scales, 0)
    return np.einsum("th,thn->tn", weights, products)


def seen(values, first, behind):
    """Keys [first, behind) of each row; -inf elsewhere."""
    j = np.arange(values.shape[1])
    return np.where((j >= np.reshape(first, (-1, 1))) & (j < np.reshape(behind, (-1, 1))), values, -np.inf)


T, N = 7, 45
for function, dtype, heads, size, scaled, starts, ends in (
        ("fn_h64_d128", "f8E4M3FN", 64, 128, True, True, True),
        ("fnuz_h64_d128", "f8E4M3FNUZ", 64, 128, True, True, True),
        ("fn_h32_d64", "f8E4M3FN", 32, 64, True, False, True),
        ("fnuz_h32_d64_no_ranges", "f8E4M3FNUZ", 32, 64, True, False, False),
        ("e5m2_h40_d80", "f8E5M2", 40, 80, True, True, True),
        ("bf16_h64_d128_no_scales", "bf16", 64, 128, False, True, True),
        ("f32_h5_d67_no_scales", "f32", 5, 67, False, True, True),
        ("f16_h7_d24", "f16", 7, 24, True, True, True)):
    q, k, w = normal(dtype, T, heads, size), normal(dtype, N, size), normal("f32", T, heads)
    s = positive(N)
    first = np.array([0, 3, -2, 40, 10, 45, 0], np.int32) if starts else np.zeros(T, np.int32)
    behind = np.array([45, 40, 1, 20, 60, 45, 0], np.int32) if ends else np.full(T, N, np.int32)
    inputs = [q, k, w] + [s] * scaled + [first] * starts + [behind] * ends
    compare("fp8_mqa_logits", function, inputs, seen(logits(q, k, w, s if scaled else 1.0), first, behind))


# Caches: a block holds its keys and then their scales, or every key is followed by its
# scale; both are seen once as elements and once as f32.
def paged(q, keys, scales, weights, lengths, table):
    batch, tokens = q.shape[:2]
    size = table.shape[1] * keys.shape[1]
    rows = []
    for b in range(batch):
        blocks = np.maximum(table[b], 0)
        own = keys[blocks].reshape(size, -1), scales[blocks].reshape(size)
        values = logits(q[b], own[0], weights.reshape(batch, tokens, -1)[b], own[1])
        values = seen(values, np.zeros(tokens), lengths[b] - tokens + np.arange(tokens) + 1)
        rows.append(np.where(np.repeat(table[b] >= 0, keys.shape[1]), values, -np.inf))
    return np.concatenate(rows)


for function, dtype, batch, tokens, heads, size, block, entries, layout in (
        ("blocks_fn", "f8E4M3FN", 3, 1, 64, 128, 16, 9, "blocks"),
        ("tokens_fn", "f8E4M3FN", 3, 2, 64, 128, 16, 9, "tokens"),
        ("blocks_fnuz_4_tokens", "f8E4M3FNUZ", 2, 4, 32, 64, 64, 3, "blocks"),
        ("tokens_fnuz", "f8E4M3FNUZ", 2, 1, 64, 128, 1, 150, "tokens"),
        ("blocks_fnuz_any_batch", "f8E4M3FNUZ", 5, 1, 64, 128, 16, 9, "blocks"),
        ("apart_bf16_11_tokens", "bf16", 2, 11, 32, 128, 16, 9, "apart")):
    q, k, w = normal(dtype, batch, tokens, heads, size), normal(dtype, 9, block, size), normal("f32", batch * tokens, heads)
    s, lengths = positive(9, block), np.array([100, 0, 1, 144, 150], np.int32)[:batch]
    if entries == 150:
        lengths = lengths // 16
    table = rng.integers(-1, 9, (batch, entries)).astype(np.int32)
    if layout == "blocks":
        cache = [np.concatenate([k.reshape(9, -1), np.zeros((9, block * 4))], 1),
                 np.concatenate([np.zeros((9, block * size // 4)), s], 1)]
    elif layout == "tokens":
        cache = [np.concatenate([k, np.zeros((9, block, 4))], 2),
                 np.concatenate([np.zeros((9, block, size // 4)), s[..., None]], 2)]
    else:
        cache = [k, s[..., None]]
    compare("pa_mqa_logits", function, [q, *cache, w, lengths, table], paged(q, k, s, w, lengths, table))

finish("fp8_mqa_logits", "pa_mqa_logits")
