// Graphs that the fuzzer found wrong once, as small as they get.
// HK-LAUNCHES: 2
// HK-ARGS: --range=p=0:15
// HK-DIMS: x.0=3 y.0=3 q.0=3 e.0=3
// HK-DIMS: x.0=0 y.0=0 q.0=0 e.0=0
// HK-DATA: normal,equal,nan

// The angles of the inner rotation are loaded where the element is rotated, which its
// partner in the outer one is not.
func.func @rope_of_rope(%x: tensor<?x4x8xf32>, %c: tensor<16x2xf32>, %p: tensor<?xi32>, %d: tensor<16x4xf32>) -> tensor<?x4x8xf32> {
  %0 = hk.rope neox %x, %c, %c positions %p nope_first : tensor<?x4x8xf32>, tensor<16x2xf32>, tensor<16x2xf32> positions tensor<?xi32>
  %1 = hk.rope neox %0, %d, %d positions %p : tensor<?x4x8xf32>, tensor<16x4xf32>, tensor<16x4xf32> positions tensor<?xi32>
  return %1 : tensor<?x4x8xf32>
}
// fp4 in a kernel that other operators cut to single elements.
func.func @fp4_and_groups_of_3(%x: tensor<?x64xf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>, tensor<?x22xf32>) {
  %q, %s = hk.quantize_mx ceil %x : tensor<?x64xf16> -> tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>
  %y = hk.dequantize %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU> -> tensor<?x64xf16>
  %p, %t = hk.quantize per_group %y group 3 : tensor<?x64xf16> -> tensor<?x64xi8>, tensor<?x22xf32>
  return %q, %s, %t : tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU>, tensor<?x22xf32>
}
func.func @fp4_beside_259(%a: tensor<1x259xf32>, %b: tensor<1x16xbf16>) -> (tensor<1x16xf4E2M1FN>, tensor<1x1xf8E8M0FNU>, tensor<1x259xf32>) {
  %q, %s = hk.quantize_mx ocp %b : tensor<1x16xbf16> -> tensor<1x16xf4E2M1FN>, tensor<1x1xf8E8M0FNU>
  %n = hk.rms_norm %a epsilon 1.0e-05 : tensor<1x259xf32>
  return %q, %s, %n : tensor<1x16xf4E2M1FN>, tensor<1x1xf8E8M0FNU>, tensor<1x259xf32>
}
func.func @fp4_to_groups_of_3(%q: tensor<?x64xf4E2M1FN>, %e: tensor<?x2xf8E8M0FNU>) -> (tensor<?x64xi8>, tensor<?x22xf32>) {
  %y = hk.dequantize %q, %e : tensor<?x64xf4E2M1FN>, tensor<?x2xf8E8M0FNU> -> tensor<?x64xf16>
  %p, %t = hk.quantize per_group %y group 3 : tensor<?x64xf16> -> tensor<?x64xi8>, tensor<?x22xf32>
  return %p, %t : tensor<?x64xi8>, tensor<?x22xf32>
}
// A softmax of one statistic of the only row, whose place reads no variable of the row.
func.func @softmax_of_statistic(%a: tensor<1x130xf16>) -> (tensor<1x1xbf16>, tensor<1x130xf16>) {
  %r = hk.reduce sum %a : tensor<1x130xf16> -> tensor<1x1xf32>
  %d = hk.sub %a, %r : tensor<1x130xf16>, tensor<1x1xf32>
  %c = hk.cos %r : tensor<1x1xf32> -> tensor<1x1xbf16>
  %s = hk.softmax %c : tensor<1x1xbf16>
  return %s, %d : tensor<1x1xbf16>, tensor<1x130xf16>
}
// A value of bf16 and its negative, both used, of which LLVM took one for the other on gfx942.
func.func @value_or_negative(%x: tensor<?x130xbf16>, %y: tensor<?x130xf16>) -> tensor<?x130xbf16> {
  %m = hk.max %x, %x : tensor<?x130xbf16>
  %c = hk.compare gt %m, %y : tensor<?x130xbf16>, tensor<?x130xf16> -> tensor<?x130xi1>
  %n = hk.neg %m : tensor<?x130xbf16>
  %s = hk.select %c, %m, %n : tensor<?x130xi1>, tensor<?x130xbf16>, tensor<?x130xbf16> -> tensor<?x130xbf16>
  return %s : tensor<?x130xbf16>
}
func.func @value_or_product_with_minus_1(%x: tensor<?x130xbf16>, %y: tensor<?x130xf16>) -> tensor<?x130xbf16> {
  %k = hk.constant -1.0 : tensor<bf16>
  %m = hk.max %x, %x : tensor<?x130xbf16>
  %c = hk.compare gt %m, %y : tensor<?x130xbf16>, tensor<?x130xf16> -> tensor<?x130xi1>
  %n = hk.mul %m, %k : tensor<?x130xbf16>, tensor<bf16>
  %s = hk.select %c, %m, %n : tensor<?x130xi1>, tensor<?x130xbf16>, tensor<?x130xbf16> -> tensor<?x130xbf16>
  return %s : tensor<?x130xbf16>
}
func.func @silu_of_maximum(%x: tensor<?x64xbf16>) -> (tensor<?x64xf32>, tensor<?x1xf32>) {
  %m = hk.max %x, %x : tensor<?x64xbf16>
  %s = hk.silu %m : tensor<?x64xbf16> -> tensor<?x64xf32>
  %q, %scale = hk.quantize per_token %s : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x1xf32>
  return %s, %scale : tensor<?x64xf32>, tensor<?x1xf32>
}
// Two selections of one kernel, the second of a later phase than what follows it.
func.func @two_selections(%a: tensor<1x64xf16>, %b: tensor<1x64xf32>) -> (tensor<1x6xi16>, tensor<1x2xi16>, tensor<1x2xf32>) {
  %p = hk.softmax %a : tensor<1x64xf16> -> tensor<1x64xf32>
  %v, %i = hk.topk %p order by_index : tensor<1x64xf32> -> tensor<1x6xf32>, tensor<1x6xi32>
  %i16 = hk.cast %i : tensor<1x6xi32> -> tensor<1x6xi16>
  %s = hk.sigmoid %b : tensor<1x64xf32>
  %w, %j = hk.topk %s ties highest_index : tensor<1x64xf32> -> tensor<1x2xf32>, tensor<1x2xi32>
  %j16 = hk.cast %j : tensor<1x2xi32> -> tensor<1x2xi16>
  return %i16, %j16, %w : tensor<1x6xi16>, tensor<1x2xi16>, tensor<1x2xf32>
}
// A selection from a part of the row, which is no loop of the kernel's vectors.
func.func @selection_of_part(%x: tensor<5x259xbf16>) -> (tensor<5x1xi64>, tensor<5x1xf32>, tensor<5x1xbf16>) {
  %part = tensor.extract_slice %x[0, 55] [5, 154] [1, 1] : tensor<5x259xbf16> to tensor<5x154xbf16>
  %p = hk.copy %part : tensor<5x154xbf16>
  %v, %i = hk.topk %p order by_index : tensor<5x154xbf16> -> tensor<5x1xbf16>, tensor<5x1xi64>
  %a = hk.reduce absmax %x : tensor<5x259xbf16> -> tensor<5x1xf32>
  return %i, %a, %v : tensor<5x1xi64>, tensor<5x1xf32>, tensor<5x1xbf16>
}
// The weight of a norm is loaded with the first loop, which is cut in strips.
func.func @weight_before_strips(%a: tensor<1x64xbf16>, %w: tensor<64xf32>) -> (tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>, tensor<1x8xbf16>, tensor<1x64xbf16>) {
  %q, %s = hk.quantize_mx ocp %a : tensor<1x64xbf16> -> tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>
  %m = hk.mul %a, %a : tensor<1x64xbf16>
  %p = tensor.extract_slice %m[0, 21] [1, 8] [1, 1] : tensor<1x64xbf16> to tensor<1x8xbf16>
  %n = hk.layer_norm %a, %w, %w epsilon 1.0e-05 : tensor<1x64xbf16>, tensor<64xf32>, tensor<64xf32>
  return %q, %s, %p, %n : tensor<1x64xf4E2M1FN>, tensor<1x2xf8E8M0FNU>, tensor<1x8xbf16>, tensor<1x64xbf16>
}
// The sign of f16 goes to a number that is rounded to bf16: LLVM could not select that on gfx950.
func.func @sign_of_f16_in_bf16(%x: tensor<?x64xf16>) -> tensor<?x64xbf16> {
  %y = hk.erf %x : tensor<?x64xf16> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}
