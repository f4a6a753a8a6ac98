"""Weights of GGUF files as they are stored: codes with a scale, and perhaps an offset, for each
group of a row. transformers widens them while it reads a file; here they are found again, by
their values: whatever was renamed, and rows that were put in another order, need no table of
names, and what is found is the weight bit for bit.

Layouts: ggml's ggml-common.h and gguf-py's quants.py.
"""

import os
import typing

import numpy as np
import torch


class Quantised(typing.NamedTuple):
    """A matrix [N, K]: q * scale + offset in f32, by groups of K.

    `codes`: i8 [N, K], or ui4 in u8 [N, K / 2] with the even column low. `scales`, `offsets`:
    [N, K / group] in f16 or f32; no offsets: none is added. `zero`: what is subtracted from the
    codes first.
    """

    codes: torch.Tensor
    element: str
    group: int
    scales: torch.Tensor
    offsets: torch.Tensor | None = None
    zero: int = 0

    def values(self) -> torch.Tensor:
        """What the codes stand for, as hk.dequantize computes it."""
        q = self.codes
        if self.element == "ui4":
            q = torch.stack([q & 15, q >> 4], -1).flatten(1)
        q = q.float().unflatten(1, (-1, self.group)) - self.zero
        q = q * self.scales.float()[..., None]
        return (q if self.offsets is None else q + self.offsets.float()[..., None]).flatten(1)

    def rows(self, order: list[int]) -> "Quantised":
        """With these rows."""
        return self._replace(codes=self.codes[order], scales=self.scales[order],
                             offsets=None if self.offsets is None else self.offsets[order])


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


def stored_weights(path: str | os.PathLike, model: torch.nn.Module) -> dict[str, Quantised]:
    """The matrices of a model that was read from a GGUF file, by parameter, that the file has in
    one of the types of READERS; other parameters are left out."""
    import gguf

    matrices = {name: p.detach().float().numpy() for name, p in model.named_parameters()
                if p.dim() == 2}
    first = {m[0].tobytes(): name for name, m in matrices.items()}
    found: dict[str, Quantised] = {}
    for tensor in gguf.GGUFReader(path).tensors:
        kind = tensor.tensor_type.name
        if kind not in READERS or len(tensor.shape) != 2:
            continue
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        places = {row.tobytes(): i for i, row in enumerate(values)}
        for name in {first[row] for row in places.keys() & first.keys()}:
            order = [places.get(row.tobytes(), -1) for row in matrices[name]]
            if min(order) < 0:
                continue
            stored = READERS[kind](tensor.data).rows(order)
            if np.array_equal(stored.values().numpy(), matrices[name]):
                found[name] = stored
    return found
