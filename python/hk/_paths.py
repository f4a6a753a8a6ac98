"""Where the runtime library and the tools are: in the wheel, in a build tree, or named.

In this order: the environment variable HK_HOME (a folder with bin/ and lib/), what the
wheel installed beside this package, the build tree of the checkout that this package lies
in (build/release).
"""

import os
import pathlib
from collections.abc import Iterator

from .errors import NotFound

_PACKAGE = pathlib.Path(__file__).resolve().parent


def _roots() -> Iterator[pathlib.Path]:
    if home := os.environ.get("HK_HOME"):
        yield pathlib.Path(home)
        return
    yield _PACKAGE / "_install"
    yield _PACKAGE.parent.parent / "build" / "release"


def _find(relative: str) -> pathlib.Path:
    tried = [root / relative for root in _roots()]
    for path in tried:
        if path.exists():
            return path
    raise NotFound(f"cannot find {relative}: looked for {', '.join(map(str, tried))}; build hk "
                   "(./quickstart does) or set HK_HOME to a folder with its bin/ and lib/")


def library() -> pathlib.Path:
    """libhk_runtime.so."""
    return _find("lib/libhk_runtime.so")


def tool(name: str) -> pathlib.Path:
    """A command line tool, for example "hk-compile"."""
    return _find(f"bin/{name}")
