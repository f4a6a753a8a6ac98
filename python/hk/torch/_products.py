"""A model's products by number, and which of them are those of an attention: of a softmax's
argument, and with its result."""

import typing

import torch
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

Tensor = torch.Tensor
F = torch.nn.functional
WITH_SUMMAND = {torch.baddbmm, Tensor.baddbmm}
PRODUCTS = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm} | WITH_SUMMAND
SOFTMAX = {torch.softmax, Tensor.softmax, F.softmax}


class Site(typing.NamedTuple):
    """An attention of the model: the numbers of its two products, which are one for
    scaled_dot_product_attention, among the model's, and how many heads it has."""

    first: int
    second: int
    heads: int

    @property
    def whole(self) -> bool:
        return self.first == self.second


def operands(function: typing.Any, args: tuple, kwargs: dict) -> tuple[Tensor, Tensor]:
    """The factors of a product."""
    given = (*args, *kwargs.values()) if function not in WITH_SUMMAND else (
        *args[1:3], *(kwargs[n] for n in ("batch1", "batch2") if n in kwargs))
    return given[0], given[1]


class Products(TorchFunctionMode):
    """Numbers a run's products."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def product(self, number: int, function: typing.Any, args: tuple, kwargs: dict) -> typing.Any:
        raise NotImplementedError

    def other(self, function: typing.Any, args: tuple, kwargs: dict) -> typing.Any:
        return function(*args, **kwargs)

    def __torch_function__(self, func: typing.Any, types: typing.Any, args: tuple = (),
                           kwargs: dict | None = None) -> typing.Any:
        kwargs = kwargs or {}
        if func in PRODUCTS or func is F.scaled_dot_product_attention:
            self.count += 1
            return self.product(self.count - 1, func, args, kwargs)
        return self.other(func, args, kwargs)


class _Traced(Products):
    """Follows what is made of products element by element."""

    def __init__(self) -> None:
        super().__init__()
        self.source: WeakIdKeyDictionary = WeakIdKeyDictionary()

    def softened(self, number: int, scores: Tensor) -> None:
        """Called with the argument of a softmax."""

    def other(self, function, args, kwargs):
        traced = [a for a in args if isinstance(a, Tensor) and a in self.source]
        if not traced:
            return function(*args, **kwargs)
        number, behind = self.source[traced[0]]
        count = traced[0].numel()
        if function in SOFTMAX:
            self.softened(number, traced[0])
        result = function(*args, **kwargs)
        if isinstance(result, Tensor) and result.numel() == count:
            self.source[result] = number, behind or function in SOFTMAX
        return result


class Sites(_Traced):
    """Finds the attentions of a run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Site] = []

    def product(self, number, function, args, kwargs):
        result = function(*args, **kwargs)
        if function is F.scaled_dot_product_attention:
            self.found.append(Site(number, number, args[0].shape[-3]))
            return result
        x, y = operands(function, args, kwargs)
        first, behind = self.source.get(x, (number, False))
        if behind:
            self.found.append(Site(first, number, x.shape[-3]))
        elif min(x.dim(), y.dim()) >= 3:
            self.source[result] = number, False
        return result


class Scores(_Traced):
    """A run with given scores; `made` is what each site makes of them."""

    def __init__(self, sites: list[Site], given: typing.Callable[[Tensor], Tensor]):
        super().__init__()
        self.sites = {site.first: site for site in sites}
        self.given = given
        self.made: dict[int, Tensor] = {}

    def softened(self, number, scores):
        if number in self.sites:
            self.made[number] = scores.detach().clone()

    def product(self, number, function, args, kwargs):
        result = function(*args, **kwargs)
        if number not in self.sites:
            return result
        if self.sites[number].whole:
            self.made[number] = self._whole(*args, **kwargs)
            return result
        scores = self.given(result)
        if function in WITH_SUMMAND:
            scores = args[0] * kwargs.get("beta", 1) + scores * kwargs.get("alpha", 1)
        self.source[scores] = number, False
        return scores

    def _whole(self, query: Tensor, key: Tensor, _value: Tensor, attn_mask: Tensor | None = None,
               dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
               **_: typing.Any) -> Tensor:
        """What scaled_dot_product_attention makes of the scores."""
        scores = self.given(query @ key.transpose(-1, -2).expand(*query.shape[:-2], -1, -1))
        scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
        hidden = torch.zeros_like(scores, dtype=torch.bool)
        if is_causal:
            hidden = torch.ones_like(hidden).triu(1)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            hidden = hidden | ~attn_mask
        elif attn_mask is not None:
            scores = scores + attn_mask
        return scores.masked_fill(hidden, float("-inf"))
