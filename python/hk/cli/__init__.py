"""The command `hk`: import, compile, run, look at and try models."""

import argparse
import logging
import os
import subprocess
import sys
import typing

from .. import __version__, errors


# Options of hk-import about raising; no-raise is its --raise=false.
_RAISING = {"no-raise": "leaves decomposed forms as they are",
            "explain": "prints what was raised, and near misses",
            "check-raise": "interprets it before and after raising, and compares",
            "drop-roundings": "also raises forms with roundings to bf16 and f16 inside"}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hk", description="Compile and run LLM graphs with hk.")
    parser.add_argument("--version", action="version", version=f"hk {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add = commands.add_parser("import", help="a Hugging Face folder, GGUF or ONNX file to hk's MLIR")
    add.add_argument("model", help="folder with config.json, file.gguf, or file.onnx")
    add.add_argument("-o", dest="output", required=True, help="MODEL.mlir; the weights go to "
                     "MODEL.safetensors")
    add.add_argument("--dtype", default="f32", choices=["f32", "bf16", "f16"])
    add.add_argument("--signature", choices=["paged", "dense"])
    add.add_argument("--context", type=int, help="positions that the rotary tables cover")
    add.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE",
                     help="of an ONNX model: fixes a size that it leaves open")
    for name, text in _RAISING.items():
        add.add_argument(f"--{name}", action="store_true", help=f"of an ONNX model: {text}")
    add.add_argument("--allow-difference", action="store_true",
                     help="go on when the check against the model fails")
    add.add_argument("--threads", type=int, default=0, help="of the check; 0: one per core")
    add = commands.add_parser("generate", help="greedy text from an imported model (imports and "
                              "compiles it first, once)")
    add.add_argument("model", help="folder with config.json, or file.gguf")
    add.add_argument("--prompt", required=True)
    add.add_argument("--tokens", type=int, default=64)
    add.add_argument("--dtype", default="f32", choices=["f32", "bf16", "f16"])
    add.add_argument("--device", default="host")
    add.add_argument("--target", help="the chip to compile for; default: the device's")
    add.add_argument("--threads", type=int, default=0)
    add.add_argument("--raw", action="store_true", help="the prompt as it is, no chat template")
    add.add_argument("--compare", action="store_true",
                     help="compare the tokens with PyTorch's greedy ones")
    for command in ("import", "generate"):
        commands.choices[command].add_argument(
            "--widen-weights", action="store_true",
            help="of a GGUF file or a quantised folder: to --dtype; otherwise 4-bit and "
                 "8-bit weights stay as they are")
    commands.choices["import"].add_argument(
        "--copy-weights", action="store_true",
        help="to MODEL.safetensors, also those that could stay in the files of the folder")
    add = commands.add_parser("report", help="what the compiler decided, as a page to look at")
    add.add_argument("source", help="MODEL.mlir, or what hk-compile --explain=json wrote")
    add.add_argument("-o", dest="output", help="the page; default: SOURCE with the suffix .html")
    add.add_argument("--trace", help="what hk-run --trace wrote, for times")
    add.add_argument("--target", help="chips to explain a model for, with commas; default "
                     "gfx942,gfx950")
    add.add_argument("--weights", help="safetensors file of a model")
    for name in ("compile", "run"):
        commands.add_parser(name, help=f"hk-{name}, with its options", add_help=False)
    return parser


def _tool(name: str, arguments: list[str]) -> None:
    """Becomes a tool of hk."""
    from .. import _paths

    path = str(_paths.tool(name))
    sys.stdout.flush()
    os.execv(path, [path, *arguments])


def _import_onnx(options: argparse.Namespace) -> int:
    """hk-import, which needs no Python: what it says and its status are this command's."""
    from .. import _paths

    for name in ("signature", "context", "allow_difference", "widen_weights"):
        if getattr(options, name):
            raise errors.InvalidArgument(f"--{name.replace('_', '-')} is for models of PyTorch; an "
                                         "ONNX model brings its own arguments")
    if options.dtype != "f32":
        raise errors.InvalidArgument("--dtype is for models of PyTorch; an ONNX model has the "
                                     "types that it was exported with")
    command = [str(_paths.tool("hk-import")), options.model, "-o", options.output,
               *(f"--dim={dim}" for dim in options.dim)]
    for name in _RAISING:
        if getattr(options, name.replace("-", "_")):
            command.append("--raise=false" if name == "no-raise" else f"--{name}")
    return subprocess.run(command, check=False).returncode


def _write(output: typing.Any, text: str) -> None:
    """A file is whole or not there; a device or a pipe is written into."""
    whole = not output.exists() or output.is_file()
    place = output.with_name(f".{output.name}.{os.getpid()}") if whole else output
    try:
        place.write_text(text)
        if whole:
            place.rename(output.resolve())
    except OSError as error:
        if whole:
            place.unlink(missing_ok=True)
        raise errors.InvalidArgument(f"cannot write '{output}': {error.strerror}; name a file with "
                                     "-o") from None


def _report(options: argparse.Namespace) -> int:
    """hk report: says what it wrote."""
    import pathlib

    from ..report import report

    output = pathlib.Path(options.output or pathlib.Path(options.source).with_suffix(".html"))
    for read in (options.source, options.trace, options.weights):
        if read and output.exists() and os.path.exists(read) and output.samefile(read):
            raise errors.InvalidArgument(f"cannot write '{output}': it is '{read}', which is read; "
                                         "name another file with -o")
    page = report(options.source, trace=options.trace, weights=options.weights,
                  targets=options.target.split(",") if options.target else None)
    _write(output, page)
    print(f"wrote {output}", file=sys.stderr)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line; the exit status is 1 after an error of hk."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        if arguments and arguments[0] in ("compile", "run"):
            _tool(f"hk-{arguments[0]}", arguments[1:])
        options = _parser().parse_args(arguments)
        if options.command == "import" and options.model.lower().endswith(".onnx"):
            return _import_onnx(options)
        if options.command == "report":
            return _report(options)
        # Others' bars and advice would stand between our lines.
        os.environ.setdefault("TQDM_DISABLE", "1")
        logging.getLogger("torch.utils.flop_counter").setLevel(logging.ERROR)
        from . import models

        return {"import": models.import_model, "generate": models.generate}[options.command](options)
    except errors.Error as error:
        print(f"hk: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nhk: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # Who read the output has gone; nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ModuleNotFoundError as error:
        print(f"hk: this command needs {error.name}: pip install 'hk-compiler[torch,gguf]'",
              file=sys.stderr)
        return 1
