"""hk's tools as functions: compile a model, interpret it."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import typing

from . import _codes, _paths
from .errors import CompileError, InvalidArgument, NotFound

Source = str | os.PathLike


def _text_file(source: typing.Any, folder: str) -> pathlib.Path:
    """The file of a model: a path, MLIR text (it has a newline), or a Graph."""
    path = pathlib.Path(folder) / "model.mlir"
    if hasattr(source, "save"):
        return source.save(path)[0]
    if isinstance(source, str) and "\n" in source:
        path.write_text(source)
        return path
    if not isinstance(source, (str, os.PathLike)):
        raise InvalidArgument("expected a model as a path, MLIR text or an hk.torch.Graph, got "
                              f"{type(source).__name__}")
    path = pathlib.Path(source)
    if not source or not path.exists():
        raise NotFound(f"no such file: '{source}'; a text, not a path, has more than one line")
    if path.is_dir():
        raise InvalidArgument(f"expected the file of a model, got the folder '{path}'")
    return path


def _chips(targets: str | typing.Sequence[str]) -> str:
    """The option of hk-compile; a text is one target, or several with commas."""
    text = targets if isinstance(targets, str) else ",".join(targets)
    if not text:
        raise InvalidArgument("targets: expected at least one, for example [\"host\"]")
    return f"--target={text}"


def _require_clang(clang: str) -> None:
    if shutil.which(clang) is None:
        raise NotFound(f"hk compiles kernels with {clang}, which is not on PATH: install the "
                       "Debian package clang-22, or name a clang 22 with HK_CLANG")


def explain(source: Source, targets: str | typing.Sequence[str] = ("host",),
            weights: Source | None = None) -> str:
    """What hk-compile decides about a model file, as the JSON of docs/explain.md."""
    clang = os.environ.get("HK_CLANG", "clang-22")
    _require_clang(clang)
    command = [str(_paths.tool("hk-compile")), os.fspath(source), _chips(targets), "--explain=json"]
    if clang != "clang-22":
        command.append(f"--clang={clang}")
    if weights:
        command.append(f"--weights={os.fspath(weights)}")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise CompileError(result.stderr.strip() or f"hk-compile ended with {result.returncode}")
    return result.stdout


def compile(source: typing.Any, output: Source | None = None, *,  # noqa: A001
            targets: str | typing.Sequence[str] = ("host",), weights: Source | None = None,
            explain: bool = False, options: typing.Sequence[str] = ()) -> pathlib.Path:
    """Compiles a model for `targets` (host, gfx942, gfx950, gfx1100, sm_90a).

    `source` is a path, MLIR text, or an hk.torch.Graph, whose weights are then the default
    of `weights`, copied beside the library. `output` is by default the path of the source
    with the suffix .so, and of text a file in a new temporary folder. `explain` prints what
    was fused and why not. `options` are further ones of hk-compile. Returns the path of the
    library.
    """
    clang = os.environ.get("HK_CLANG", "clang-22")
    if not any(o.startswith("--clang") for o in options):
        _require_clang(clang)
    with tempfile.TemporaryDirectory() as folder:
        path = _text_file(source, folder)
        options = list(options)
        if hasattr(source, "save") and weights is None:
            weights = path.with_suffix(".safetensors")
            options.append("--pack-weights")  # the file goes with the folder
        if output is None:
            kept = path if path.parent != pathlib.Path(folder) else (
                pathlib.Path(tempfile.mkdtemp(prefix="hk-")) / "model.mlir")
            output = kept.with_suffix(".so")
        command = [str(_paths.tool("hk-compile")), str(path), _chips(targets),
                   "-o", os.fspath(output), *options]
        if clang != "clang-22":
            command.append(f"--clang={clang}")
        if weights:
            command.append(f"--weights={os.fspath(weights)}")
        if explain:
            command.append("--explain")
        result = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        raise CompileError(result.stderr.strip() or f"hk-compile ended with {result.returncode}")
    return pathlib.Path(output)


class Reference(typing.NamedTuple):
    """One result of the interpreter: values and the bound of each, as float64 arrays."""

    values: typing.Any
    bounds: typing.Any


def run_reference(source: typing.Any, inputs: typing.Sequence, *, function: str = "main",
                  weights: Source | typing.Mapping[str, typing.Any] | None = None
                  ) -> list[Reference]:
    """Evaluates a function of base operators with the reference interpreter. Needs NumPy.

    `inputs` are arrays for the function's arguments in order (floats of any type of NumPy's or
    PyTorch's, they are rounded to the argument's), `weights` a safetensors file or arrays by the name of
    their hk.weight. Returns what the function returns, states included, in order.
    """
    import numpy

    with tempfile.TemporaryDirectory() as folder:
        path = _text_file(source, folder)
        if weights is None and hasattr(source, "save"):
            weights = path.with_suffix(".safetensors")
        command = [str(_paths.tool("hk-interp")), str(path), f"--function={function}",
                   f"--output={folder}/result"]
        for i, value in enumerate(inputs):
            _save(f"{folder}/input{i}.npy", value)
            command.append(f"--input={folder}/input{i}.npy")
        for i, (name, value) in enumerate(_weights_of(path, weights).items()):
            _save(f"{folder}/weight{i}.npy", value)
            command.append(f"--weight={name}={folder}/weight{i}.npy")
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise CompileError(result.stderr.strip())
        results: list[Reference] = []
        while os.path.exists(f"{folder}/result.{len(results)}.npy"):
            stem = f"{folder}/result.{len(results)}"
            results.append(Reference(numpy.load(stem + ".npy"), numpy.load(stem + ".bound.npy")))
    return results


def _save(path: str, value: typing.Any) -> None:
    import numpy

    if hasattr(value, "is_floating_point") and value.is_floating_point():  # PyTorch's, bf16 too
        value = value.detach().cpu().float() if value.element_size() < 4 else value.detach().cpu()
    array = numpy.asarray(value, order="C")  # a number stays one: of rank 0
    if array.dtype == numpy.float16:
        array = array.astype(numpy.float32)
    numpy.save(path, array)


def _weights_of(path: pathlib.Path, weights: typing.Any) -> dict:
    """Arrays by symbol of the weights that a model declares."""
    if weights is None:
        return {}
    if not isinstance(weights, (str, os.PathLike)):
        return dict(weights)
    from ._safetensors import read

    tensors = read(weights)
    declared = re.findall(r'^\s*hk\.weight @(\S+) "([^"]+)" : tensor<((?:\d+x)*)(\w+)>',
                          path.read_text(), re.MULTILINE)
    lacking = [source for _, source, *_ in declared if source not in tensors]
    if lacking:
        raise NotFound(f"'{os.fspath(weights)}' has no tensor '{lacking[0]}'")
    return {symbol: _codes.numbers(tensors[source], [int(n) for n in sizes.split("x")[:-1]], element)
            for symbol, source, sizes, element in declared}
