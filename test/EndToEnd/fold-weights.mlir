// Weights merged, scaled, transposed, converted and re-encoded at compile time: one
// launch is left of each function, the library's file holds the results only, and
// they are what the interpreter computes from the original file.
// RUN: %python %S/Inputs/fold_weights.py write %t.safetensors
// RUN: hk-compile %s -o %t.so --target=host,gfx942 --weights=%t.safetensors
// RUN: %python %S/Inputs/fold_weights.py check %t.so.weights | FileCheck %s --check-prefix=FILE
// RUN: hk-run %t.so --info | FileCheck %s --check-prefix=INFO
// RUN: hk-run %t.so --function=qkv --dim=x.0=5 --check=%s --check-weights=%t.safetensors | FileCheck %s
// RUN: hk-run %t.so --function=fp8 --dim=x.0=5 --dim=xs.0=5 --check=%s --check-weights=%t.safetensors | FileCheck %s
// RUN: hk-run %t.so --function=joined --random=1 --check=%s --check-weights=%t.safetensors | FileCheck %s
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t.so --device=hip:0 --function=fp8 --dim=x.0=5 --dim=xs.0=5 --check=%s --check-weights=%t.safetensors | FileCheck %s
// Without folding the kernels compute it in every call.
// RUN: hk-compile %s -o %t.kept.so --target=host --weights=%t.safetensors --no-fold-weights
// RUN: hk-run %t.kept.so --function=qkv --dim=x.0=5 --check=%s | FileCheck %s
// RUN: hk-run %t.kept.so --info | FileCheck %s --check-prefix=KEPT

// FILE: the file holds what was computed, and nothing else
// INFO-COUNT-6: "launches": 1
// KEPT: "launches": {{[2-9]}}
// CHECK: all within their bounds
hk.weight @q "q" : tensor<48x64xf32>
hk.weight @k "k" : tensor<16x64xf32>
hk.weight @v "v" : tensor<17x64xf32>
hk.weight @gain "gain" : tensor<64xf32>
hk.weight @codes "codes" : tensor<8x128xf8E4M3FN>
hk.weight @scale "scale" : tensor<8x1xf32>
hk.weight @left "left" : tensor<6x4xf32>
hk.weight @right "right" : tensor<6x3xf32>
hk.weight @low "low" : tensor<6x4xui4>
hk.weight @high "high" : tensor<6x6xui4>

func.func @qkv(%x: tensor<?x64xbf16>) -> tensor<?x80xbf16> {
  %q = hk.weight_ref @q : tensor<48x64xf32>
  %k = hk.weight_ref @k : tensor<16x64xf32>
  %v17 = hk.weight_ref @v : tensor<17x64xf32>
  %gain = hk.weight_ref @gain : tensor<64xf32>
  %v = tensor.extract_slice %v17[0, 0] [16, 64] [1, 1] : tensor<17x64xf32> to tensor<16x64xf32>
  %w = hk.concat 0 (%q, %k, %v) : tensor<48x64xf32>, tensor<16x64xf32>, tensor<16x64xf32> -> tensor<80x64xf32>
  %g = hk.mul %w, %gain : tensor<80x64xf32>, tensor<64xf32>
  %t = hk.transpose %g [1, 0] : tensor<80x64xf32> -> tensor<64x80xf32>
  %b = hk.cast %t : tensor<64x80xf32> -> tensor<64x80xbf16>
  %y = hk.matmul %x, %b : tensor<?x64xbf16>, tensor<64x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// A checkpoint in OCP codes on a chip of the other flavour.
func.func @fp8(%x: tensor<?x128xf8E4M3FNUZ>, %xs: tensor<?x1xf32>) -> tensor<?x8xbf16> {
  %codes = hk.weight_ref @codes : tensor<8x128xf8E4M3FN>
  %scale = hk.weight_ref @scale : tensor<8x1xf32>
  %two = hk.constant 2.0 : tensor<f32>
  %w = hk.reencode %codes : tensor<8x128xf8E4M3FN> -> tensor<8x128xf8E4M3FNUZ>
  %ws = hk.mul %scale, %two : tensor<8x1xf32>, tensor<f32>
  %y = hk.matmul %x, %w scales (%xs, %ws) transpose_b : tensor<?x128xf8E4M3FNUZ>, tensor<8x128xf8E4M3FNUZ> scales (tensor<?x1xf32>, tensor<8x1xf32>) -> tensor<?x8xbf16>
  return %y : tensor<?x8xbf16>
}

// Rows of parts side by side: their bytes are moved.
func.func @joined(%x: tensor<6x7xf32>, %z: tensor<6x10xf32>) -> (tensor<6x7xf32>, tensor<6x10xf32>) {
  %left = hk.weight_ref @left : tensor<6x4xf32>
  %right = hk.weight_ref @right : tensor<6x3xf32>
  %w = hk.concat 1 (%left, %right) : tensor<6x4xf32>, tensor<6x3xf32> -> tensor<6x7xf32>
  %y = hk.mul %x, %w : tensor<6x7xf32>, tensor<6x7xf32>
  %low = hk.weight_ref @low : tensor<6x4xui4>
  %high = hk.weight_ref @high : tensor<6x6xui4>
  %codes = hk.concat 1 (%high, %low) : tensor<6x6xui4>, tensor<6x4xui4> -> tensor<6x10xui4>
  %numbers = hk.cast %codes : tensor<6x10xui4> -> tensor<6x10xf32>
  %u = hk.mul %z, %numbers : tensor<6x10xf32>, tensor<6x10xf32>
  return %y, %u : tensor<6x7xf32>, tensor<6x10xf32>
}
