"""Causal convolutions of the tokens' channels that a model writes with torch.nn.functional.conv1d:
of a width that it pads by, or of rows with zeros in front.

The eager run decides which calls those are, by sizes and zeros; the export repeats it, call by call.
Others stay what they are.
"""

import contextlib
import typing

import torch

CONV_WIDTHS = range(2, 9)  # Of hk.causal_conv1d.
Filter = typing.Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]
conv1d = torch.nn.functional.conv1d


class _Call(typing.NamedTuple):
    """What the arguments of conv1d mean here."""

    x: torch.Tensor
    weight: torch.Tensor
    bias: torch.Tensor | None
    padded: bool  # By the call, on both sides; else by the caller, in front.

    def by(self, made: Filter) -> torch.Tensor:
        """As a filter of the tokens. What conv1d gives behind them, nobody looks at."""
        before = self.weight.shape[2] - 1
        x = self.x if self.padded else self.x[..., before:]
        y = made(x, self.weight[:, 0], self.bias)
        return torch.cat((y, y.new_zeros(*y.shape[:2], before)), -1) if self.padded else y


def _number(value: typing.Any) -> typing.Any:
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value


def _call(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
          stride: typing.Any = 1, padding: typing.Any = 0, dilation: typing.Any = 1,
          groups: int = 1) -> _Call | None:
    """None: no filter of single channels."""
    width, by = weight.shape[2], _number(padding)
    alone = x.dim() == 3 and x.shape[0] == 1 and groups == x.shape[1] == weight.shape[0]
    plain = alone and (_number(stride), _number(dilation)) == (1, 1) and width >= 2
    return _Call(x, weight, bias, by == width - 1) if plain and by in (0, width - 1) else None


class Filters:
    """The calls of conv1d of a model, in order; `extents` cuts the tokens into sequences."""

    def __init__(self, extents: typing.Callable[[], torch.Tensor]):
        self._extents = extents
        self._decided: list[bool] = []
        self._next = 0
        self._suspended = False

    def begin(self) -> None:
        """Before the model is run once more."""
        self._next = 0

    @contextlib.contextmanager
    def suspended(self) -> typing.Iterator[None]:
        """Calls within something that is replaced as a whole do not count."""
        before, self._suspended = self._suspended, True
        try:
            yield
        finally:
            self._suspended = before

    def _is_filter(self, call: _Call | None) -> bool:
        if call is None:
            return False
        before = 0 if call.padded else call.weight.shape[2] - 1
        return (call.x.shape[2] - before == int(self._extents()[-1])
                and not call.x[..., :before].any())

    def observing(self, made: Filter) -> typing.Callable:
        """For the eager run: decides, changes nothing but what lies behind the tokens."""
        self._decided.clear()

        def function(*args: typing.Any, **kwargs: typing.Any) -> torch.Tensor:
            if self._suspended:
                return conv1d(*args, **kwargs)
            call = _call(*args, **kwargs)
            self._decided.append(self._is_filter(call))
            return call.by(made) if self._decided[-1] else conv1d(*args, **kwargs)
        return function

    def replaying(self, made: Filter) -> typing.Callable:
        """For the export."""
        def function(*args: typing.Any, **kwargs: typing.Any) -> torch.Tensor:
            self._next += 1
            if not self._decided[self._next - 1:self._next] == [True]:
                return conv1d(*args, **kwargs)
            return _call(*args, **kwargs).by(made)
        return function
