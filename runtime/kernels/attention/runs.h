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
// The cut depends on nothing but the lengths: the same lengths give the same
// bits.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_ATTENTION_RUNS_H
#define HK_KERNELS_ATTENTION_RUNS_H

#include "kernels/attention/spec.h"
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

  HK_MEM explicit AttentionRuns(const AttentionArgs<S, R> &args)
      : args(args), heads(args.heads / S.group) {
    i64 longest = 0;
    if constexpr (kEqual) {
      longest = args.batch > 0 ? stepsOf(0) : 0;
      total = longest * args.batch;
    } else {
      for (i64 base = 0; base < args.batch; base += kWave) {
        i64 before = 0, all = stepsOf(base + laneId());
        longest = maxOf(longest, all);
        scanLanes<1, kWave>(before, all);
        total += all;
      }
      longest = largestOfLanes<kWave>(longest);
    }
    // A unit as long as m runs has at most m + 1 parts.
    if (total > 0)
      runs = minOf(minOf(T.blocks, total * heads),
                   (T.splitKv - 1) * total * heads / longest);
    total *= heads;
  }

  /// Parts of units that run `number` has: f(block).
  template <class F> HK_MEM void forEach(i64 number, F f) {
    if (number >= runs)
      return;
    i64 place = number * total / runs, stop = (number + 1) * total / runs;
    Unit unit = find(place);
    while (true) {
      i64 end = unit.first + unit.steps;
      f(partOf(unit, number, place - unit.first,
               minOf(stop, end) - unit.first));
      if (end >= stop)
        return;
      place = end;
      next(unit);
    }
  }

private:
  /// Whether all sequences have the same number of keys.
  static constexpr bool kEqual =
      !S.kvLens && (S.keys == SequenceLayout::Dense ||
                    (S.keys == SequenceLayout::Paged && !S.raggedTable));
  struct Unit {
    i64 sequence, head;
    i64 first, steps; // its place among all steps
  };

  HK_MEM AttentionBlock sequenceOf(i64 sequence) const {
    AttentionBlock w = {};
    w.sequence = sequence;
    w.queries = args.queries;
    locateSequence<S>(args, w);
    return w;
  }
  /// At least one, so that a unit without keys has a part; 0 behind the last
  /// sequence.
  HK_MEM i64 stepsOf(i64 sequence) const {
    if (sequence >= args.batch)
      return 0;
    AttentionBlock w = sequenceOf(sequence);
    i64 base = firstSlicedKey(w.keys, w.queries, S.windowLeft);
    return maxOf((w.keys - base + STEP - 1) / STEP, 1);
  }
  HK_MEM static i64 ofLane(i64 v, int lane) {
    Vec<i32, 2> parts = bitCast<Vec<i32, 2>>(v);
    return bitCast<i64>(
        Vec<i32, 2>{fromLane(parts[0], lane), fromLane(parts[1], lane)});
  }

  /// The unit that step `place` is of.
  HK_MEM Unit find(i64 place) const {
    if constexpr (kEqual) {
      i64 steps = stepsOf(0), unit = place / steps;
      return {unit / heads, unit % heads, unit * steps, steps};
    } else {
      i64 base = 0, first = 0;
      while (true) {
        i64 own = stepsOf(base + laneId()), before = 0, all = own * heads;
        scanLanes<1, kWave>(before, all);
        if (place < first + all || base + kWave >= args.batch) {
          int lane = __builtin_popcountll(ballot(first + before <= place)) - 1;
          i64 steps = ofLane(own, lane), begin = first + ofLane(before, lane);
          i64 head = (place - begin) / steps;
          return {base + lane, head, begin + head * steps, steps};
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
  HK_MEM i64 runOf(i64 place) const { return ((place + 1) * runs - 1) / total; }

  /// Steps [begin, end) of a unit.
  HK_MEM AttentionBlock partOf(const Unit &unit, i64 number, i64 begin,
                               i64 end) const {
    AttentionBlock w = sequenceOf(unit.sequence);
    w.head = unit.head;
    w.count = w.queries * S.group;
    i64 base = firstSlicedKey(w.keys, w.queries, S.windowLeft);
    w.slice = {minOf(base + begin * STEP, w.keys),
               minOf(base + end * STEP, w.keys)};
    i64 part = number - runOf(unit.first);
    if (part == 0)
      clearOthers(w, runOf(unit.first + unit.steps - 1) - number + 1);
    w.outStart = part * args.outSlice;
    w.lseStart = part * args.lseSlice;
    return w;
  }
  /// Parts that the unit does not have.
  HK_MEM void clearOthers(const AttentionBlock &w, i64 parts) const {
    int rows = int(w.count), others = int(T.splitKv - parts) * rows;
    int first = THREADS == kWave ? laneId() : threadId();
    for (int i = first; i < others; i += THREADS)
      args.lse[lseOffset<S>(args, w, i % rows) +
               (parts + i / rows) * args.lseSlice] = -__builtin_inff();
  }

  const AttentionArgs<S, R> &args;
  i64 heads;
  /// Steps of all units; runs that have any.
  i64 total = 0, runs = 0;
};

} // namespace hk

#endif // HK_KERNELS_ATTENTION_RUNS_H
