"""Runs a few operators of hk on PyTorch's tensors: a module for each combination of types and
static widths, compiled on first use and kept on disk ($XDG_CACHE_HOME/hk/ops)."""

import functools
import hashlib
import math
import os
import pathlib
import re
import tempfile
import threading
import typing

import torch

from .. import _dtypes, _paths, module, tensor, tools
from ..errors import Error, InvalidArgument

_lock = threading.Lock()
_functions: dict[tuple, module.Function] = {}


def element(dtype: torch.dtype) -> str:
    """hk's name of an element type."""
    row = _dtypes.BY_TORCH.get(_dtypes.torch_name(dtype))
    if row is None:
        raise InvalidArgument(f"hk has no element type {dtype}; it has "
                              + ", ".join(f"torch.{name}" for name in _dtypes.BY_TORCH))
    return row.name


def _type(value: torch.Tensor, dynamic: int) -> str:
    sizes = ["?" if i < dynamic else str(size) for i, size in enumerate(value.shape)]
    return f"tensor<{'x'.join([*sizes, element(value.dtype)])}>"


def _text(body: str, inputs: dict[str, torch.Tensor], outputs: dict[str, torch.Tensor],
          states: typing.Collection[str], dynamic: dict[str, int]) -> str:
    types = {name: _type(value, dynamic.get(name, 1))
             for name, value in (inputs | outputs).items()}
    arguments = ", ".join(f'%{name}: {types[name]} {{hk.name = "{name}"'
                          f'{", hk.state" if name in states else ""}}}' for name in inputs)
    results = [f'{types[name]} {{hk.name = "{name}"}}' for name in outputs]
    values = [f"%{name}" for name in outputs] + [f"%{name}_written" for name in states]
    kinds = [types[name] for name in (*outputs, *states)]
    lines = "".join(f"  {line.strip()}\n" for line in body.format(**types).strip().splitlines())
    return (f"func.func @op({arguments}) -> ({', '.join(results + kinds[len(outputs):])}) {{\n"
            f"{lines}  return {', '.join(values)} : {', '.join(kinds)}\n}}\n")


@functools.cache
def _device(kind: str, index: int) -> tensor.Device:
    if kind == "cpu":
        return tensor.Device("host", threads=torch.get_num_threads())
    if kind == "cuda":
        return tensor.Device(f"{'hip' if torch.version.hip else 'cuda'}:{index}")
    raise InvalidArgument(f"hk has no device '{kind}'; tensors must be on cpu or cuda (HIP too)")


def _library(text: str, target: str) -> pathlib.Path:
    """The compiled module, in the cache."""
    compiler = _paths.tool("hk-compile").stat()
    key = hashlib.sha256(repr((text, target, compiler.st_mtime_ns, compiler.st_size)).encode())
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "hk" / "ops"
    path = folder / f"{target}-{key.hexdigest()[:24]}.so"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = tools.compile(text, pathlib.Path(scratch) / "op.so", targets=[target])
            os.replace(made, path)  # Another process may have made it, too: it is the same.
    return path


def run(body: str, inputs: dict[str, torch.Tensor], outputs: dict[str, torch.Tensor],
        states: typing.Collection[str] = (), dynamic: dict[str, int] | None = None) -> None:
    """Computes `outputs` and updates `states` (names of inputs).

    `body` is MLIR that defines %NAME for every output and %NAME_written for every state; in
    it {NAME} is the type of a tensor. Of every tensor the first dim is dynamic, or as many
    as `dynamic` says.
    """
    text = _text(body, inputs, outputs, states, dynamic or {})
    place = next(iter(inputs.values())).device
    key = (text, place.type, place.index or 0)
    function = _functions.get(key)
    if function is None:
        with _lock:
            device = _device(place.type, place.index or 0)
            function = _functions[key] = module.load(_library(text, device.target), device)["op"]
    function(*inputs.values(), out=list(outputs.values()))


def rows(value: torch.Tensor) -> torch.Tensor:
    """[.., N] as [rows, N], without a copy."""
    if value.dim() == 0:
        raise InvalidArgument("expected a tensor of rows [.., N], got one of no dims")
    if not value.is_contiguous():
        raise InvalidArgument(f"expected a dense row-major tensor, got shape {list(value.shape)} with "
                              f"strides {list(value.stride())}; make a contiguous copy")
    return value.view(math.prod(value.shape[:-1]), value.shape[-1])


def _telling(function: typing.Callable) -> typing.Callable:
    """The function, whose errors name it; not the file that the compiler read, which has gone."""
    @functools.wraps(function)
    def call(*args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        try:
            return function(*args, **kwargs)
        except Error as error:
            name = f"hk.ops.{function.__name__}: "
            said = re.sub(r"^/\S*/model\.mlir:\d+:\d+: error: |^function 'op', ", "", str(error))
            raise type(error)(said if said.startswith(name) else name + said) from error
    return call


def op(mutates: typing.Sequence[str] = (),
       fake: typing.Callable | None = None) -> typing.Callable:
    """Registers a function as torch.ops.hk_ops.NAME. `fake` makes what it returns, without
    data; without it the function returns nothing."""
    def register(function: typing.Callable) -> typing.Any:
        made = torch.library.custom_op(f"hk_ops::{function.__name__}",
                                       _telling(function), mutates_args=mutates)
        made.register_fake(fake or (lambda *_, **__: None))
        made.__doc__ = function.__doc__
        return made
    return register


def unsupported(name: str, **options: typing.Any) -> None:
    """Refuses options that are not at their default, which is given second."""
    for option, (value, default) in options.items():
        if value is not default and value != default:
            raise InvalidArgument(f"hk.ops.{name}: {option}={value} is not supported; leave it at "
                                  f"{default}")
