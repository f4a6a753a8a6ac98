//===- GatedDeltaSteps.cpp - Operators that share a block -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of a chunk's keys, their inverse and the corrected keys and
// values need no other chunk: each may follow the one before it in its block.
// The results need the state at their chunk's start and what is new of its
// values, so the blocks that walk over the chunks can give them on the way.
//
//===----------------------------------------------------------------------===//

#include "GatedDeltaSteps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::GatedDeltaKernel;
using ::hk::GatedDeltaTile;

/// What `op` reads of the step before it, and the sequences that both cut in
/// chunks.
static std::pair<Value, Value> linkAndOffsets(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::pair<Value, Value>>(op)
      .Case([](SolveTrilOp o) {
        return std::pair(Value(o.getInput()), Value(o.getOffsets()));
      })
      .Case([](ChunkWUOp o) {
        return std::pair(Value(o.getInverse()), Value(o.getOffsets()));
      })
      .Default([](Operation *) { return std::pair<Value, Value>(); });
}

/// Whether `output` reads the walk `states`, and nothing else does.
static Verdict joinsWalk(ChunkOutputOp output, ChunkStateOp states,
                         const ::hk::Target &target) {
  if (output.getValue() != states.getVNew() ||
      output.getStates() != states.getStates())
    return Verdict::refuse(output, Reason::NotAnEpilogue,
                           "reads values or states of another walk");
  if (output.getKey() != states.getKey() ||
      output.getDecay() != states.getDecay() ||
      output.getOffsets() != states.getOffsets() ||
      output.getChunk() != states.getChunk())
    return Verdict::refuse(output, Reason::RowDimsDiffer,
                           "has another key, decay, offsets or chunk than " +
                               states->getName().getStringRef());
  for (Value result : {states.getStates(), states.getVNew()})
    for (Operation *user : result.getUsers())
      if (user != output)
        return Verdict::refuse(
            states, Reason::ResultEscapes,
            "gives states or values that are needed elsewhere as "
            "well");
  auto elementOf = [](Value value) {
    return getElementTypeOrSelf(value.getType());
  };
  if (elementOf(states.getStates()) != elementOf(states.getKey()) ||
      elementOf(states.getVNew()) != elementOf(states.getU()))
    return Verdict::refuse(
        output, Reason::UnsupportedDType,
        "reads states of another type than the keys, or values of "
        "another type than u");
  // A walk's blocks are few and take one chunk after the other: vector units
  // would take longer for results there than all chunks' blocks at once.
  // Segments of sequences are many walks.
  if (target.arch != ::hk::Arch::Host && !states.getStarts() &&
      !suitsMatrixUnits(GatedDeltaPlan::of(states, output), target))
    return Verdict::refuse(
        output, Reason::CostlierFused,
        "would be computed on vector units, chunk by chunk; whole "
        "fragments of a 16-bit type are computed on matrix units");
  return Verdict::accept();
}

Verdict mlir::hk::joinsSteps(ArrayRef<Operation *> group, Operation *op,
                             const ::hk::Target &target) {
  if (auto output = dyn_cast<ChunkOutputOp>(op))
    for (Operation *member : group)
      if (auto states = dyn_cast<ChunkStateOp>(member))
        return joinsWalk(output, states, target);
  auto [link, offsets] = linkAndOffsets(op);
  Operation *before = link ? link.getDefiningOp() : nullptr;
  bool follows = before && llvm::is_contained(group, before) &&
                 (isa<SolveTrilOp>(op) ? isa<ChunkKktOp>(before)
                                       : isa<SolveTrilOp>(before));
  if (!follows)
    return Verdict::refuse(
        op, Reason::CrossesRows,
        "does not follow from the chunk of a head that a block of "
        "the kernel has");
  if (GatedDeltaPlan::of(before)->offsets != offsets)
    return Verdict::refuse(op, Reason::RowDimsDiffer, "has other offsets");
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def && operand != link && !isa<CumsumOp>(def) &&
        llvm::is_contained(group, def))
      return Verdict::refuse(op, Reason::NotAnEpilogue,
                             "reads what the kernel computes of its results");
  return Verdict::accept();
}

const GatedDeltaLink *GatedDeltaLayout::linkOf(Value value) const {
  for (const GatedDeltaLink &link : links)
    if (link.value == value)
      return &link;
  return nullptr;
}

GatedDeltaTile GatedDeltaLayout::tileOf(const GatedDeltaPlan &step,
                                        const ::hk::Target &target,
                                        const GatedDeltaTile &whole) const {
  GatedDeltaTile tile = tileOfStep(step, target, whole);
  if (together)
    tile.waves = 0;
  return tile;
}

/// Bytes of what a step leaves for a later one.
static int64_t addLink(ArrayRef<GatedDeltaPlan> steps, Value value,
                       int64_t columns, GatedDeltaLayout &layout) {
  bool needed = llvm::any_of(steps, [&](const GatedDeltaPlan &step) {
    return llvm::any_of(step.reads, [&](const GatedDeltaTensor &read) {
      return read.value == value;
    });
  });
  if (!needed)
    return 0;
  layout.links.push_back({value, columns, 0});
  int64_t bits = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  return steps.front().chunk * columns * bits / 8;
}

static int64_t ldsOf(const GatedDeltaPlan &plan, const ::hk::Target &target,
                     const GatedDeltaTile &tile) {
  if (plan.wholeHeads)
    return ::hk::recurrentHeadsLds(
        {plan.headsPerBlock() * plan.values, plan.convolution ? plan.keys : 0});
  return ::hk::gatedDeltaLds(target, plan.kernel, plan.shape(), tile);
}

/// Whether one warpgroup computes all steps at once (prepare_warpgroup.h):
/// products of keys, their inverse and corrections of the same keys by the same
/// factors, and nothing else needs the matrices.
static bool arePreparedTogether(ArrayRef<GatedDeltaPlan> steps,
                                const ::hk::Target &target,
                                const GatedDeltaTile &whole) {
  if (steps.size() != 3 ||
      !::hk::preparesByWarpgroup(target, steps.back().shape(), whole))
    return false;
  auto products = dyn_cast<ChunkKktOp>(steps[0].op);
  auto inverse = dyn_cast<SolveTrilOp>(steps[1].op);
  auto corrected = dyn_cast<ChunkWUOp>(steps[2].op);
  return products && inverse && corrected &&
         products->getResult(0).hasOneUse() &&
         inverse->getResult(0).hasOneUse() &&
         products.getKey() == corrected.getKey() &&
         products.getDecay() == corrected.getDecay() &&
         products.getBeta() == corrected.getBeta() &&
         tileOfStep(steps[2], target, whole).waves == whole.waves;
}

GatedDeltaLayout mlir::hk::layoutOf(ArrayRef<GatedDeltaPlan> steps,
                                    const ::hk::Target &target,
                                    const GatedDeltaTile &whole) {
  GatedDeltaLayout layout;
  if (arePreparedTogether(steps, target, whole))
    layout.together = 0;
  ::hk::ChunkLinks bytes = {};
  SmallVector<int64_t *> sizes;
  for (const GatedDeltaPlan &step : steps) {
    int64_t own = ldsOf(step, target, layout.tileOf(step, target, whole));
    bool late = step.kernel == GatedDeltaKernel::WU;
    int64_t &most = late ? bytes.late : bytes.early;
    most = std::max(most, own);
    if (step.sums)
      bytes.sums = addLink(steps, step.sums->getResult(0), 1, layout);
    if (isa<ChunkKktOp>(step.op))
      bytes.products =
          addLink(steps, step.op->getResult(0), step.chunk, layout);
    if (isa<SolveTrilOp>(step.op))
      bytes.inverse = addLink(steps, step.op->getResult(0), step.chunk, layout);
  }
  ::hk::ChunkLinkPlaces at = ::hk::chunkLinkPlaces(bytes);
  for (GatedDeltaLink &link : layout.links)
    link.place = link.columns == 1                             ? at.sums
                 : isa<ChunkKktOp>(link.value.getDefiningOp()) ? at.products
                                                               : at.inverse;
  for (const GatedDeltaPlan &step : steps)
    layout.places.push_back(step.kernel == GatedDeltaKernel::WU ? at.late
                                                                : at.early);
  layout.bytes = steps.size() == 1 ? bytes.early + bytes.late : at.bytes;
  if (layout.together) {
    layout.together = at.inverse;
    layout.bytes = std::max(
        layout.bytes,
        at.inverse + ::hk::warpgroupPrepareBytes(steps.back().shape()));
  }
  return layout;
}
