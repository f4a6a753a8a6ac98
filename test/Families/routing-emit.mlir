// The steps of a routing kernel, with what is stored where each result is found; and
// the two functions of a scan.
// RUN: hk-compile %s --emit=kernels --target=gfx942 -o - | FileCheck %s

// Counted once, for the histogram and the sort, by several blocks that share the keys.
// The weight is gathered where an entry of the order is stored; the entry of the tile map
// where a place is, by one block as all that is not of keys.
// CHECK: = Routing<1024, 128, true>;
// CHECK: const Steps::Share share = Steps::shareOf(block, d0);
// CHECK: const auto [[KEY:key[0-9]+]] = [&](const i64 i)
// CHECK: v{{[0-9]+}}[0] >= 0 && v{{[0-9]+}}[0] < 128 ? i32(v{{[0-9]+}}[0]) : -1;
// CHECK: Steps::countAllKeys(lds, d0, share, [[KEY]]);
// CHECK-NOT: countAllKeys
// CHECK: Steps::combineCounts(lds);
// CHECK: const auto [[ORDER:order[0-9]+]] = [&](const i64 j, const i32 item)
// CHECK: load<DType::F32, 1, 4>(p1,
// CHECK: storeExact<DType::F32, 1, 4>(
// CHECK: Steps::sortByKey<0, 128, 16>(lds, d0, {{.*}}, share, [[KEY]], [[ORDER]], Ignore());
// CHECK: if (share.index == 0 % share.count) {
// CHECK: const auto [[LENGTH:length[0-9]+]] =
// CHECK: lds.totals[i]
// CHECK: const auto [[ITEM:item[0-9]+]] = [&](const i64 j, const i32 segment, const i32 rank)
// CHECK: maxInt<i32, 1>(
// CHECK: = Steps::segments<16>(lds, 128, 700, [[LENGTH]], [[ITEM]], Ignore());
// CHECK: if (share.index == 1 % share.count) {
// CHECK: const auto [[BIN:bin[0-9]+]] = [&](const i64 i)
// CHECK: lds.totals[i]
// CHECK: Steps::forBins(128, [[BIN]]);
func.func @routing(%ids: tensor<?xi32>, %w: tensor<?xf32>) -> (tensor<?xf32>, tensor<128xi32>, tensor<700xi32>) {
  %none = hk.constant -1 : tensor<i32>
  %hist = hk.histogram %ids : tensor<?xi32> -> tensor<128xi32>
  %gather, %scatter = hk.sort_by_key %ids bins 128 block 16 : tensor<?xi32> -> tensor<?xi32>, tensor<?xi32>
  %scal = hk.gather_rows %w, %gather : tensor<?xf32>, tensor<?xi32> -> tensor<?xf32>
  %expert, %tile, %padded = hk.segments lengths %hist block 16 : tensor<128xi32> -> tensor<700xi32>, tensor<700xi32>, tensor<129xi32>
  %map = hk.max %expert, %none : tensor<700xi32>, tensor<i32>
  return %scal, %hist, %map : tensor<?xf32>, tensor<128xi32>, tensor<700xi32>
}

// No counters: bounds are subtracted as they are loaded, the rest has no consumer.
// CHECK: = Routing<1024, 0, false>;
// CHECK-NOT: combineCounts
// CHECK: return i32(u32(v{{[0-9]+}}[0]) - u32(v{{[0-9]+}}[0]));
// CHECK: = Steps::segments<64>(lds, d0 - 1, 0, {{.*}}, Ignore(), offset{{[0-9]+}});
func.func @offsets(%cu: tensor<?xi32>) -> tensor<?xi32> {
  %seq, %chunk, %offsets = hk.segments bounds %cu block 64 : tensor<?xi32> -> tensor<0xi32>, tensor<0xi32>, tensor<?xi32>
  return %offsets : tensor<?xi32>
}

// The sum is rounded where the operator rounds, then scaled.
// CHECK: float element(const i64 line, const i64 at, const i64 column) const {
// CHECK: load<DType::BF16, 1, 2>(p0,
// CHECK: void sum(const i64 line, const i64 at, const i64 column, const float s) const {
// CHECK: roundTo<DType::BF16, 1>(Vec<float, 1>(s))
// CHECK: storeExact<DType::F32, 1, 4>(
// CHECK: = Scan<float, ScanKind::Inclusive, true, 1024, 64, 4>;
// CHECK: args.length = i64(words[{{[0-9]+}}]);
// CHECK: args.inner = 1 * 2 * 64;
// CHECK: args.chunk = 64;
func.func @scan(%g: tensor<3x?x2x64xbf16>) -> tensor<3x?x2x64xf32> {
  %c = hk.constant 1.44269502 : tensor<f32>
  %s = hk.cumsum inclusive %g dim 1 chunk 64 reverse : tensor<3x?x2x64xbf16>
  %y = hk.mul %s, %c : tensor<3x?x2x64xbf16>, tensor<f32> -> tensor<3x?x2x64xf32>
  return %y : tensor<3x?x2x64xf32>
}
