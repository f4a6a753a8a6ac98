"""Reads safetensors files, and those that they name, into NumPy arrays; bf16 becomes float32, which
holds it."""

import json
import math
import os
import typing

from .errors import Incompatible, InvalidArgument, NotFound

# Metadata of a file: further ones with weights of the same model, as a JSON list of paths from its
# folder (docs/weights.md).
FILES = "hk.files"

_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "uint16",
          "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
          "BOOL": "bool"}


def _header(path: str | os.PathLike) -> tuple[dict, typing.Any]:
    """What a file says of its tensors, and their bytes."""
    import numpy

    try:
        data = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    except FileNotFoundError:
        raise NotFound(f"no such file: '{os.fspath(path)}'") from None
    except OSError as error:
        raise InvalidArgument(f"cannot read '{os.fspath(path)}': {error.strerror}") from None
    except ValueError:  # It is empty.
        data = numpy.zeros(0, numpy.uint8)
    length = int(data[:8].view(numpy.uint64)[0]) if data.size >= 8 else 0
    try:
        header = json.loads(bytes(data[8:8 + length]))
    except ValueError:
        header = None
    if data.size < 8 + length or not isinstance(header, dict):
        raise Incompatible(f"'{os.fspath(path)}' is not a safetensors file, or it is cut off")
    return header, data[8 + length:]


def read(path: str | os.PathLike, depth: int = 0) -> dict[str, typing.Any]:
    """Arrays by name. Arrays of one file share its memory map."""
    import numpy

    header, data = _header(path)
    tensors: dict[str, typing.Any] = {}
    others = json.loads(header.get("__metadata__", {}).get(FILES, "[]"))
    if others and depth:
        raise Incompatible(f"'{os.fspath(path)}' names further files, and is named by one itself")
    for other in others:
        tensors |= read(os.path.join(os.path.dirname(path), other), depth + 1)
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in _TYPES:
            raise Incompatible(f"'{os.fspath(path)}', tensor '{name}': no support for "
                               f"{entry['dtype']}")
        begin, end = entry["data_offsets"]
        raw = numpy.frombuffer(data[begin:end].tobytes(), dtype=_TYPES[entry["dtype"]])
        if raw.size != math.prod(entry["shape"]):
            raise Incompatible(f"'{os.fspath(path)}', tensor '{name}': {list(entry['shape'])} has "
                               f"{math.prod(entry['shape'])} elements, but the file {raw.size}; is it "
                               "cut off?")
        if entry["dtype"] == "BF16":
            raw = (raw.astype(numpy.uint32) << 16).view(numpy.float32)
        tensors[name] = raw.reshape(entry["shape"])
    return tensors
