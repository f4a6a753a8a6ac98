"""Element types: hk's names, DLPack's codes, NumPy's and PyTorch's names."""

import typing


class DType(typing.NamedTuple):
    """One element type; `numpy` is None where NumPy has none: raw bits are used there."""

    name: str
    code: int
    bits: int
    numpy: str | None
    torch: str | None


_ROWS = (
    DType("f32", 2, 32, "float32", "float32"),
    DType("bf16", 4, 16, None, "bfloat16"),
    DType("f16", 2, 16, "float16", "float16"),
    DType("f8E4M3FN", 10, 8, None, "float8_e4m3fn"),
    DType("f8E4M3FNUZ", 11, 8, None, "float8_e4m3fnuz"),
    DType("f8E5M2", 12, 8, None, "float8_e5m2"),
    DType("f8E5M2FNUZ", 13, 8, None, "float8_e5m2fnuz"),
    DType("f4E2M1FN", 17, 4, None, None),
    DType("f8E8M0FNU", 14, 8, None, "float8_e8m0fnu"),
    DType("i1", 6, 8, "bool", "bool"),
    DType("i8", 0, 8, "int8", "int8"),
    DType("i16", 0, 16, "int16", "int16"),
    DType("i32", 0, 32, "int32", "int32"),
    DType("i64", 0, 64, "int64", "int64"),
    DType("i4", 0, 4, None, None),
    DType("ui4", 1, 4, None, None),
)
BY_CODE = {(row.code, row.bits): row for row in _ROWS}
BY_NAME = {row.name: row for row in _ROWS}
BY_TORCH = {row.torch: row for row in _ROWS if row.torch}


def torch_name(dtype: object) -> str:
    """PyTorch's name of one of its types, as `BY_TORCH` has it."""
    return str(dtype).removeprefix("torch.")


def bytes_of(dtype: DType, shape: tuple[int, ...]) -> int:
    """Bytes of a dense tensor."""
    count = 1
    for size in shape:
        count *= size
    return count * dtype.bits // 8
