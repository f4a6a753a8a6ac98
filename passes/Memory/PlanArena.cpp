//===- PlanArena.cpp - One workspace for all temporaries ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After bufferization every temporary is a memref.alloc in a straight-line
// function. This pass replaces them by views of one workspace argument.
// Temporaries whose dynamic sizes are the same product of dims form a group:
// within a group the planner works on bytes per unit of that product, and
// groups follow each other. Where whole multiples of the alignment per unit
// would waste much, as for the scores of all pairs of tokens, the product is
// rounded up instead. The total is added to the results of the function's shape
// function.
//
//===----------------------------------------------------------------------===//

#include "ArenaPlanner.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Entry.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace mlir::hk {
#define GEN_PASS_DEF_HKPLANARENA
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
/// The temporaries whose size is `bytes` times one product of dynamic sizes.
/// All are narrow or none is.
struct Group {
  SmallVector<Value> sizes;
  bool narrow = false;
  SmallVector<memref::AllocOp> allocs;
  SmallVector<ArenaBuffer> buffers;
  int64_t unitBytes = 0; // of all of them
};

/// More bytes than any machine has, and far from 2^63.
constexpr double kMostBytes = double(int64_t(1) << 60);

/// A buffer is narrow if rounding each of its units up to the alignment would
/// add more than this part of it.
constexpr int64_t kMostPadding = 8;

bool isNarrow(int64_t bytesPerUnit) {
  int64_t aligned = llvm::alignTo(bytesPerUnit, kArenaAlignment);
  return aligned - bytesPerUnit > bytesPerUnit / kMostPadding;
}

/// The group of exactly these sizes; a function has few of them.
Group &groupOf(std::vector<Group> &groups, ArrayRef<Value> sizes, bool narrow) {
  for (Group &group : groups)
    if (ArrayRef<Value>(group.sizes) == sizes && group.narrow == narrow)
      return group;
  groups.emplace_back();
  groups.back().sizes.assign(sizes.begin(), sizes.end());
  groups.back().narrow = narrow;
  return groups.back();
}

/// The largest power of two, at most the alignment, that divides the bytes per
/// unit of all buffers of `group`.
int64_t commonPowerOf(const Group &group) {
  int64_t bits = kArenaAlignment; // the lowest bit of any of them
  for (const ArenaBuffer &buffer : group.buffers)
    bits |= buffer.bytes;
  return bits & -bits;
}

/// The place of each operation of a function in its order.
using Steps = DenseMap<Operation *, int64_t>;

struct PlanArenaPass : mlir::hk::impl::HKPlanArenaBase<PlanArenaPass> {
  using HKPlanArenaBase::HKPlanArenaBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto func : module.getOps<func::FuncOp>())
      if (func.isPublic() && !func.isExternal() && failed(plan(func)))
        return signalPassFailure();
  }

  LogicalResult plan(func::FuncOp func);
  LogicalResult collect(memref::AllocOp alloc, const Steps &steps,
                        OpBuilder &top, IRMapping &hoisted,
                        std::vector<Group> &groups);
  Value place(std::vector<Group> &groups, Value workspace, OpBuilder &top);
  LogicalResult returnTotal(func::FuncOp func, Value total,
                            ArrayRef<Group> groups);
  FailureOr<Value> isTooLarge(ArrayRef<Group> groups, OpBuilder &builder,
                              Location loc, IRMapping &map);
  FailureOr<Value> cloneIndex(Value value, OpBuilder &builder, IRMapping &map);
};

/// First and last step at which the memory of `alloc` is used, through views.
std::pair<int64_t, int64_t> lifeOf(memref::AllocOp alloc, const Steps &steps) {
  int64_t first = steps.lookup(alloc), last = first;
  bool used = false;
  SmallVector<Value> work{alloc.getResult()};
  while (!work.empty())
    for (Operation *user : work.pop_back_val().getUsers()) {
      if (isa<LaunchOp>(user)) {
        int64_t step = steps.lookup(user);
        first = used ? std::min(first, step) : step;
        last = std::max(last, step);
        used = true;
      }
      for (Value result : user->getResults())
        if (isa<MemRefType>(result.getType()))
          work.push_back(result);
    }
  return {first, last};
}
} // namespace

/// Clones the computation of an index to the builder's insertion point. Only
/// arith on dims of function arguments can be cloned.
FailureOr<Value> PlanArenaPass::cloneIndex(Value value, OpBuilder &builder,
                                           IRMapping &map) {
  if (Value known = map.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || !(isa<memref::DimOp>(op) ||
               isa_and_nonnull<arith::ArithDialect>(op->getDialect())))
    return emitError(value.getLoc(),
                     "expected a size made of dims of arguments, got ")
           << value;
  for (Value operand : op->getOperands())
    if (!map.contains(operand)) {
      if (isa<MemRefType>(operand.getType()))
        return op->emitOpError("expected the dim of a function argument");
      FailureOr<Value> cloned = cloneIndex(operand, builder, map);
      if (failed(cloned))
        return failure();
    }
  builder.clone(*op, map);
  return map.lookup(value);
}

/// Adds `alloc` to the group of its dynamic sizes, which it computes at `top`.
LogicalResult PlanArenaPass::collect(memref::AllocOp alloc, const Steps &steps,
                                     OpBuilder &top, IRMapping &hoisted,
                                     std::vector<Group> &groups) {
  auto type = alloc.getType();
  std::optional<::hk::DType> dtype = dtypeOf(type.getElementType());
  if (!dtype)
    return alloc.emitOpError("expected an hk element type, got ")
           << type.getElementType();
  int64_t elements = 1;
  for (int64_t size : type.getShape())
    elements *= ShapedType::isDynamic(size) ? 1 : size;
  SmallVector<Value> sizes;
  for (Value size : alloc.getDynamicSizes()) {
    FailureOr<Value> atTop = cloneIndex(size, top, hoisted);
    if (failed(atTop))
      return failure();
    sizes.push_back(*atTop);
  }
  int64_t bytes = llvm::divideCeil(elements * ::hk::info(*dtype).bits, 8);
  bool narrow = !sizes.empty() && isNarrow(bytes);
  if (!narrow)
    bytes = llvm::alignTo(bytes, kArenaAlignment);
  Group &group = groupOf(groups, sizes, narrow);
  auto [first, last] = lifeOf(alloc, steps);
  group.allocs.push_back(alloc);
  group.buffers.push_back({bytes, first, last});
  return success();
}

/// Makes every temporary a view of the workspace, group after group. Returns
/// the bytes that they take together, an index computed at `top`.
Value PlanArenaPass::place(std::vector<Group> &groups, Value workspace,
                           OpBuilder &top) {
  Location loc = workspace.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(top, loc, value);
  };
  Value base = constant(0);
  for (Group &group : groups) {
    int64_t alignment = commonPowerOf(group);
    int64_t unitBytes = group.unitBytes = planArena(group.buffers, alignment);
    Value units;
    for (Value size : group.sizes)
      units = units ? arith::MulIOp::create(top, loc, units, size).getResult()
                    : size;
    // So many units at once are a multiple of the arena's alignment.
    if (int64_t together = kArenaAlignment / alignment; together > 1) {
      units = arith::AddIOp::create(top, loc, units, constant(together - 1));
      units = arith::AndIOp::create(top, loc, units, constant(-together));
    }
    auto scaled = [&](int64_t bytes) -> Value {
      Value amount = constant(bytes);
      return units ? arith::MulIOp::create(top, loc, units, amount).getResult()
                   : amount;
    };
    for (auto [alloc, buffer] : llvm::zip(group.allocs, group.buffers)) {
      Value offset =
          arith::AddIOp::create(top, loc, base, scaled(buffer.offset));
      OpBuilder here(alloc);
      Value view = memref::ViewOp::create(here, alloc.getLoc(), alloc.getType(),
                                          workspace, offset, group.sizes);
      alloc.replaceAllUsesWith(view);
    }
    base = arith::AddIOp::create(top, loc, base, scaled(unitBytes));
    if (!units)
      bytesStatic += unitBytes;
  }
  return base;
}

/// Whether the bytes of `groups`, of sizes that only a call tells, are too many
/// for 63 bits; no value where all sizes are known.
FailureOr<Value> PlanArenaPass::isTooLarge(ArrayRef<Group> groups,
                                           OpBuilder &builder, Location loc,
                                           IRMapping &map) {
  Type f64 = builder.getF64Type();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  };
  Value sum;
  for (const Group &group : groups) {
    if (group.sizes.empty())
      continue;
    Value bytes = constant(group.unitBytes);
    for (Value size : group.sizes) {
      FailureOr<Value> copied = cloneIndex(size, builder, map);
      if (failed(copied))
        return failure();
      Value wide = arith::IndexCastOp::create(builder, loc,
                                              builder.getI64Type(), *copied);
      Value real = arith::SIToFPOp::create(builder, loc, f64, wide);
      bytes = arith::MulFOp::create(builder, loc, bytes, real);
    }
    sum = sum ? arith::AddFOp::create(builder, loc, sum, bytes).getResult()
              : bytes;
  }
  if (!sum)
    return Value();
  return Value(arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                     sum, constant(kMostBytes)));
}

/// Makes the shape function of `func` return `total` as its last result, or
/// what no workspace has where that is not a number of 63 bits.
LogicalResult PlanArenaPass::returnTotal(func::FuncOp func, Value total,
                                         ArrayRef<Group> groups) {
  auto shape = getOperation().lookupSymbol<func::FuncOp>(
      (func.getSymName() + kShapeFunctionSuffix).str());
  if (!shape)
    return func.emitOpError("expected a shape function beside it; run "
                            "hk-place-outputs before");
  auto ret = cast<func::ReturnOp>(shape.getBody().front().getTerminator());
  OpBuilder inShape(ret);
  IRMapping map;
  for (auto [ours, theirs] :
       llvm::zip(func.getBody().front().getArguments(), shape.getArguments()))
    map.map(ours, theirs);
  FailureOr<Value> copied = cloneIndex(total, inShape, map);
  if (failed(copied))
    return failure();
  FailureOr<Value> tooLarge = isTooLarge(groups, inShape, func.getLoc(), map);
  if (failed(tooLarge))
    return failure();
  if (*tooLarge) {
    Value most = arith::ConstantIndexOp::create(
        inShape, func.getLoc(), std::numeric_limits<int64_t>::max());
    copied = arith::SelectOp::create(inShape, func.getLoc(), *tooLarge, most,
                                     *copied)
                 .getResult();
  }
  ret.getOperandsMutable().append(*copied);
  SmallVector<Type> results(ret.getOperandTypes());
  shape.setFunctionType(FunctionType::get(
      &getContext(), shape.getFunctionType().getInputs(), results));
  return success();
}

LogicalResult PlanArenaPass::plan(func::FuncOp func) {
  Block &entry = func.getBody().front();
  Steps steps;
  SmallVector<memref::AllocOp> allocs;
  int64_t step = 0;
  for (Operation &op : entry) {
    steps[&op] = step++;
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      allocs.push_back(alloc);
  }

  // Sizes are computed once, at the top of the function.
  OpBuilder top = OpBuilder::atBlockBegin(&entry);
  IRMapping hoisted;
  for (BlockArgument argument : entry.getArguments())
    hoisted.map(argument, argument);
  std::vector<Group> groups;
  for (memref::AllocOp alloc : allocs)
    if (failed(collect(alloc, steps, top, hoisted, groups)))
      return failure();
  numBuffers += allocs.size();

  auto bytesType = MemRefType::get({ShapedType::kDynamic}, top.getI8Type());
  if (failed(func.insertArgument(func.getNumArguments(), bytesType,
                                 DictionaryAttr::get(&getContext()),
                                 func.getLoc())))
    return failure();
  Value total = place(groups, entry.getArguments().back(), top);
  // Only now: the sizes stand before what may be the first of them.
  for (memref::AllocOp alloc : allocs)
    alloc.erase();
  return returnTotal(func, total, groups);
}
