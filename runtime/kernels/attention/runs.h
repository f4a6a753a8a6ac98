//===- runs.h - Equal runs of keys for blocks -------------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit is a key head of a sequence, whose rows fit in one tile. The keys of
// all units, in steps, lie end to end, and every block takes a run of equal
// length, which may end one unit and begin others: so blocks have the same work
// whatever the lengths are, which only the device may know. What a run has of a
// unit is one part of the unit's result; parts are numbered in the order of
// their keys, and those that a unit does not have get a log-sum-exp of -inf.
// Where all units are equally long, and at most a sixteenth of the blocks is
// left over, no run has parts of several (on sm_90a: if blocks suffice for
// that). The cut depends on nothing but the lengths: the same lengths give the
// same bits.
//
// On sm_90a every key head has a line of units of its own where that leaves few
// blocks without a run, and rows of a head are short: blocks beside each other
// then walk the same keys of all heads, whose rows in memory touch.
//
// Steps are counted in 32 bits: 2^32 of them would be terabytes of keys, or 8
// GB of a block table.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_RUNS_H
#define HK_KERNELS_ATTENTION_RUNS_H

#include "kernels/attention/block.h"
#include "kernels/device/scan.h"

namespace hk {

/// Runs of steps of STEP keys. A unit has at most T.splitKv parts. All threads
/// of the block come here, or one wave of it.
template <AttentionSpec S, AttentionTile T, int STEP, class R,
          int THREADS = T.waves * kWave>
class AttentionRuns {
public:
  static_assert(S.queries == SequenceLayout::Dense ||
                    S.queries == SequenceLayout::Single,
                "units have the same number of rows");
  static_assert(T.splitKv > 1 && kSliceUnit % STEP == 0);

  HK_MEM explicit AttentionRuns(const AttentionArgs<S, R> &args) : args(args) {
    const u32 keyHeads = u32(args.heads / S.group);
    lines = linesOf(keyHeads);
    heads = keyHeads / lines;
    u32 longest = 0, all = 0, batch = u32(maxOf(args.batch, 0));
    if constexpr (kEqual) {
      longest = batch > 0 ? stepsOf(0) : 0;
      all = longest * batch;
    } else {
      own = stepsOf(laneId());
      for (u32 base = 0; base < batch; base += kWave) {
        u32 before = 0, sum = base == 0 ? own : stepsOf(base + laneId());
        longest = longest > sum ? longest : sum;
        scanLanes<1, kWave>(before, sum);
        all += sum;
      }
      longest = largestOfLanes<kWave>(longest);
    }
    total = all * heads;
    if (total == 0)
      return;
    const u32 most = u32(T.blocks) / lines;
    const u32 limit = total < most ? total : most;
    runs = limit;
    // A unit as long as m runs has at most m + 1 parts.
    if (u64(T.splitKv - 1) * total < u64(limit) * longest)
      runs = u32(u64(T.splitKv - 1) * total / longest);
    if (all == longest * batch) {
      u32 even = evenRuns(limit, batch * heads, longest);
      if (even * 16 >= runs * 15)
        runs = even;
    }
    each = total / runs;
    rest = total % runs;
  }

  /// Parts of units that block `block` of the grid has: f(part).
  template <class F> HK_MEM void forEach(u32 block, F f) {
    const u32 number = block / lines, line = block % lines;
    if (number >= runs)
      return;
    u32 place = startOf(number), stop = startOf(number + 1);
    Unit unit = find(place);
    while (true) {
      u32 end = unit.first + unit.steps;
      f(partOf(unit, line, number, place - unit.first,
               (stop < end ? stop : end) - unit.first));
      if (end >= stop)
        return;
      place = end;
      next(unit);
    }
  }

private:
  /// Whether all sequences have the same number of keys.
  static constexpr bool kEqual =
      !S.keys.hasCount() &&
      (S.keys.layout == KeyLayout::Dense || S.keys.layout == KeyLayout::Paged);
  struct Unit {
    u32 sequence, head; // of its line
    u32 first, steps;   // its place among all steps
  };

  /// Whether rows of a key head are at most 256 bytes: those of 512 lose by
  /// lines (benchmarks/results/h200-attention.md).
  static constexpr bool kShortRows =
      kArch == Arch::Sm90a && S.headDim * info(S.kType).bits <= 256 * 8;
  /// Lines that `keyHeads` key heads have: one each, or one for all.
  HK_MEM static u32 linesOf(u32 keyHeads) {
    if constexpr (!kShortRows)
      return 1;
    const u32 blocks = u32(T.blocks);
    return blocks / keyHeads * keyHeads * 16 >= blocks * 15 ? keyHeads : 1;
  }
  HK_MEM AttentionBlock sequenceOf(u32 sequence) const {
    AttentionBlock w = {};
    w.sequence = sequence;
    w.queries = args.queries;
    locateSequence<S>(args, w);
    return w;
  }
  /// At least one, so that a unit without keys has a part; 0 behind the last
  /// sequence.
  HK_MEM u32 stepsOf(u32 sequence) const {
    if (sequence >= args.batch)
      return 0;
    AttentionBlock w = sequenceOf(sequence);
    i64 base = firstSlicedKey(w.keys, w.queries, S.window.left);
    return u32(maxOf((w.keys - base + STEP - 1) / STEP, 1));
  }
  /// Of equal units: the most runs that are cut where units are, as a run that
  /// crosses from one to another drains and fills its pipeline once more. 0 if
  /// there are none. On sm_90a also where a run has several units: cut alike,
  /// all runs would drain at once (benchmarks/results/h200-attention.md).
  HK_MEM u32 evenRuns(u32 limit, u32 units, u32 steps) const {
    if (units > limit) {
      if constexpr (kArch == Arch::Sm90a)
        return 0;
      u32 several = (units + limit - 1) / limit;
      return units % several == 0 ? units / several : 0;
    }
    u32 parts = limit / units;
    parts = parts < u32(T.splitKv) ? parts : u32(T.splitKv);
    return (parts < steps ? parts : steps) * units;
  }
  /// Where run `number` begins: number * total / runs.
  HK_MEM u32 startOf(u32 number) const {
    return number * each + number * rest / runs;
  }

  /// The unit that step `place` is of.
  HK_MEM Unit find(u32 place) const {
    if constexpr (kEqual) {
      u32 steps = stepsOf(0), unit = place / steps;
      return {unit / heads, unit % heads, unit * steps, steps};
    } else {
      u32 base = 0, first = 0;
      while (true) {
        u32 mine = base == 0 ? own : stepsOf(base + laneId());
        u32 before = 0, all = mine * heads;
        scanLanes<1, kWave>(before, all);
        if (place < first + all || base + kWave >= args.batch) {
          int lane = __builtin_popcountll(ballot(first + before <= place)) - 1;
          u32 steps = u32(fromLane(i32(mine), lane));
          u32 begin = first + u32(fromLane(i32(before), lane));
          u32 head = (place - begin) / steps;
          return {base + u32(lane), head, begin + head * steps, steps};
        }
        first += all;
        base += kWave;
      }
    }
  }
  HK_MEM void next(Unit &unit) const {
    unit.first += unit.steps;
    if (++unit.head < heads)
      return;
    unit.head = 0;
    ++unit.sequence;
    if constexpr (!kEqual)
      unit.steps = stepsOf(unit.sequence);
  }

  /// The run that has step `place`.
  HK_MEM u32 runOf(u32 place) const {
    // Without a division of 64 bits: nearly right, then corrected.
    u32 run = u32(float(place) * (float(runs) / float(total)));
    run = run < runs ? run : runs - 1;
    while (startOf(run) > place)
      --run;
    while (startOf(run + 1) <= place)
      ++run;
    return run;
  }

  /// Steps [begin, end) of a unit.
  HK_MEM AttentionBlock partOf(const Unit &unit, u32 line, u32 number,
                               u32 begin, u32 end) const {
    AttentionBlock w = sequenceOf(unit.sequence);
    w.head = lines == 1 ? unit.head : line;
    w.count = w.queries * S.group;
    i64 base = firstSlicedKey(w.keys, w.queries, S.window.left);
    w.slice = {minOf(base + i64(begin) * STEP, w.keys),
               minOf(base + i64(end) * STEP, w.keys)};
    u32 part = number - runOf(unit.first);
    if (part == 0)
      clearOthers(w, runOf(unit.first + unit.steps - 1) - number + 1);
    w.outStart = part * args.outSlice;
    w.lseStart = part * args.lseSlice;
    return w;
  }
  /// Parts that the unit does not have.
  HK_MEM void clearOthers(const AttentionBlock &w, u32 parts) const {
    int rows = int(w.count), others = (T.splitKv - int(parts)) * rows;
    int first = THREADS == kWave ? laneId() : threadId();
    for (int i = first; i < others; i += THREADS)
      args.lse[lseOffset<S>(args, w, i % rows) +
               i64(int(parts) + i / rows) * args.lseSlice] = -__builtin_inff();
  }

  const AttentionArgs<S, R> &args;
  /// Lines of units, and the heads that share one.
  u32 lines, heads;
  /// Of a line: steps of all units; runs that have any, and their length.
  u32 total = 0, runs = 0, each = 0, rest = 0;
  /// Steps of the sequence of this lane.
  u32 own = 0;
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_RUNS_H
