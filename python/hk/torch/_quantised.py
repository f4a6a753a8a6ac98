"""A weight as codes of few bits with what they stand for."""

import typing

import torch


class Quantised(typing.NamedTuple):
    """A matrix [N, K]: (q - zero) * scale + offset in f32, by groups of K.

    `codes`: i8 or fp8 [N, K], or ui4 in u8 [N, K / 2] with the even column low. `scales`,
    `offsets`: [N, ceil(K / group)] in f32 or a narrower type; no offsets: none is added. `zero`:
    what is subtracted from the codes first, a number or i8 as the scales; none where there are
    offsets.
    """

    codes: torch.Tensor
    element: str
    group: int
    scales: torch.Tensor
    offsets: torch.Tensor | None = None
    zero: int | torch.Tensor = 0

    def values(self) -> torch.Tensor:
        """What the codes stand for, as hk.dequantize computes it."""
        q = self.codes
        if self.element == "ui4":
            q = torch.stack([q & 15, q >> 4], -1).flatten(1)
        columns = q.shape[1]

        def wide(of_groups: torch.Tensor) -> torch.Tensor:
            return of_groups.float().repeat_interleave(self.group, 1)[:, :columns]

        zero = wide(self.zero) if isinstance(self.zero, torch.Tensor) else self.zero
        q = (q.float() - zero) * wide(self.scales)
        return q if self.offsets is None else q + wide(self.offsets)

    def rows(self, order: list[int]) -> "Quantised":
        """With these rows."""
        def cut(of_rows: typing.Any) -> typing.Any:
            return of_rows[order] if isinstance(of_rows, torch.Tensor) else of_rows

        return self._replace(codes=cut(self.codes), scales=cut(self.scales),
                             offsets=cut(self.offsets), zero=cut(self.zero))
