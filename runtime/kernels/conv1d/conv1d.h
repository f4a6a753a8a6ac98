//===- conv1d.h - Causal depthwise convolution -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strip is some consecutive channels of some consecutive tokens of a
// sequence; a GPU thread computes one, a host block several. The tokens before
// a strip are read from the input, or, by the first strip of a sequence, from
// the state: it alone reads a line of the state and so can overwrite it without
// any other workgroup in the way. A sequence without tokens has a strip, too.
//
// The epilogue stores what becomes of the sums:
//   struct Epilogue {
//     static constexpr int kResults; // that it stores
//     void apply(i64 sequence, i64 token, i64 channel, i64 count,
//                Vec<float, kVec> sums) const;
//   };
// channel_last: kVec channels of one token; channel_first: kVec tokens of one
// channel, of which the first `count` exist. `token` counts as the input's
// token dim does.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_CONV1D_CONV1D_H
#define HK_KERNELS_CONV1D_CONV1D_H

/// Rare lanes are found by votes (device/arch/amdgcn.h).
#define HK_VOTES

#include "hk/Contract/Conv1dTiles.h"
#include "kernels/device/io.h"
#include "kernels/device/launch.h"
#include "kernels/device/ragged.h"

namespace hk {

struct Conv1dSpec {
  DType input, weight, bias; // bias: only with hasBias
  int channels, width;
  bool channelLast, ragged, hasBias;
  /// Entries of a line of the state; 0: no state.
  int stateLength;
  bool stateChannelLast, hasIndices, wideIndices, hasInitial;
  /// See hk.causal_conv1d.
  bool hasAccepted, hasRing, hasSeqIdx, hasPadSlot;
  i64 padSlot;
  /// Tokens of a block of a sequence with a line of its own; 0: one line each.
  i64 block;
  bool hasWindows;
  /// Bytes that every row is aligned to.
  int alignInput, alignWeight, alignBias, alignState;
};

/// Strides and sizes in elements.
struct Conv1dArgs {
  u64 input, weight, bias, offsets, state, indices, initial;
  u64 accepted, ring, seqIdx, computed, windows;
  i64 sequences;
  i64 tokens; // of a sequence, or of all of them if ragged
  i64 inputSequence, inputToken, inputChannel, weightChannel;
  i64 lines, stateLine, stateToken, stateChannel;
  i64 seqIdxSequence;
  i64 blocks, indexSequence; // of indices with a line per block
  i64 windowSequence, windowToken, windowChannel;
};

template <Conv1dSpec S, Conv1dTile T> struct Conv1d {
  static constexpr int kThreads = int(conv1dThreads(kTarget, T));
  static constexpr int kStripLanes = conv1dStripLanes(T);
  static constexpr int kTaps = S.width - 1;
  static constexpr int kChannels = T.channels;
  static constexpr int kVec = S.channelLast ? T.channels : T.tokens;
  static constexpr bool kHasState = S.stateLength > 0;
  static_assert(S.width >= 2 &&
                S.width <= (S.channelLast ? kConv1dMaxWidth
                                          : kConv1dMaxChannelFirstWidth));
  static_assert(S.channelLast || kChannels == 1);
  static_assert(S.channels % kChannels == 0);

  using Values = Vec<float, kChannels>;
  using Raw = Packed<S.input, kChannels>;

  /// `channel` on, tokens [first, first + count) of a sequence of `length`.
  struct Strip {
    i64 sequence, channel;
    i64 begin; // where the sequence begins in the input's token dim
    i64 length, first, count;
    bool valid; // of a sequence, and not of a padding slot
    i64 line;   // of the state to begin with; -1: none
    bool initial;
    i64 origin; // accepted or computed tokens, or where the ring is
  };

  template <class Epilogue>
  HK_MEM static void run(const Conv1dArgs &args, BlockId block,
                         const Epilogue &epilogue) {
    for (int item = threadId(); item < T.items; item += kThreads) {
      // Neighbouring lanes touch neighbouring elements.
      int channelLane =
          S.channelLast ? item % T.channelLanes : item / kStripLanes;
      int stripLane =
          S.channelLast ? item / T.channelLanes : item % kStripLanes;
      Strip s;
      s.channel = (i64(block.y) * T.channelLanes + channelLane) * kChannels;
      i64 tile = i64(block.x) * kStripLanes + stripLane;
      if (s.channel < S.channels && locate(args, tile, s))
        compute(args, s, epilogue);
    }
  }

private:
  template <int BYTES>
  static constexpr int kAlign =
      BYTES < kBytes<S.input, kChannels> ? BYTES : kBytes<S.input, kChannels>;

  HK_MEM static i64 lineOf(const Conv1dArgs &args, i64 index) {
    if constexpr (!S.hasIndices)
      return index;
    using Index =
        typename Traits<S.wideIndices ? DType::I64 : DType::I32>::Carrier;
    i64 line = global<const Index>(args.indices)[index];
    if constexpr (S.hasPadSlot)
      if (line == S.padSlot)
        return -1;
    return line >= 0 && line < args.lines ? line : -1;
  }

  /// The line of block `block` of a sequence; -1: none.
  HK_MEM static i64 blockLine(const Conv1dArgs &args, i64 sequence, i64 block) {
    return block >= 0 && block < args.blocks
               ? lineOf(args, sequence * args.indexSequence + block)
               : -1;
  }
  HK_MEM static i64 blockOf(i64 token) {
    return token < 0 ? -1 : token / S.block;
  }

  /// False when the tile has nothing to do.
  HK_MEM static bool locate(const Conv1dArgs &args, i64 tile, Strip &s) {
    if (args.sequences < 0)
      return false;
    bool padding = false; // tokens of no sequence, whose results are 0
    if constexpr (S.ragged) {
      auto offsets = global<const i32>(args.offsets);
      s.sequence = raggedSequence(offsets, args.sequences, 1, T.tokens, tile);
      padding = s.sequence == args.sequences;
      s.begin = offsets[s.sequence];
      i64 end = padding ? args.tokens : i64(offsets[s.sequence + 1]);
      s.length = end - s.begin;
      s.first = (tile - raggedTile(s.begin, T.tokens, s.sequence)) * T.tokens;
    } else {
      i64 strips = (args.tokens + T.tokens - 1) / T.tokens;
      strips = strips > 0 ? strips : 1;
      s.sequence = tile / strips;
      s.begin = 0;
      s.length = args.tokens;
      s.first = (tile - s.sequence * strips) * T.tokens;
    }
    bool empty = s.length == 0 && s.first == 0;
    if ((s.sequence >= args.sequences && !padding) ||
        (s.first >= s.length && (padding || !(kHasState && empty))))
      return false;
    i64 left = s.length - s.first;
    s.count = left < T.tokens ? left : T.tokens;
    s.valid = true;
    s.line = -1;
    s.initial = false;
    s.origin = 0;
    if (padding) {
      s.valid = false;
      return true;
    }
    if constexpr (S.block > 0) {
      i64 computed = global<const i32>(args.computed)[s.sequence];
      s.origin = computed < 0 ? 0 : computed;
      i64 last = s.origin + s.length - 1;
      s.valid = s.length > 0 && blockLine(args, s.sequence, blockOf(last)) >= 0;
      s.line = blockLine(args, s.sequence, blockOf(s.origin - 1));
      s.initial = true;
    } else if constexpr (kHasState) {
      s.line = lineOf(args, s.sequence);
      s.valid = s.line >= 0;
      s.initial = true;
      if constexpr (S.hasInitial)
        s.initial = global<const u8>(args.initial)[s.sequence] != 0;
      if constexpr (S.hasAccepted) {
        constexpr i64 most = S.stateLength - S.width + 2;
        i64 accepted = global<const i32>(args.accepted)[s.sequence];
        s.origin = accepted < 1 ? 1 : accepted > most ? most : accepted;
      }
      if constexpr (S.hasRing)
        s.origin = global<const i32>(args.ring)[s.sequence];
    }
    return true;
  }

  /// The entry of a ring that is number `place`.
  HK_MEM static i64 ringEntry(i64 place) {
    i64 rest = place % S.stateLength;
    return rest < 0 ? rest + S.stateLength : rest;
  }
  /// The entry with input k of those before the sequence.
  HK_MEM static i64 tapEntry(const Strip &s, int k) {
    if constexpr (S.hasRing)
      return ringEntry(s.origin - kTaps + k);
    return (S.hasAccepted ? s.origin - 1 : S.stateLength - kTaps) + k;
  }

  /// Channels of token `token` of the sequence.
  HK_MEM static Raw loadInput(const Conv1dArgs &args, const Strip &s,
                              i64 token) {
    auto input = global<const Storage<S.input>>(args.input);
    return loadPacked<S.input, kChannels, kAlign<S.alignInput>>(
        input, s.sequence * (S.ragged ? 0 : args.inputSequence) +
                   (s.begin + token) * args.inputToken +
                   s.channel * args.inputChannel);
  }
  HK_MEM static i64 stateOffset(const Conv1dArgs &args, const Strip &s,
                                i64 line, i64 entry) {
    return line * args.stateLine + entry * args.stateToken +
           s.channel * args.stateChannel;
  }
  HK_MEM static Raw loadState(const Conv1dArgs &args, const Strip &s,
                              i64 entry) {
    auto state = global<const Storage<S.input>>(args.state);
    i64 offset = stateOffset(args, s, s.line, entry);
    if constexpr (S.stateChannelLast)
      return loadPacked<S.input, kChannels, kAlign<S.alignState>>(state,
                                                                  offset);
    Raw raw;
    HK_UNROLL for (int e = 0; e < kChannels; ++e) raw[e] =
        state[offset + e * args.stateChannel];
    return raw;
  }
  HK_MEM static void storeState(const Conv1dArgs &args, const Strip &s,
                                i64 line, i64 entry, Raw raw) {
    auto state = global<Storage<S.input>>(args.state);
    i64 offset = stateOffset(args, s, line, entry);
    if constexpr (S.stateChannelLast)
      storePacked<S.input, kChannels, kAlign<S.alignState>>(state, offset, raw);
    else
      HK_UNROLL for (int e = 0; e < kChannels; ++e)
          state[offset + e * args.stateChannel] = raw[e];
  }

  /// Input k of those before the sequence.
  HK_MEM static Raw loadBefore(const Conv1dArgs &args, const Strip &s, int k) {
    Raw raw = 0;
    if constexpr (kHasState)
      if (s.initial && s.line >= 0)
        raw = loadState(args, s, tapEntry(s, k));
    return raw;
  }

  /// The inputs before the strip, the oldest first.
  HK_MEM static void loadTaps(const Conv1dArgs &args, const Strip &s,
                              Values (&taps)[kTaps]) {
    HK_UNROLL for (int k = 0; k < kTaps; ++k) {
      Raw raw = s.first > 0 ? loadInput(args, s, s.first - kTaps + k)
                            : loadBefore(args, s, k);
      taps[k] = unpack<S.input, kChannels>(raw);
    }
  }

  /// The inputs after each token of the strip that a state would keep, before
  /// the old state is gone.
  HK_MEM static void storeWindows(const Conv1dArgs &args, const Strip &s) {
    auto windows = global<Storage<S.input>>(args.windows);
    for (i64 i = 0; i < s.count; ++i)
      HK_UNROLL for (int k = 0; k < kTaps; ++k) {
        i64 token = s.first + i - (kTaps - 1) + k;
        Raw raw = 0;
        if (s.valid)
          raw = token >= 0 ? loadInput(args, s, token)
                           : loadBefore(args, s, int(token) + kTaps);
        i64 offset = s.sequence * args.windowSequence +
                     (s.first + i) * args.windowToken +
                     s.channel * args.windowChannel + k;
        HK_UNROLL for (int e = 0; e < kChannels; ++e)
            windows[offset + e * args.windowChannel] = raw[e];
      }
  }

  /// The last inputs become the state: by the strip that has read the old one.
  HK_MEM static void updateState(const Conv1dArgs &args, const Strip &s) {
    if (s.first > 0 || !s.valid ||
        (s.length == 0 && s.initial && !S.hasAccepted))
      return;
    if constexpr (S.hasRing) {
      i64 token = s.length > S.stateLength ? s.length - S.stateLength : 0;
      for (; token < s.length; ++token)
        storeState(args, s, s.line, ringEntry(s.origin + token),
                   loadInput(args, s, token));
      return;
    }
    if constexpr (S.block > 0) {
      // The first block's line may be the old state's: it is written last.
      i64 first = blockOf(s.origin);
      for (i64 b = blockOf(s.origin + s.length - 1); b >= first; --b) {
        i64 line = blockLine(args, s.sequence, b);
        i64 end = (b + 1) * S.block - s.origin;
        if (line >= 0)
          writeState(args, s, line, end < s.length ? end : s.length);
      }
      return;
    }
    writeState(args, s, s.line, s.length);
  }

  /// The state after `length` tokens of the sequence.
  HK_MEM static void writeState(const Conv1dArgs &args, const Strip &s,
                                i64 line, i64 length) {
    // Ascending: an entry is read before it is overwritten.
    for (i64 entry = 0; entry < S.stateLength; ++entry) {
      i64 token = entry + length - S.stateLength;
      i64 from = entry + (S.hasAccepted ? s.origin : length);
      Raw raw = 0;
      if (token >= 0)
        raw = loadInput(args, s, token);
      else if (s.initial && s.line >= 0 && from < S.stateLength)
        raw = loadState(args, s, from);
      storeState(args, s, line, entry, raw);
    }
  }

  HK_MEM static void loadWeights(const Conv1dArgs &args, const Strip &s,
                                 Values (&weights)[S.width]) {
    auto weight = global<const Storage<S.weight>>(args.weight);
    i64 offset = s.channel * args.weightChannel;
    if (args.weightChannel == S.width) {
      // The filters of the channels are one run.
      constexpr int bytes = kBytes<S.weight, kChannels>;
      constexpr int align = S.alignWeight < bytes ? S.alignWeight : bytes;
      Values flat[S.width];
      HK_UNROLL for (int j = 0; j < S.width; ++j) flat[j] =
          load<S.weight, kChannels, align>(weight, offset + j * kChannels);
      HK_UNROLL for (int j = 0; j < S.width;
                     ++j) HK_UNROLL for (int e = 0; e < kChannels;
                                         ++e) weights[j][e] =
          flat[(e * S.width + j) / kChannels][(e * S.width + j) % kChannels];
      return;
    }
    HK_UNROLL for (int e = 0; e < kChannels; ++e)
        HK_UNROLL for (int j = 0; j < S.width; ++j) weights[j][e] =
            loadScalar<S.weight>(weight, offset + e * args.weightChannel + j);
  }

  HK_MEM static Values loadBias(const Conv1dArgs &args, const Strip &s) {
    if constexpr (!S.hasBias)
      return 0;
    else {
      constexpr int bytes = kBytes<S.bias, kChannels>;
      return load<S.bias, kChannels,
                  (S.alignBias < bytes ? S.alignBias : bytes)>(
          global<const Storage<S.bias>>(args.bias), s.channel);
    }
  }

  /// To which sequence the tokens before and of a strip belong.
  template <int COUNT>
  HK_MEM static void loadSeqIdx(const Conv1dArgs &args, const Strip &s,
                                i32 (&ids)[kTaps + COUNT]) {
    auto all =
        global<const i32>(args.seqIdx) + s.sequence * args.seqIdxSequence;
    HK_UNROLL for (int i = 0; i < kTaps + COUNT; ++i) {
      i64 token = s.first - kTaps + i;
      token = token < 0 ? 0 : token < s.length ? token : s.length - 1;
      ids[i] = all[token];
    }
  }

  template <class Epilogue>
  HK_MEM static void compute(const Conv1dArgs &args, const Strip &s,
                             const Epilogue &epilogue) {
    Values taps[kTaps];
    loadTaps(args, s, taps);
    if constexpr (S.hasWindows)
      storeWindows(args, s);
    if constexpr (kHasState)
      updateState(args, s);
    if (s.count <= 0)
      return;
    if constexpr (S.channelLast)
      computeChannels(args, s, taps, epilogue);
    else
      computeTokens(args, s, taps, epilogue);
  }

  /// The tokens of a strip are taken in so many parts by the same code where
  /// what follows a token is long; the loads of later parts move down, which
  /// takes some registers more.
  template <class Epilogue>
  static constexpr int kParts =
      kVotes && T.tokens >= 8 && !S.hasSeqIdx && Epilogue::kResults > 1 ? 4 : 1;
  template <class Epilogue>
  HK_MEM static void computeChannels(const Conv1dArgs &args, const Strip &s,
                                     Values (&taps)[kTaps],
                                     const Epilogue &epilogue) {
    Values weights[S.width], bias = loadBias(args, s);
    loadWeights(args, s, weights);
    // All loads first; those past the end load the last token again.
    Raw raw[T.tokens];
    HK_UNROLL for (int i = 0; i < T.tokens; ++i) raw[i] =
        loadInput(args, s, s.first + (i < s.count ? i : s.count - 1));
    [[maybe_unused]] i32 ids[kTaps + T.tokens];
    if constexpr (S.hasSeqIdx)
      loadSeqIdx<T.tokens>(args, s, ids);
    constexpr int some = T.tokens / kParts<Epilogue>;
    HK_NO_UNROLL for (int part = 0; part < kParts<Epilogue>; ++part) {
      HK_UNROLL for (int i = 0; i < some; ++i) {
        Values x = unpack<S.input, kChannels>(raw[i]), sums = bias;
        HK_UNROLL for (int j = 0; j < kTaps; ++j) {
          Values tap = taps[j];
          if constexpr (S.hasSeqIdx)
            if (ids[i + j] != ids[i + kTaps])
              tap = 0;
          sums = __builtin_elementwise_fma(weights[j], tap, sums);
        }
        sums = __builtin_elementwise_fma(weights[kTaps], x, sums);
        HK_UNROLL for (int j = 0; j + 1 < kTaps; ++j) taps[j] = taps[j + 1];
        taps[kTaps - 1] = x;
        if (!s.valid) // padding has no result but 0
          sums = 0;
        i64 place = part * some + i;
        if (place < s.count)
          epilogue.apply(s.sequence, s.begin + s.first + place, s.channel, 1,
                         sums);
      }
      HK_UNROLL for (int i = 0; i + some < T.tokens; ++i) raw[i] =
          raw[i + some];
    }
  }

  template <class Epilogue>
  HK_MEM static void computeTokens(const Conv1dArgs &args, const Strip &s,
                                   Values (&taps)[kTaps],
                                   const Epilogue &epilogue) {
    Values weights[S.width];
    loadWeights(args, s, weights);
    auto input = global<const Storage<S.input>>(args.input);
    constexpr int bytes = kBytes<S.input, kVec>;
    auto own = loadMasked<S.input, kVec,
                          (S.alignInput < bytes ? S.alignInput : bytes)>(
        input,
        s.sequence * args.inputSequence + s.channel * args.inputChannel +
            s.first,
        s.count);
    float line[kTaps + kVec];
    HK_UNROLL for (int k = 0; k < kTaps; ++k) line[k] = taps[k][0];
    HK_UNROLL for (int i = 0; i < kVec; ++i) line[kTaps + i] = own[i];
    [[maybe_unused]] i32 ids[kTaps + kVec];
    if constexpr (S.hasSeqIdx)
      loadSeqIdx<kVec>(args, s, ids);
    Vec<float, kVec> sums = loadBias(args, s)[0];
    HK_UNROLL for (int j = 0; j < S.width; ++j) {
      Vec<float, kVec> shifted;
      HK_UNROLL for (int i = 0; i < kVec; ++i) {
        shifted[i] = line[j + i];
        if constexpr (S.hasSeqIdx)
          if (ids[i + j] != ids[i + kTaps])
            shifted[i] = 0;
      }
      sums = __builtin_elementwise_fma(Vec<float, kVec>(weights[j][0]), shifted,
                                       sums);
    }
    if (!s.valid)
      sums = 0;
    epilogue.apply(s.sequence, s.first, s.channel, s.count, sums);
  }
};

} // namespace hk

#endif // HK_KERNELS_CONV1D_CONV1D_H
