"""Stacks of experts in mxfp4, as gpt-oss has them: codes of fp4 in blocks of 32 with a power of two.

transformers reads such a folder itself, and widens it where there is no GPU.
"""

import os
import pathlib
import typing

import numpy as np

from . import _packed
from ._quantised import Quantised, mxfp4

BLOCKS, SCALES = "_blocks", "_scales"


def matrices(folder: str | os.PathLike) -> typing.Iterator[tuple[np.ndarray, Quantised]]:
    """The values [E N, K] of the folder's stacks, and how they are stored: X_blocks
    [E, N, K / 32, 16], the even column of a byte low, and X_scales [E, N, K / 32]."""
    path = pathlib.Path(folder)
    if not _packed.is_of(path, "mxfp4"):
        return
    tensors = _packed.tensors_of(path)
    for name, blocks in tensors.items():
        scales = tensors.get(name.removesuffix(BLOCKS) + SCALES)
        if not name.endswith(BLOCKS) or scales is None or blocks.dim() != 4:
            continue
        stored = mxfp4(blocks.flatten(2).flatten(0, 1), scales.flatten(0, 1))
        yield stored.values().numpy(), stored
