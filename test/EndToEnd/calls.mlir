// A model may be written in functions: calls are inlined, so that operators fuse across
// them, and private functions vanish. A call that can't be inlined is an error.
// RUN: split-file %s %t
// RUN: hk-compile %t/layers.mlir -o %t/m.so --target=host --explain 2>&1 | FileCheck %s
// RUN: hk-run %t/m.so --function=model --dim=x.0=5 --check=%t/layers.mlir | FileCheck %s --check-prefix=OUT
// RUN: hk-opt --hk-graph=target=host %t/layers.mlir | FileCheck %s --check-prefix=IR
// RUN: not hk-compile %t/recursive.mlir -o %t/m.so --target=host 2>&1 | FileCheck %s --check-prefix=RECURSIVE

// CHECK: target host: 6 base operators, 1 launches in @model, 1 distinct kernels
// CHECK: @add_rms_norm rowwise: add,rms_norm,add,rms_norm,add,rms_norm
// RUN: hk-run --info %t/m.so | FileCheck %s --check-prefix=INFO
// INFO: "name": "model"
// INFO-NOT: "name": "layer"
// OUT: check @model on host: all within their bounds
// IR-NOT: func.call
// RECURSIVE: error: 'func.call' op is neither an hk base operator nor a view

//--- layers.mlir
func.func private @layer(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %s = hk.add %x, %x : tensor<?x64xbf16>
  %n = hk.rms_norm %s, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  return %n : tensor<?x64xbf16>
}
func.func @model(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %0 = call @layer(%x, %w) : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  %1 = call @layer(%0, %w) : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  %2 = call @layer(%1, %w) : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
  return %2 : tensor<?x64xbf16>
}

//--- recursive.mlir
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = call @f(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
