// 0, 1, 2, ... is computed where it is read: it costs no launch and no memory, beside rows, along
// rows, in front of a view, of a size that only the call tells; alone it is a kernel.
// RUN: split-file %s %t
// RUN: hk-compile %t/model.mlir -o %t/m.so --target=host --target=gfx942 --explain 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: hk-run %t/m.so --check=%t/model.mlir --calls=%t/calls | FileCheck %s
// RUN: env HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so HK_EMU_CHIP=gfx942 hk-run %t/m.so --device=hip:0 --check=%t/model.mlir --calls=%t/calls | FileCheck %s
// CHECK-COUNT-10: all within their bounds
// EXPLAIN-DAG: 1 launches in @causal,
// EXPLAIN-DAG: 1 launches in @rows,
// EXPLAIN-DAG: 1 launches in @alone,
// EXPLAIN-DAG: 1 launches in @like,
// EXPLAIN-DAG: 1 launches in @slopes,
// EXPLAIN-DAG: 2 launches in @gathered,

//--- calls
--function=causal --dim=x.0=5
--function=causal --dim=x.0=64
--function=rows --dim=x.0=7
--function=rows --dim=x.0=0
--function=alone
--function=like --dim=x.1=19
--function=like --dim=x.1=0
--function=slopes --dim=x.0=3
--function=gathered --dim=x.0=9
--function=gathered --dim=x.0=1

//--- model.mlir
// A mask of places beside its softmax.
func.func @causal(%x: tensor<?x96xf32>) -> tensor<?x96xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x96xf32>
  %j = hk.iota : tensor<96xi32>
  %i = hk.iota like %x dim 0 : tensor<?xi32> like tensor<?x96xf32>
  %ic = tensor.expand_shape %i [[0, 1]] output_shape [%n, 1] : tensor<?xi32> into tensor<?x1xi32>
  %sees = hk.compare le %j, %ic : tensor<96xi32>, tensor<?x1xi32> -> tensor<?x96xi1>
  %low = hk.constant 0xFF800000 : tensor<f32>
  %s = hk.select %sees, %x, %low : tensor<?x96xi1>, tensor<?x96xf32>, tensor<f32> -> tensor<?x96xf32>
  %y = hk.softmax %s : tensor<?x96xf32> -> tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}
func.func @rows(%x: tensor<?x33xbf16>) -> tensor<?x33xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x33xbf16>
  %i = hk.iota like %x dim 0 : tensor<?xf32> like tensor<?x33xbf16>
  %ic = tensor.expand_shape %i [[0, 1]] output_shape [%n, 1] : tensor<?xf32> into tensor<?x1xf32>
  %y = hk.mul %x, %ic : tensor<?x33xbf16>, tensor<?x1xf32> -> tensor<?x33xbf16>
  return %y : tensor<?x33xbf16>
}
func.func @alone() -> tensor<1000xi64> {
  %i = hk.iota : tensor<1000xi64>
  return %i : tensor<1000xi64>
}
func.func @like(%x: tensor<2x?xi8>) -> tensor<?xi32> {
  %i = hk.iota like %x dim 1 : tensor<?xi32> like tensor<2x?xi8>
  %y = hk.mul %i, %i : tensor<?xi32>
  return %y : tensor<?xi32>
}
func.func @slopes(%x: tensor<?x4x24xf32>, %m: tensor<4x1xf32>) -> tensor<?x4x24xf32> {
  %j = hk.iota : tensor<24xf32>
  %b = hk.mul %m, %j : tensor<4x1xf32>, tensor<24xf32> -> tensor<4x24xf32>
  %y = hk.add %x, %b : tensor<?x4x24xf32>, tensor<4x24xf32>
  return %y : tensor<?x4x24xf32>
}
// Every second row.
func.func @gathered(%x: tensor<?x40xf32>) -> tensor<?x40xf32> {
  %two = hk.constant 2 : tensor<i32>
  %s = hk.silu %x : tensor<?x40xf32>
  %i = hk.iota like %x dim 0 : tensor<?xi32> like tensor<?x40xf32>
  %at = hk.mul %i, %two : tensor<?xi32>, tensor<i32>
  %y = hk.gather_rows %s, %at : tensor<?x40xf32>, tensor<?xi32> -> tensor<?x40xf32>
  return %y : tensor<?x40xf32>
}
