"""Choices of a reference: which experts a router takes, where two are too close to tell, and what
comes out with the other one.

Every `topk` of a model is a choice. In narrow types a choice between scores that are nearly equal
falls either way, and all that follows differs by more than roundings. So the check compares runs
that choose alike, and where hk chose otherwise it must be at such a tie: the reference is run with
the other choice and compared again.
"""

import itertools
import typing

import torch
from torch.overrides import TorchFunctionMode


class Choice(typing.NamedTuple):
    """A call of topk: scores [tokens, .., n] in f64 and the indices taken [tokens, .., k]."""

    scores: torch.Tensor
    indices: torch.Tensor


class Swap(typing.NamedTuple):
    """In call `call` the row `row` of all but the last dim takes the first element that it left
    out instead of the last one that it took."""

    call: int
    row: int


class Choices(TorchFunctionMode):
    """Records the choices of a run, or makes those of `made`, with some swapped."""

    def __init__(self, made: list[Choice] | None = None, swaps: typing.Iterable[Swap] = ()):
        super().__init__()
        self.made, self.swaps = made, list(swaps)
        self.seen: list[Choice] = []

    def __torch_function__(self, func: typing.Any, types: typing.Any, args: tuple = (),
                           kwargs: dict | None = None) -> typing.Any:
        kwargs = kwargs or {}
        if func not in (torch.topk, torch.Tensor.topk):
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        scores, k = args[0], result.indices.shape[-1]
        indices = result.indices
        call = len(self.seen)
        if self.made is not None and call < len(self.made):
            indices = self.made[call].indices
        rows = [s.row for s in self.swaps if s.call == call]
        if rows:
            order = scores.sort(dim=-1, descending=True, stable=True).indices.flatten(0, -2)
            indices = indices.flatten(0, -2).clone()
            for row in rows:
                indices[row] = torch.cat((order[row, :k - 1], order[row, k:k + 1]))
            indices = indices.view_as(result.indices)
        self.seen.append(Choice(scores.double(), indices))
        return type(result)((scores.gather(-1, indices), indices))


def unsure(reference: list[Choice], others: list[list[Choice]]) -> list[float]:
    """By how much scores of each call may be off: twice what runs that chose alike differ by.
    Those of groups that were left out are -inf in all."""
    def apart(a: torch.Tensor, b: torch.Tensor) -> float:
        return float(torch.where(a == b, 0.0, (a - b).abs()).max())

    return [2 * sum(apart(run[i].scores, choice.scores) for run in others)
            for i, choice in enumerate(reference)]


def near(choices: list[Choice], bounds: list[float], token: int, tokens: int
         ) -> list[tuple[Swap, float]]:
    """Choices of a token that its scores do not decide, and how far apart the two are."""
    found = []
    for call, (choice, bound) in enumerate(zip(choices, bounds, strict=True)):
        k, n = choice.indices.shape[-1], choice.scores.shape[-1]
        if k >= n:
            continue
        rows = choice.scores.flatten(0, -2)
        per = len(rows) // tokens
        ordered = rows[token * per:(token + 1) * per].sort(-1, descending=True).values
        for i, margin in enumerate((ordered[:, k - 1] - ordered[:, k]).tolist()):
            if margin <= 2 * bound:
                found.append((Swap(call, token * per + i), margin))
    return sorted(found, key=lambda f: f[1])


def explain(actual: torch.Tensor, bound: float, choices: list[Choice], bounds: list[float],
            run: typing.Callable[[list[Swap]], tuple[torch.Tensor, list[Choice]]]
            ) -> tuple[torch.Tensor, list[str]] | None:
    """The reference [tokens, N] with those choices swapped that bring `actual` within the bound,
    and what they were; None where none do. Tokens are looked at from the first: what one takes
    changes those behind it."""
    swaps: list[Swap] = []
    words: list[str] = []
    expected, made = run([])
    tokens = len(expected)
    while True:
        off = (actual - expected).abs().nan_to_num(float("inf")).amax(-1) > bound
        if not off.any():
            return expected, words
        token = int(off.nonzero()[0])
        ties = near(made, bounds, token, tokens)[:6]
        for some in itertools.chain(((t,) for t in ties), itertools.combinations(ties, 2)):
            trial = swaps + [s for s, _ in some]
            rows, chosen = run(trial)
            if float((actual[token] - rows[token]).abs().nan_to_num(float("inf")).max()) <= bound:
                swaps, expected, made = trial, rows, chosen
                words += [f"token {token}, choice {s.call}: scores {margin:.1e} apart, unsure by "
                          f"{bounds[s.call]:.1e}" for s, margin in some]
                break
        else:
            return None
