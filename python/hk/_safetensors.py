"""Reads safetensors files, and those that they name, into NumPy arrays; bf16 becomes float32, which
holds it."""

import json
import os
import typing

from .errors import Incompatible

# Metadata of a file: further ones with weights of the same model, as a JSON list of paths from its
# folder (docs/weights.md).
FILES = "hk.files"

_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "uint16",
          "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
          "BOOL": "bool"}


def read(path: str | os.PathLike) -> dict[str, typing.Any]:
    """Arrays by name. Arrays of one file share its memory map."""
    import numpy

    data = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    length = int(data[:8].view(numpy.uint64)[0]) if data.size >= 8 else 0
    if data.size < 8 + length or length < 2:
        raise Incompatible(f"'{os.fspath(path)}' is not a safetensors file")
    header = json.loads(bytes(data[8:8 + length]))
    tensors: dict[str, typing.Any] = {}
    for other in json.loads(header.get("__metadata__", {}).get(FILES, "[]")):
        tensors |= read(os.path.join(os.path.dirname(path), other))
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in _TYPES:
            raise Incompatible(f"'{os.fspath(path)}', tensor '{name}': no support for "
                               f"{entry['dtype']}")
        begin, end = entry["data_offsets"]
        raw = numpy.frombuffer(data[8 + length + begin:8 + length + end].tobytes(),
                               dtype=_TYPES[entry["dtype"]])
        if entry["dtype"] == "BF16":
            raw = (raw.astype(numpy.uint32) << 16).view(numpy.float32)
        tensors[name] = raw.reshape(entry["shape"])
    return tensors
