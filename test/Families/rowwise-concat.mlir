// Rows that are put together from memory share a kernel with what is computed of each:
// one launch where there were two.
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o - | FileCheck %s

// CHECK: target gfx942:
// CHECK-SAME: 1 launches in @class_token, 1 launches in @batch, 1 launches in @token_shift, 2 launches in @made, 1 launches in @channels

func.func @class_token(%cls: tensor<1x1024xbf16>, %p: tensor<?x1024xbf16>, %pos: tensor<?x1024xbf16>, %w: tensor<1024xbf16>) -> (tensor<?x1024xbf16>, tensor<?x1024xbf16>) {
  %c = hk.concat 0 (%cls, %p) : tensor<1x1024xbf16>, tensor<?x1024xbf16> -> tensor<?x1024xbf16>
  %a = hk.add %c, %pos : tensor<?x1024xbf16>
  %n = hk.rms_norm %a, %w epsilon 1.0e-06 : tensor<?x1024xbf16>, tensor<1024xbf16>
  return %a, %n : tensor<?x1024xbf16>, tensor<?x1024xbf16>
}
func.func @batch(%cls: tensor<?x1x768xbf16>, %p: tensor<?x196x768xbf16>, %w: tensor<768xbf16>) -> tensor<?x197x768xbf16> {
  %c = hk.concat 1 (%cls, %p) : tensor<?x1x768xbf16>, tensor<?x196x768xbf16> -> tensor<?x197x768xbf16>
  %n = hk.rms_norm %c, %w epsilon 1.0e-06 : tensor<?x197x768xbf16>, tensor<768xbf16>
  return %n : tensor<?x197x768xbf16>
}
func.func @token_shift(%x: tensor<8x512xbf16>, %last: tensor<1x512xbf16>, %mu: tensor<512xbf16>) -> tensor<8x512xbf16> {
  %b = tensor.extract_slice %x[0, 0] [7, 512] [1, 1] : tensor<8x512xbf16> to tensor<7x512xbf16>
  %s = hk.concat 0 (%last, %b) : tensor<1x512xbf16>, tensor<7x512xbf16> -> tensor<8x512xbf16>
  %d = hk.sub %s, %x : tensor<8x512xbf16>
  %m = hk.mul %d, %mu : tensor<8x512xbf16>, tensor<512xbf16>
  %y = hk.add %x, %m : tensor<8x512xbf16>
  return %y : tensor<8x512xbf16>
}
// Rows that the kernel itself would have to make first.
// CHECK: not fused (row-dims-differ): hk.concat / join hk.rms_norm
func.func @made(%cls: tensor<1x768xbf16>, %p: tensor<?x768xbf16>, %w: tensor<768xbf16>) -> tensor<?x768xbf16> {
  %n = hk.rms_norm %p, %w epsilon 1.0e-06 : tensor<?x768xbf16>, tensor<768xbf16>
  %c = hk.concat 0 (%cls, %n) : tensor<1x768xbf16>, tensor<?x768xbf16> -> tensor<?x768xbf16>
  %s = hk.silu %c : tensor<?x768xbf16>
  return %s : tensor<?x768xbf16>
}
// Along the last dim it is a part of each row, as before.
func.func @channels(%a: tensor<?x512xbf16>, %b: tensor<?x64xbf16>, %w: tensor<576xbf16>) -> tensor<?x576xbf16> {
  %c = hk.concat 1 (%a, %b) : tensor<?x512xbf16>, tensor<?x64xbf16> -> tensor<?x576xbf16>
  %n = hk.rms_norm %c, %w epsilon 1.0e-06 : tensor<?x576xbf16>, tensor<576xbf16>
  return %n : tensor<?x576xbf16>
}
