// Products of bf16 on the host, which CPUs with AVX512_BF16 multiply as pairs: every kind
// of weight in streams (few rows) and panels (many), ends of k inside a step, inside a
// block of scales and inside a pair; scales that make numbers below 2^-126, NaN, infinity.
// The same on a CPU without such instructions, and with a matrix unit (AMX) where this
// machine has one: whole tiles of 16 rows and parts of them, rows multiplied where they lie,
// and few rows by tables of floats (ui4_long: rows that are read singly; -128 has no magnitude
// below 128).
// RUN: rm -rf %t && mkdir -p %t
// RUN: hk-compile %s -o %t/native.so --target=host --host-cpu=native
// RUN: hk-compile %s -o %t/v3.so --target=host --host-cpu=x86-64-v3
// RUN: bash -c 'check() { for f in stored whole columns e4m3 e4m3_row fnuz_row e5m2_blocks i8_row i8_groups i4_groups i4_whole ui4_zeros ui4_float_zeros ui4_offsets ui4_long e5m2_row; do hk-run $1 --function=$f --dim=x.0=$2 --data=$3 --check=%s || exit 1; done; }; for data in normal tiny nan inf; do for rows in 1 5 30 97; do check %t/native.so $rows $data; done; done; check %t/v3.so 1 normal; check %t/v3.so 30 normal; hk-run %t/native.so --function=i8_row --dim=x.0=1 --range=c=-128:-120 --check=%s' | FileCheck %s
// RUN: not hk-compile %s -o %t/no.so --target=host --host-cpu=znver9 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// CHECK-COUNT-289: all within their bounds
// UNKNOWN: unknown host CPU 'znver9'; expected native, x86-64-v2, x86-64-v3, x86-64-v4, icelake-server, icelake-server+bf16 or icelake-server+amx

func.func @stored(%x: tensor<?x201xbf16>, %w: tensor<70x201xbf16>) -> tensor<?x70xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x201xbf16>, tensor<70x201xbf16> -> tensor<?x70xbf16>
  return %y : tensor<?x70xbf16>
}
func.func @whole(%x: tensor<?x576xbf16>, %w: tensor<70x576xbf16>) -> tensor<?x70xbf16> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x576xbf16>, tensor<70x576xbf16> -> tensor<?x70xbf16>
  return %y : tensor<?x70xbf16>
}
func.func @columns(%x: tensor<?x201xbf16>, %w: tensor<201x70xbf16>) -> tensor<?x70xf32> {
  %y = hk.matmul %x, %w : tensor<?x201xbf16>, tensor<201x70xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @e4m3(%x: tensor<?x201xbf16>, %w: tensor<70x201xf8E4M3FN>) -> tensor<?x70xf32> {
  %y = hk.matmul %x, %w transpose_b : tensor<?x201xbf16>, tensor<70x201xf8E4M3FN> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @e4m3_row(%x: tensor<?x201xbf16>, %c: tensor<70x201xf8E4M3FN>, %s: tensor<70x1xf32>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s : tensor<70x201xf8E4M3FN>, tensor<70x1xf32> -> tensor<70x201xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x201xbf16>, tensor<70x201xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @fnuz_row(%x: tensor<?x201xbf16>, %c: tensor<70x201xf8E4M3FNUZ>, %s: tensor<70x1xf32>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s : tensor<70x201xf8E4M3FNUZ>, tensor<70x1xf32> -> tensor<70x201xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x201xbf16>, tensor<70x201xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @e5m2_blocks(%x: tensor<?x201xbf16>, %c: tensor<70x201xf8E5M2>, %s: tensor<70x2xbf16>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s group 128 : tensor<70x201xf8E5M2>, tensor<70x2xbf16> -> tensor<70x201xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x201xbf16>, tensor<70x201xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @i8_row(%x: tensor<?x201xbf16>, %c: tensor<70x201xi8>, %s: tensor<70x1xf32>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s : tensor<70x201xi8>, tensor<70x1xf32> -> tensor<70x201xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x201xbf16>, tensor<70x201xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @i8_groups(%x: tensor<?x201xbf16>, %c: tensor<70x201xi8>, %s: tensor<70x7xbf16>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s group 32 : tensor<70x201xi8>, tensor<70x7xbf16> -> tensor<70x201xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x201xbf16>, tensor<70x201xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @i4_groups(%x: tensor<?x230xbf16>, %c: tensor<70x230xi4>, %s: tensor<70x8xbf16>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s group 32 : tensor<70x230xi4>, tensor<70x8xbf16> -> tensor<70x230xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x230xbf16>, tensor<70x230xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @i4_whole(%x: tensor<?x202xbf16>, %c: tensor<70x202xi4>, %s: tensor<70x1xf32>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s : tensor<70x202xi4>, tensor<70x1xf32> -> tensor<70x202xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x202xbf16>, tensor<70x202xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @ui4_zeros(%x: tensor<?x230xbf16>, %c: tensor<70x230xui4>, %s: tensor<70x8xf32>, %z: tensor<70x8xui4>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s, %z group 32 : tensor<70x230xui4>, tensor<70x8xf32>, tensor<70x8xui4> -> tensor<70x230xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x230xbf16>, tensor<70x230xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @ui4_float_zeros(%x: tensor<?x230xbf16>, %c: tensor<70x230xui4>, %s: tensor<70x4xf32>, %zf: tensor<70x4xf32>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s, %zf offset group 64 : tensor<70x230xui4>, tensor<70x4xf32>, tensor<70x4xf32> -> tensor<70x230xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x230xbf16>, tensor<70x230xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @ui4_offsets(%x: tensor<?x230xbf16>, %c: tensor<70x230xui4>, %s: tensor<70x8xf16>, %m: tensor<70x8xf16>) -> tensor<?x70xf32> {
  %w = hk.dequantize %c, %s, %m offset group 32 : tensor<70x230xui4>, tensor<70x8xf16>, tensor<70x8xf16> -> tensor<70x230xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x230xbf16>, tensor<70x230xbf16> -> tensor<?x70xf32>
  return %y : tensor<?x70xf32>
}
func.func @ui4_long(%x: tensor<?x1090xbf16>, %c: tensor<37x1090xui4>, %s: tensor<37x18xbf16>, %m: tensor<37x18xbf16>) -> tensor<?x37xf32> {
  %w = hk.dequantize %c, %s, %m offset group 64 : tensor<37x1090xui4>, tensor<37x18xbf16>, tensor<37x18xbf16> -> tensor<37x1090xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x1090xbf16>, tensor<37x1090xbf16> -> tensor<?x37xf32>
  return %y : tensor<?x37xf32>
}
func.func @e5m2_row(%x: tensor<?x667xbf16>, %c: tensor<37x667xf8E5M2>, %s: tensor<37x1xf32>) -> tensor<?x37xf32> {
  %w = hk.dequantize %c, %s : tensor<37x667xf8E5M2>, tensor<37x1xf32> -> tensor<37x667xbf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x667xbf16>, tensor<37x667xbf16> -> tensor<?x37xf32>
  return %y : tensor<?x37xf32>
}
