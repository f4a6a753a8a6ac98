//===- Conv1dTest.cpp - Causal convolutions on the host ---------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both layouts, ragged and dense sequences, states and padding slots of the
// host template against a sum in double. Blocks run in reverse order.
//
//===----------------------------------------------------------------------===//

#include "kernels/conv1d/conv1d.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <vector>

using namespace hk;

namespace {

template <DType D> double valueOf(Storage<D> s) {
  return double(unpack<D, 1>(Packed<D, 1>(s))[0]);
}

template <DType D>
std::vector<Storage<D>> randomData(std::mt19937 &rng, i64 n) {
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<Storage<D>> v(n);
  for (auto &x : v)
    x = pack<D, 1>(Vec<float, 1>(value(rng)))[0];
  return v;
}

/// Stores f32 sums where the input's element is.
template <bool CHANNEL_LAST, int V> struct TestEpilogue {
  static constexpr int kResults = 1;
  float *y;
  i64 sequenceStride, tokenStride, channelStride;

  void apply(i64 sequence, i64 token, i64 channel, i64 count,
             Vec<float, V> sums) const {
    float *at = y + sequence * sequenceStride + token * tokenStride +
                channel * channelStride;
    for (int e = 0; e < (CHANNEL_LAST ? V : int(count)); ++e)
      at[e] = sums[e];
  }
};

struct Problem {
  std::vector<int> lengths; // of the sequences
  std::vector<int> lines;   // of the state; empty: as the sequences
  std::vector<int> initial; // empty: all
};

template <Conv1dSpec S, Conv1dTile T> void check(const Problem &problem) {
  using Kernel = Conv1d<S, T>;
  std::mt19937 rng(11);
  const i64 sequences = i64(problem.lengths.size()), channels = S.channels;
  std::vector<i32> offsets = {0};
  for (int length : problem.lengths)
    offsets.push_back(offsets.back() + length);
  const i64 tokens = S.ragged    ? offsets.back()
                     : sequences ? problem.lengths[0]
                                 : 3;
  const i64 rows = S.ragged ? tokens : sequences * tokens;
  const i64 lines = 7;
  auto x = randomData<S.input>(rng, rows * channels);
  auto w = randomData<S.weight>(rng, channels * (S.width + 1));
  auto bias = randomData<S.bias>(rng, channels);
  auto state = randomData<S.input>(rng, lines * S.stateLength * channels);
  auto before = state;
  std::vector<i32> indices(problem.lines.begin(), problem.lines.end());
  std::vector<u8> initial(problem.initial.begin(), problem.initial.end());
  std::vector<float> y(rows * channels, NAN);

  Conv1dArgs a = {};
  a.input = u64(x.data());
  a.weight = u64(w.data());
  a.bias = u64(bias.data());
  a.offsets = u64(offsets.data());
  a.state = u64(state.data());
  a.indices = u64(indices.data());
  a.initial = u64(initial.data());
  a.sequences = sequences;
  a.tokens = tokens;
  a.inputSequence = S.ragged ? 0 : tokens * channels;
  a.inputToken = S.channelLast ? channels : 1;
  a.inputChannel = S.channelLast ? 1 : tokens;
  a.lines = lines;
  a.stateLine = S.stateLength * channels;
  a.stateToken = S.stateChannelLast ? channels : 1;
  a.stateChannel = S.stateChannelLast ? 1 : S.stateLength;
  // Rows of the weight that lie apart are another path.
  for (i64 weightRow : {S.width, S.width + 1}) {
    a.weightChannel = weightRow;
    state = before;
    TestEpilogue<S.channelLast, Kernel::kVec> epilogue{
        y.data(), a.inputSequence, a.inputToken, a.inputChannel};
    const i64 strips =
        S.ragged
            ? tokens / T.tokens + sequences
            : sequences * std::max<i64>(1, (tokens + T.tokens - 1) / T.tokens);
    const i64 gridX = (strips + Kernel::kStripLanes - 1) / Kernel::kStripLanes;
    const i64 perBlock = T.channels * T.channelLanes;
    const i64 gridY = (channels + perBlock - 1) / perBlock;
    for (i64 block = gridX * gridY; block-- > 0;)
      Kernel::run(a, {u32(block % gridX), u32(block / gridX), 0}, epilogue);

    auto inputAt = [&](i64 s, i64 t, i64 c) {
      return (S.ragged ? 0 : s * a.inputSequence) +
             ((S.ragged ? offsets[s] : 0) + t) * a.inputToken +
             c * a.inputChannel;
    };
    auto expectedState = before;
    for (i64 s = 0; s < sequences; ++s) {
      i64 length = problem.lengths[s];
      i64 line = S.hasIndices ? indices[s] : s;
      bool valid = line >= 0 && line < lines;
      bool used = S.stateLength > 0 && valid && (!S.hasInitial || initial[s]);
      for (i64 c = 0; c < channels; ++c) {
        auto stateAt = [&](i64 entry) {
          return line * a.stateLine + entry * a.stateToken + c * a.stateChannel;
        };
        auto value = [&](i64 t)->Storage<S.input> {
          if (t >= 0)
            return x[inputAt(s, t, c)];
          return used ? before[stateAt(S.stateLength + t)] : 0;
        };
        for (i64 t = 0; t < length; ++t) {
          double sum = S.hasBias ? valueOf<S.bias>(bias[c]) : 0;
          for (i64 j = 0; j < S.width; ++j)
            sum += valueOf<S.weight>(w[c * weightRow + j]) *
                   valueOf<S.input>(value(t - (S.width - 1) + j));
          if (S.stateLength > 0 && !valid)
            sum = 0;
          ASSERT_NEAR(y[inputAt(s, t, c)], sum, 1e-6)
              << "sequence " << s << " token " << t << " channel " << c;
        }
        if (S.stateLength > 0 && valid)
          for (i64 entry = 0; entry < S.stateLength; ++entry)
            expectedState[stateAt(entry)] =
                value(length - S.stateLength + entry);
      }
    }
    ASSERT_TRUE(state == expectedState);
  }
}

constexpr Conv1dSpec kDense = {.input = DType::BF16,
                               .weight = DType::BF16,
                               .bias = DType::F32,
                               .channels = 48,
                               .width = 4,
                               .channelLast = true,
                               .ragged = false,
                               .hasBias = true,
                               .stateLength = 0,
                               .stateChannelLast = true,
                               .hasIndices = false,
                               .wideIndices = false,
                               .hasInitial = false,
                               .hasAccepted = false,
                               .hasRing = false,
                               .hasSeqIdx = false,
                               .hasPadSlot = false,
                               .padSlot = 0,
                               .block = 0,
                               .hasWindows = false,
                               .alignInput = 2,
                               .alignWeight = 2,
                               .alignBias = 4,
                               .alignState = 2};

constexpr Conv1dSpec ragged(int stateLength, bool indices, bool initial) {
  Conv1dSpec s = kDense;
  s.ragged = true;
  s.stateLength = stateLength;
  s.hasIndices = indices;
  s.hasInitial = initial;
  return s;
}
constexpr Conv1dSpec withWidth(Conv1dSpec s, int width) {
  s.width = width;
  return s;
}
constexpr Conv1dSpec channelFirst(Conv1dSpec s, int stateLength) {
  s.channelLast = s.stateChannelLast = false;
  s.stateLength = stateLength;
  s.hasIndices = stateLength > 0;
  return s;
}

TEST(Conv1d, Dense) {
  for (int length : {0, 1, 2, 3, 7, 8, 9, 16, 33}) {
    check<kDense, Conv1dTile{8, 2, 16, 8}>({{length, length, length}, {}, {}});
    check<kDense, Conv1dTile{64, 4, 8, 16}>({{length}, {}, {}});
    check<withWidth(kDense, 3), Conv1dTile{16, 16, 2, 4}>({{length}, {}, {}});
    check<withWidth(kDense, 2), Conv1dTile{4, 1, 1, 1}>({{length}, {}, {}});
    check<withWidth(kDense, 8), Conv1dTile{8, 2, 16, 8}>({{length}, {}, {}});
  }
  check<kDense, Conv1dTile{8, 2, 16, 8}>({{}, {}, {}});
}

TEST(Conv1d, Ragged) {
  for (const auto &lengths : std::vector<std::vector<int>>{
           {}, {0}, {5}, {0, 1, 0, 2, 3}, {8, 8}, {1, 1, 1}, {0, 17, 4, 0}}) {
    check<ragged(0, false, false), Conv1dTile{8, 2, 16, 8}>({lengths, {}, {}});
    check<ragged(3, false, false), Conv1dTile{8, 2, 16, 4}>({lengths, {}, {}});
  }
}

TEST(Conv1d, States) {
  const std::vector<int> lengths = {0, 1, 2, 11, 0, 3},
                         initial = {1, 0, 1, 0, 0, 1};
  const std::vector<int> lines = {6, 2, -1, 0, 3, 1},
                         outside = {0, 7, 8, 1, -5, 2};
  check<ragged(3, true, false), Conv1dTile{8, 2, 16, 4}>({lengths, lines, {}});
  check<ragged(3, true, true), Conv1dTile{8, 2, 16, 8}>(
      {lengths, lines, initial});
  check<ragged(5, true, true), Conv1dTile{8, 2, 16, 8}>(
      {lengths, outside, initial});
  constexpr Conv1dSpec narrow = withWidth(ragged(4, true, true), 2);
  check<narrow, Conv1dTile{8, 2, 16, 8}>({lengths, lines, initial});
  constexpr Conv1dSpec wide = withWidth(ragged(6, true, true), 7);
  check<wide, Conv1dTile{8, 2, 16, 8}>({lengths, lines, initial});
}

TEST(Conv1d, ChannelFirst) {
  for (int length : {0, 1, 3, 4, 15, 16, 17, 40}) {
    check<channelFirst(kDense, 0), Conv1dTile{64, 16, 1, 16}>(
        {{length, length}, {}, {}});
    check<channelFirst(kDense, 3), Conv1dTile{64, 64, 1, 16}>(
        {{length, length}, {4, -1}, {}});
    check<channelFirst(kDense, 6), Conv1dTile{16, 4, 1, 4}>(
        {{length, length}, {4, 0}, {}});
  }
}

} // namespace
