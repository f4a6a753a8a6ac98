"""Writes products of few rows for gemm.py to time: few_rows.py ROWS FOLDER makes FOLDER/gemm.mlir.

Widths from a router's to a gate's, bf16 and fp8 with scales of rows. Then
`hk-compile gemm.mlir --target=sm_90a -o gemm.so` in that folder and `gemm.py time FOLDER`, for two
compilers in turns to compare what their cost models choose (--explain says what).
"""

import pathlib
import sys

WIDTHS = (128, 512, 1024, 2048, 3072, 5120, 6144, 8192, 10240, 12288, 28672)
SIZES = [(n, k) for n in WIDTHS for k in (2048, 4096, 8192) if n * k <= 28672 * 4096]
SIZES += [(4096, 4096), (4096, 14336), (7168, 2048)]


def bf16(m, n, k):
    return f"""func.func @bf16_{m}_{n}_{k}(%x: tensor<{m}x{k}xbf16>, %w: tensor<{n}x{k}xbf16>) -> tensor<{m}x{n}xbf16> {{
  %0 = hk.matmul %x, %w transpose_b : tensor<{m}x{k}xbf16>, tensor<{n}x{k}xbf16> -> tensor<{m}x{n}xbf16>
  return %0 : tensor<{m}x{n}xbf16>
}}
"""


def fp8(m, n, k):
    x, w = f"tensor<{m}x{k}xf8E4M3FN>", f"tensor<{n}x{k}xf8E4M3FN>"
    s, t, y = f"tensor<{m}x1xf32>", f"tensor<{n}x1xf32>", f"tensor<{m}x{n}xbf16>"
    return f"""func.func @fp8_{m}_{n}_{k}(%x: {x}, %w: {w}, %s: {s}, %t: {t}) -> {y} {{
  %0 = hk.matmul %x, %w scales (%s, %t) transpose_b accumulation tensor_core : {x}, {w} scales ({s}, {t}) -> {y}
  return %0 : {y}
}}
"""


def main():
    rows, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    text = "".join(make(rows, n, k) for make in (bf16, fp8) for n, k in SIZES)
    (folder / "gemm.mlir").write_text(text)


if __name__ == "__main__":
    main()
