// What a refusal says is the cause: removing it would change the kernels.
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o - | FileCheck %s
// RUN: hk-compile %s --target=gfx942 --explain=json --emit=mlir -o - | FileCheck %s --check-prefix=JSON
// RUN: hk-compile %s --target=gfx942 --explain --emit=mlir -o - | FileCheck %s --check-prefix=NEVER

// That one needs the other is no news.
// NEVER-NOT: would have to run first
// A product takes nothing in, whoever else reads its operand.
// NEVER-NOT: not fused {{.*}}hk.matmul / take in

// JSON-DAG: "order":["
// JSON-DAG: "sources":[{"location":"\"{{[^"]*}}explain-true.mlir\":{{[0-9:]+}}","op":"hk.
// JSON-DAG: "partner":"\"{{[^"]*}}explain-true.mlir\":
// JSON-DAG: "saved_bytes":2048

// A gate written as its halves says that it became one operator.
// CHECK-DAG: fused: hk.mul / become hk.gated_activation: it multiplies the activation of one half of a tensor by the other at {{.*}}, the other at
func.func @halves(%x: tensor<8x64xbf16>) -> tensor<8x32xbf16> {
  %g = tensor.extract_slice %x[0, 0] [8, 32] [1, 1] : tensor<8x64xbf16> to tensor<8x32xbf16>
  %u = tensor.extract_slice %x[0, 32] [8, 32] [1, 1] : tensor<8x64xbf16> to tensor<8x32xbf16>
  %a = hk.silu %g : tensor<8x32xbf16>
  %y = hk.mul %a, %u : tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// CHECK-DAG: not fused (other-family): hk.matmul / join hk.silu, hk.rms_norm: hk.matmul is computed by a kernel of family gemm, which reads its operands from memory at {{.*}}, the other at
func.func @operand_read_twice(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<8x64xbf16>, tensor<8x64xbf16>) {
  %0 = hk.silu %x : tensor<8x64xbf16>
  %1 = hk.matmul %0, %w : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
  return %0, %1 : tensor<8x64xbf16>, tensor<8x64xbf16>
}

// CHECK-DAG: not fused (not-an-epilogue): hk.transpose / join hk.matmul: hk.transpose moves the columns
func.func @view_of_a_product(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<32x8xbf16> {
  %0 = hk.matmul %x, %w : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
  %1 = tensor.extract_slice %0[0, 32] [8, 32] [1, 1] : tensor<8x64xbf16> to tensor<8x32xbf16>
  %2 = hk.transpose %1 [1, 0] : tensor<8x32xbf16> -> tensor<32x8xbf16>
  return %2 : tensor<32x8xbf16>
}

// CHECK-DAG: not fused (unsupported-shape): hk.quantize / join hk.matmul: hk.quantize has groups of 16 columns; products quantise groups of 32, 64 and 128
func.func @groups_of_columns(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>) -> (tensor<8x64xi8>, tensor<8x4xf32>) {
  %0 = hk.matmul %x, %w : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
  %q, %s = hk.quantize per_group %0 group 16 : tensor<8x64xbf16> -> tensor<8x64xi8>, tensor<8x4xf32>
  return %q, %s : tensor<8x64xi8>, tensor<8x4xf32>
}

// CHECK-DAG: not fused (unsupported-shape): hk.quantize_mx / join hk.matmul: hk.quantize_mx stores two elements of fp4 at a time, and the last group of columns is not whole
func.func @half_a_group(%x: tensor<8x64xbf16>, %w: tensor<64x80xbf16>) -> (tensor<8x80xf4E2M1FN>, tensor<8x3xf8E8M0FNU>) {
  %0 = hk.matmul %x, %w : tensor<8x64xbf16>, tensor<64x80xbf16> -> tensor<8x80xbf16>
  %q, %s = hk.quantize_mx ocp %0 : tensor<8x80xbf16> -> tensor<8x80xf4E2M1FN>, tensor<8x3xf8E8M0FNU>
  return %q, %s : tensor<8x80xf4E2M1FN>, tensor<8x3xf8E8M0FNU>
}

// What the kernel of a product took in is not refused by it.
// CHECK-DAG: fused: hk.matmul / take in hk.transpose
// NEVER-NOT: hk.matmul / join hk.transpose
func.func @transposed_in_memory(%q: tensor<?x4x24xbf16>, %w: tensor<4x24x32xbf16>) -> tensor<?x4x32xbf16> {
  %t = hk.transpose %q [1, 0, 2] : tensor<?x4x24xbf16> -> tensor<4x?x24xbf16>
  %m = hk.matmul %t, %w : tensor<4x?x24xbf16>, tensor<4x24x32xbf16> -> tensor<4x?x32xbf16>
  %y = hk.transpose %m [1, 0, 2] : tensor<4x?x32xbf16> -> tensor<?x4x32xbf16>
  return %y : tensor<?x4x32xbf16>
}

// What else the kernel in front makes is no operand of the product, and not why.
// CHECK-DAG: not fused (result-escapes): hk.cumsum / take in hk.exp: hk.neg is needed elsewhere as well
func.func @beside_an_operand(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xbf16>) {
  %0 = hk.exp %x : tensor<?x64xf32>
  %1 = hk.neg %0 : tensor<?x64xf32> -> tensor<?x64xbf16>
  %2 = hk.cumsum inclusive %0 : tensor<?x64xf32>
  return %2, %1 : tensor<?x64xf32>, tensor<?x64xbf16>
}
func.func @norm_and_cast(%x: tensor<?x64xbf16>, %n: tensor<64xbf16>, %w: tensor<8x64xf32>, %v: tensor<96x64xbf16>) -> (tensor<?x8xf32>, tensor<?x96xbf16>) {
  %0 = hk.rms_norm %x, %n epsilon 1.0e-06 : tensor<?x64xbf16>, tensor<64xbf16>
  %1 = hk.cast %0 : tensor<?x64xbf16> -> tensor<?x64xf32>
  %2 = hk.matmul %1, %w transpose_b : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
  %3 = hk.matmul %0, %v transpose_b : tensor<?x64xbf16>, tensor<96x64xbf16> -> tensor<?x96xbf16>
  return %2, %3 : tensor<?x8xf32>, tensor<?x96xbf16>
}

// A view between two products is not why they are two kernels.
// CHECK-DAG: not fused (other-family): hk.matmul / join hk.matmul: hk.matmul is a product of its own
// NEVER-NOT: does not follow from those of its source
func.func @product_behind_rows(%a: tensor<3x?x40xbf16>, %b: tensor<40x56xbf16>, %c: tensor<3x56x24xbf16>) -> tensor<3x?x24xbf16> {
  %0 = hk.matmul %a, %b : tensor<3x?x40xbf16>, tensor<40x56xbf16> -> tensor<3x?x56xbf16>
  %1 = hk.matmul %0, %c : tensor<3x?x56xbf16>, tensor<3x56x24xbf16> -> tensor<3x?x24xbf16>
  return %1 : tensor<3x?x24xbf16>
}

// Two equal layers: a line for both.
// CHECK-DAG: not fused (needs-whole-row): hk.rms_norm / join hk.matmul: {{.*}}, and at 1 more place
func.func @layers(%x: tensor<8x64xbf16>, %w: tensor<64x64xbf16>, %n: tensor<64xbf16>) -> tensor<8x64xbf16> {
  %0 = hk.matmul %x, %w : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
  %1 = hk.rms_norm %0, %n epsilon 1.0e-06 : tensor<8x64xbf16>, tensor<64xbf16>
  %2 = hk.matmul %1, %w : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
  %3 = hk.rms_norm %2, %n epsilon 1.0e-06 : tensor<8x64xbf16>, tensor<64xbf16>
  return %3 : tensor<8x64xbf16>
}

func.func @fused(%x: tensor<8x64xbf16>, %n: tensor<64xbf16>) -> tensor<8x64xbf16> {
  %0 = hk.silu %x : tensor<8x64xbf16>
  %1 = hk.rms_norm %0, %n epsilon 1.0e-06 : tensor<8x64xbf16>, tensor<64xbf16>
  return %1 : tensor<8x64xbf16>
}

// The slower ways through registers are told, too: an operator that is right but slow.
// CHECK-DAG: not used (unsupported-shape): hk.matmul / copy the right operand straight into LDS: its rows do not run along k: it is transposed in registers; store it with k as the last dim at
// CHECK-DAG: not used (unsupported-dtype): hk.matmul / copy the left operand straight into LDS: f8E4M3FN is converted to bf16, which gfx942 multiplies instead at
// CHECK-DAG: not used (unaligned): hk.matmul / copy the right operand straight into LDS: its rows begin at multiples of 8 bytes, not of 16 at
func.func @other_flavour(%x: tensor<8x64xf8E4M3FN>, %w: tensor<64x64xf8E4M3FN>) -> tensor<8x64xbf16> {
  %0 = hk.matmul %x, %w transpose_b : tensor<8x64xf8E4M3FN>, tensor<64x64xf8E4M3FN> -> tensor<8x64xbf16>
  return %0 : tensor<8x64xbf16>
}
func.func @odd_k(%x: tensor<8x64xbf16>, %w: tensor<16x60xbf16>) -> tensor<8x16xbf16> {
  %a = tensor.extract_slice %x[0, 0] [8, 60] [1, 1] : tensor<8x64xbf16> to tensor<8x60xbf16>
  %0 = hk.matmul %a, %w transpose_b : tensor<8x60xbf16>, tensor<16x60xbf16> -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// CHECK-DAG: advice (not-an-epilogue): pointwise operators on the whole result fuse
// CHECK-DAG: advice (needs-whole-row): reduce shorter parts of a row {{.*}}; behind a product only quantisations reduce
