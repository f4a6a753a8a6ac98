"""Weights of a graph that stay in the files of the model's folder."""

import os
import pathlib
import typing

import torch

from .._dtypes import torch_name
from ._mlir import ELEMENT_TYPES
from ._shards import shards


def files_of(folder: str | os.PathLike) -> dict[str, pathlib.Path]:
    """The file of each tensor of a model's folder."""
    from safetensors import safe_open

    found = {}
    for path in shards(pathlib.Path(folder)):
        with safe_open(path, "pt") as file:
            found |= dict.fromkeys(file.keys(), path)
    return found


def in_place(tensors: dict[str, torch.Tensor], folder: str | os.PathLike
             ) -> dict[str, pathlib.Path]:
    """The files of those tensors that the folder has under their names, bit by bit."""
    files = files_of(folder)
    by_file: dict[pathlib.Path, list[str]] = {}
    for name in tensors:
        if name in files:
            by_file.setdefault(files[name], []).append(name)
    return {name: path for path, names in by_file.items() for name in _equal(tensors, path, names)}


def _equal(tensors: dict[str, torch.Tensor], path: pathlib.Path, names: list[str]
           ) -> typing.Iterator[str]:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        for name in names:
            kept, own = file.get_slice(name), tensors[name]
            _, element = ELEMENT_TYPES.get(torch_name(own.dtype), ("", ""))
            # What differs by its header is not read.
            if (kept.get_dtype() == element and kept.get_shape() == list(own.shape)
                    and torch.equal(_bytes(file.get_tensor(name)), _bytes(own))):
                yield name


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)
