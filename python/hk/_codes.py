"""The numbers that codes of 4 and 8 bits stand for. NumPy has no such types, and a file has their
bytes; of 4 bits two in each, the lower half first."""

import math
import typing

# Bits of the mantissa, bias of the exponent, and the codes without a sign that are no numbers: 0
# where the code of -0 is NaN, behind the largest exponent infinity too.
_FLOATS = {"f4E2M1FN": (1, 1, ()), "f8E4M3FN": (3, 7, (0x7f,)), "f8E4M3FNUZ": (3, 8, None),
           "f8E5M2": (2, 15, (0x7d, 0x7e, 0x7f)), "f8E5M2FNUZ": (2, 16, None)}
_BITS = {"i4": 4, "ui4": 4, "f4E2M1FN": 4}


def _float(code: int, bits: int, mantissa: int, bias: int, nans: tuple | None) -> float:
    sign, code = (-1.0 if code >> (bits - 1) else 1.0), code & ((1 << (bits - 1)) - 1)
    if code in nans if nans is not None else sign < 0 and code == 0:
        return float("nan")
    if nans and len(nans) > 1 and code == min(nans) - 1:
        return sign * float("inf")
    exponent, rest = code >> mantissa, code & ((1 << mantissa) - 1)
    whole = rest + (1 << mantissa if exponent else 0)
    return sign * whole * 2.0 ** (max(exponent, 1) - bias - mantissa)


def _table(element: str) -> list | None:
    """The number of each code; None of another element type."""
    bits = _BITS.get(element, 8)
    if element == "f8E8M0FNU":
        return [2.0 ** (code - 127) for code in range(255)] + [float("nan")]
    if element in ("i4", "i8"):
        return [code - (1 << bits if code >> (bits - 1) else 0) for code in range(1 << bits)]
    if element == "ui4":
        return list(range(16))
    if element in _FLOATS:
        return [_float(code, bits, *_FLOATS[element]) for code in range(1 << bits)]
    return None


def numbers(codes: typing.Any, shape: list[int], element: str) -> typing.Any:
    """A tensor of a file as numbers of this shape, where its bytes hold codes of `element`, an
    element type of MLIR; any other one as it is."""
    import numpy

    packed = element in _BITS
    table = _table(element) if packed or codes.dtype == numpy.uint8 else None
    if table is None:
        return codes
    codes = codes.view(numpy.uint8).ravel()
    if packed:
        codes = numpy.stack((codes & 15, codes >> 4), -1).ravel()
    made = numpy.array(table, numpy.float32)[codes]
    return made.reshape(shape) if made.size == math.prod(shape) else made
