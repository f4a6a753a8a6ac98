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


TRIED = 4096  # Tokens of a mask that is looked at, whatever the configuration names.
PLACES = 1 << 23  # Queries times keys of one look, each of some ten bytes.


def widest_of(config: typing.Any) -> int:
    """The widest window or chunk that a configuration names, else 0."""
    return max((value for name, value in vars(config).items()
                if isinstance(value, int) and not isinstance(value, bool)
                and ("window" in name or "chunk" in name or name == "local_attention")), default=0)


def extent_of(config: typing.Any, context: int) -> int:
    """A length beyond every window and chunk that sequences of `context` tokens meet."""
    return min(max(2 * widest_of(config) + 5, TRIED), max(context, 37))


def _rows(n: int) -> torch.Tensor:
    """Which queries to look at: all, or in a long mask some from everywhere."""
    if n <= 768:
        return torch.arange(n)
    some = min(128, max(8, PLACES // n // 4))
    spread = torch.linspace(0, n - 1, 2 * some + 1).long()
    return torch.unique(torch.cat((torch.arange(some + 1), spread, torch.arange(n - some, n))))


def _chunked(seen_by: typing.Callable, causal: bool, i: torch.Tensor, seen: torch.Tensor, n: int
             ) -> Mask | None:
    """Chunks: the second one begins with the first key of some query."""
    first = seen.int().argmax(-1)
    if not (first > 0).any():
        return None
    size = int(first[first > 0].min())
    mask = Mask(causal, chunk=size)
    borders = torch.arange(size, n, size)[:16, None] + torch.tensor([-1, 0, 1])
    borders = borders[borders < n]
    fits = all(torch.equal(visible(n, n, *mask, rows=rows), values) for rows, values in (
        (i, seen), (borders, seen_by(borders))))
    return mask if fits else None


def fit(function: typing.Callable, n: int) -> Mask | UnfittedMask:
    """The attributes that give exactly the mask function's values on [n, n]."""
    j = torch.arange(n)
    zero = torch.zeros((), dtype=torch.long)

    def seen_by(rows: torch.Tensor) -> torch.Tensor:
        made = torch.as_tensor(function(zero, zero, rows[:, None], j[None]))
        return made.expand(len(rows), n).bool()

    i = _rows(n)
    seen = seen_by(i)
    distance = (i[:, None] - j[None])[seen]
    if distance.numel() == 0:
        return UnfittedMask("it lets no token see any")
    farthest, nearest = int(distance.max()), int(distance.min())
    left = farthest if farthest < n - 1 else -1
    causal = nearest >= 0
    right = -nearest if not causal and -nearest < n - 1 else -1
    mask = Mask(causal, left, right)
    wrong = (visible(n, n, *mask, rows=i) != seen).nonzero()
    if len(wrong) == 0:
        return mask
    if chunked := _chunked(seen_by, causal, i, seen, n):
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
