// On CDNA the vector units bound short rows: no lane is idle, and a thread has several chunks. On sm_90a it has one.
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s
// RUN: hk-compile %s --emit=kernels --target=gfx950 -o - | FileCheck %s
// RUN: hk-compile %s --emit=kernels --target=sm_90a -o - | FileCheck %s --check-prefix=SM90

// 12 chunks of 32 rows: three whole waves.
// CHECK-LABEL: ==== @silu for
// CHECK: HK_KERNEL({{.*}}, 192,
// CHECK: rowOfThread<32, 6>
// CHECK: Piece<i32, 2, 6, true>
// SM90-LABEL: ==== @silu for
// SM90: rowOfThread<16, 12>
// SM90: Piece<i32, 1, 12, true>
func.func @act(%x: tensor<?x96xbf16>) -> tensor<?x96xbf16> {
  %y = hk.silu %x : tensor<?x96xbf16>
  return %y : tensor<?x96xbf16>
}

// The 8 lanes of a group, of two vectors each, stay together.
// CHECK-LABEL: ==== @quantize for
// CHECK: Piece<i32, {{[0-9]+}}, {{8|16|24|32|40|48}}, {{true|false}}>
// CHECK: segmentReduce<MagnitudeMax, 8, 8>
func.func @groups(%x: tensor<?x640xbf16>) -> (tensor<?x640xf8E4M3FN>, tensor<?x5xf32>) {
  %q, %s = hk.quantize per_group %x group 128 : tensor<?x640xbf16> -> tensor<?x640xf8E4M3FN>, tensor<?x5xf32>
  return %q, %s : tensor<?x640xf8E4M3FN>, tensor<?x5xf32>
}

// CHECK-LABEL: ==== @rms_norm for
// CHECK: rowOfThread<64, 4>
// CHECK: wholeRowReduce<Sum, 4, 256>
// SM90-LABEL: ==== @rms_norm for
// SM90: wholeRowReduce<Sum, 8,
func.func @heads(%x: tensor<?x64xbf16>, %w: tensor<64xbf16>) -> tensor<?x64xbf16> {
  %y = hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
  return %y : tensor<?x64xbf16>
}

// Groups that end with the row: lanes without a chunk take part in the last one.
// CHECK-LABEL: ==== @quantize_mx for
// CHECK: RepeatedPiece<i32, [[SLOTS:[0-9]+]], [[STEP:4|8|12|16|20|24|28]]>{0, thread, 25}
// CHECK: const bool own = {{(valid && )?}}RepeatedPiece<i32, [[SLOTS]], [[STEP]]>{0, thread, 25}.exists(s);
// CHECK: segmentReduce<MagnitudeMax, 4, 4>
// CHECK: if (own) storeNumbers<
// SM90-LABEL: ==== @quantize_mx for
// SM90-NOT: RepeatedPiece
func.func @ragged(%x: tensor<?x200xbf16>) -> (tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x200xbf16> -> tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
  return %q, %s : tensor<?x200xf4E2M1FN>, tensor<?x7xf8E8M0FNU>
}

// Strides that all launches pass alike are constants. Heads that lie one behind
// the other have one offset, which is computed once, and a token without a place
// is loaded the angles of another, which a vote then leaves out.
// CHECK-LABEL: ==== @rope for
// CHECK: constexpr Stride<512> s0_0;
// CHECK: constexpr Stride<128> s0_1;
// CHECK: const auto [[TOKEN:q[0-9]+]] = outerRow<4>(row);
// CHECK: const auto [[OFFSET:row[0-9]+]] = offsetOfRow(strided(row, s0_1));
// CHECK: (p0, [[OFFSET]] + nearIndex<128>(
// CHECK: const auto [[FOUND:found[0-9]+]] = usually(
// CHECK-NEXT: rowOfTable<64>([[FOUND]] ?
// CHECK-NOT: = {};
// CHECK: mostlyRounded<DType::BF16, 8>([[FOUND]],
// SM90-LABEL: ==== @rope for
// SM90: const i64 s0_0 = i64(words[
// SM90: strided(q
// SM90-NOT: mostly
func.func @angles(%x: tensor<?x4x128xbf16>, %pos: tensor<?xi32>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>) -> tensor<?x4x128xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x128xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  return %y : tensor<?x4x128xbf16>
}

// A table may have no rows: what is not loaded begins with zeros, as it takes
// part in votes.
// CHECK-LABEL: ==== @rope_0 for
// CHECK: raw{{[0-9]+}}[{{[0-9]+}}] = {};
// CHECK-NEXT: if (found{{[0-9]+}}) raw
// SM90-LABEL: ==== @rope_0 for
// SM90-NOT: = {};
func.func @any_table(%x: tensor<?x4x128xbf16>, %pos: tensor<?xi32>, %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>) -> tensor<?x4x128xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x128xbf16>, tensor<?x64xf32>, tensor<?x64xf32> positions tensor<?xi32>
  return %y : tensor<?x4x128xbf16>
}

// Only some elements are rotated: the row has an angle for the others, too, and
// the rotation is inside of the condition.
// CHECK-LABEL: ==== @rope_1 for
// CHECK-NOT: = {};
// CHECK-NOT: if ({{.*}}raw
// CHECK: if ((c * 8) < 32) {
// CHECK-NEXT: {{v[0-9]+}} = mostlyRounded<DType::BF16, 8>(
// SM90-LABEL: ==== @rope_1 for
// SM90: if ({{.*}}raw
func.func @partial(%x: tensor<?x4x80xbf16>, %pos: tensor<?xi32>, %cos: tensor<64x16xbf16>, %sin: tensor<64x16xbf16>) -> tensor<?x4x80xbf16> {
  %y = hk.rope neox %x, %cos, %sin positions %pos : tensor<?x4x80xbf16>, tensor<64x16xbf16>, tensor<64x16xbf16> positions tensor<?xi32>
  return %y : tensor<?x4x80xbf16>
}

// Both of a pair have one sine: the product is turned, by the sum that reads it.
// CHECK-LABEL: ==== @rope_2 for
// CHECK: rotatePairs<8>(v{{[0-9]+}} * repeatPairs<8>(
func.func @pairs(%x: tensor<?x4x128xbf16>, %pos: tensor<?xi32>, %cos: tensor<64x64xf32>, %sin: tensor<64x64xf32>) -> tensor<?x4x128xbf16> {
  %y = hk.rope gptj %x, %cos, %sin positions %pos : tensor<?x4x128xbf16>, tensor<64x64xf32>, tensor<64x64xf32> positions tensor<?xi32>
  return %y : tensor<?x4x128xbf16>
}
