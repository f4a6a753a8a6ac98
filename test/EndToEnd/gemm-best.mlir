// Products whose epilogue chooses one column of a row, in one launch: widths of 16 to 128, ties to
// either side (all columns equal), NaN, no rows, rows of a part of a tile, batches, columns that
// are also stored, and what is computed behind the choice. The last ones stay two launches: more
// than one column, a width that is no whole row of a tile, and a k for which a block that has all
// columns is slower (the model says so).
// RUN: hk-compile %s -o %t.so --target=host,gfx942,gfx950,sm_90a --explain > %t.txt
// RUN: FileCheck %s --input-file=%t.txt
// RUN: hk-run %t.so --check=%s --function=sixteen --dim=x.0=33
// RUN: hk-run %t.so --check=%s --function=sixteen --dim=x.0=0
// RUN: hk-run %t.so --check=%s --function=sixteen --dim=x.0=70 --data=nan
// RUN: hk-run %t.so --check=%s --function=sixteen --dim=x.0=5 --data=equal
// RUN: hk-run %t.so --check=%s --function=highest --dim=x.0=1 --data=equal
// RUN: hk-run %t.so --check=%s --function=highest --dim=x.0=130
// RUN: hk-run %t.so --check=%s --function=scores --dim=x.0=17
// RUN: hk-run %t.so --check=%s --function=scores --dim=x.0=17 --data=nan
// RUN: hk-run %t.so --check=%s --function=batched --dim=x.1=19
// RUN: hk-run %t.so --check=%s --function=behind --dim=x.0=129
// RUN: hk-run %t.so --check=%s --function=two --dim=x.0=9
// RUN: hk-run %t.so --check=%s --function=odd --dim=x.0=9
// RUN: hk-run %t.so --check=%s --function=deep --dim=x.0=3
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=sixteen --dim=x.0=33
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=sixteen --dim=x.0=33 --data=nan
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=highest --dim=x.0=3 --data=equal
// RUN: env HK_EMU_CHIP=gfx950 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=scores --dim=x.0=17
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --check=%s --function=behind --dim=x.0=5

// CHECK-DAG: launches of @sixteen: matmul_sigmoid_topk{{$}}
// CHECK-DAG: launches of @highest: matmul_topk{{$}}
// CHECK-DAG: launches of @scores: matmul_add_topk{{.*}}
// CHECK-DAG: launches of @two: {{.*}}, {{.*}}
// CHECK-DAG: launches of @odd: {{.*}}, {{.*}}
// CHECK-DAG: launches of @deep: {{.*}}, {{.*}}

func.func @sixteen(%x: tensor<?x128xbf16>, %w: tensor<128x16xbf16>) -> (tensor<?x1xi32>, tensor<?x1xf32>) {
  %l = hk.matmul %x, %w : tensor<?x128xbf16>, tensor<128x16xbf16> -> tensor<?x16xf32>
  %s = hk.sigmoid %l : tensor<?x16xf32>
  %v, %i = hk.topk %s : tensor<?x16xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %i, %v : tensor<?x1xi32>, tensor<?x1xf32>
}
func.func @highest(%x: tensor<?x40xf16>, %w: tensor<128x40xf16>) -> (tensor<?x1xf16>, tensor<?x1xi64>) {
  %l = hk.matmul %x, %w transpose_b : tensor<?x40xf16>, tensor<128x40xf16> -> tensor<?x128xf16>
  %v, %i = hk.topk %l ties highest_index : tensor<?x128xf16> -> tensor<?x1xf16>, tensor<?x1xi64>
  return %v, %i : tensor<?x1xf16>, tensor<?x1xi64>
}
func.func @scores(%x: tensor<?x96xf32>, %w: tensor<96x32xf32>, %b: tensor<32xf32>)
    -> (tensor<?x32xf32>, tensor<?x1xf32>, tensor<?x1xi32>) {
  %l = hk.matmul %x, %w : tensor<?x96xf32>, tensor<96x32xf32> -> tensor<?x32xf32>
  %s = hk.add %l, %b : tensor<?x32xf32>, tensor<32xf32>
  %v, %i = hk.topk %s : tensor<?x32xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %s, %v, %i : tensor<?x32xf32>, tensor<?x1xf32>, tensor<?x1xi32>
}
func.func @batched(%x: tensor<3x?x64xbf16>, %w: tensor<3x64x64xbf16>) -> (tensor<3x?x1xbf16>, tensor<3x?x1xi32>) {
  %l = hk.matmul %x, %w : tensor<3x?x64xbf16>, tensor<3x64x64xbf16> -> tensor<3x?x64xbf16>
  %v, %i = hk.topk %l : tensor<3x?x64xbf16> -> tensor<3x?x1xbf16>, tensor<3x?x1xi32>
  return %v, %i : tensor<3x?x1xbf16>, tensor<3x?x1xi32>
}
func.func @behind(%x: tensor<?x64xbf16>, %w: tensor<64x16xbf16>) -> (tensor<?x2xi32>, tensor<?x2xbf16>) {
  %l = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x16xbf16> -> tensor<?x16xf32>
  %v, %i = hk.topk %l : tensor<?x16xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  %s = hk.sigmoid %v : tensor<?x1xf32>
  %c = hk.cast %s : tensor<?x1xf32> -> tensor<?x1xbf16>
  %both = hk.pad %i value 16.0 : tensor<?x1xi32> -> tensor<?x2xi32>
  %weights = hk.pad %c value 1.0 : tensor<?x1xbf16> -> tensor<?x2xbf16>
  return %both, %weights : tensor<?x2xi32>, tensor<?x2xbf16>
}
func.func @two(%x: tensor<?x64xbf16>, %w: tensor<64x16xbf16>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
  %l = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x16xbf16> -> tensor<?x16xf32>
  %v, %i = hk.topk %l : tensor<?x16xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  return %v, %i : tensor<?x2xf32>, tensor<?x2xi32>
}
func.func @odd(%x: tensor<?x64xbf16>, %w: tensor<64x24xbf16>) -> (tensor<?x1xf32>, tensor<?x1xi32>) {
  %l = hk.matmul %x, %w : tensor<?x64xbf16>, tensor<64x24xbf16> -> tensor<?x24xf32>
  %v, %i = hk.topk %l : tensor<?x24xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %v, %i : tensor<?x1xf32>, tensor<?x1xi32>
}
func.func @deep(%x: tensor<?x5120xbf16>, %w: tensor<5120x128xbf16>) -> (tensor<?x1xf32>, tensor<?x1xi32>) {
  %l = hk.matmul %x, %w : tensor<?x5120xbf16>, tensor<5120x128xbf16> -> tensor<?x128xf32>
  %v, %i = hk.topk %l : tensor<?x128xf32> -> tensor<?x1xf32>, tensor<?x1xi32>
  return %v, %i : tensor<?x1xf32>, tensor<?x1xi32>
}
