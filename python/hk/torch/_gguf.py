"""Weights of GGUF files as they are stored: codes with a scale, and perhaps an offset, for each
group of a row.

Layouts: ggml's ggml-common.h and gguf-py's quants.py.
"""

import os
import typing

import numpy as np
import torch

from ._quantised import Quantised


def _paired(codes: np.ndarray) -> torch.Tensor:
    """Codes of 4 bits [N, K], two to a byte."""
    return torch.from_numpy(codes[:, 0::2] | codes[:, 1::2] << 4)


def _halves(packed: np.ndarray) -> np.ndarray:
    """ggml's order: [.., n] bytes hold n low codes, then n high ones."""
    return np.concatenate([packed & 15, packed >> 4], -1)


def _f16(two_bytes: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(two_bytes).view(np.float16)[..., 0])


def _blocks(data: np.ndarray, size: int) -> np.ndarray:
    """[N, blocks, size] bytes."""
    return np.asarray(data).reshape(len(data), -1, size)


def _q4_0(data: np.ndarray) -> Quantised:
    b = _blocks(data, 18)
    codes = _halves(b[..., 2:]).reshape(len(b), -1)
    return Quantised(_paired(codes), "ui4", 32, _f16(b[..., :2]), zero=8)


def _q4_1(data: np.ndarray) -> Quantised:
    b = _blocks(data, 20)
    codes = _halves(b[..., 4:]).reshape(len(b), -1)
    return Quantised(_paired(codes), "ui4", 32, _f16(b[..., :2]), _f16(b[..., 2:4]))


def _q8_0(data: np.ndarray) -> Quantised:
    b = _blocks(data, 34)
    codes = np.ascontiguousarray(b[..., 2:]).view(np.int8).reshape(len(b), -1)
    return Quantised(torch.from_numpy(codes), "i8", 32, _f16(b[..., :2]))


def _q4_k(data: np.ndarray) -> Quantised:
    """Blocks of 256 with 6-bit scales and minima for each 32, times an f16 of each kind."""
    b = _blocks(data, 144)
    d, least = (_f16(b[..., i:i + 2]).float()[..., None] for i in (0, 2))
    low, high, mixed = b[..., 4:8], b[..., 8:12], b[..., 12:16]
    scales = np.concatenate([low & 63, mixed & 15 | low >> 2 & 48], -1)
    minima = np.concatenate([high & 63, mixed >> 4 | high >> 2 & 48], -1)
    codes = _halves(b[..., 16:].reshape(*b.shape[:2], 4, 32)).reshape(len(b), -1)

    def groups(factor: torch.Tensor, six_bits: np.ndarray) -> torch.Tensor:
        return (factor * torch.from_numpy(six_bits).float()).reshape(len(b), -1)

    return Quantised(_paired(codes), "ui4", 32, groups(d, scales), -groups(least, minima))


READERS: dict[str, typing.Callable[[np.ndarray], Quantised]] = {
    "Q4_0": _q4_0, "Q4_1": _q4_1, "Q8_0": _q8_0, "Q4_K": _q4_k}


def matrices(path: str | os.PathLike) -> typing.Iterator[tuple[np.ndarray, Quantised | None]]:
    """The values of a file's quantised matrices, and how those of READERS are stored."""
    import gguf

    for tensor in gguf.GGUFReader(path).tensors:
        kind = tensor.tensor_type.name
        if kind in READERS and len(tensor.shape) == 2:
            yield (gguf.quants.dequantize(tensor.data, tensor.tensor_type),
                   READERS[kind](tensor.data))
