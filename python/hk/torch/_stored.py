"""Weights that stay quantised: those of a GGUF file, of folders with packed layers (_packed), and
stacks of experts in mxfp4 (gpt-oss).

transformers, or `_packed`, widens them while a model is read; here they are found again, row by
row, by their values: whatever was renamed, merged, stacked (experts) or put in another order needs
no table of names, and what is found is the weight bit for bit.
"""

import itertools
import os
import pathlib
import typing

import numpy as np
import torch

from . import _gguf, _mxfp4, _packed
from ._quantised import Quantised, joined

AT_ONCE = 4096  # Rows, which bounds the memory that their numbers take.


def _numbers(rows: np.ndarray) -> np.ndarray:
    """A number for each row, which equal rows have in common; others hardly ever."""
    words = np.ascontiguousarray(rows, np.float32).view(np.uint32)
    factors = np.random.default_rng(0).integers(0, 1 << 63, words.shape[1], np.uint64) * 2 + 1
    return np.concatenate([(words[i:i + AT_ONCE] * factors).sum(1, dtype=np.uint64)
                           for i in range(0, len(words), AT_ONCE)])


class _Rows:
    """The rows of all quantised matrices of a width, by their values."""

    def __init__(self) -> None:
        self._numbers: list[np.ndarray] = []
        self.matrices: list[Quantised] = []

    def add(self, values: np.ndarray, stored: Quantised) -> None:
        self._numbers.append(_numbers(values))
        self.matrices.append(stored)

    def finish(self) -> None:
        """Before rows are looked for."""
        self._orders = [np.argsort(n, kind="stable") for n in self._numbers]
        numbers = np.concatenate(self._numbers)
        matrix = np.repeat(np.arange(len(self._numbers)), [len(n) for n in self._numbers])
        order = np.argsort(numbers, kind="stable")
        self._all, self._matrix = numbers[order], matrix[order]

    def find(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """(matrix, row) of each of these, if all are there. What several matrices have is taken
        from that which has most of the others."""
        wanted = _numbers(rows)
        at = np.searchsorted(self._all, wanted).clip(max=len(self._all) - 1)
        if not np.array_equal(self._all[at], wanted):
            return None
        named, counts = np.unique(self._matrix[at], return_counts=True)
        matrix, row = np.full(len(wanted), -1), np.full(len(wanted), -1)
        for m in named[np.argsort(-counts, kind="stable")]:
            order = self._orders[m]
            numbers, open_ = self._numbers[m][order], np.flatnonzero(matrix < 0)
            at = np.searchsorted(numbers, wanted[open_]).clip(max=len(order) - 1)
            hit = numbers[at] == wanted[open_]
            matrix[open_[hit]], row[open_[hit]] = m, order[at[hit]]
        return matrix, row


def _rows_by_width(quantised: typing.Iterable[tuple[np.ndarray, Quantised]]) -> dict[int, _Rows]:
    found: dict[int, _Rows] = {}
    for values, stored in quantised:
        found.setdefault(values.shape[1], _Rows()).add(values, stored)
    for rows in found.values():
        rows.finish()
    return found


def _kept(rows: _Rows | None, parameter: torch.Tensor, used: dict[int, set[int]]
          ) -> Quantised | None:
    """How a matrix or a stack of them is stored, if it is; notes the matrices that it is of."""
    values = parameter.float().flatten(0, -2).numpy()
    places = None if rows is None else rows.find(values)
    kept = None if places is None else joined(rows.matrices, *places)
    # Rows that an expert reads have one order of columns.
    if kept is None or (parameter.dim() == 3 and kept.order is not None):
        return None
    if not np.array_equal(kept.values().numpy(), values):
        return None
    used[values.shape[1]] |= set(places[0].tolist())
    return kept.stacked(parameter.shape[:-1])


def stored_weights(path: str | os.PathLike, model: torch.nn.Module,
                   notes: list[str] | None = None) -> dict[str, Quantised]:
    """The matrices, and stacks of them, of a model that was read from a GGUF file or a folder, by
    parameter, that the file has quantised in a way that hk multiplies with; other parameters are
    left out, and `notes` says why quantised ones are."""
    path = pathlib.Path(path)
    notes = [] if notes is None else notes
    rows = _rows_by_width(
        _gguf.matrices(path, notes) if path.suffix.lower() == ".gguf" else itertools.chain(
            _packed.matrices(path, model, notes), _mxfp4.matrices(path)))
    used: dict[int, set[int]] = {width: set() for width in rows}
    found: dict[str, Quantised] = {}
    for name, parameter in model.named_parameters() if rows else ():
        sides = [parameter.detach()] * (parameter.dim() in (2, 3))
        sides += [p.mT for p in sides if p.dim() == 3]
        for turned, side in enumerate(sides):
            if (kept := _kept(rows.get(side.shape[-1]), side, used)) is not None:
                found[name] = kept._replace(turned=bool(turned))
                break
    lost = sum(len(r.matrices) - len(used[width]) for width, r in rows.items())
    if lost:
        notes.append(f"{lost} quantised matrices are in no parameter of the model as they are in "
                     "the file, or in one with matrices of another form; their weights are widened")
    return found
