"""Bytes of GGUF files taken apart: blocks, nibbles and f16 numbers."""

import numpy as np
import torch


def paired(codes: np.ndarray) -> torch.Tensor:
    """Codes of 4 bits [N, K], two to a byte."""
    return torch.from_numpy(codes[:, 0::2] | codes[:, 1::2] << 4)


def halves(packed: np.ndarray) -> np.ndarray:
    """ggml's order: [.., n] bytes hold n low codes, then n high ones."""
    return np.concatenate([packed & 15, packed >> 4], -1)


def f16(two_bytes: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(two_bytes).view(np.float16)[..., 0])


def blocks(data: np.ndarray, size: int) -> np.ndarray:
    """[N, blocks, size] bytes."""
    return np.asarray(data).reshape(len(data), -1, size)
