// Products of groups on sm_90a with rows of few groups, fp4 codes of many rows, and some hundred rows of 16 bits.
// RUN: hk-opt %s --hk-assign-target=target=sm_90a --hk-fuse --hk-outline --hk-select-tiles --canonicalize | FileCheck %s
// RUN: hk-compile %s --target=sm_90a --emit=kernels -o - | FileCheck %s --check-prefix=TEXT

// The experts of one token are two, whose rows come straight into registers. Of all eight experts
// tiles are wide.
// CHECK-LABEL: hk.kernel @grouped_matmul gemm
// CHECK: hk.variant @v{{[01]}} #hk.gemm_tile<bm = 8, bn = 16, {{.*}}loop = skinny>
// CHECK: arith.cmpi ule, %{{.*}}, %c2
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 64, bn = 256, {{.*}}loop = warp_specialised> threads 256
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 128, bn = 256, {{.*}}loop = warp_specialised, cluster = 2> threads 384
func.func @token(%x: tensor<?x14336xbf16>, %w: tensor<8x4096x14336xbf16>, %bounds: tensor<9xi32>) -> tensor<?x4096xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x14336xbf16>, tensor<8x4096x14336xbf16> groups tensor<9xi32> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

// Up to 16 rows to a group stream their codes; more are multiplied by warpgroups, which decode them
// in registers: codes come from addresses, rows of A by a tensor map, and no block shares them.
// CHECK-LABEL: hk.kernel @grouped_matmul_0 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, {{.*}}loop = skinny_codes>
// CHECK: hk.variant @v1 #hk.gemm_tile<bm = 16, {{.*}}loop = skinny_codes>
// CHECK: hk.variant @v2 #hk.gemm_tile<bm = 160, bn = 128, {{.*}}loop = warp_specialised> threads 384
// CHECK-NOT: hk.variant
// CHECK: hk.launch @grouped_matmul_0
// TEXT: Product_v0 = GroupedSkinnyCodes<GemmProblem<
// TEXT: GroupProblem<GroupForm::Bounds, false, 1, 1>, true>;
// TEXT: Product_v2 = SwappedCodes<GemmProblem<
// TEXT-NEXT: Operand<DType::BF16, true, 16>
// TEXT-NEXT: Operand<DType::F4E2M1FN, true, 16, Scaled<DType::F8E8M0FNU, 1, 32, DType::BF16>>
// TEXT: HK_MAPPED_KERNEL({{.*}}_v2, {{[0-9]+}}, 1, 
func.func @codes(%x: tensor<?x2880xbf16>, %w: tensor<128x2880x2880xf4E2M1FN>, %s: tensor<128x2880x90xf8E8M0FNU>, %bounds: tensor<129xi32>) -> tensor<?x2880xbf16> {
  %y = hk.grouped_matmul %x, %w scales (none, %s) bounds %bounds transpose_b : tensor<?x2880xbf16>, tensor<128x2880x2880xf4E2M1FN> scales (none, tensor<128x2880x90xf8E8M0FNU>) groups tensor<129xi32> -> tensor<?x2880xbf16>
  return %y : tensor<?x2880xbf16>
}

// Scales of 128 x 128 multiply sums of a step. Of a token's experts of 117 MB the copy engine
// draws less, of four tokens' it draws more.
// CHECK-LABEL: hk.kernel @grouped_matmul_1 gemm
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 16, bk = 128, {{.*}}loop = skinny>
// CHECK: arith.cmpi ule, %{{.*}}, %c8
// CHECK: hk.variant @v1 #hk.gemm_tile<bm = 64, {{.*}}loop = warp_specialised>
// TEXT: Product_v0 = GroupedSkinny<GemmProblem<
// TEXT: false, KScale::Both, 8, 16,
func.func @blocks(%x: tensor<?x2048xf8E4M3FN>, %w: tensor<256x7168x2048xf8E4M3FN>, %bounds: tensor<257xi32>, %s: tensor<?x16xf32>, %t: tensor<256x56x16xf32>) -> tensor<?x7168xbf16> {
  %y = hk.grouped_matmul %x, %w scales (%s, %t) bounds %bounds transpose_b accumulation tensor_core : tensor<?x2048xf8E4M3FN>, tensor<256x7168x2048xf8E4M3FN> scales (tensor<?x16xf32>, tensor<256x56x16xf32>) groups tensor<257xi32> -> tensor<?x7168xbf16>
  return %y : tensor<?x7168xbf16>
}

// From 33 to 128 rows of 16 bits to an expert are columns of the instruction, 256 rows of B its rows,
// in tiles whose end takes longer: not where k has few steps.
// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[128, 2880, 2880]>
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 64, bn = 256, {{.*}}loop = warp_specialised> threads 256
// CHECK: arith.cmpi ule, %{{.*}}, %c4096 : index
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 160, bn = 256, bk = 64, wm = 1, wn = 2, stages = 4, {{.*}}loop = warp_specialised, cluster = 2> threads 384
// CHECK: arith.cmpi ule, %{{.*}}, %c16384 : index
// CHECK: hk.variant @v{{[1-9]}} #hk.gemm_tile<bm = 128, bn = 256, {{.*}}loop = warp_specialised, cluster = 2> threads 384
// TEXT: SwappedWide<GemmProblem<
func.func @prefill(%x: tensor<?x2880xbf16>, %w: tensor<128x2880x2880xbf16>, %bounds: tensor<129xi32>) -> tensor<?x2880xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x2880xbf16>, tensor<128x2880x2880xbf16> groups tensor<129xi32> -> tensor<?x2880xbf16>
  return %y : tensor<?x2880xbf16>
}

// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[128, 2048, 768]>
// CHECK-NOT: bm = 160
// CHECK: hk.launch
func.func @shallow(%x: tensor<?x768xbf16>, %w: tensor<128x2048x768xbf16>, %bounds: tensor<129xi32>) -> tensor<?x2048xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<?x768xbf16>, tensor<128x2048x768xbf16> groups tensor<129xi32> -> tensor<?x2048xbf16>
  return %y : tensor<?x2048xbf16>
}

// A token of 8 of 128 experts: 256 tiles of 64 rows of B have places in 264 blocks that are a quarter
// of a unit each, and come through stages. Half as many would leave places empty.
// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[8, 768]>
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 64, bk = 64, wm = 4, wn = 1, stages = 5, {{.*}}loop = skinny> threads 160 lds 50896
// CHECK-NOT: hk.variant
// CHECK: hk.launch
// TEXT: Product_v0 = GroupedStaged<GemmProblem<
// TEXT: GroupProblem<GroupForm::Bounds, false, 1, 1>, true>;
// TEXT: HK_MAPPED_KERNEL({{.*}}_v0, {{[0-9]+}}, 1, 
func.func @filled(%x: tensor<8x768xbf16>, %w: tensor<128x2048x768xbf16>, %bounds: tensor<129xi32>) -> tensor<8x2048xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<8x768xbf16>, tensor<128x2048x768xbf16> groups tensor<129xi32> -> tensor<8x2048xbf16>
  return %y : tensor<8x2048xbf16>
}

// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[4, 768]>
// CHECK: hk.variant @v0 #hk.gemm_tile<{{.*}}wm = 1, {{.*}}stages = 1, {{.*}}loop = skinny>
func.func @unfilled(%x: tensor<4x768xbf16>, %w: tensor<128x2048x768xbf16>, %bounds: tensor<129xi32>) -> tensor<4x2048xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<4x768xbf16>, tensor<128x2048x768xbf16> groups tensor<129xi32> -> tensor<4x2048xbf16>
  return %y : tensor<4x2048xbf16>
}

// 240 tiles of 48 columns of both halves of a pair.
// CHECK-LABEL: hk.kernel @grouped_matmul_gated_activation{{.*}}<[4]>
// CHECK: hk.variant @v0 #hk.gemm_tile<bm = 8, bn = 96, bk = 64, wm = 3, wn = 1, stages = 3, {{.*}}loop = skinny> threads 128 lds 45616
// TEXT: GroupedStaged<GemmProblem<
// TEXT: GroupProblem<GroupForm::Bounds, true, 1, 4>, true>;
func.func @pair(%x: tensor<1x2880xf16>, %w: tensor<128x5760x2880xf16>, %bounds: tensor<129xi32>, %order: tensor<4xi32>) -> tensor<4x2880xf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds order %order transpose_b top_k 4 : tensor<1x2880xf16>, tensor<128x5760x2880xf16> groups tensor<129xi32> order tensor<4xi32> -> tensor<4x5760xf16>
  %g = hk.gated_activation silu %y : tensor<4x5760xf16> -> tensor<4x2880xf16>
  return %g : tensor<4x2880xf16>
}

// Of 288 groups a block does not hold the bounds.
// CHECK-LABEL: hk.kernel @grouped_matmul{{.*}}<[288, 2048, 768]>
// CHECK: hk.variant @v0 #hk.gemm_tile<{{.*}}wm = 1, {{.*}}stages = 1, {{.*}}loop = skinny>
func.func @groups(%x: tensor<8x768xbf16>, %w: tensor<288x2048x768xbf16>, %bounds: tensor<289xi32>) -> tensor<8x2048xbf16> {
  %y = hk.grouped_matmul %x, %w bounds %bounds transpose_b : tensor<8x768xbf16>, tensor<288x2048x768xbf16> groups tensor<289xi32> -> tensor<8x2048xbf16>
  return %y : tensor<8x2048xbf16>
}
