"""Methods and weights of a model's modules that are others for a while, and what a module computes
then."""

import contextlib
import types
import typing

import torch

Pairs = typing.Callable[[torch.Generator], typing.Iterable[tuple[torch.Tensor, torch.Tensor]]]


@contextlib.contextmanager
def methods(name: str, functions: typing.Mapping[torch.nn.Module, typing.Callable]
            ) -> typing.Iterator[None]:
    """The modules have the functions as their method of this name for as long."""
    for module, function in functions.items():
        setattr(module, name, types.MethodType(function, module))
    try:
        yield
    finally:
        for module in functions:
            delattr(module, name)


@contextlib.contextmanager
def random_weights(tensors: typing.Iterable[torch.Tensor], generator: torch.Generator
                   ) -> typing.Iterator[None]:
    """The tensors are random for as long: ones would hide how they are used."""
    saved = [(t, t.data) for t in tensors]
    try:
        for t, data in saved:
            t.data = 0.3 * torch.randn(data.shape, generator=generator)
        yield
    finally:
        for t, data in saved:
            t.data = data


def computes(module: torch.nn.Module, pairs: Pairs, seed: int, rtol: float = 1e-5) -> bool:
    """Whether the pairs are equal where the module's weights are random. `pairs`, of a generator of
    `seed`: what a formula gives, and what the module does. A module of which that raises is
    another one with parts of the same names."""
    generator = torch.Generator().manual_seed(seed)
    try:
        with random_weights(module.parameters(), generator), torch.no_grad():
            return all(torch.allclose(found, expected, rtol=rtol,
                                      atol=1e-5 * float(expected.abs().max()))
                       for found, expected in pairs(generator))
    except Exception:  # noqa: BLE001 - whatever another module raises
        return False
