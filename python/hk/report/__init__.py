"""`hk report`: what the compiler decided, and how long it took, as one self-contained page.

No script, no font and no picture comes from elsewhere; the page forbids it to itself
(Content-Security-Policy), and there is no script at all.
"""

import os
import pathlib

from .. import tools
from ..errors import InvalidArgument
from . import _explain, _page, _trace


def report(source: str | os.PathLike, *, trace: str | os.PathLike | None = None,
           targets: list[str] | None = None, weights: str | os.PathLike | None = None) -> str:
    """The page, as HTML.

    `source` is what `hk-compile --explain=json` wrote, or a model (.mlir), which is then
    explained for `targets` (by default gfx942 and gfx950) with its `weights`; `trace` is what
    `hk-run --trace` wrote of the same module.
    """
    path = pathlib.Path(source)
    if path.suffix == ".mlir":
        content = tools.explain(path, targets or ["gfx942", "gfx950"], weights)
        explained = _explain.parse(content, os.fspath(path))
    elif targets or weights:
        raise InvalidArgument(f"targets and weights are for a model; '{path}' is explained already")
    else:
        explained = _explain.read(path)
    return _page.page(path.name, explained, _trace.read(trace) if trace else None)
