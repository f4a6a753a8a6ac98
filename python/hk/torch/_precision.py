"""A model run in another precision, one layer of it at a time.

A copy of a model one precision up takes two or four times its memory, which a model that just fits
does not leave. So each layer (what the outermost lists of modules hold) has wide weights only
while its forward runs; what is outside of layers, embeddings and the head, has them throughout.
"""

import collections
import contextlib
import copy
import typing

import torch

from ._converted import convert_buffers
from ._wkv import leave_weights

# What is done to a weight in its new type: (its values, its place among the parameters).
Change = typing.Callable[[torch.Tensor, int], torch.Tensor]
NOISES = 65521  # Random numbers of a weight, again and again; a prime, so no two rows are alike.


def one_up(dtype: torch.dtype) -> torch.dtype:
    """The type that a check computes in."""
    return torch.float64 if dtype == torch.float32 else torch.float32


def shared_copy(model: torch.nn.Module) -> torch.nn.Module:
    """A copy whose parameters are the model's memory; to convert it leaves the model as it is."""
    memo = {id(p): torch.nn.Parameter(p.detach(), requires_grad=False)
            for p in model.parameters()}
    made = copy.deepcopy(model, memo)
    leave_weights(made)
    return made


def layers(model: torch.nn.Module) -> list[torch.nn.Module]:
    """What the outermost lists of modules hold."""
    found: list[torch.nn.Module] = []
    for child in model.children():
        found += list(child) if isinstance(child, torch.nn.ModuleList) else layers(child)
    return [layer for layer in found if layer is not None]


def perturbed(weight: torch.Tensor, place: int) -> torch.Tensor:
    """A matrix's elements off by sqrt(K) roundings of f32, others by one."""
    generator = torch.Generator().manual_seed(4 + place)
    noise = torch.randn(min(weight.numel(), NOISES), generator=generator, dtype=torch.float32)
    noise = noise.repeat(-(-weight.numel() // max(noise.numel(), 1)))[:weight.numel()]
    k = weight.shape[-1] if weight.dim() > 1 else 1
    return weight * (1 + noise.reshape(weight.shape).to(weight.dtype) * (k**0.5 * 2.0**-24))


class _Weights:
    """The parameters of a model, of which some are in another type for a while."""

    def __init__(self, model: torch.nn.Module, dtype: torch.dtype, change: Change | None):
        self._places = {id(p): i for i, p in enumerate(model.parameters())}
        self._dtype, self._change = dtype, change
        self._narrow: dict[int, tuple[torch.nn.Parameter, torch.Tensor]] = {}
        self._of: dict[torch.nn.Module, list] = collections.defaultdict(list)

    def widen(self, parameters: typing.Iterable[torch.nn.Parameter]) -> list[int]:
        """Those that are not wide already, and their keys."""
        made = []
        for p in parameters:
            if id(p) in self._narrow or not p.is_floating_point():
                continue
            self._narrow[id(p)] = (p, p.data)
            wide = p.data.to(self._dtype)
            p.data = self._change(wide, self._places[id(p)]) if self._change else wide
            made.append(id(p))
        return made

    def narrow(self, keys: typing.Iterable[int]) -> None:
        for key in keys:
            p, data = self._narrow.pop(key)
            p.data = data

    def enter(self, layer: torch.nn.Module, *_: typing.Any) -> None:
        self._of[layer].append(self.widen(layer.parameters()))

    def leave(self, layer: torch.nn.Module, *_: typing.Any) -> None:
        self.narrow(self._of[layer].pop())

    def restore(self) -> None:
        self.narrow(list(self._narrow))


@contextlib.contextmanager
def numbers_of(dtype: torch.dtype) -> typing.Iterator[None]:
    """Numbers that a model makes are of this type, unless it says another one."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def computing_in(model: torch.nn.Module, dtype: torch.dtype, change: Change | None = None,
                 streamed: typing.Sequence[torch.nn.Module] = ()) -> typing.Iterator[None]:
    """The model computes in `dtype`, its weights `change`d, and is as before behind the block.
    Weights of `streamed` layers are wide only inside of their forwards."""
    buffers = [(m, dict(m._buffers)) for m in model.modules()]  # noqa: SLF001
    weights = _Weights(model, dtype, change)
    inside = {id(p) for layer in streamed for p in layer.parameters()}
    hooks = []
    try:
        weights.widen(p for p in model.parameters() if id(p) not in inside)
        convert_buffers(model, dtype)
        for layer in streamed:
            hooks.append(layer.register_forward_pre_hook(weights.enter))
            hooks.append(layer.register_forward_hook(weights.leave, always_call=True))
        yield
    finally:
        for hook in hooks:
            hook.remove()
        weights.restore()
        for module, before in buffers:
            module._buffers.update(before)  # noqa: SLF001
