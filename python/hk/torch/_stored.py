"""Weights that stay quantised: those of a GGUF file, and of folders that GPTQ, AWQ, llm-compressor
or bitsandbytes made.

transformers, or `_packed`, widens them while a model is read; here they are found again, by their
values: whatever was renamed, and rows that were put in another order, need no table of names, and
what is found is the weight bit for bit.
"""

import os
import pathlib

import numpy as np
import torch

from . import _gguf, _packed
from ._quantised import Quantised


def stored_weights(path: str | os.PathLike, model: torch.nn.Module,
                   notes: list[str] | None = None) -> dict[str, Quantised]:
    """The matrices of a model that was read from a GGUF file or a folder, by parameter, that the
    file has quantised in a way that hk multiplies with; other parameters are left out, and
    `notes` says why quantised ones are."""
    path = pathlib.Path(path)
    notes = [] if notes is None else notes
    quantised = _gguf.matrices(path) if path.suffix == ".gguf" else _packed.matrices(path, notes)
    parameters: dict[str, np.ndarray] = {}
    found: dict[str, Quantised] = {}
    first: dict[bytes, list[str]] = {}
    lost = 0
    for values, stored in quantised:
        if not first:
            parameters = {name: p.detach().float().numpy() for name, p in model.named_parameters()
                          if p.dim() == 2}
            for name, matrix in parameters.items():
                first.setdefault(matrix[0].tobytes(), []).append(name)
        places = {row.tobytes(): i for i, row in enumerate(values)}
        names = [name for row in places.keys() & first.keys() for name in first[row]]
        for name in names:
            order = [places.get(row.tobytes(), -1) for row in parameters[name]]
            if min(order) < 0:
                continue
            kept = stored.rows(order)
            if np.array_equal(kept.values().numpy(), parameters[name]):
                found[name] = kept
        lost += not names
    if lost:
        notes.append(f"{lost} quantised matrices are parts of others in the model (stacked experts, "
                     "merged projections); their weights are widened")
    return found
