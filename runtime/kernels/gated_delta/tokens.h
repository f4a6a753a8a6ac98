//===- tokens.h - Sequences and chunks of a batch of tokens -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tokens a block works on. Tokens after the last offset count as one more
// sequence, whose results are zeros. Chunks of ragged sequences are numbered as
// device/ragged.h numbers tiles.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_GATED_DELTA_TOKENS_H
#define HK_KERNELS_GATED_DELTA_TOKENS_H

#include "kernels/device/io.h"
#include "kernels/device/ragged.h"

namespace hk {

struct TokenArgs {
  i64 tokens;                // T
  i64 sequences;             // B, or one less than there are offsets
  Global<const i32> offsets; // null: dense
};

/// Tokens [begin, end) of sequence `number`, or of one of its segments, which
/// has `before` chunks in front of it; `batch` is the first index of dense
/// operands. `ends`: nothing of the sequence comes behind.
struct TokenSpan {
  i64 batch, number, begin, end;
  bool outside;
  i64 segment = 0, before = 0;
  bool ends = true;

  /// At most `count` of its tokens, from `first` on.
  HK_MEM TokenSpan part(i64 first, i64 count) const {
    TokenSpan result = *this;
    result.begin = first;
    result.end = first + count < end ? first + count : end;
    return result;
  }
};

HK_DEV i64 tokenBound(const TokenArgs &a, i64 i) {
  i64 bound = a.offsets[i];
  return bound < 0 ? 0 : bound > a.tokens ? a.tokens : bound;
}

/// Sequence s; with offsets there is one more than a.sequences.
HK_DEV TokenSpan sequenceSpan(const TokenArgs &a, i64 s) {
  if (!a.offsets)
    return {s, s, 0, a.tokens, false};
  bool outside = s >= a.sequences;
  return {0, s, tokenBound(a, s), outside ? a.tokens : tokenBound(a, s + 1),
          outside};
}

/// One of `segments` segments of a sequence, of equally many chunks; the last
/// may be shorter or empty. What is outside of all sequences is in the first.
HK_DEV TokenSpan segmentSpan(const TokenArgs &a, i64 chunk, i64 segments,
                             i64 sequence, i64 segment) {
  TokenSpan span = sequenceSpan(a, sequence);
  if (segments == 1)
    return span;
  span.segment = segment;
  i64 chunks = (span.end - span.begin + chunk - 1) / chunk;
  i64 each = span.outside ? chunks : (chunks + segments - 1) / segments;
  i64 first = span.segment * each, behind = first + each;
  span.before = first < chunks ? first : chunks;
  // An empty sequence ends with its first segment.
  span.ends = behind >= chunks && (first < chunks || span.segment == 0);
  i64 begin = span.begin + span.before * chunk;
  if (behind < chunks)
    span.end = span.begin + behind * chunk;
  span.begin = begin < span.end ? begin : span.end;
  return span;
}

/// Number n of the segments of all sequences.
HK_DEV TokenSpan segmentSpan(const TokenArgs &a, i64 chunk, i64 segments,
                             i64 n) {
  return segmentSpan(a, chunk, segments, n / segments, n % segments);
}

/// The number that the first chunk of a sequence or segment has.
HK_DEV i64 firstChunk(const TokenArgs &a, const TokenSpan &span, i64 chunk) {
  i64 first = a.offsets ? raggedTile(span.begin - span.before * chunk, chunk,
                                     span.number)
                        : span.batch * ((a.tokens + chunk - 1) / chunk);
  return first + span.before;
}

/// The tokens of chunk number `number` of all; there may be none.
HK_DEV TokenSpan chunkSpan(const TokenArgs &a, i64 chunk, i64 number) {
  i64 sequence = a.offsets
                     ? raggedSequence(a.offsets, a.sequences, 1, chunk, number)
                     : number / ((a.tokens + chunk - 1) / chunk);
  TokenSpan span = sequenceSpan(a, sequence);
  span.begin += (number - firstChunk(a, span, chunk)) * chunk;
  i64 end = span.begin + chunk;
  span.end = end < span.end ? end : span.end;
  return span;
}

} // namespace hk

#endif // HK_KERNELS_GATED_DELTA_TOKENS_H
