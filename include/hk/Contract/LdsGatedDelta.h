//===- LdsGatedDelta.h - LDS of gated delta rule kernels -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On vector units the kernels that walk over tokens keep the state in
// registers and stage operands of the next tokens; all that need it hold a
// matrix of the chunk, or stage keys for one. On matrix units all stage rows of
// their operands.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_LDSGATEDDELTA_H
#define HK_CONTRACT_LDSGATEDDELTA_H

#include "hk/Contract/Capability.h"
#include "hk/Contract/Lds.h"
#include "hk/Contract/Tile.h"

namespace hk {

enum class GatedDeltaKernel {
  Recurrent,
  Kkt,
  SumsAndKkt,
  SolveTril,
  WU,
  State,
  Output,
  Scan, // states and results
  Transition,
  Starts
};

/// Keys of a token that are staged at a time; the host takes all.
constexpr int64_t kktSlice(const Target &target, int64_t keys) {
  return target.arch == Arch::Host ? keys : 32;
}

/// f32 elements of a row of `n`, padded so that the rows of a column lie in
/// different banks.
constexpr int64_t paddedRow(int64_t n) { return n + 1; }

/// f32 elements of a row of a chunk's matrix that is inverted; padded where
/// neighbouring threads read vectors of neighbouring rows.
constexpr int64_t solveTrilRow(const Target &target, int64_t chunk) {
  return target.arch == Arch::Host ? chunk : chunk + 4;
}

/// Elements of a vector that kernels on matrix units stage: 16 bytes.
inline constexpr int kStagedVector = 8;

/// What a walk on vector units reads of a token: rows of keys, rows of values
/// and single numbers.
struct TokenRows {
  int64_t keys = 0, values = 0, scalars = 0;
};

/// The sizes that LDS depends on.
struct ChunkShape {
  int64_t chunk, keys, values;
  TokenRows rows = {}; // where tokens are staged
};

/// f32 elements of a row of `n` whose vectors of 16 bytes are aligned.
constexpr int64_t vectorRow(int64_t n) { return (n + 3) / 4 * 4; }

/// Values of a block of a walk on vector units.
constexpr int64_t walkValues(const ChunkShape &s, const GatedDeltaTile &tile) {
  int64_t values = int64_t(tile.threads / tile.lanes) * tile.columns;
  return values < s.values ? values : s.values;
}
/// f32 elements of a token that is staged.
constexpr int64_t stagedToken(const ChunkShape &s, const GatedDeltaTile &tile) {
  return s.rows.keys * vectorRow(s.keys) +
         s.rows.values * vectorRow(walkValues(s, tile)) +
         vectorRow(s.rows.scalars);
}
/// Tokens that are staged at a time: what all wait for is paid once for them.
/// Two blocks fit into the smallest LDS, and what a thread brings into
/// registers.
constexpr int64_t stagedTokens(const ChunkShape &s,
                               const GatedDeltaTile &tile) {
  int64_t tokens = 32, floats = stagedToken(s, tile);
  while (tokens > 1 && (tokens * floats * 4 > (32 << 10) ||
                        tokens * floats > 64 * int64_t(tile.threads)))
    tokens /= 2;
  return tokens;
}

/// f32 elements of a row of a chunk's products.
constexpr int64_t chunkProductRow(int64_t chunk) { return chunk + 4; }

/// Rows of 16-bit keys, then products in their place.
constexpr int64_t chunkProductBytes(int64_t chunk, int64_t keys) {
  int64_t rows = chunk * keys * 2,
          products = chunk * chunkProductRow(chunk) * 4;
  return rows > products ? rows : products;
}

/// A recurrence whose blocks have whole heads: `values` of all heads of a
/// block; `staged` keys of a convolution in front of it, 0 without one.
struct HeadsShape {
  int64_t values, staged;
};

/// Lanes that share a head's results, and how many each has in a row.
constexpr int64_t rowVector(const Target &target, int64_t values) {
  if (target.arch == Arch::Host || values < 8)
    return values;
  return values / target.waveSize > 8 ? values / target.waveSize : 8;
}

/// f32 results of a token; and of the convolution queries, keys and values.
constexpr int64_t recurrentHeadsLds(const HeadsShape &s) {
  return 4 * (s.values + (s.staged ? 2 * s.staged + s.values : 4));
}

/// f32 elements of a row of a block's values, in a scan on vector units: rows
/// begin in different banks.
constexpr int64_t scanValuesRow(const GatedDeltaTile &tile) {
  return int64_t(tile.threads / tile.lanes + 1) * tile.columns;
}

/// Where columns of key `key` lie among those that starts of segments are made
/// of, in f32 elements. Where many lanes share a row, keys that they read at a
/// time, four apart, are moved to different banks.
constexpr int64_t startsPlace(const GatedDeltaTile &tile, int64_t key) {
  return key * tile.columns + (tile.lanes > 2 ? key / 4 * 4 : 0);
}

constexpr int64_t vectorLds(const Target &target, GatedDeltaKernel kernel,
                            const ChunkShape &s, const GatedDeltaTile &tile) {
  int64_t staged = 2 * s.chunk * paddedRow(kktSlice(target, s.keys)) * 4;
  switch (kernel) {
  case GatedDeltaKernel::Recurrent: // of more than a few tokens
  case GatedDeltaKernel::State:
  case GatedDeltaKernel::Transition:
    return target.arch == Arch::Host
               ? 0
               : stagedTokens(s, tile) * stagedToken(s, tile) * 4;
  case GatedDeltaKernel::Starts: // a state's columns before and behind
    return 2 * startsPlace(tile, s.keys) * 4;
  case GatedDeltaKernel::Kkt:
  case GatedDeltaKernel::SumsAndKkt: // and decays, their sums, betas
    return staged + 3 * s.chunk * 4;
  case GatedDeltaKernel::SolveTril:
    return s.chunk * solveTrilRow(target, s.chunk) * 4;
  case GatedDeltaKernel::WU: // a matrix and two factors per token
    return s.chunk * (s.chunk + 2) * 4;
  case GatedDeltaKernel::Output:
    return staged + s.chunk * paddedRow(s.chunk) * 4;
  case GatedDeltaKernel::Scan: {
    int64_t values = s.chunk * scanValuesRow(tile) * 4;
    return (staged > values ? staged : values) +
           s.chunk * paddedRow(s.chunk) * 4;
  }
  }
  return 0;
}

/// Values of a block that multiplies on matrix units.
constexpr int64_t matrixRows(const Target &target, const GatedDeltaTile &tile) {
  return int64_t(tile.waves) * target.mmaM;
}

/// Operands of one chunk: keys twice, values of a block, factors of its tokens.
constexpr int64_t chunkStageBytes(const Target &target, const ChunkShape &s,
                                  const GatedDeltaTile &tile) {
  int64_t rows = matrixRows(target, tile);
  return s.chunk * (4 * s.keys + 2 * rows + 4) + 16;
}
/// And of the state, a row for each value.
constexpr int64_t chunkStateLds(const Target &target, const ChunkShape &s,
                                const GatedDeltaTile &tile, int64_t stages) {
  return stages * chunkStageBytes(target, s, tile) +
         matrixRows(target, tile) * s.keys * 2;
}
/// Chunks whose operands are in LDS at a time.
constexpr int chunkStateStages(const Target &target, const ChunkShape &s,
                               const GatedDeltaTile &tile) {
  return chunkStateLds(target, s, tile, 2) <= target.ldsBytes ? 2 : 1;
}

/// f32 elements of a row of a chunk's results, or of its 16-bit weights.
constexpr int64_t scanResultRow(const Target &target, const ChunkShape &s,
                                const GatedDeltaTile &tile) {
  int64_t values = matrixRows(target, tile), weights = s.chunk / 2;
  return (values > weights ? values : weights) + 4;
}
/// A scan: w, keys and perhaps queries of a chunk, values of two, the state,
/// results, factors of the tokens, flags of the waves.
constexpr int64_t chunkScanLds(const Target &target, const ChunkShape &s,
                               const GatedDeltaTile &tile, bool queries) {
  int64_t rows = matrixRows(target, tile);
  int64_t perToken = (queries ? 6 : 4) * s.keys + 4 * rows +
                     4 * scanResultRow(target, s, tile) + 8;
  return s.chunk * perToken + rows * s.keys * 2 + 4 + 4 * tile.waves;
}
/// Whether queries go through LDS.
constexpr bool scanStagesQueries(const Target &target, const ChunkShape &s,
                                 const GatedDeltaTile &tile) {
  return chunkScanLds(target, s, tile, true) + 16 <= target.ldsBytes;
}

/// Values of a block of a scan by warpgroups, the rows of one product.
inline constexpr int64_t kWarpgroupValues = 64;

/// Whether a scan multiplies by warpgroups (chunk_scan_warpgroup.h): one moves
/// the state on, one gives results, one brings operands.
constexpr bool scansByWarpgroups(const Target &target, const ChunkShape &s,
                                 const GatedDeltaTile &tile) {
  return hasWarpgroupProducts(target) && s.chunk == 64 &&
         matrixRows(target, tile) == kWarpgroupValues;
}
/// w, keys, queries and values of a chunk.
constexpr int64_t warpgroupStageBytes(const ChunkShape &s) {
  return s.chunk * (6 * s.keys + 2 * kWarpgroupValues);
}
/// Factors of the tokens, three times, and of the state.
constexpr int64_t warpgroupFactorWords(const ChunkShape &s) {
  return 3 * s.chunk + 4;
}
/// f32 elements of a row of results, padded so that rows lie in other banks.
inline constexpr int64_t kWarpgroupResultRow = kWarpgroupValues + 4;
/// Operands of `stages` chunks, weights of two, results, and barriers: two for
/// each of these.
constexpr int64_t warpgroupScanBytes(const ChunkShape &s, int64_t stages) {
  return kBulkAlignment +
         stages *
             (warpgroupStageBytes(s) + 4 * warpgroupFactorWords(s) + 2 * 8) +
         2 * (s.chunk * s.chunk * 2 + 2 * 8) +
         s.chunk * kWarpgroupResultRow * 4 + 2 * 8;
}
/// Chunks whose operands are in LDS at a time: two at least. bytes(shape,
/// stages): what they take.
constexpr int64_t stagesThatFit(const Target &target, const ChunkShape &s,
                                int64_t (*bytes)(const ChunkShape &, int64_t)) {
  int64_t stages = 4;
  while (stages > 2 && bytes(s, stages) > target.ldsBytes)
    --stages;
  return stages;
}
constexpr int64_t warpgroupScanStages(const Target &target,
                                      const ChunkShape &s) {
  return stagesThatFit(target, s, warpgroupScanBytes);
}

/// Transitions by warpgroups: w, keys and values of a chunk, 64 of each of two
/// warpgroups; factors of its tokens and of the state; two barriers.
inline constexpr int64_t kTransitionFactorWords = 64 + 4;
constexpr int64_t transitionStageBytes(const ChunkShape &s) {
  return s.chunk * (4 * s.keys + 4 * kWarpgroupValues);
}
constexpr int64_t warpgroupTransitionBytes(const ChunkShape &s,
                                           int64_t stages) {
  return kBulkAlignment + stages * (transitionStageBytes(s) +
                                    4 * kTransitionFactorWords + 2 * 8);
}
constexpr int64_t warpgroupTransitionStages(const Target &target,
                                            const ChunkShape &s) {
  return stagesThatFit(target, s, warpgroupTransitionBytes);
}

/// Whether transitions are multiplied by warpgroups (transition_warpgroup.h);
/// `values` are all columns, some of which are of the matrix.
constexpr bool transitionsByWarpgroups(const Target &target,
                                       const ChunkShape &s,
                                       const GatedDeltaTile &tile) {
  return hasWarpgroupProducts(target) && s.chunk == 64 &&
         matrixRows(target, tile) == 2 * kWarpgroupValues &&
         s.values % (2 * kWarpgroupValues) == 0;
}

/// f32 elements of a row of a matrix that is inverted by blocks: lanes read
/// pairs of eight rows.
inline constexpr int64_t kInverseBlockRow = 64 + 8;
/// What one warpgroup prepares of a chunk (prepare_warpgroup.h): keys, values,
/// a matrix, three factors of a token, flags of four waves.
constexpr int64_t warpgroupPrepareBytes(const ChunkShape &s) {
  return kBulkAlignment +
         s.chunk * (2 * (s.keys + s.values) + 4 * (kInverseBlockRow + 3)) +
         4 * 4;
}
/// Whether products of keys, inverse and corrections are one warpgroup's.
constexpr bool preparesByWarpgroup(const Target &target, const ChunkShape &s,
                                   const GatedDeltaTile &tile) {
  return hasWarpgroupProducts(target) && s.chunk == 64 && tile.waves == 4 &&
         s.keys % 64 == 0 && s.values % 64 == 0;
}

/// LDS of the kernels on matrix units. Where values may not be finite, vector
/// units compute the chunk in the same bytes.
constexpr int64_t matrixLds(const Target &target, GatedDeltaKernel kernel,
                            const ChunkShape &s, const GatedDeltaTile &tile) {
  int64_t most = s.keys > s.values ? s.keys : s.values;
  int64_t flags = int64_t(tile.threads) / target.waveSize * 4, bytes = 0;
  switch (kernel) {
  case GatedDeltaKernel::Kkt:
  case GatedDeltaKernel::SumsAndKkt:
    return chunkProductBytes(s.chunk, s.keys) + 3 * s.chunk * 4;
  case GatedDeltaKernel::State:
    return chunkStateLds(target, s, tile, chunkStateStages(target, s, tile));
  case GatedDeltaKernel::WU:
    bytes = s.chunk * ((most + 4) * 4 + s.chunk * 2 + 8) + flags;
    break;
  case GatedDeltaKernel::Output: {
    int64_t staged = s.chunk * (s.keys + s.values) * 2;
    int64_t results = s.chunk * (s.values + 4) * 4;
    bytes = (staged > results ? staged : results) + s.chunk * 4 + flags;
    break;
  }
  case GatedDeltaKernel::Scan:
    if (scansByWarpgroups(target, s, tile))
      return warpgroupScanBytes(s, warpgroupScanStages(target, s));
    bytes = chunkScanLds(target, s, tile, scanStagesQueries(target, s, tile));
    return (bytes + 15) / 16 * 16;
  case GatedDeltaKernel::Recurrent:
  case GatedDeltaKernel::SolveTril:
  case GatedDeltaKernel::Starts:
    break;
  case GatedDeltaKernel::Transition:
    return warpgroupTransitionBytes(s, warpgroupTransitionStages(target, s));
  }
  int64_t vectors = vectorLds(target, kernel, s, tile);
  return ((bytes > vectors ? bytes : vectors) + 15) / 16 * 16;
}

constexpr int64_t gatedDeltaLds(const Target &target, GatedDeltaKernel kernel,
                                const ChunkShape &shape,
                                const GatedDeltaTile &tile) {
  return tile.waves ? matrixLds(target, kernel, shape, tile)
                    : vectorLds(target, kernel, shape, tile);
}

/// What the operators on one chunk leave for each other in a block that has
/// several, in bytes; 0: nothing. `early` and `late` are what those before
/// and behind the inverse need for themselves.
struct ChunkLinks {
  int64_t sums, products, inverse, early, late;
};
/// Where it lies. What is dead when the inverse is there lies where those
/// behind it work.
struct ChunkLinkPlaces {
  int64_t sums, inverse, products, early, late, bytes;
};
constexpr ChunkLinkPlaces chunkLinkPlaces(const ChunkLinks &links) {
  auto aligned = [](int64_t bytes) { return (bytes + 15) / 16 * 16; };
  ChunkLinkPlaces at = {};
  at.inverse = aligned(links.sums);
  at.products = at.late = at.inverse + aligned(links.inverse);
  at.early = at.products + aligned(links.products);
  int64_t early = at.early + aligned(links.early);
  int64_t late = at.late + aligned(links.late);
  at.bytes = early > late ? early : late;
  return at;
}

} // namespace hk

#endif // HK_CONTRACT_LDSGATEDDELTA_H
