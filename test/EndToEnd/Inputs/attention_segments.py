"""Inputs of pa_prefill:group_8 with zeros and with NaN in the rows of the cache that no sequence
has: behind the tokens so far, in pages of the new tokens and in pages of nobody."""

import sys

import numpy as np

folder = sys.argv[1]
rng = np.random.default_rng(5)
blocks, rows, own, size, tokens = 24, 16, 2, 64, 40
bounds, lengths = np.array([0, 19, 19, 20, 38], np.int32), np.array([19, 3, 80, 35], np.int32)
table = rng.permutation(20).reshape(4, 5).astype(np.int32)
used = np.zeros((blocks, rows), bool)
for b, length in enumerate(lengths):
    for j in range(max(0, length - (bounds[b + 1] - bounds[b]))):
        used[table[b, j // rows], j % rows] = True


def save(name, x):
    np.save(f"{folder}/{name}.npy", x)


for name, heads in (("q", 16), ("k", own), ("v", own)):
    save(name, rng.normal(size=(tokens, heads, size)).astype(np.float16))
for name in "kv":
    cache = rng.normal(size=(blocks, rows, own, size)).astype(np.float16)
    for kind, fill in (("zero", 0), ("nan", np.nan)):
        save(f"{name}_{kind}", np.where(used[..., None, None], cache, np.float16(fill)))
save("b_loc", table)
save("b_start_loc", bounds)
save("b_seq_len", lengths)
