// A sum over ranks that a row-wise kernel makes itself, with what follows; where it
// cannot, the reason.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-expand-exchanges --hk-fuse --remarks-filter=hk-fuse --remark-format=emitRemark -o %t 2>%t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hk-compile %s --target=sm_90a --explain | FileCheck %s --check-prefix=EXPLAIN
// RUN: hk-compile %s --target=sm_90a --emit=kernels | FileCheck %s --check-prefix=KERNEL
// RUN: hk-opt %s --hk-assign-target=target=gfx942 --hk-expand-exchanges --hk-fuse | FileCheck %s --check-prefix=AMD
// RUN: sed 's/hk.mesh = "tp=2"/&, hk.exchange = "kernel"/' %s > %t.mlir
// RUN: hk-opt %t.mlir --hk-assign-target=target=gfx942 --hk-expand-exchanges --hk-fuse | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --explain | FileCheck %s --check-prefix=DISABLED
// DISABLED: not by a kernel (disabled): kernels of gfx942 leave exchanges to the engine

// EXPLAIN-DAG: exchanged: @{{.*}}: into the other ranks' memory, modelled 4.4 us and 0.0607 times its dynamic sizes
// KERNEL: exchangeRow<DType::BF16, DType::BF16, 2, 1, {{[0-9]+}}>(words + {{[0-9]+}}, row, thread,
module attributes {hk.mesh = "tp=2"} {
// CHECK-LABEL: func.func @layer
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.all_reduce sum
// CHECK-NEXT: hk.add
// CHECK-NEXT: hk.rms_norm
// CHECK-NEXT: hk.quantize
// AMD-LABEL: func.func @layer
// AMD: hk.fused {{ *}}collective
// AMD: hk.fused {{ *}}rowwise
func.func @layer(%x: tensor<?x8192xbf16>, %r: tensor<?x8192xbf16>, %w: tensor<8192xbf16>)
    -> (tensor<?x8192xbf16>, tensor<?x8192xf8E4M3FN>, tensor<?x1xf32>) {
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<?x8192xbf16>
  %1 = hk.add %0, %r : tensor<?x8192xbf16>
  %2 = hk.rms_norm %1, %w epsilon 1.0e-05 : tensor<?x8192xbf16>, tensor<8192xbf16>
  %q, %s = hk.quantize per_token %2 : tensor<?x8192xbf16> -> tensor<?x8192xf8E4M3FN>, tensor<?x1xf32>
  return %1, %q, %s : tensor<?x8192xbf16>, tensor<?x8192xf8E4M3FN>, tensor<?x1xf32>
}

// What makes the operand is a launch before, with the other sum, and a kernel makes one
// exchange.
// CHECK-LABEL: func.func @two
// CHECK: hk.fused {{ *}}rowwise
// CHECK-DAG: hk.silu
// CHECK-DAG: hk.all_reduce
// CHECK: hk.fused {{ *}}rowwise
// CHECK: hk.all_reduce
// CHECK-NEXT: hk.add
// REMARK: other-family: an exchange with other ranks begins a launch
func.func @two(%x: tensor<?x64xbf16>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  %0 = hk.silu %x : tensor<?x64xbf16>
  %1 = hk.all_reduce sum %0 axis "tp" : tensor<?x64xbf16>
  %2 = hk.all_reduce sum %y axis "tp" : tensor<?x64xbf16>
  %3 = hk.add %1, %2 : tensor<?x64xbf16>
  return %3 : tensor<?x64xbf16>
}

// EXPLAIN-DAG: by the runtime's engine, {{.*}}; not by a kernel (size-unknown): a row that kernels exchange has a size that is known when they are compiled
// EXPLAIN-DAG: not by a kernel (unaligned): kernels exchange rows of whole 16 bytes
// EXPLAIN-DAG: not by a kernel (lds-exceeded): a kernel keeps a row of at most 32768 bytes that it exchanges
// EXPLAIN-DAG: not by a kernel (unsupported-dtype): kernels exchange sums of f32, bf16 and f16
// CHECK-LABEL: func.func @refused
// CHECK-NOT: hk.fused {{ *}}rowwise
// CHECK-COUNT-4: hk.fused {{ *}}collective
func.func @refused(%a: tensor<?x?xbf16>, %b: tensor<?x68xbf16>, %c: tensor<?x32768xbf16>, %d: tensor<?x64xi32>)
    -> (tensor<?x?xbf16>, tensor<?x68xbf16>, tensor<?x32768xbf16>, tensor<?x64xi32>) {
  %0 = hk.all_reduce sum %a axis "tp" transport any_order : tensor<?x?xbf16>
  %1 = hk.all_reduce sum %b axis "tp" transport any_order : tensor<?x68xbf16>
  %2 = hk.all_reduce sum %c axis "tp" transport any_order : tensor<?x32768xbf16>
  %3 = hk.all_reduce sum %d axis "tp" transport any_order : tensor<?x64xi32>
  return %0, %1, %2, %3 : tensor<?x?xbf16>, tensor<?x68xbf16>, tensor<?x32768xbf16>, tensor<?x64xi32>
}
}
