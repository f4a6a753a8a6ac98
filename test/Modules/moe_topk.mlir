// Routers: scores, selection, weights and the word-major bit matrix in one kernel.
// HK-LAUNCHES: 1
// HK-ARGS: --range=group=0:3
// HK-DIMS: x.0=4
// HK-DIMS: x.0=255
// HK-DIMS: x.0=1
// HK-DIMS: x.0=0
// HK-DIMS-HOST: x.0=7
// HK-DIMS-HOST: x.0=64
// HK-DIMS-HOST: x.0=371
// HK-DIMS-HOST: x.0=911
// HK-DIMS-HOST: x.0=1024
// HK-DIMS-HOST: @e8_k2 @e128_k4 @e128_k6 @e256_k8 x.0=8192
// HK-DIMS-HOST: @e128_k4 @e128_k6 @e128_k32 @e8_k2 x.0=8
// HK-DIMS-HOST: @e128_k4 @e128_k6 @e128_k32 @e8_k2 x.0=256
// HK-DIMS-HOST: @e128_k4 @e128_k6 @e128_k32 @e8_k2 x.0=1023
// HK-DIMS-HOST: @e128_k4 @e128_k6 @e128_k32 @e8_k2 x.0=4096
// HK-DATA: normal,equal,huge,tiny,nan,inf

// Top-k of the logits, softmax over the selected.
func.func @e128_k4(%x: tensor<?x128xbf16>) -> (tensor<?x4xbf16>, tensor<?x4xi32>, tensor<4x?xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x128xbf16> -> tensor<?x4xbf16>, tensor<?x4xi32>
  %w = hk.softmax %v : tensor<?x4xbf16>
  %b = hk.bitmatrix %i : tensor<?x4xi32> -> tensor<?x4xi32>
  %t = hk.transpose %b [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  return %w, %i, %t : tensor<?x4xbf16>, tensor<?x4xi32>, tensor<4x?xi32>
}
// Top-k of the logits, softmax over the selected.
func.func @e128_k6(%x: tensor<?x128xf16>) -> (tensor<?x6xf16>, tensor<?x6xi32>, tensor<4x?xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x128xf16> -> tensor<?x6xf16>, tensor<?x6xi32>
  %w = hk.softmax %v : tensor<?x6xf16>
  %b = hk.bitmatrix %i : tensor<?x6xi32> -> tensor<?x4xi32>
  %t = hk.transpose %b [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  return %w, %i, %t : tensor<?x6xf16>, tensor<?x6xi32>, tensor<4x?xi32>
}
// Top-k of the logits, softmax over the selected.
func.func @e128_k32(%x: tensor<?x128xf32>) -> (tensor<?x32xf32>, tensor<?x32xi32>, tensor<4x?xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x32xf32>, tensor<?x32xi32>
  %w = hk.softmax %v : tensor<?x32xf32>
  %b = hk.bitmatrix %i : tensor<?x32xi32> -> tensor<?x4xi32>
  %t = hk.transpose %b [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  return %w, %i, %t : tensor<?x32xf32>, tensor<?x32xi32>, tensor<4x?xi32>
}
// Top-k of the logits, softmax over the selected.
func.func @e1500_k8(%x: tensor<?x1500xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>, tensor<47x?xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x1500xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %w = hk.softmax %v : tensor<?x8xf32>
  %b = hk.bitmatrix %i : tensor<?x8xi32> -> tensor<?x47xi32>
  %t = hk.transpose %b [1, 0] : tensor<?x47xi32> -> tensor<47x?xi32>
  return %w, %i, %t : tensor<?x8xf32>, tensor<?x8xi32>, tensor<47x?xi32>
}
// Top-k of the logits, softmax over the selected.
func.func @e256_k8(%x: tensor<?x256xbf16>) -> (tensor<?x8xbf16>, tensor<?x8xi32>, tensor<8x?xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x256xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
  %w = hk.softmax %v : tensor<?x8xbf16>
  %b = hk.bitmatrix %i : tensor<?x8xi32> -> tensor<?x8xi32>
  %t = hk.transpose %b [1, 0] : tensor<?x8xi32> -> tensor<8x?xi32>
  return %w, %i, %t : tensor<?x8xbf16>, tensor<?x8xi32>, tensor<8x?xi32>
}
// Top-k of the logits, softmax over the selected.
func.func @e8_k2(%x: tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>, tensor<1x?xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %w = hk.softmax %v : tensor<?x2xf32>
  %b = hk.bitmatrix %i : tensor<?x2xi32> -> tensor<?x1xi32>
  %t = hk.transpose %b [1, 0] : tensor<?x1xi32> -> tensor<1x?xi32>
  return %w, %i, %t : tensor<?x2xf32>, tensor<?x2xi32>, tensor<1x?xi32>
}
// Softmax over all experts, then top-k, renormalised.
func.func @softmax_first(%x: tensor<?x256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %p = hk.softmax %x : tensor<?x256xf32>
  %v, %i = hk.topk %p : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %s = hk.reduce sum %v : tensor<?x8xf32> -> tensor<?x1xf32>
  %w = hk.div %v, %s : tensor<?x8xf32>, tensor<?x1xf32>
  return %w, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
// A bias that only selects; the weights are the scores without it.
func.func @sigmoid_bias(%x: tensor<?x256xbf16>, %bias: tensor<256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %eps = hk.constant 1.0e-20 : tensor<f32>
  %factor = hk.constant 2.5 : tensor<f32>
  %l = hk.cast %x : tensor<?x256xbf16> -> tensor<?x256xf32>
  %p = hk.sigmoid %l : tensor<?x256xf32>
  %c = hk.add %p, %bias : tensor<?x256xf32>, tensor<256xf32>
  %v, %i = hk.topk %c : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %g = hk.gather_last %p, %i : tensor<?x256xf32>, tensor<?x8xi32> -> tensor<?x8xf32>
  %s = hk.reduce sum %g : tensor<?x8xf32> -> tensor<?x1xf32>
  %d = hk.add %s, %eps : tensor<?x1xf32>, tensor<f32>
  %w = hk.div %g, %d : tensor<?x8xf32>, tensor<?x1xf32>
  %y = hk.mul %w, %factor : tensor<?x8xf32>, tensor<f32>
  return %y, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
// DeepSeek-V3: the best 4 of 8 groups by their two best, then 8 experts of them.
func.func @grouped(%x: tensor<?x256xf32>, %bias: tensor<256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  %factor = hk.constant 2.5 : tensor<f32>
  %p = hk.sigmoid %x : tensor<?x256xf32>
  %c = hk.add %p, %bias : tensor<?x256xf32>, tensor<256xf32>
  %m = hk.group_limit top2_sum %c groups 8 top_groups 4 : tensor<?x256xf32>
  %v, %i = hk.topk %m : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %g = hk.gather_last %p, %i : tensor<?x256xf32>, tensor<?x8xi32> -> tensor<?x8xf32>
  %s = hk.reduce sum %g : tensor<?x8xf32> -> tensor<?x1xf32>
  %w = hk.div %g, %s : tensor<?x8xf32>, tensor<?x1xf32>
  %y = hk.mul %w, %factor : tensor<?x8xf32>, tensor<f32>
  return %y, %i : tensor<?x8xf32>, tensor<?x8xi32>
}
// DeepSeek-V2: groups by their best; exact, nothing is computed before.
func.func @grouped_max(%x: tensor<?x160xf32>) -> (tensor<?x6xf32>, tensor<?x6xi32>) {
  %m = hk.group_limit maximum %x groups 8 top_groups 3 : tensor<?x160xf32>
  %v, %i = hk.topk %m : tensor<?x160xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  return %v, %i : tensor<?x6xf32>, tensor<?x6xi32>
}
func.func @grouped_exact(%x: tensor<?x256xbf16>) -> (tensor<?x256xbf16>, tensor<?x8xi32>) {
  %m = hk.group_limit top2_sum %x groups 8 top_groups 4 : tensor<?x256xbf16>
  %v, %i = hk.topk %m : tensor<?x256xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
  return %m, %i : tensor<?x256xbf16>, tensor<?x8xi32>
}
// sqrt(softplus(x)), renormalised over the selected.
func.func @sqrt_softplus(%x: tensor<?x128xf32>) -> (tensor<?x6xf32>, tensor<?x6xi32>) {
  %one = hk.constant 1.0 : tensor<f32>
  %r = hk.relu %x : tensor<?x128xf32>
  %a = hk.abs %x : tensor<?x128xf32>
  %n = hk.neg %a : tensor<?x128xf32>
  %e = hk.exp %n : tensor<?x128xf32>
  %o = hk.add %e, %one : tensor<?x128xf32>, tensor<f32>
  %l = hk.log %o : tensor<?x128xf32>
  %p = hk.add %r, %l : tensor<?x128xf32>
  %q = hk.sqrt %p : tensor<?x128xf32>
  %v, %i = hk.topk %q ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %s = hk.reduce sum %v : tensor<?x6xf32> -> tensor<?x1xf32>
  %w = hk.div %v, %s : tensor<?x6xf32>, tensor<?x1xf32>
  return %w, %i : tensor<?x6xf32>, tensor<?x6xi32>
}
// The scores are a result as well, and a shared expert stands behind the selected.
func.func @scores_and_shared(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x7xi32>) {
  %p = hk.softmax %x : tensor<?x64xf32>
  %v, %i = hk.topk %p : tensor<?x64xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %z = hk.reduce max %v : tensor<?x6xf32> -> tensor<?x1xf32>
  %zero = hk.sub %z, %z : tensor<?x1xf32>
  %shared = hk.constant 64.0 : tensor<f32>
  %id = hk.add %zero, %shared : tensor<?x1xf32>, tensor<f32>
  %s = hk.cast %id : tensor<?x1xf32> -> tensor<?x1xi32>
  %all = hk.concat 1 (%i, %s) : tensor<?x6xi32>, tensor<?x1xi32> -> tensor<?x7xi32>
  return %p, %all : tensor<?x64xf32>, tensor<?x7xi32>
}
// Ids in 16 bits, as AITER's router returns them.
func.func @ids_i16(%x: tensor<?x128xbf16>) -> (tensor<?x4xbf16>, tensor<?x4xi16>, tensor<4x?xi32>) {
  %v, %i = hk.topk %x ties highest_index order by_index : tensor<?x128xbf16> -> tensor<?x4xbf16>, tensor<?x4xi32>
  %w = hk.softmax %v : tensor<?x4xbf16>
  %i16 = hk.cast %i : tensor<?x4xi32> -> tensor<?x4xi16>
  %b = hk.bitmatrix %i : tensor<?x4xi32> -> tensor<?x4xi32>
  %t = hk.transpose %b [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  return %w, %i16, %t : tensor<?x4xbf16>, tensor<?x4xi16>, tensor<4x?xi32>
}
// sqrt(softplus) with a bias that only selects, renormalised and scaled (DeepSeek-V4).
func.func @sqrt_softplus_bias(%x: tensor<?x128xbf16>, %bias: tensor<128xf32>) -> (tensor<?x6xf32>, tensor<?x6xi32>) {
  %one = hk.constant 1.0 : tensor<f32>
  %eps = hk.constant 1.0e-20 : tensor<f32>
  %factor = hk.constant 1.5 : tensor<f32>
  %f = hk.cast %x : tensor<?x128xbf16> -> tensor<?x128xf32>
  %r = hk.relu %f : tensor<?x128xf32>
  %a = hk.abs %f : tensor<?x128xf32>
  %n = hk.neg %a : tensor<?x128xf32>
  %e = hk.exp %n : tensor<?x128xf32>
  %o = hk.add %e, %one : tensor<?x128xf32>, tensor<f32>
  %l = hk.log %o : tensor<?x128xf32>
  %p = hk.add %r, %l : tensor<?x128xf32>
  %q = hk.sqrt %p : tensor<?x128xf32>
  %c = hk.add %q, %bias : tensor<?x128xf32>, tensor<128xf32>
  %v, %i = hk.topk %c ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %g = hk.gather_last %q, %i : tensor<?x128xf32>, tensor<?x6xi32> -> tensor<?x6xf32>
  %s = hk.reduce sum %g : tensor<?x6xf32> -> tensor<?x1xf32>
  %d = hk.add %s, %eps : tensor<?x1xf32>, tensor<f32>
  %w = hk.div %g, %d : tensor<?x6xf32>, tensor<?x1xf32>
  %y = hk.mul %w, %factor : tensor<?x6xf32>, tensor<f32>
  return %y, %i : tensor<?x6xf32>, tensor<?x6xi32>
}
// Groups that a table names, by their best expert: the best 2 of 4 are kept.
func.func @grouped_by_table(%x: tensor<?x64xf32>, %group: tensor<64xi32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  %c0_t = arith.constant 0 : index
  %t = tensor.dim %x, %c0_t : tensor<?x64xf32>
  %never = hk.constant 0xFF800000 : tensor<f32>
  %id0 = hk.constant 0 : tensor<i32>
  %c0 = hk.compare eq %group, %id0 : tensor<64xi32>, tensor<i32> -> tensor<64xi1>
  %x0 = hk.select %c0, %x, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %m0 = hk.reduce max %x0 : tensor<?x64xf32> -> tensor<?x1xf32>
  %id1 = hk.constant 1 : tensor<i32>
  %c1 = hk.compare eq %group, %id1 : tensor<64xi32>, tensor<i32> -> tensor<64xi1>
  %x1 = hk.select %c1, %x, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %m1 = hk.reduce max %x1 : tensor<?x64xf32> -> tensor<?x1xf32>
  %id2 = hk.constant 2 : tensor<i32>
  %c2 = hk.compare eq %group, %id2 : tensor<64xi32>, tensor<i32> -> tensor<64xi1>
  %x2 = hk.select %c2, %x, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %m2 = hk.reduce max %x2 : tensor<?x64xf32> -> tensor<?x1xf32>
  %id3 = hk.constant 3 : tensor<i32>
  %c3 = hk.compare eq %group, %id3 : tensor<64xi32>, tensor<i32> -> tensor<64xi1>
  %x3 = hk.select %c3, %x, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %m3 = hk.reduce max %x3 : tensor<?x64xf32> -> tensor<?x1xf32>
  %m = hk.concat 1 (%m0, %m1, %m2, %m3) : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x4xf32>
  %best = hk.group_limit maximum %m groups 4 top_groups 2 : tensor<?x4xf32>
  %b0 = tensor.extract_slice %best[0, 0] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %k0 = hk.compare ne %b0, %never : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %y0 = hk.select %k0, %x0, %never : tensor<?x1xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %z0 = hk.select %c0, %y0, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %b1 = tensor.extract_slice %best[0, 1] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %k1 = hk.compare ne %b1, %never : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %y1 = hk.select %k1, %x1, %never : tensor<?x1xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %z1 = hk.select %c1, %y1, %z0 : tensor<64xi1>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %b2 = tensor.extract_slice %best[0, 2] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %k2 = hk.compare ne %b2, %never : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %y2 = hk.select %k2, %x2, %never : tensor<?x1xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %z2 = hk.select %c2, %y2, %z1 : tensor<64xi1>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %b3 = tensor.extract_slice %best[0, 3] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %k3 = hk.compare ne %b3, %never : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %y3 = hk.select %k3, %x3, %never : tensor<?x1xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %z3 = hk.select %c3, %y3, %z2 : tensor<64xi1>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %v, %i = hk.topk %z3 : tensor<?x64xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  return %v, %i : tensor<?x4xf32>, tensor<?x4xi32>
}
// Softmax over all experts, not renormalised, ids in ascending order.
func.func @softmax_first_e128(%x: tensor<?x128xbf16>) -> (tensor<?x4xf32>, tensor<?x4xi32>, tensor<4x?xi32>) {
  %p = hk.softmax %x : tensor<?x128xbf16> -> tensor<?x128xf32>
  %v, %i = hk.topk %p ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %b = hk.bitmatrix %i : tensor<?x4xi32> -> tensor<?x4xi32>
  %bt = hk.transpose %b [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  return %v, %i, %bt : tensor<?x4xf32>, tensor<?x4xi32>, tensor<4x?xi32>
}
// Sigmoid without a bias, renormalised.
func.func @sigmoid_plain(%x: tensor<?x128xf16>) -> (tensor<?x8xf32>, tensor<?x8xi32>, tensor<4x?xi32>) {
  %l = hk.cast %x : tensor<?x128xf16> -> tensor<?x128xf32>
  %p = hk.sigmoid %l : tensor<?x128xf32>
  %v, %i = hk.topk %p ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %eps = hk.constant 1.0e-20 : tensor<f32>
  %s = hk.reduce sum %v : tensor<?x8xf32> -> tensor<?x1xf32>
  %d = hk.add %s, %eps : tensor<?x1xf32>, tensor<f32>
  %w = hk.div %v, %d : tensor<?x8xf32>, tensor<?x1xf32>
  %b = hk.bitmatrix %i : tensor<?x8xi32> -> tensor<?x4xi32>
  %bt = hk.transpose %b [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  return %w, %i, %bt : tensor<?x8xf32>, tensor<?x8xi32>, tensor<4x?xi32>
}
// Not renormalised, only scaled; with a bias, and ids in ascending order.
func.func @sigmoid_scaled(%x: tensor<?x64xf32>, %bias: tensor<64xf32>) -> (tensor<?x6xf32>, tensor<?x6xi32>) {
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %cb = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %v, %i = hk.topk %cb ties highest_index order by_index : tensor<?x64xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %g = hk.gather_last %p, %i : tensor<?x64xf32>, tensor<?x6xi32> -> tensor<?x6xf32>
  %factor = hk.constant 2.5 : tensor<f32>
  %y = hk.mul %g, %factor : tensor<?x6xf32>, tensor<f32>
  return %y, %i : tensor<?x6xf32>, tensor<?x6xi32>
}
// DeepSeek-V2: softmax over all, groups by their best, scaled.
func.func @grouped_softmax(%x: tensor<?x160xbf16>) -> (tensor<?x6xf32>, tensor<?x6xi32>) {
  %p = hk.softmax %x : tensor<?x160xbf16> -> tensor<?x160xf32>
  %m = hk.group_limit maximum %p groups 8 top_groups 3 : tensor<?x160xf32>
  %v, %i = hk.topk %m : tensor<?x160xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %factor = hk.constant 16.0 : tensor<f32>
  %y = hk.mul %v, %factor : tensor<?x6xf32>, tensor<f32>
  return %y, %i : tensor<?x6xf32>, tensor<?x6xi32>
}
// A bias in bf16, as checkpoints have it.
func.func @bias_bf16(%x: tensor<?x128xbf16>, %bias: tensor<128xbf16>) -> (tensor<?x6xf32>, tensor<?x6xi32>) {
  %p = hk.sigmoid %x : tensor<?x128xbf16> -> tensor<?x128xf32>
  %cb = hk.add %p, %bias : tensor<?x128xf32>, tensor<128xbf16>
  %v, %i = hk.topk %cb : tensor<?x128xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %g = hk.gather_last %p, %i : tensor<?x128xf32>, tensor<?x6xi32> -> tensor<?x6xf32>
  return %g, %i : tensor<?x6xf32>, tensor<?x6xi32>
}
// Groups that a table names, by the two best of their scores and biases: the best 2 of 4 are kept.
func.func @grouped_by_table_bias(%x: tensor<?x64xf32>, %bias: tensor<64xf32>, %group: tensor<64xi32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
  %never = hk.constant 0xFF800000 : tensor<f32>
  %p = hk.sigmoid %x : tensor<?x64xf32>
  %y = hk.add %p, %bias : tensor<?x64xf32>, tensor<64xf32>
  %id0 = hk.constant 0 : tensor<i32>
  %is0 = hk.compare eq %group, %id0 : tensor<64xi32>, tensor<i32> -> tensor<64xi1>
  %x0 = hk.select %is0, %y, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %v0, %i0 = hk.topk %x0 : tensor<?x64xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %m0 = hk.reduce sum %v0 : tensor<?x2xf32> -> tensor<?x1xf32>
  %id1 = hk.constant 1 : tensor<i32>
  %is1 = hk.compare eq %group, %id1 : tensor<64xi32>, tensor<i32> -> tensor<64xi1>
  %x1 = hk.select %is1, %y, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %v1, %i1 = hk.topk %x1 : tensor<?x64xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %m1 = hk.reduce sum %v1 : tensor<?x2xf32> -> tensor<?x1xf32>
  %id2 = hk.constant 2 : tensor<i32>
  %is2 = hk.compare eq %group, %id2 : tensor<64xi32>, tensor<i32> -> tensor<64xi1>
  %x2 = hk.select %is2, %y, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %v2, %i2 = hk.topk %x2 : tensor<?x64xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %m2 = hk.reduce sum %v2 : tensor<?x2xf32> -> tensor<?x1xf32>
  %id3 = hk.constant 3 : tensor<i32>
  %is3 = hk.compare eq %group, %id3 : tensor<64xi32>, tensor<i32> -> tensor<64xi1>
  %x3 = hk.select %is3, %y, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %v3, %i3 = hk.topk %x3 : tensor<?x64xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %m3 = hk.reduce sum %v3 : tensor<?x2xf32> -> tensor<?x1xf32>
  %m = hk.concat 1 (%m0, %m1, %m2, %m3) : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32> -> tensor<?x4xf32>
  %best = hk.group_limit maximum %m groups 4 top_groups 2 : tensor<?x4xf32>
  %c0 = arith.constant 0 : index
  %t = tensor.dim %best, %c0 : tensor<?x4xf32>
  %b0 = tensor.extract_slice %best[0, 0] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %k0 = hk.compare ne %b0, %never : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %o0 = hk.select %k0, %x0, %never : tensor<?x1xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %z0 = hk.select %is0, %o0, %never : tensor<64xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %b1 = tensor.extract_slice %best[0, 1] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %k1 = hk.compare ne %b1, %never : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %o1 = hk.select %k1, %x1, %never : tensor<?x1xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %z1 = hk.select %is1, %o1, %z0 : tensor<64xi1>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %b2 = tensor.extract_slice %best[0, 2] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %k2 = hk.compare ne %b2, %never : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %o2 = hk.select %k2, %x2, %never : tensor<?x1xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %z2 = hk.select %is2, %o2, %z1 : tensor<64xi1>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %b3 = tensor.extract_slice %best[0, 3] [%t, 1] [1, 1] : tensor<?x4xf32> to tensor<?x1xf32>
  %k3 = hk.compare ne %b3, %never : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xi1>
  %o3 = hk.select %k3, %x3, %never : tensor<?x1xi1>, tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %z3 = hk.select %is3, %o3, %z2 : tensor<64xi1>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %v, %i = hk.topk %z3 : tensor<?x64xf32> -> tensor<?x4xf32>, tensor<?x4xi32>
  %w = hk.gather_last %p, %i : tensor<?x64xf32>, tensor<?x4xi32> -> tensor<?x4xf32>
  return %w, %i : tensor<?x4xf32>, tensor<?x4xi32>
}
// An expert that all tokens share, of weight 1, behind those that are routed to.
func.func @shared_expert(%x: tensor<?x64xbf16>) -> (tensor<?x7xf32>, tensor<?x7xi32>) {
  %no = hk.constant false : tensor<i1>
  %one = hk.constant 1.0 : tensor<f32>
  %shared = hk.constant 64.0 : tensor<f32>
  %p = hk.softmax %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  %v, %i = hk.topk %p : tensor<?x64xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %s = hk.reduce sum %v : tensor<?x6xf32> -> tensor<?x1xf32>
  %w = hk.div %v, %s : tensor<?x6xf32>, tensor<?x1xf32>
  %o = hk.select %no, %s, %one : tensor<i1>, tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %e = hk.select %no, %s, %shared : tensor<i1>, tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %id = hk.cast %e : tensor<?x1xf32> -> tensor<?x1xi32>
  %all_w = hk.concat 1 (%w, %o) : tensor<?x6xf32>, tensor<?x1xf32> -> tensor<?x7xf32>
  %all_i = hk.concat 1 (%i, %id) : tensor<?x6xi32>, tensor<?x1xi32> -> tensor<?x7xi32>
  return %all_w, %all_i : tensor<?x7xf32>, tensor<?x7xi32>
}
// Padding rows of a captured graph may hold anything: of NaN only, the ids are still experts.
func.func @all_nan_rows(%x: tensor<?x128xf32>) -> (tensor<?x6xf32>, tensor<?x6xi32>, tensor<4x?xi32>) {
  %nan = hk.constant 0x7FC00000 : tensor<f32>
  %y = hk.add %x, %nan : tensor<?x128xf32>, tensor<f32>
  %v, %i = hk.topk %y ties highest_index order by_index : tensor<?x128xf32> -> tensor<?x6xf32>, tensor<?x6xi32>
  %w = hk.softmax %v : tensor<?x6xf32>
  %b = hk.bitmatrix %i : tensor<?x6xi32> -> tensor<?x4xi32>
  %bt = hk.transpose %b [1, 0] : tensor<?x4xi32> -> tensor<4x?xi32>
  return %w, %i, %bt : tensor<?x6xf32>, tensor<?x6xi32>, tensor<4x?xi32>
}
