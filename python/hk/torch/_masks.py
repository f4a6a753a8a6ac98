"""What an attention mask is, found by evaluating the model's own mask function."""

import typing

import torch

from ..errors import UnsupportedModel
from ._leaves import visible


class Mask(typing.NamedTuple):
    """The attributes of hk.attention, and chunks, which its score region has; -1 is none. It
    travels through a model's layers in place of a mask tensor."""

    causal: bool
    window_left: int = -1
    window_right: int = -1
    chunk: int = -1

    def __getitem__(self, at: typing.Any) -> typing.Any:
        """A part of a mask tensor is the same mask: models take all queries of the one head."""
        return self if isinstance(at, tuple) else tuple.__getitem__(self, at)


class UnfittedMask(typing.NamedTuple):
    """A mask that hk.attention has no attributes for; an error only where a layer uses it."""

    reason: str


def extent_of(config: typing.Any) -> int:
    """A length beyond every window and chunk that a configuration names."""
    widest = 0
    for name, value in vars(config).items():
        if isinstance(value, int) and not isinstance(value, bool) and (
                "window" in name or "chunk" in name or name == "local_attention"):
            widest = max(widest, value)
    return min(max(2 * widest + 5, 37), 20_000)


def _rows(n: int) -> torch.Tensor:
    """Which queries to look at: all, or in a long mask some from everywhere."""
    if n <= 768:
        return torch.arange(n)
    spread = torch.linspace(0, n - 1, 257).long()
    return torch.unique(torch.cat((torch.arange(129), spread, torch.arange(n - 128, n))))


def fit(function: typing.Callable, n: int) -> Mask | UnfittedMask:
    """The attributes that give exactly the mask function's values on [n, n]."""
    i = _rows(n)
    j = torch.arange(n)
    zero = torch.zeros((), dtype=torch.long)
    seen = torch.as_tensor(function(zero, zero, i[:, None], j[None]))
    seen = seen.expand(len(i), n).bool()
    distance = (i[:, None] - j[None])[seen]
    if distance.numel() == 0:
        return UnfittedMask("it lets no token see any")
    farthest, nearest = int(distance.max()), int(distance.min())
    left = farthest if farthest < n - 1 else -1
    causal = nearest >= 0
    right = -nearest if not causal and -nearest < n - 1 else -1
    mask = Mask(causal, left, right)
    wrong = (visible(n, n, *mask)[i] != seen).nonzero()
    if len(wrong) == 0:
        return mask
    # A chunk begins where a token is the first that it sees.
    first = [int(q) for q, row in zip(i, seen, strict=True)
             if q > 0 and row[q] and not row[:q].any()]
    if first:
        chunked = Mask(causal, chunk=first[0])
        if torch.equal(visible(n, n, *chunked)[i], seen):
            return chunked
    row, column = wrong[0].tolist()
    return UnfittedMask(f"query {int(i[row])} and key {column} do not fit causal={causal}, "
                        f"window_left={left}, window_right={right}, nor chunks; hk's import has no "
                        "other masks")


class MaskHook:
    """The mask interface of transformers: fits in the eager run, repeats in the export."""

    def __init__(self, n: int):
        self.n, self.fitted, self.next, self.fitting = n, [], 0, True

    def replay(self) -> None:
        """From here on gives the fitted masks again, in order."""
        self.next, self.fitting = 0, False

    def __call__(self, *args: object, mask_function: typing.Callable | None = None,
                 **kwargs: object) -> Mask | UnfittedMask:
        if self.fitting:
            self.fitted.append(fit(mask_function, self.n) if mask_function
                               else UnfittedMask("it has no mask function"))
        if self.next >= len(self.fitted):
            raise UnsupportedModel("the model makes more masks when it is exported than when it "
                                   "runs: its masks depend on its inputs")
        self.next += 1
        return self.fitted[self.next - 1]
