//===- GatedDeltaPlan.cpp - What one gated delta rule kernel computes -----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per operator: the names that its kernel template uses for the
// operands and results, and how it accesses them.
//
//===----------------------------------------------------------------------===//

#include "GatedDeltaPlan.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::GatedDeltaKernel;
using Access = GatedDeltaAccess;

static int64_t sizeOf(Value value, int64_t fromLast) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  return shape[shape.size() - 1 - fromLast];
}
static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}
static std::optional<double> numberOf(std::optional<APFloat> attribute) {
  if (!attribute)
    return std::nullopt;
  return attribute->convertToDouble();
}

namespace {
/// Fills in a plan; absent operands are left out.
struct PlanBuilder {
  GatedDeltaPlan plan;

  PlanBuilder(Operation *op, GatedDeltaKernel kernel, StringRef name,
              StringRef header) {
    plan.op = op;
    plan.steps = {op};
    plan.kernel = kernel;
    plan.templateName = name;
    plan.header = header;
  }
  void read(StringRef name, Value value, Access access) {
    if (value)
      plan.reads.push_back({name, value, access});
  }
  void write(StringRef name, Value value, Access access) {
    plan.writes.push_back({name, value, access});
  }
  template <class OpT> void pool(OpT op) {
    readPool(op);
    plan.newState = op.getNewState();
  }
  template <class OpT> void readPool(OpT op) {
    plan.state = op.getState();
    plan.indices = op.getIndices();
    plan.initial = op.getHasInitial();
    plan.keyMajor = op.getStateLayout() == StateLayout::key_major;
  }
  void segments(ChunkStateOp op) {
    plan.segments = op.getSegments();
    plan.starts = op.getStarts();
  }
  void onMatrixUnits(StringRef name, StringRef header) {
    plan.matrixName = name;
    plan.matrixHeader = header;
  }
  void byWarpgroups(StringRef name, StringRef header) {
    plan.warpgroupName = name;
    plan.warpgroupHeader = header;
  }
  void keys(Value value) {
    plan.heads = sizeOf(value, 1);
    plan.keys = sizeOf(value, 0);
    plan.keyType = elementOf(value);
  }
  void values(Value value) {
    plan.valueHeads = sizeOf(value, 1);
    plan.values = sizeOf(value, 0);
    plan.valueType = elementOf(value);
  }
};
} // namespace

static GatedDeltaPlan planRecurrent(GatedDeltaRuleOp op) {
  PlanBuilder b(op, GatedDeltaKernel::Recurrent, "Recurrent", "recurrent");
  b.keys(op.getKey());
  b.values(op.getValue());
  b.read("query", op.getQuery(), Access::Keys);
  b.read("key", op.getKey(), Access::Keys);
  b.read("value", op.getValue(), Access::Columns);
  b.read("decay", op.getDecay(), Access::Scalar);
  b.read("keyDecay", op.getKeyDecay(), Access::Keys);
  b.read("valueDecay", op.getValueDecay(), Access::Columns);
  Value beta = op.getBeta(), value = op.getValue();
  bool perValue = beta && cast<RankedTensorType>(beta.getType()).getRank() ==
                              cast<RankedTensorType>(value.getType()).getRank();
  b.read("beta", beta, perValue ? Access::Columns : Access::Scalar);
  b.write("result", op.getResult(), Access::Columns);
  b.plan.scale = numberOf(op.getScale());
  b.plan.l2norm = numberOf(op.getL2norm());
  b.plan.corrects = op.getRule() == StateRule::delta;
  b.plan.offsets = op.getOffsets();
  b.pool(op);
  return b.plan;
}

static GatedDeltaPlan planKkt(ChunkKktOp op) {
  PlanBuilder b(op, GatedDeltaKernel::Kkt, "ChunkKkt", "kkt");
  b.onMatrixUnits("ChunkKkt", "kkt");
  b.keys(op.getKey());
  b.plan.valueHeads = sizeOf(op.getResult(), 1);
  b.plan.chunk = int64_t(op.getChunk());
  b.read("key", op.getKey(), Access::Keys);
  b.read("decay", op.getDecay(), Access::Scalar);
  b.read("beta", op.getBeta(), Access::Scalar);
  b.write("result", op.getResult(), Access::Row);
  b.plan.offsets = op.getOffsets();
  return b.plan;
}

static GatedDeltaPlan planSolve(SolveTrilOp op) {
  PlanBuilder b(op, GatedDeltaKernel::SolveTril, "SolveTril", "solve_tril");
  b.plan.valueHeads = sizeOf(op.getInput(), 1);
  b.plan.values = b.plan.chunk = op.getChunk();
  b.read("input", op.getInput(), Access::Row);
  b.write("result", op.getResult(), Access::Columns);
  b.plan.offsets = op.getOffsets();
  return b.plan;
}

static GatedDeltaPlan planWU(ChunkWUOp op) {
  PlanBuilder b(op, GatedDeltaKernel::WU, "ChunkWU", "wu");
  b.onMatrixUnits("ChunkWUMatrix", "wu_matrix");
  b.keys(op.getKey());
  b.values(op.getValue());
  b.plan.chunk = op.getChunk();
  b.read("key", op.getKey(), Access::Columns);
  b.read("value", op.getValue(), Access::Columns);
  b.read("inverse", op.getInverse(), Access::Row);
  b.read("decay", op.getDecay(), Access::Scalar);
  b.read("beta", op.getBeta(), Access::Scalar);
  b.write("w", op.getW(), Access::Columns);
  b.write("u", op.getU(), Access::Columns);
  b.plan.offsets = op.getOffsets();
  return b.plan;
}

static GatedDeltaPlan planState(ChunkStateOp op) {
  PlanBuilder b(op, GatedDeltaKernel::State, "ChunkState", "chunk_state");
  b.onMatrixUnits("ChunkStateMatrix", "chunk_state_matrix");
  b.keys(op.getKey());
  b.values(op.getU());
  b.plan.chunk = int64_t(op.getChunk());
  b.read("key", op.getKey(), Access::Keys);
  b.read("w", op.getW(), Access::Keys);
  b.read("u", op.getU(), Access::Columns);
  b.read("decay", op.getDecay(), Access::Scalar);
  b.write("states", op.getStates(), Access::States);
  b.write("vNew", op.getVNew(), Access::Columns);
  b.plan.offsets = op.getOffsets();
  b.segments(op);
  b.pool(op);
  return b.plan;
}

static GatedDeltaPlan planTransition(ChunkTransitionOp op) {
  PlanBuilder b(op, GatedDeltaKernel::Transition, "ChunkTransition",
                "transition");
  b.byWarpgroups("ChunkTransitionWarpgroup", "transition_warpgroup");
  b.keys(op.getKey());
  b.values(op.getU());
  b.plan.chunk = int64_t(op.getChunk());
  b.plan.segments = int64_t(op.getSegments());
  b.plan.fresh = b.plan.values;
  b.plan.values += b.plan.keys;
  b.read("key", op.getKey(), Access::Keys);
  b.read("w", op.getW(), Access::Keys);
  b.read("u", op.getU(), Access::Columns);
  b.read("decay", op.getDecay(), Access::Scalar);
  b.plan.offsets = op.getOffsets();
  b.plan.transitions = op.getResult();
  return b.plan;
}

static GatedDeltaPlan planStarts(ChunkStartsOp op) {
  PlanBuilder b(op, GatedDeltaKernel::Starts, "ChunkStarts", "starts");
  auto type = cast<RankedTensorType>(op.getResult().getType());
  b.plan.segments = type.getDimSize(0);
  b.plan.valueHeads = type.getDimSize(2);
  b.plan.keys = type.getDimSize(3);
  b.plan.values = type.getDimSize(4);
  b.plan.transitions = op.getTransitions();
  b.plan.starts = op.getResult();
  b.readPool(op);
  return b.plan;
}

static GatedDeltaPlan planOutput(ChunkOutputOp op) {
  PlanBuilder b(op, GatedDeltaKernel::Output, "ChunkOutput", "chunk_output");
  b.onMatrixUnits("ChunkOutputMatrix", "chunk_output_matrix");
  b.keys(op.getKey());
  b.values(op.getValue());
  b.plan.chunk = int64_t(op.getChunk());
  b.read("query", op.getQuery(), Access::Keys);
  b.read("key", op.getKey(), Access::Keys);
  b.read("value", op.getValue(), Access::Columns);
  b.read("states", op.getStates(), Access::States);
  b.read("decay", op.getDecay(), Access::Scalar);
  b.write("result", op.getResult(), Access::Columns);
  b.plan.scale = numberOf(op.getScale());
  b.plan.offsets = op.getOffsets();
  return b.plan;
}

/// Both in one walk: what the states are made of, and the results.
GatedDeltaPlan GatedDeltaPlan::of(ChunkStateOp states, ChunkOutputOp output) {
  PlanBuilder b(states, GatedDeltaKernel::Scan, "ChunkScan", "chunk_scan");
  b.onMatrixUnits("ChunkScanMatrix", "chunk_scan_matrix");
  b.byWarpgroups("ChunkScanWarpgroup", "chunk_scan_warpgroup");
  GatedDeltaPlan from = planState(states), to = planOutput(output);
  b.plan.steps = {states, output};
  b.keys(states.getKey());
  b.values(states.getU());
  b.plan.chunk = from.chunk;
  b.plan.reads = from.reads;
  b.read("query", output.getQuery(), Access::Keys);
  b.plan.writes = to.writes;
  b.plan.scale = to.scale;
  b.plan.offsets = from.offsets;
  b.segments(states);
  b.pool(states);
  return b.plan;
}

std::optional<GatedDeltaPlan> GatedDeltaPlan::of(Operation *op) {
  using Plan = std::optional<GatedDeltaPlan>;
  return llvm::TypeSwitch<Operation *, Plan>(op)
      .Case([](GatedDeltaRuleOp o) { return planRecurrent(o); })
      .Case([](ChunkKktOp o) { return planKkt(o); })
      .Case([](SolveTrilOp o) { return planSolve(o); })
      .Case([](ChunkWUOp o) { return planWU(o); })
      .Case([](ChunkStateOp o) { return planState(o); })
      .Case([](ChunkTransitionOp o) { return planTransition(o); })
      .Case([](ChunkStartsOp o) { return planStarts(o); })
      .Case([](ChunkOutputOp o) { return planOutput(o); })
      .Default([](Operation *) { return Plan(); });
}

bool mlir::hk::isGatedDelta(Operation *op) {
  return GatedDeltaPlan::of(op).has_value();
}

std::optional<GatedDeltaPlan> GatedDeltaPlan::of(ArrayRef<Operation *> ops) {
  SmallVector<Operation *> steps(llvm::make_filter_range(ops, isGatedDelta));
  if (steps.empty())
    return std::nullopt;
  auto plan = of(steps.front());
  plan->steps = std::move(steps);
  return plan;
}

/// What makes the decays is a member of the kernel: it is computed there.
static void takeSums(GatedDeltaPlan &plan) {
  if (!isa<ChunkKktOp>(plan.op))
    return;
  for (GatedDeltaTensor &read : plan.reads) {
    auto cumsum = read.value.getDefiningOp<CumsumOp>();
    if (!cumsum)
      continue;
    plan.sums = cumsum;
    plan.kernel = GatedDeltaKernel::SumsAndKkt;
    read.value = cumsum.getInput();
    plan.writes.push_back({"sums", cumsum.getResult(), Access::Scalar});
  }
}

SmallVector<GatedDeltaPlan, 1> GatedDeltaPlan::of(KernelOp kernel) {
  SmallVector<Operation *> members, steps;
  for (Operation &member : kernel.getSpecBlock().without_terminator()) {
    members.push_back(&member);
    if (isGatedDelta(&member))
      steps.push_back(&member);
  }
  SmallVector<GatedDeltaPlan, 1> plans;
  if (steps.size() == 2 && isa<ChunkStateOp>(steps[0]))
    return {of(cast<ChunkStateOp>(steps[0]), cast<ChunkOutputOp>(steps[1]))};
  for (Operation *step : steps) {
    GatedDeltaPlan &plan = plans.emplace_back(*of(step));
    plan.steps = steps;
    takeSums(plan);
    planHeads(plan, members);
  }
  return plans;
}

bool mlir::hk::takesSums(const GatedDeltaPlan &plan, CumsumOp cumsum) {
  auto kkt = dyn_cast<ChunkKktOp>(plan.op);
  if (!kkt || kkt.getDecay() != cumsum.getResult())
    return false;
  return cumsum.getKind() == ScanKind::inclusive && !cumsum.getReverse() &&
         int64_t(cumsum.getChunk().value_or(0)) == plan.chunk &&
         int64_t(cumsum.getDim()) == (plan.offsets ? 0 : 1) &&
         cumsum.getBounds() == plan.offsets &&
         elementOf(cumsum.getResult()).isF32();
}

bool GatedDeltaPlan::hasOperand(StringRef name) const {
  return llvm::any_of(reads, [&](const GatedDeltaTensor &tensor) {
    return tensor.name == name;
  });
}

::hk::ChunkShape GatedDeltaPlan::shape() const {
  auto count = [&](Access access) {
    return llvm::count_if(reads, [&](const GatedDeltaTensor &tensor) {
      return tensor.access == access;
    });
  };
  return {chunk,
          keys,
          values,
          {count(Access::Keys), count(Access::Columns), count(Access::Scalar)}};
}

bool GatedDeltaPlan::usesWarpgroups(const ::hk::Target &target,
                                    const ::hk::GatedDeltaTile &tile) const {
  if (kernel == GatedDeltaKernel::Transition)
    return ::hk::transitionsByWarpgroups(target, shape(), tile);
  return !warpgroupName.empty() &&
         ::hk::scansByWarpgroups(target, shape(), tile);
}

Value GatedDeltaPlan::resultOf(Value value) const {
  // A graph of many layers has more paths than operators.
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *owner = next.getDefiningOp();
    if (!owner || !seen.insert(owner).second)
      continue;
    if (llvm::is_contained(steps, owner) || (sums && owner == sums))
      return next;
    llvm::append_range(open, llvm::reverse(owner->getOperands()));
  }
  return {};
}

int64_t mlir::hk::gatedDeltaSlices(const GatedDeltaPlan &plan,
                                   const ::hk::Target &target,
                                   const ::hk::GatedDeltaTile &tile) {
  int64_t perBlock = tile.waves
                         ? ::hk::matrixRows(target, tile)
                         : int64_t(tile.threads / tile.lanes) * tile.columns;
  return (plan.values + perBlock - 1) / perBlock;
}
