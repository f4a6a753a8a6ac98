"""Attention that a model's own code writes as products and a softmax, or as PyTorch's
scaled_dot_product_attention: models that do not call transformers' AttentionInterface.

What lies between the two products is not read but tried. A first run finds which product of a
softmax's argument leads to which product with its result. Then the model runs with scores in place
of the first products: zeros give the mask and the bias exactly, a large number the scale, random
ones show that nothing else happens to them. Masks are fitted as those of the interface are; a bias
is one that grows with the distance (ALiBi), or a table of distances (T5). In the export the second
product becomes torch.ops.hk.attention, and all in between has no user.
"""

import contextlib
import typing

import torch

from ._masks import Mask, UnfittedMask, fit
from ._products import Products, Scores, Site, Sites, operands

Tensor = torch.Tensor
HIDDEN = -1e4  # A bias of less hides a key.
LARGE = 4096.0
LONGEST = 2048  # Tokens of a sequence that is tried.
CHANGING = UnfittedMask("its bias is neither a slope nor a table of distances that stays the same "
                        "beyond some of them")


class Fitted(typing.NamedTuple):
    """What happens to the scores of a site. `bias`: [H], of a step of the distance; or
    [H, 2 m + 1], of the distances -m to m, beyond which it stays the same."""

    scale: float
    mask: Mask | UnfittedMask
    bias: Tensor | None


def _random(like: Tensor) -> Tensor:
    made = torch.randn(like.shape, generator=torch.Generator().manual_seed(11))
    return made.to(like.dtype)


def _bias_of(bias: Tensor, seen: Tensor, whole: bool) -> Tensor | None:
    """The form of a bias [H, n, n] that is not 0 everywhere; None where it has none, or where its
    distances go on changing. `whole`: there are no longer sequences."""
    n = bias.shape[-1]
    distance = torch.arange(n)[None] - torch.arange(n)[:, None]
    tolerance = 1e-5 * float(bias[:, seen].abs().max())
    # A number that all keys of a query have is no bias.
    own = bias - bias.diagonal(dim1=-2, dim2=-1)[..., None]
    far = torch.where(seen, distance, 0).double()
    slopes = (own.double() * far).sum((-2, -1)) / (far * far).sum()
    if float((own - slopes[:, None, None] * far)[:, seen].abs().max()) <= tolerance:
        return slopes.float()
    table = bias.new_zeros(bias.shape[0], 2 * n - 1)
    known = torch.zeros(2 * n - 1, dtype=torch.bool)
    known[(distance + n - 1)[seen]] = True
    table[:, (distance + n - 1)[seen]] = bias[:, seen]
    if float((table[:, distance + n - 1] - bias)[:, seen].abs().max()) > tolerance:
        return None
    width = max(_constant_from(table[:, n - 1:], known[n - 1:]),
                _constant_from(table[:, :n].flip(-1), known[:n].flip(-1)))
    # Tables of logarithms of distances stay the same for a part of all distances only.
    if 2 * width >= n and not whole:
        return None
    return table[:, n - 1 - width:n + width].contiguous()


def _constant_from(values: Tensor, known: Tensor) -> int:
    """The distance from which on values [H, n] stay the same, as far as they are known."""
    values = values[:, known]
    changes = (values[:, 1:] != values[:, :-1]).any(0).nonzero()
    return int(changes[-1]) + 1 if len(changes) else 0


class Written:
    """The attention of a model that writes it itself."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.fitted: list[Fitted] = []
        self._biases: list[Tensor] = []
        self._replaced: _Replaced | None = None

    def observe(self, run: typing.Callable[[Tensor], object], vocabulary: int, extent: int,
                context: int) -> None:
        """Runs the model, with longer and longer sequences where a bias asks for it."""
        longest = context
        n = min(extent, longest)
        while True:
            sites = Sites()
            try:
                with sites:
                    run(self._ids(vocabulary, n, 0))
            except IndexError:
                # Positions that do not count from 0 end before the table of them does.
                if n < 4:
                    raise
                longest = n = n - 1
                continue
            self.sites = sites.found
            self.fitted = self._fit(run, vocabulary, n, n == longest)
            if n == longest or n == LONGEST or all(f.mask != CHANGING for f in self.fitted):
                return
            n = min(4 * n, longest, LONGEST)

    @staticmethod
    def _ids(vocabulary: int, n: int, seed: int) -> Tensor:
        return torch.randint(0, vocabulary, (1, n), generator=torch.Generator().manual_seed(seed))

    def _fit(self, run: typing.Callable[[Tensor], object], vocabulary: int, n: int, whole: bool
             ) -> list[Fitted]:
        def scores(given: typing.Callable[[Tensor], Tensor], seed: int = 0) -> list[Tensor]:
            with Scores(self.sites, given) as mode:
                run(self._ids(vocabulary, n, seed))
            # A broadcast mask stays one head; heads are joined with the batch of one.
            return [mode.made[s.first].expand(
                *mode.made[s.first].shape).reshape(-1, n, mode.made[s.first].shape[-1]).float()
                for s in self.sites]

        zero, other = scores(torch.zeros_like), scores(torch.zeros_like, 1)
        large = scores(lambda x: torch.full_like(x, LARGE))
        noise = scores(_random)
        return [self._site(*four, whole) for four in zip(zero, other, large, noise, strict=True)]

    def _site(self, zero: Tensor, other: Tensor, large: Tensor, noise: Tensor, whole: bool
              ) -> Fitted:
        n = zero.shape[-1]
        if zero.shape[-2] != n or n < 2:
            return Fitted(1.0, UnfittedMask("it is of other keys than the sequence's own"), None)
        seen = (zero > HIDDEN).all(0)
        if not torch.equal(zero, other) or bool(((zero > HIDDEN).any(0) != seen).any()):
            return Fitted(1.0, UnfittedMask("it depends on data or on the head"), None)
        mask = fit(lambda _b, _h, i, j: seen[i, j], n)
        # Keys that are not seen are so by a large number, which may hide theirs.
        bias = zero.masked_fill(~seen, 0.0)
        scale = float(((large - zero)[:, seen] / LARGE).median())
        given = _random(noise)
        apart = (noise - scale * given - zero)[:, seen].abs().max()
        if float(apart) > 1e-5 * float(noise[:, seen].abs().max()):
            return Fitted(scale, UnfittedMask("its scores are more than scaled"), None)
        if not bool(bias.any()):
            return Fitted(scale, mask, None)
        form = _bias_of(bias, seen, whole)
        if form is None:
            return Fitted(scale, CHANGING, None)
        # Layers may share a bias; so do those that are imported.
        self._biases.append(next((b for b in self._biases if torch.equal(b, form)), form))
        return Fitted(scale, mask, self._biases[-1])

    @contextlib.contextmanager
    def active(self, attend: typing.Callable[..., Tensor]) -> typing.Iterator[None]:
        """The model's attentions are attend(fitted, query, key, value), all [B, H, S, D]."""
        self._replaced = _Replaced(self, attend)
        with self._replaced:
            yield

    def begin(self) -> None:
        """Before the model runs once more."""
        if self._replaced is not None:
            self._replaced.count = 0


class _Replaced(Products):
    """A run in which attentions are computed by `attend`."""

    def __init__(self, written: Written, attend: typing.Callable[..., Tensor]):
        super().__init__()
        self.attend = attend
        self.seconds = {s.second: (s, f) for s, f in
                        zip(written.sites, written.fitted, strict=True)}
        self.firsts = {s.first for s in written.sites}
        self.operands: dict[int, tuple[Tensor, Tensor]] = {}

    def product(self, number, function, args, kwargs):
        result = function(*args, **kwargs)
        if number in self.seconds:
            site, fitted = self.seconds[number]
            if site.whole:
                q, k, v = args[:3]
            else:
                q, keys = self.operands.pop(site.first)
                k, v = keys.transpose(-1, -2), operands(function, args, kwargs)[1]
            rows = [x if x.dim() == 4 else x.view(-1, site.heads, *x.shape[-2:])
                    for x in (q, k, v)]
            out = self.attend(fitted, rows[0].to(v.dtype), rows[1].to(v.dtype), rows[2])
            return (out if result.dim() == 4 else out.flatten(0, 1)).to(result.dtype)
        if number in self.firsts:
            self.operands[number] = operands(function, args, kwargs)
        return result
