"""Where a graph is written: PATH.mlir, and beside it its weights and its library."""

import os
import pathlib

from ..errors import InvalidArgument, NotFound

OWN = {".safetensors": "the weights", ".so": "the library"}


def places(path: str | os.PathLike) -> tuple[pathlib.Path, pathlib.Path]:
    """The files of a graph and of its weights. Raises InvalidArgument where they would be one, or
    where the weights would replace a model's own, and NotFound where there is no folder."""
    mlir = pathlib.Path(path)
    weights = mlir.with_suffix(".safetensors")
    if mlir.suffix in OWN:
        raise InvalidArgument(f"cannot write the graph to '{mlir}', which is where {OWN[mlir.suffix]}"
                              f" would go; name it '{mlir.with_suffix('.mlir')}'")
    if mlir.is_dir():
        raise InvalidArgument(f"cannot write the graph to '{mlir}', which is a folder; name a file, "
                              f"'{mlir / 'graph.mlir'}'")
    if not mlir.parent.is_dir():
        raise NotFound(f"cannot write '{mlir}': there is no folder '{mlir.parent}'; make it first")
    # A graph that was written here before has its own beside it.
    if weights.exists() and not mlir.exists() and (mlir.parent / "config.json").exists():
        raise InvalidArgument(f"cannot write '{mlir}': its weights would replace '{weights}', which "
                              f"a model in that folder has; choose another name")
    return mlir, weights
