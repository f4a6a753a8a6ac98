"""Methods and weights of a model's modules that are others for a while."""

import contextlib
import types
import typing

import torch


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
