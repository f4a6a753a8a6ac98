"""Error of hk.solve_tril of a library against NumPy's inverse in f64.

Usage: solve_tril.py LIBRARY FOLDER DEVICE BxTxHxC..."""

import os
import subprocess
import sys

import numpy as np

LIMIT = 1e-5  # relative, of a chunk's matrix in the Frobenius norm
library, folder, device, *shapes = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
rng, failed = np.random.default_rng(7), False


def chunks(tokens, size):
    return [slice(t, min(t + size, tokens)) for t in range(0, tokens, size)]


for text in shapes:
    batch, tokens, heads, size = shape = tuple(map(int, text.split("x")))
    a, worst, condition = np.zeros(shape, np.float32), 0, 1
    keys = rng.normal(size=(batch, tokens, heads, 64))
    keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
    places = [(b, part, h) for b in range(batch) for part in chunks(tokens, size) for h in range(heads)]
    for b, part, h in places:
        k = keys[b, part, h]
        a[b, part, h, :len(k)] = np.tril(k @ k.T, -1)
    np.save(f"{folder}/a.npy", a)
    subprocess.run(["hk-run", library, f"--function=c{size}", f"--device={device}", f"--input=a={folder}/a.npy",
                    f"--output={folder}"], check=True, stdout=subprocess.DEVNULL)
    found = np.load(f"{folder}/x.npy").astype(float)
    for b, part, h in places:
        n = part.stop - part.start
        m = np.eye(n) + a[b, part, h, :n]
        exact = np.linalg.inv(m)
        error = np.linalg.norm(found[b, part, h, :n] - exact) / np.linalg.norm(exact)
        worst, condition = max(worst, error), max(condition, np.linalg.cond(m))
    failed |= not worst <= LIMIT
    print(f"{text}: relative error {worst:.2g}, condition numbers up to {condition:.3g}")
print("some do not agree" if failed else "all agree")
