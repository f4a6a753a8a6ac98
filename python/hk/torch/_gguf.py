"""Weights of GGUF files as they are stored: codes with a scale, and perhaps an offset, for each
group of a row.

Layouts: ggml's ggml-common.h and gguf-py's quants.py.
"""

import os
import typing

import numpy as np
import torch

from . import _gguf_few
from ._gguf_bits import blocks, f16, halves, paired
from ._quantised import Quantised


def _q4_0(data: np.ndarray) -> Quantised:
    b = blocks(data, 18)
    codes = halves(b[..., 2:]).reshape(len(b), -1)
    return Quantised(paired(codes), "ui4", 32, f16(b[..., :2]), zero=8)


def _q4_1(data: np.ndarray) -> Quantised:
    b = blocks(data, 20)
    codes = halves(b[..., 4:]).reshape(len(b), -1)
    return Quantised(paired(codes), "ui4", 32, f16(b[..., :2]), f16(b[..., 2:4]))


def _q8_0(data: np.ndarray) -> Quantised:
    b = blocks(data, 34)
    codes = np.ascontiguousarray(b[..., 2:]).view(np.int8).reshape(len(b), -1)
    return Quantised(torch.from_numpy(codes), "i8", 32, f16(b[..., :2]))


def _fives(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Codes of 5 bits [.., 32]: the low four bits, and of all in turn the highest one."""
    return low | np.unpackbits(high, -1, bitorder="little") << 4


def _q5_0(data: np.ndarray) -> Quantised:
    b = blocks(data, 22)
    codes = _fives(halves(b[..., 6:]), b[..., 2:6]).astype(np.int8) - np.int8(16)
    return Quantised(torch.from_numpy(codes.reshape(len(b), -1)), "i8", 32, f16(b[..., :2]))


def _q5_1(data: np.ndarray) -> Quantised:
    b = blocks(data, 24)
    codes = _fives(halves(b[..., 8:]), b[..., 4:8]).astype(np.int8)
    return Quantised(torch.from_numpy(codes.reshape(len(b), -1)), "i8", 32, f16(b[..., :2]),
                     f16(b[..., 2:4]))


def _scales_k(b: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Of a K block: scales and offsets of each 32, an f16 of each kind times 6 bits."""
    d, least = (f16(b[..., i:i + 2]).float()[..., None] for i in (0, 2))
    low, high, mixed = b[..., 4:8], b[..., 8:12], b[..., 12:16]
    scales = np.concatenate([low & 63, mixed & 15 | low >> 2 & 48], -1)
    minima = np.concatenate([high & 63, mixed >> 4 | high >> 2 & 48], -1)

    def groups(factor: torch.Tensor, six_bits: np.ndarray) -> torch.Tensor:
        return (factor * torch.from_numpy(six_bits).float()).reshape(len(b), -1)

    return groups(d, scales), -groups(least, minima)


def _q4_k(data: np.ndarray) -> Quantised:
    """Blocks of 256."""
    b = blocks(data, 144)
    codes = halves(b[..., 16:].reshape(*b.shape[:2], 4, 32)).reshape(len(b), -1)
    return Quantised(paired(codes), "ui4", 32, *_scales_k(b))


def _q5_k(data: np.ndarray) -> Quantised:
    """As Q4_K with a fifth bit: bit g of byte i is that of element i of group g."""
    b = blocks(data, 176)
    low = halves(b[..., 48:].reshape(*b.shape[:2], 4, 32)).reshape(*b.shape[:2], 8, 32)
    high = b[..., None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    codes = (low | high << 4).astype(np.int8).reshape(len(b), -1)
    return Quantised(torch.from_numpy(codes), "i8", 32, *_scales_k(b))


def _q6_k(data: np.ndarray) -> Quantised:
    """Blocks of 256 with a signed scale for each 16, times an f16."""
    b = blocks(data, 210)
    low = halves(b[..., :128].reshape(*b.shape[:2], 2, 64)).reshape(*b.shape[:2], 2, 4, 32)
    high = b[..., 128:192].reshape(*b.shape[:2], 2, 1, 32) >> np.arange(
        0, 8, 2, dtype=np.uint8)[:, None] & 3
    codes = (low | high << 4).astype(np.int8).reshape(len(b), -1) - np.int8(32)
    scales = torch.from_numpy(np.ascontiguousarray(b[..., 192:208]).view(np.int8)).float()
    return Quantised(torch.from_numpy(codes), "i8", 16,
                     (f16(b[..., 208:]).float()[..., None] * scales).reshape(len(b), -1))


READERS: dict[str, typing.Callable[[np.ndarray], Quantised]] = {
    "Q4_0": _q4_0, "Q4_1": _q4_1, "Q5_0": _q5_0, "Q5_1": _q5_1, "Q8_0": _q8_0, "Q4_K": _q4_k,
    "Q5_K": _q5_k, "Q6_K": _q6_k, **_gguf_few.READERS}
# Types that are no codes.
PLAIN = {"F64", "F32", "F16", "BF16", "I8", "I16", "I32", "I64"}


def matrices(path: str | os.PathLike, notes: list[str]
             ) -> typing.Iterator[tuple[np.ndarray, Quantised]]:
    """The values of a file's quantised matrices, those of a stack (experts) one by one, and how
    those of READERS are stored; a note counts the others."""
    import gguf

    others: dict[str, int] = {}
    for tensor in gguf.GGUFReader(path).tensors:
        kind = tensor.tensor_type.name
        if kind not in READERS:
            others[kind] = others.get(kind, 0) + 1
            continue
        stack = tensor.data if len(tensor.shape) == 3 else [tensor.data]
        for data in stack if len(tensor.shape) in (2, 3) else ():
            yield gguf.quants.dequantize(data, tensor.tensor_type), READERS[kind](data)
    for kind in sorted(others.keys() - PLAIN):
        notes.append(f"{others[kind]} tensors of type {kind} are widened: no product of hk takes "
                     f"them; types that stay as they are: {', '.join(sorted(READERS))}")
