"""A weight as codes of few bits with what they stand for."""

import typing

import numpy as np
import torch

from .._dtypes import torch_name

FP4 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
PACKED = ("ui4", "f4E2M1FN")  # Two to a byte, the even column low.


class Quantised(typing.NamedTuple):
    """A matrix [N, K], or a stack [E, N, K] of them: (q - zero) * scale + offset in f32, by groups
    of K.

    `codes`: i8 or fp8 [.., N, K], or one of PACKED in u8 [.., N, K / 2]. `scales`,
    `offsets`: [.., N, ceil(K / group)] in f32 or a narrower type; no offsets: none is added. `zero`:
    what is subtracted from the codes first, a number or i8 as the scales; none where there are
    offsets. `order` [K]: which column of the matrix each column of the codes is; none: its own.
    `turned`: the model has a stack [E, K, N] of their transposes.
    """

    codes: torch.Tensor
    element: str
    group: int
    scales: torch.Tensor
    offsets: torch.Tensor | None = None
    zero: int | torch.Tensor = 0
    order: torch.Tensor | None = None
    turned: bool = False

    def values(self) -> torch.Tensor:
        """What the codes stand for, as hk.dequantize computes it."""
        q = self.codes
        if self.element in PACKED:
            q = torch.stack([q & 15, q >> 4], -1).flatten(-2)
        if self.element == "f4E2M1FN":
            q = torch.cat([FP4, -FP4])[q.int()]
        columns = q.shape[-1]

        def wide(of_groups: torch.Tensor) -> torch.Tensor:
            return of_groups.float().repeat_interleave(self.group, -1)[..., :columns]

        zero = wide(self.zero) if isinstance(self.zero, torch.Tensor) else self.zero
        q = (q.float() - zero) * wide(self.scales)
        q = q if self.offsets is None else q + wide(self.offsets)
        return q if self.order is None else q[..., self.order.argsort()]

    def stacked(self, rows: torch.Size) -> "Quantised":
        """A matrix of E x N rows as E of N."""
        return self._replace(**{name: tensor.unflatten(0, rows) for name, tensor in
                                self._asdict().items() if isinstance(tensor, torch.Tensor)
                                and name != "order"})

    @property
    def form(self) -> tuple:
        """What matrices have in common whose rows can be of one."""
        return (self.element, self.group, self.codes.shape[1:], self.scales.shape[1:],
                self.scales.dtype, None if self.offsets is None else self.offsets.dtype,
                None if self.order is None else tuple(self.order.tolist()))


def _require_fp4(codes: torch.Tensor, scales: torch.Tensor, group: int) -> None:
    wanted = (*codes.shape[:-1], -(-codes.shape[-1] * 2 // group))
    if codes.dtype != torch.uint8 or scales.shape != wanted:
        raise ValueError(f"codes are {torch_name(codes.dtype)} {list(codes.shape)} and "
                         f"scales {list(scales.shape)}; fp4 in groups of {group} has codes in uint8 "
                         f"and scales {list(wanted)}")


def mxfp4(codes: torch.Tensor, scales: torch.Tensor) -> Quantised:
    """fp4 [N, K / 2], the even column of a byte low, with a power of two for each 32 columns, of
    which `scales` (u8) are the exponents, plus 127."""
    if scales.dtype != torch.float8_e8m0fnu and scales.dtype != torch.uint8:
        raise ValueError(f"scales are {torch_name(scales.dtype)}, not exponents in u8")
    _require_fp4(codes, scales, 32)
    return Quantised(codes, "f4E2M1FN", 32, scales.view(torch.float8_e8m0fnu))


def nvfp4(codes: torch.Tensor, scales: torch.Tensor) -> Quantised:
    """The same with a real number for each 16 columns."""
    _require_fp4(codes, scales, 16)
    return Quantised(codes, "f4E2M1FN", 16, scales)


def joined(matrices: list[Quantised], matrix: np.ndarray, row: np.ndarray) -> Quantised | None:
    """The matrix of these rows of these matrices, if one can have them."""
    parts = [(m, np.flatnonzero(matrix == m)) for m in np.unique(matrix)]
    first = matrices[parts[0][0]]
    if any(matrices[m].form != first.form for m, _ in parts):
        return None

    def rows(of: typing.Callable[[Quantised], torch.Tensor]) -> torch.Tensor:
        sample = of(first)
        # As bytes: PyTorch moves no elements of some narrow types.
        plain = torch.uint8 if sample.itemsize == 1 else sample.dtype
        made = torch.empty(len(row), *sample.shape[1:], dtype=plain)
        for m, places in parts:
            made[places] = of(matrices[m]).view(plain)[row[places]]
        return made.view(sample.dtype)

    def zeros(q: Quantised) -> torch.Tensor:
        return q.zero if isinstance(q.zero, torch.Tensor) else torch.full_like(
            q.scales, q.zero, dtype=torch.int8)

    said = {q.zero for m, _ in parts if not isinstance((q := matrices[m]).zero, torch.Tensor)}
    tensors = any(isinstance(matrices[m].zero, torch.Tensor) for m, _ in parts)
    return first._replace(
        codes=rows(lambda q: q.codes), scales=rows(lambda q: q.scales),
        offsets=None if first.offsets is None else rows(lambda q: q.offsets),
        zero=rows(zeros) if tensors or len(said) > 1 else first.zero)
