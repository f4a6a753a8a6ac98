"""Indexers of sparse attention (DeepSeek-V3.2): a small product of its own chooses the `index_topk`
keys that a token attends to. In a context of at most so many it chooses all of them, and attention
is what it would be without; such a context is what the import takes."""

import contextlib
import typing

import torch

from ..errors import UnsupportedModel
from . import _replaced


def is_indexer(module: torch.nn.Module) -> bool:
    """A module that chooses keys."""
    return isinstance(getattr(module, "index_topk", None), int) and hasattr(module, "weights_proj")


def find(model: torch.nn.Module, context: int) -> list[torch.nn.Module]:
    """The indexers of a model, which choose every key of a context."""
    found = {name: m for name, m in model.named_modules() if is_indexer(m)}
    for name, module in found.items():
        if module.index_topk < context:
            raise UnsupportedModel(
                f"{name} ({type(module).__name__}): it chooses {module.index_topk} keys of a "
                f"context of {context}; hk's import has no attention of chosen keys. Import it "
                f"with a context of at most {module.index_topk} (--context={module.index_topk}), "
                "where it chooses all")
    return list(found.values())


def active(modules: typing.Iterable[torch.nn.Module]) -> contextlib.AbstractContextManager:
    """The modules choose nothing for as long: attention sees all keys."""
    return _replaced.methods("forward", dict.fromkeys(modules, lambda *_, **__: None))
