"""Weights of GGUF files of 2 to 4 bits whose codes are of a table or have scales of few bits: Q2_K,
Q3_K, IQ4_NL, IQ4_XS and MXFP4. Numbers of a table are integers, which become int8.

Layouts: ggml's ggml-common.h and gguf-py's quants.py.
"""

import typing

import numpy as np
import torch

from ._gguf_bits import blocks, f16, halves, paired
from ._quantised import Quantised

# What an index of IQ4_NL and IQ4_XS stands for.
TABLE = np.array([-127, -104, -83, -65, -49, -35, -22, -10,
                  1, 13, 25, 38, 53, 69, 89, 113], np.int8)


def _pieces(octets: np.ndarray, bits: int) -> np.ndarray:
    """[.., n] bytes as [.., 8 / bits, n] numbers: all lowest ones, then the next."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return octets[..., None, :] >> shifts[:, None] & np.uint8((1 << bits) - 1)


def _twos(octets: np.ndarray) -> np.ndarray:
    """64 bytes of a block of 256 as numbers of 2 bits, by 32 of them."""
    return _pieces(octets.reshape(*octets.shape[:2], 2, 32), 2).reshape(*octets.shape[:2], 256)


def _wide(factor: torch.Tensor, numbers: np.ndarray) -> torch.Tensor:
    """An f16 of each block times a number of each of its groups, in f32 [N, groups]."""
    scales = factor.float()[..., None] * torch.from_numpy(numbers.astype(np.float32))
    return scales.reshape(len(numbers), -1)


def _q2_k(data: np.ndarray) -> Quantised:
    """Scales and offsets of 16, of 4 bits each times an f16 each."""
    b = blocks(data, 84)
    codes = _twos(b[..., 16:80]).reshape(len(b), -1)
    return Quantised(paired(codes), "ui4", 16, _wide(f16(b[..., 80:82]), b[..., :16] & 15),
                     -_wide(f16(b[..., 82:84]), b[..., :16] >> 4))


def _q3_k(data: np.ndarray) -> Quantised:
    """A third bit of all in turn, 4 is subtracted, and signed scales of 16, of 6 bits: the low four
    of all, and behind them the high two."""
    b = blocks(data, 110)
    high = _pieces(b[..., :32], 1).reshape(*b.shape[:2], 256)
    codes = (_twos(b[..., 32:96]) | high << 2).reshape(len(b), -1)
    low = _pieces(b[..., 96:104], 4).reshape(*b.shape[:2], 16)
    top = _pieces(b[..., 104:108], 2).reshape(*b.shape[:2], 16)
    scales = (low | top << 4).astype(np.int8) - np.int8(32)
    return Quantised(paired(codes), "ui4", 16, _wide(f16(b[..., 108:110]), scales), zero=4)


def _iq4_nl(data: np.ndarray) -> Quantised:
    b = blocks(data, 18)
    codes = TABLE[halves(b[..., 2:])].reshape(len(b), -1)
    return Quantised(torch.from_numpy(codes), "i8", 32, f16(b[..., :2]))


def _iq4_xs(data: np.ndarray) -> Quantised:
    """Signed scales of 32, of 6 bits: two high bits of each in 16, the low four by two."""
    b = blocks(data, 136)
    top = np.ascontiguousarray(b[..., 2:4]).view("<u2") >> np.arange(0, 16, 2, dtype=np.uint16) & 3
    low = np.stack([b[..., 4:8] & 15, b[..., 4:8] >> 4], -1).reshape(top.shape)
    scales = (low | top.astype(np.uint8) << 4).astype(np.int8) - np.int8(32)
    codes = TABLE[halves(b[..., 8:].reshape(*b.shape[:2], 8, 16))].reshape(len(b), -1)
    return Quantised(torch.from_numpy(codes), "i8", 32, _wide(f16(b[..., :2]), scales))


def _mxfp4(data: np.ndarray) -> Quantised:
    """fp4 with a power of two of each 32."""
    b = blocks(data, 17)
    scales = torch.from_numpy(np.ascontiguousarray(b[..., 0])).view(torch.float8_e8m0fnu)
    return Quantised(paired(halves(b[..., 1:]).reshape(len(b), -1)), "f4E2M1FN", 32, scales)


READERS: dict[str, typing.Callable[[np.ndarray], Quantised]] = {
    "Q2_K": _q2_k, "Q3_K": _q3_k, "IQ4_NL": _iq4_nl, "IQ4_XS": _iq4_xs, "MXFP4": _mxfp4}
