"""Writes a safetensors file of the weights that fold-weights.mlir names, and checks
what a compilation made of it.

usage: fold_weights.py write FILE | fold_weights.py check SIDECAR
"""

import json
import struct
import sys

import numpy as np


def random(shape):
    return np.random.default_rng(len(shape) + shape[0]).normal(size=shape).astype(np.float32)


WEIGHTS = {"q": random((48, 64)), "k": random((16, 64)), "v": random((17, 64)), "gain": random((64,)),
           # Codes of f8E4M3FN, -0 among them.
           "codes": np.array([[0x80, 0x01, 0x38, 0xFE] * 32] * 8, np.uint8),
           "scale": random((8, 1)) ** 2 + 0.1,
           "left": random((6, 4)), "right": random((6, 3)),
           "low": np.arange(12, dtype=np.int8).reshape(6, 2), "high": (np.arange(18) * 11 % 128).astype(np.int8).reshape(6, 3)}
TYPES = {"float32": "F32", "uint8": "F8_E4M3", "int8": "I8"}


def write(path):
    header, offset = {}, 0
    for name, array in WEIGHTS.items():
        header[name] = {"dtype": TYPES[array.dtype.name], "shape": array.shape, "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in WEIGHTS.values():
            file.write(array.tobytes())


def bf16(x):
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def check(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    made = {}
    for entry in header.values():
        begin, end = entry["data_offsets"]
        key = (entry["dtype"], tuple(entry["shape"]))
        assert key not in made, key
        made[key] = data[8 + size + begin : 8 + size + end]
    merged = np.concatenate([WEIGHTS["q"], WEIGHTS["k"], WEIGHTS["v"][:16]]) * WEIGHTS["gain"]
    want = {("BF16", (64, 80)): bf16(merged.T).tobytes(),
            # -0 has no code there; all others keep theirs.
            ("F8_E4M3FNUZ", (8, 128)): np.where(WEIGHTS["codes"] == 0x80, 0, WEIGHTS["codes"]).astype(np.uint8).tobytes(),
            ("F32", (8, 1)): (WEIGHTS["scale"] * 2).tobytes(),
            ("F32", (6, 7)): np.concatenate([WEIGHTS["left"], WEIGHTS["right"]], 1).tobytes(),
            ("U8", (6, 5)): np.concatenate([WEIGHTS["high"], WEIGHTS["low"]], 1).tobytes()}
    assert made.keys() == want.keys(), made.keys()
    for key, value in want.items():
        assert made[key] == value, key
    print("the file holds what was computed, and nothing else")


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
