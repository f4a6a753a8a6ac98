"""Reads safetensors files, and those that they name, into NumPy arrays; bf16 becomes float32, which
holds it, and f8 are bytes."""

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
          "BOOL": "bool", "F8_E4M3": "uint8", "F8_E5M2": "uint8", "F8_E8M0": "uint8"}


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
    except (ValueError, RecursionError):
        header = None
    if data.size < 8 + length or not isinstance(header, dict):
        raise Incompatible(f"'{os.fspath(path)}' is not a safetensors file, or it is cut off")
    return header, data[8 + length:]


def _others(path: str | os.PathLike, metadata: typing.Any) -> list[str]:
    """The further files that a header names."""
    try:
        others = json.loads(metadata.get(FILES, "[]"))
    except (AttributeError, TypeError, ValueError, RecursionError):
        others = None
    if not isinstance(others, list) or not all(isinstance(o, str) for o in others):
        raise Incompatible(f"'{os.fspath(path)}': {FILES} of its metadata is no list of paths")
    return others


def _entry(where: str, entry: typing.Any) -> tuple[str, list[int], int, int]:
    """Type, sizes and place of a tensor; `where` is it in errors."""
    entry = entry if isinstance(entry, dict) else {}
    kind, shape, place = (entry.get(n) for n in ("dtype", "shape", "data_offsets"))
    if not isinstance(kind, str) or kind not in _TYPES:
        raise Incompatible(f"{where}: no support for {kind}")
    for numbers in (shape, place):
        if not isinstance(numbers, list) or not all(type(n) is int and n >= 0 for n in numbers):
            raise Incompatible(f"{where}: expected a list of counts, got {str(numbers)[:80]}")
    if len(place) != 2:
        raise Incompatible(f"{where}: expected two data_offsets, got {len(place)}")
    return kind, shape, *place


def read(path: str | os.PathLike, depth: int = 0) -> dict[str, typing.Any]:
    """Arrays by name. Arrays of one file share its memory map."""
    import numpy

    header, data = _header(path)
    tensors: dict[str, typing.Any] = {}
    others = _others(path, header.pop("__metadata__", {}))
    if others and depth:
        raise Incompatible(f"'{os.fspath(path)}' names further files, and is named by one itself")
    for other in others:
        tensors |= read(os.path.join(os.path.dirname(path), other), depth + 1)
    for name, entry in header.items():
        where = f"'{os.fspath(path)}', tensor '{name}'"
        kind, shape, begin, end = _entry(where, entry)
        if not begin <= end <= data.size or (end - begin) % numpy.dtype(_TYPES[kind]).itemsize:
            raise Incompatible(f"{where}: bytes {begin} to {end} are no {kind} elements of the "
                               f"{data.size} bytes behind the header; is it cut off?")
        raw = numpy.frombuffer(data[begin:end].tobytes(), dtype=_TYPES[kind])
        if raw.size != math.prod(shape):
            raise Incompatible(f"{where}: {shape} has {math.prod(shape)} elements, but the file "
                               f"{raw.size}; is it cut off?")
        if kind == "BF16":
            raw = (raw.astype(numpy.uint32) << 16).view(numpy.float32)
        tensors[name] = raw.reshape(shape)
    return tensors
