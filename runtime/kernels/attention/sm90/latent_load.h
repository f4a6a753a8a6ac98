//===- latent_load.h - Queries and latent keys to LDS -----------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One warp asks the copy engine for keys, piece by piece as the places of the
// tile before are free. Another one finds the units of work and tells everybody
// of them; two copy queries, whose rows may lie anyhow.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_SM90_LATENT_LOAD_H
#define HK_KERNELS_ATTENTION_SM90_LATENT_LOAD_H

#include "kernels/attention/sm90/latent_config.h"

namespace hk {

template <AttentionSpec S, AttentionTile T> class LatentKeyLoader {
  using Config = LatentConfig<S, T>;
  static constexpr int kBoxes = Config::kKeys / Config::kBoxKeys;
  static_assert(Config::kBoxKeys % 8 == 0 && kBoxes <= kWave,
                "boxes begin at multiples of 1024 bytes, one for each lane");

public:
  HK_MEM LatentKeyLoader(const AttentionArgs<S> &a,
                         const typename Config::Layout &lds,
                         const TensorMap &map)
      : a(a), lds(lds), map(map) {}

  HK_MEM void add(const AttentionBlock &w) {
    typename Config::Steps steps = Config::stepsOf(w);
    Place next = find(w, steps.first);
    for (int i = 0; i < steps.count; ++i) {
      Place now = next;
      // Looked up before the places of this tile are waited for.
      next = find(w, steps.first + (i + 1) * Config::kKeys);
      if (i % 2 == 0)
        load<0>(w, now, uses[0]++);
      else
        load<1>(w, now, uses[1]++);
    }
  }

private:
  /// Of a tile the first key, of the sequence or of the operand, and of this
  /// lane's box the page, or the sequence. Boxes that the table does not name,
  /// and those behind the last key, begin at page -1, which no cache has: the
  /// engine writes zeros there, so that 0 times a value stays 0.
  struct Place {
    int key, page;
  };
  HK_MEM Place find(const AttentionBlock &w, int key) const {
    if constexpr (!Config::kGaps) {
      return {int(w.keyStart) + key,
              S.keys.layout == KeyLayout::Dense ? int(w.sequence) : 0};
    } else {
      Place at = {key, -1};
      key += laneId() * Config::kBoxKeys;
      if (laneId() < kBoxes && key < w.keys)
        at.page = int(KeysOf<S>::entry(a, w, key));
      return at;
    }
  }

  /// Pieces whose places are free together follow each other.
  template <int STAGE>
  HK_MEM void load(const AttentionBlock &w, const Place &at, u32 use) {
    u32 phase = use & 1;
    load<STAGE, kLeftValues>(w, at, phase);
    load<STAGE, STAGE == 0 ? kRightValues : kRestOfKeys>(w, at, phase);
    load<STAGE, STAGE == 0 ? kRestOfKeys : kRightValues>(w, at, phase);
  }
  template <int STAGE, int PIECE>
  HK_MEM void load(const AttentionBlock &w, const Place &at, u32 phase) const {
    constexpr int panels = Config::panelsOf(PIECE);
    constexpr int first = Config::firstPanel(PIECE);
    // The first round finds the place empty.
    lds.empty(STAGE, PIECE).waitTogether(phase ^ 1);
    if constexpr (Config::kGaps && PIECE == kLeftValues) {
      u32 missing = u32(ballot(laneId() < kBoxes && at.page < 0));
      if (laneId() == 0)
        storeLds4(lds.missing(STAGE), missing);
    }
    LdsBarrier full = lds.full(STAGE, PIECE);
    int pages[kBoxes], key = sameInWarp(at.key), head = sameInWarp(int(w.head));
    HK_UNROLL for (int b = 0; b < kBoxes; ++b) pages[b] =
        fromLane(at.page, Config::kGaps ? b : 0);
    waveBarrier(); // the lane that asks may be another
    if (isElected()) {
      full.expect(panels * Config::kPanel);
      HK_UNROLL for (int b = 0; b < kBoxes; ++b) {
        int row = key;
        if constexpr (Config::kGaps)
          row = int(u32(key + b * Config::kBoxKeys) % u32(S.keys.pageRows));
        HK_UNROLL for (int p = first; p < first + panels; ++p)
            loadBox(lds.keys(STAGE, p) + b * Config::kBoxKeys * kBulkRowBytes,
                    map, full, BatchedBoxPlace{p * 64, row, head, pages[b]});
      }
    }
    waveBarrier();
  }

  const AttentionArgs<S> &a;
  typename Config::Layout lds;
  const TensorMap &map;
  u32 uses[2] = {0, 0}; // of the stages so far
};

template <AttentionSpec S, AttentionTile T> class LatentQueryLoader {
  using Config = LatentConfig<S, T>;
  static constexpr int kUnits =
      Config::kQueryPanels * 8; // of 16 bytes in a row
  static constexpr int kUsed = S.headDim / 8;

public:
  static constexpr int kThreads = kWarpgroup - 2 * kWave;

  /// `thread`: of kThreads.
  HK_MEM LatentQueryLoader(const AttentionArgs<S> &a,
                           const typename Config::Layout &lds, int thread)
      : a(a), lds(lds), thread(thread) {}

  /// Rows that the block does not have are zeros.
  HK_MEM void add(const AttentionBlock &w) {
    if (Config::stepsOf(w).count == 0)
      return;
    lds.queriesEmpty().waitTogether((uses++ & 1) ^ 1);
    for (int i = thread; i < Config::kRows * kUnits; i += kThreads) {
      int row = i / kUnits, unit = i % kUnits;
      bool exists = row < w.count && unit < kUsed;
      i64 at = queryOffset<S>(a, w, w.first + (exists ? row : 0));
      u32 to = lds.queries() + unit / 8 * Config::kPanel + row * kBulkRowBytes +
               ((unit % 8) ^ (row % 8)) * 16;
      copyToLds16(to, (Global<const u8>)(a.q + at) + (exists ? unit * 16 : 0),
                  exists);
    }
    waitAllCopies();
    publishToCopies();
    lds.queriesFull().arrive();
  }

private:
  const AttentionArgs<S> &a;
  typename Config::Layout lds;
  int thread;
  u32 uses = 0;
};

/// Units of work for the warps that do not find them themselves.
template <AttentionSpec S, AttentionTile T> struct LatentUnits {
  using Config = LatentConfig<S, T>;
  /// Warps that read a unit, and say so.
  static constexpr u32 kReaders = (Config::kThreads - kWave) / kWave;

  const AttentionArgs<S> &a;
  typename Config::Layout lds;
  u32 units = 0;

  /// Tells the readers of each unit, and at last that there are no more.
  HK_MEM void find(BlockId id) {
    Config::forEach(a, id,
                    [&](const AttentionBlock &w)
                        __attribute__((always_inline)) { tell(w); });
    AttentionBlock end = {};
    tell(end);
  }

  /// role.add(unit) of all units; reads them from where they stay until then.
  template <class Role> HK_MEM void each(Role &role) {
    for (;; ++units) {
      lds.unitFull(units).waitTogether(units / 2 & 1);
      const AttentionBlock &w = lds.unit(units);
      if (sameInWarp(int(w.count)) == 0)
        return;
      role.add(w);
      waveBarrier();
      if (laneId() == 0)
        lds.unitEmpty(units).arrive();
    }
  }

private:
  HK_MEM void tell(const AttentionBlock &w) {
    // The first round finds the place empty.
    lds.unitEmpty(units).waitTogether((units / 2 & 1) ^ 1);
    if (laneId() == 0) {
      lds.unit(units) = w;
      lds.unitFull(units).arrive();
    }
    waveBarrier();
    ++units;
  }
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_SM90_LATENT_LOAD_H
