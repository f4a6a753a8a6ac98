// 4-bit weights of the layouts that checkpoints have them in: AWQ and GPTQ are packed
// anew at compile time by transposes of the view that the weight's type is, MatMulNBits
// is read as it lies. One launch each, and the formula's results.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/int4_weights.py write %t
// RUN: hk-compile %s -o %t/m.so --target=host,gfx942 --weights=%t/w.safetensors
// RUN: hk-run %t/m.so --info | FileCheck %s --check-prefix=INFO
// RUN: hk-run %t/m.so --function=awq --input=x=%t/x.npy --output=%t --check=%s --check-weights=%t/w.safetensors | FileCheck %s
// RUN: hk-run %t/m.so --function=gptq --input=x=%t/x.npy --output=%t --check=%s --check-weights=%t/w.safetensors | FileCheck %s
// RUN: hk-run %t/m.so --function=nbits --input=x=%t/x.npy --output=%t --check=%s --check-weights=%t/w.safetensors | FileCheck %s
// RUN: %python %S/Inputs/int4_weights.py check %t | FileCheck %s --check-prefix=FORMULA
// RUN: env HK_EMU_CHIP=gfx942 HK_HIP_LIBRARY=%hk_build/lib/libhk_emu.so hk-run %t/m.so --device=hip:0 --function=gptq --input=x=%t/x.npy --check=%s --check-weights=%t/w.safetensors | FileCheck %s
// A view that the file's tensor is not.
// RUN: echo 'hk.weight @w "gptq.qweight" : tensor<40x16x8xui4> func.func @f() -> tensor<40x16x8xui4> { %%0 = hk.weight_ref @w : tensor<40x16x8xui4> return %%0 : tensor<40x16x8xui4> }' > %t/bad.mlir
// RUN: not hk-compile %t/bad.mlir -o %t/bad.so --target=host --weights=%t/w.safetensors 2>&1 | FileCheck %s --check-prefix=BAD

// INFO-COUNT-3: "launches": 1
// CHECK: all within their bounds
// FORMULA: three layouts, one product
// BAD: expected tensor 'gptq.qweight' to hold the elements of 'tensor<40x16x8xui4>', but got I32 [16, 40]; integers (U8, I8, I32) must hold as many of 4 bits behind the same first size
hk.weight @awq_q "awq.qweight" : tensor<128x5x2x4xui4>
hk.weight @awq_z "awq.qzeros" : tensor<4x5x2x4xui4>
hk.weight @gptq_q "gptq.qweight" : tensor<16x40x8xui4>
hk.weight @gptq_z "gptq.qzeros" : tensor<4x40xui4>
hk.weight @scales "scales" : tensor<4x40xf16>
hk.weight @b "nbits.b" : tensor<40x128xui4>
hk.weight @zero_points "nbits.zero_points" : tensor<40x4xui4>
hk.weight @nbits_scales "nbits.scales" : tensor<160xf16>

// Eight columns to a word, in the order 0 2 4 6 1 3 5 7.
func.func @awq(%x: tensor<?x128xf16>) -> (tensor<?x40xf16> {hk.name = "awq"}) {
  %q = hk.weight_ref @awq_q : tensor<128x5x2x4xui4>
  %qo = hk.transpose %q [1, 3, 2, 0] : tensor<128x5x2x4xui4> -> tensor<5x4x2x128xui4>
  %c = tensor.collapse_shape %qo [[0, 1, 2], [3]] : tensor<5x4x2x128xui4> into tensor<40x128xui4>
  %z = hk.weight_ref @awq_z : tensor<4x5x2x4xui4>
  %zo = hk.transpose %z [1, 3, 2, 0] : tensor<4x5x2x4xui4> -> tensor<5x4x2x4xui4>
  %zp = tensor.collapse_shape %zo [[0, 1, 2], [3]] : tensor<5x4x2x4xui4> into tensor<40x4xui4>
  %g = hk.weight_ref @scales : tensor<4x40xf16>
  %s = hk.transpose %g [1, 0] : tensor<4x40xf16> -> tensor<40x4xf16>
  %w = hk.dequantize %c, %s, %zp group 32 : tensor<40x128xui4>, tensor<40x4xf16>, tensor<40x4xui4> -> tensor<40x128xf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x128xf16>, tensor<40x128xf16> -> tensor<?x40xf16>
  return %y : tensor<?x40xf16>
}

// Eight elements of k to a word, zero points less one.
func.func @gptq(%x: tensor<?x128xf16>) -> (tensor<?x40xf16> {hk.name = "gptq"}) {
  %q = hk.weight_ref @gptq_q : tensor<16x40x8xui4>
  %qo = hk.transpose %q [1, 0, 2] : tensor<16x40x8xui4> -> tensor<40x16x8xui4>
  %c = tensor.collapse_shape %qo [[0], [1, 2]] : tensor<40x16x8xui4> into tensor<40x128xui4>
  %z = hk.weight_ref @gptq_z : tensor<4x40xui4>
  %zi = hk.cast %z : tensor<4x40xui4> -> tensor<4x40xi8>
  %zt = hk.transpose %zi [1, 0] : tensor<4x40xi8> -> tensor<40x4xi8>
  %one = hk.constant 1 : tensor<i8>
  %zp = hk.add %zt, %one : tensor<40x4xi8>, tensor<i8>
  %g = hk.weight_ref @scales : tensor<4x40xf16>
  %s = hk.transpose %g [1, 0] : tensor<4x40xf16> -> tensor<40x4xf16>
  %w = hk.dequantize %c, %s, %zp group 32 : tensor<40x128xui4>, tensor<40x4xf16>, tensor<40x4xi8> -> tensor<40x128xf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x128xf16>, tensor<40x128xf16> -> tensor<?x40xf16>
  return %y : tensor<?x40xf16>
}

func.func @nbits(%x: tensor<?x128xf16>) -> (tensor<?x40xf16> {hk.name = "nbits"}) {
  %c = hk.weight_ref @b : tensor<40x128xui4>
  %zp = hk.weight_ref @zero_points : tensor<40x4xui4>
  %flat = hk.weight_ref @nbits_scales : tensor<160xf16>
  %s = tensor.expand_shape %flat [[0, 1]] output_shape [40, 4] : tensor<160xf16> into tensor<40x4xf16>
  %w = hk.dequantize %c, %s, %zp group 32 : tensor<40x128xui4>, tensor<40x4xf16>, tensor<40x4xui4> -> tensor<40x128xf16>
  %y = hk.matmul %x, %w transpose_b : tensor<?x128xf16>, tensor<40x128xf16> -> tensor<?x40xf16>
  return %y : tensor<?x40xf16>
}
