"""Writes one set of 4-bit weights as three kinds of checkpoints store it, and checks what
int4-weights.mlir makes of them against the plain formula x (q - z) s.

usage: int4_weights.py write FOLDER | int4_weights.py check FOLDER
"""

import json
import struct
import sys

import numpy as np

N, K, GROUP = 40, 128, 32
G = K // GROUP
rng = np.random.default_rng(4)
Q = rng.integers(0, 16, (N, K))
Z = rng.integers(1, 16, (N, G))  # GPTQ stores z - 1
Z[0], Z[1] = 15, 1
S = rng.uniform(0.01, 0.1, (N, G)).astype(np.float16)
X = rng.normal(size=(7, K)).astype(np.float16)


def words(nibbles):
    """The last dim, 8 nibbles from the low end up, as 32-bit words."""
    parts = nibbles.reshape(*nibbles.shape[:-1], -1, 8).astype(np.uint32)
    return (parts << (4 * np.arange(8, dtype=np.uint32))).sum(-1, dtype=np.uint32).view(np.int32)


def awq_order(rows):
    """Columns as AutoAWQ packs eight of them: 0 2 4 6 1 3 5 7."""
    return rows.reshape(rows.shape[0], -1, 8)[..., [0, 2, 4, 6, 1, 3, 5, 7]].reshape(rows.shape)


def pairs(nibbles):
    return (nibbles[..., 0::2] | nibbles[..., 1::2] << 4).astype(np.uint8)


TENSORS = {
    "awq.qweight": words(awq_order(Q.T)),
    "awq.qzeros": words(awq_order(Z.T)),
    "gptq.qweight": np.ascontiguousarray(words(Q).T),  # words along k, then a row per word
    "gptq.qzeros": words(Z.T - 1),
    "scales": np.ascontiguousarray(S.T),
    "nbits.b": pairs(Q).reshape(N, G, GROUP // 2),
    "nbits.zero_points": pairs(Z).reshape(-1),
    "nbits.scales": S.reshape(-1),
}
TYPES = {"int32": "I32", "uint8": "U8", "float16": "F16"}


def write(folder):
    header, offset = {}, 0
    for name, array in TENSORS.items():
        header[name] = {"dtype": TYPES[array.dtype.name], "shape": array.shape, "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    with open(f"{folder}/w.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in TENSORS.values():
            file.write(array.tobytes())
    np.save(f"{folder}/x.npy", X)


def check(folder):
    w = ((Q - np.repeat(Z, GROUP, 1)).astype(np.float32) * np.repeat(S, GROUP, 1).astype(np.float32)).astype(np.float16)
    want = X.astype(np.float64) @ w.astype(np.float64).T
    for layout in ("awq", "gptq", "nbits"):
        got = np.load(f"{folder}/{layout}.npy").astype(np.float64)
        # f32 sums, rounded once to f16.
        assert got.shape == want.shape
        assert (np.abs(got - want) <= 2.0**-11 * np.abs(want) + 1e-5).all(), layout
    print("three layouts, one product")


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
