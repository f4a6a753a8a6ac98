//===- cases.h - Attention problems for every target -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every layout and option, with lengths that are not multiples of anything,
// rows that see no key, and NaN behind the last key. CASE(name, spec, queries
// per sequence, keys per sequence, key heads, rows of a cache block)
//
//===----------------------------------------------------------------------===//

#ifndef HK_TEST_KERNELS_ATTENTION_CASES_H
#define HK_TEST_KERNELS_ATTENTION_CASES_H

#include "hk/Contract/AttentionTiles.h"
#include "kernels/attention/spec.h"

namespace hktest {

using enum hk::SequenceLayout;
using enum hk::KeyCount;
using Keys = hk::AttentionKeys;

inline constexpr auto kSink = hk::Normalizer::SoftmaxWithSink;
inline constexpr auto kSoft = hk::ScoreCap::Soft;
inline constexpr auto kShared = hk::ValuePlace::ColumnsOfKeys;

template <class F> constexpr hk::AttentionSpec spec(F change) {
  hk::AttentionSpec s = {.outType = hk::DType::BF16,
                         .headDim = 64,
                         .valueDim = 64,
                         .group = 2,
                         .queries = Dense,
                         .keys = Keys::dense(),
                         .rowLse = hk::RowLse::Stored,
                         .align = 16};
  constexpr hk::DType open = hk::DType::I64;
  s.qType = s.kType = s.vType = open;
  change(s);
  hk::DType *types[] = {&s.qType, &s.kType, &s.vType};
  for (hk::DType *type : types)
    if (*type == open)
      *type = s.type;
  return s;
}
#define SPEC(...)                                                              \
  (hktest::spec([](hk::AttentionSpec &s) {                                     \
    using namespace hktest;                                                    \
    using hk::DType;                                                           \
    (void)s;                                                                   \
    __VA_ARGS__;                                                               \
  }))
#define LIST(...) {__VA_ARGS__}

// clang-format off
#define HK_ATTENTION_CASES(CASE)                                               \
  CASE(dense, SPEC(), LIST(33, 33), LIST(100, 100), 2, 16) \
  CASE(no_keys, SPEC(), LIST(3, 3), LIST(0, 0), 2, 16) \
  CASE(no_queries, SPEC(), LIST(0, 0), LIST(5, 5), 2, 16) \
  CASE(causal, SPEC(s.window.right = 0), LIST(70, 70), LIST(130, 130), 2, 16) \
  CASE(causal_empty_rows, SPEC(s.window.right = 0), LIST(40, 40), LIST(9, 9), 2, 16) \
  CASE(prefill_cache, SPEC(s.keys = Keys::dense(Given); s.window.right = 0; s.queries = Single), LIST(161), LIST(300), 2, 16) \
  CASE(decode_cache, SPEC(s.keys = Keys::dense(Given); s.window.right = 0; s.queries = Single), LIST(1), LIST(301), 2, 16) \
  CASE(decode_batch, SPEC(s.keys = Keys::dense(Given); s.window.right = 0), LIST(1, 1, 1), LIST(301, 0, 17), 2, 16) \
  CASE(ragged, SPEC(s.queries = Ragged; s.keys = Keys::ragged(); s.window.right = 0), LIST(5, 0, 70, 1, 16), LIST(9, 3, 70, 150, 16), 2, 16) \
  CASE(paged, SPEC(s.queries = Ragged; s.keys = Keys::paged(0, Given); s.window.right = 0), LIST(1, 12, 0, 34, 1), LIST(1, 133, 7, 20, 65), 2, 16) \
  CASE(paged_by_5, SPEC(s.queries = Ragged; s.keys = Keys::paged(0, Given); s.window.right = 0), LIST(1, 12, 1), LIST(38, 133, 65), 1, 5) \
  CASE(pages_16, SPEC(s.queries = Ragged; s.group = 4; s.headDim = s.valueDim = 128; s.keys = Keys::paged(16, Given); s.window.right = 0), LIST(1, 1, 1, 2, 1), LIST(0, 1, 15, 33, 301), 2, 16) \
  CASE(pages_64, SPEC(s.type = s.outType = DType::F16; s.group = 8; s.headDim = 80; s.valueDim = 112; s.keys = Keys::paged(64, Given); s.window.left = 100; s.window.right = 0), LIST(2, 2, 2), LIST(64, 129, 257), 1, 64) \
  CASE(left_window, SPEC(s.window.left = 20; s.window.right = 0), LIST(90, 90), LIST(150, 150), 2, 16) \
  CASE(windows, SPEC(s.window.left = 3; s.window.right = 5), LIST(50, 50), LIST(70, 70), 2, 16) \
  CASE(top_left, SPEC(s.window.right = 30), LIST(70, 70), LIST(40, 40), 2, 16) \
  CASE(own_key, SPEC(s.window.left = 0; s.window.right = 0), LIST(20), LIST(7), 2, 16) \
  CASE(softcap, SPEC(s.cap = kSoft), LIST(10), LIST(90), 2, 16) \
  CASE(sink, SPEC(s.normalizer = kSink; s.window.right = 0), LIST(40), LIST(20), 2, 16) \
  CASE(group_1, SPEC(s.group = 1), LIST(9), LIST(77), 3, 16) \
  CASE(group_5, SPEC(s.group = 5), LIST(9), LIST(77), 1, 16) \
  CASE(group_12, SPEC(s.group = 12; s.window.right = 0), LIST(3), LIST(77), 1, 16) \
  CASE(f16, SPEC(s.type = s.outType = DType::F16), LIST(9), LIST(77), 2, 16) \
  CASE(f32, SPEC(s.type = s.outType = DType::F32), LIST(9), LIST(77), 2, 16) \
  CASE(bf16_to_f32, SPEC(s.outType = DType::F32), LIST(9), LIST(77), 2, 16) \
  CASE(d72_40, SPEC(s.headDim = 72; s.valueDim = 40), LIST(9), LIST(77), 2, 16) \
  CASE(d33_7, SPEC(s.headDim = 33; s.valueDim = 7; s.align = 2), LIST(9), LIST(77), 2, 16) \
  CASE(d192_128, SPEC(s.headDim = 192; s.valueDim = 128), LIST(9), LIST(77), 2, 16) \
  CASE(d128, SPEC(s.headDim = s.valueDim = 128; s.window.right = 0), LIST(150), LIST(210), 2, 16) \
  CASE(d8_256, SPEC(s.headDim = 8; s.valueDim = 256), LIST(9), LIST(77), 2, 16) \
  CASE(latent_576, SPEC(s.headDim = 576; s.valueDim = 512; s.group = 16; s.values = kShared; s.keys = Keys::paged(0, Given)), LIST(1, 5), LIST(70, 33), 1, 16) \
  CASE(latent_320, SPEC(s.headDim = 320; s.valueDim = 256; s.group = 5; s.values = kShared; s.window.right = 0), LIST(19), LIST(50), 1, 16) \
  CASE(int8_keys, SPEC(s.kType = DType::I8; s.vType = DType::F8E4M3FN; s.kScale = hk::KeyScale::perKeys(1); s.vScale = hk::ValueScale::PerKey), LIST(9), LIST(77), 2, 16) \
  CASE(fnuz_cache, SPEC(s.kType = s.vType = DType::F8E4M3FNUZ; s.keys = Keys::paged(0, Given); s.kScale = hk::KeyScale::perKeys(1)), LIST(1, 1), LIST(130, 5), 2, 16) \
  CASE(narrow_odd, SPEC(s.qType = s.vType = DType::I8; s.kType = DType::F8E5M2; s.headDim = 33; s.valueDim = 7; s.align = 1; s.vScale = hk::ValueScale::PerKey), LIST(9), LIST(77), 2, 16) \
  CASE(e4m3_cache, SPEC(s.kType = s.vType = DType::F8E4M3FN; s.keys = Keys::paged(0, Given); s.kScale = hk::KeyScale::perKeys(1)), LIST(1, 1, 1), LIST(301, 0, 17), 2, 16) \
  CASE(e4m3_pages, SPEC(s.queries = Ragged; s.group = 5; s.headDim = 96; s.valueDim = 64; s.kType = s.vType = DType::F8E4M3FN; s.keys = Keys::paged(32, Given); s.kScale = hk::KeyScale::perKeys(1); s.vScale = hk::ValueScale::PerKey; s.window.right = 0), LIST(1, 1, 3), LIST(131, 0, 33), 2, 32) \
  CASE(e5m2_cache, SPEC(s.type = s.outType = DType::F16; s.kType = DType::F8E5M2; s.vType = DType::F8E4M3FN; s.headDim = 80; s.valueDim = 48; s.keys = Keys::paged(0, Given); s.window.right = 0; s.normalizer = kSink), LIST(2, 2), LIST(130, 40), 1, 8) \
  CASE(e4m3_window, SPEC(s.kType = s.vType = DType::F8E4M3FN; s.window.left = 40; s.window.right = 0; s.cap = kSoft), LIST(2, 2), LIST(150, 150), 2, 16) \
  CASE(f32_d128, SPEC(s.type = s.outType = DType::F32; s.headDim = s.valueDim = 128), LIST(9), LIST(77), 2, 16)
// clang-format on

/// Cases that also run with their keys split.
// clang-format off
#define HK_ATTENTION_SPLIT_CASES(CASE)                                         \
  CASE(decode_cache) CASE(decode_batch) CASE(paged) CASE(pages_16) CASE(sink)  \
  CASE(e4m3_cache) CASE(e4m3_pages)
// clang-format on
inline constexpr int kSplits = 3;

/// The tile of an entry: of those the contract has, the one with fewest or with
/// most rows.
constexpr hk::AttentionTile pickTile(hk::Arch arch, const hk::AttentionSpec &s,
                                     bool few, int splits) {
  hk::AttentionShape shape = {s.type, s.headDim, s.valueDim, s.align};
  shape.sharedValues = s.sharesValues();
  shape.stream =
      info(s.type).bits == 16 && (!s.keys.isPaged() || s.keys.pageRows >= 16);
  hk::AttentionTileList list = hk::attentionTiles(arch, shape);
  hk::AttentionTile tile = list.tile[few ? list.count - 1 : 0];
  tile.splitKv = splits;
  return tile;
}

/// The kernel of one slice of the keys.
constexpr hk::AttentionSpec sliced(hk::AttentionSpec s) {
  s.outType = hk::DType::F32;
  s.normalizer = hk::Normalizer::Softmax;
  s.rowLse = hk::RowLse::Stored;
  return s;
}

} // namespace hktest

#endif // HK_TEST_KERNELS_ATTENTION_CASES_H
