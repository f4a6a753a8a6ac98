"""What torch.export cannot trace, as an error with the model's line, the reason and a remedy; and
what it can trace where it is kept from a conversion that changes nothing."""

import contextlib
import functools
import io
import pathlib
import re
import sys
import traceback
import typing

import torch

from ..errors import UnsupportedModel

# What torch's text has, and what to do about it.
REMEDIES = (
    (r"data-dependent|Could not extract specialized integer",
     "a control flow or a size that depends on data must be taken out of the model: a compiled "
     "function does the same whatever the values are"),
    (r"'NoneType' object",
     "the model makes less while it is traced than when it runs, its mask for example: give the "
     "argument that is None there (attention_mask=torch.ones(...)) with the example"),
    (r"Couldn't swap|inplace update to inference tensor",
     "the model changes its own weights when it runs: do that before the import, and take it out "
     "of forward"),
    (r"Constraints violated",
     "a size that is given as dynamic is one that the model fixes or limits: leave it out of "
     "dynamic_shapes, or give the limits there"),
)
OTHER = "change what the model does there, or import what is around it with export_module"
_OWN = (str(pathlib.Path(torch.__file__).parent), str(pathlib.Path(__file__).parents[1]))


def first_lines(error: Exception, count: int = 3) -> str:
    """The beginning of a text, without its list of things to read and to try."""
    lines = str(error).strip().splitlines()[:count]
    return " ".join(lines).partition(" (unhinted:")[0].rstrip(" .")


def _line(error: Exception) -> str:
    """The model's line that was traced last."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((*_OWN, "<")):
            return f"{pathlib.Path(frame.filename).name}:{frame.lineno}: `{frame.line}`: "
    return ""


def told(error: UnsupportedModel) -> UnsupportedModel:
    """An error of a formula (hk's own), behind which torch has put where it was, as all others
    are: the model's line, the operator, the reason."""
    said, _, place = str(error).partition("\n\nWhile executing ")
    operator = re.search(r"target=torch\.ops\.([\w.]+)", place)
    lines = re.findall(r'File "([^"]+)", line (\d+), in .*\n\s*(.*)', place)
    own = [f"{pathlib.Path(file).name}:{number}: `{code}`: " for file, number, code in lines
           if not file.startswith(_OWN)]
    return UnsupportedModel("".join(own[-1:]) + (f"{operator[1]}: " if operator else "") + said)


def refusal(error: Exception) -> UnsupportedModel:
    """The error to raise for one of torch.export's."""
    said = str(error)
    remedy = next((text for found, text in REMEDIES if re.search(found, said)), OTHER)
    return UnsupportedModel(f"{_line(error)}torch.export: {first_lines(error)}; {remedy}")


@contextlib.contextmanager
def conversions_that_change() -> typing.Iterator[None]:
    """Module.to for as long: where a module has the type already it would put equal weights in the
    place of its weights, which torch.export refuses; routers of experts do that in forward."""
    original = torch.nn.Module.to

    @functools.wraps(original)
    def to(module: torch.nn.Module, *args: typing.Any, **kwargs: typing.Any) -> torch.nn.Module:
        device, dtype, _, layout = torch._C._nn._parse_to(*args, **kwargs)
        held = [t for t in (*module.parameters(), *module.buffers()) if t.is_floating_point()]
        if device is None and layout is None and all(t.dtype == dtype for t in held):
            return module
        return original(module, *args, **kwargs)

    torch.nn.Module.to = to
    try:
        yield
    finally:
        torch.nn.Module.to = original


@contextlib.contextmanager
def without_partial_graph() -> typing.Iterator[None]:
    """torch.export prints what it has of a graph when it fails: pages, above the one line that says
    why."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        yield
    sys.stderr.write(said.getvalue())
