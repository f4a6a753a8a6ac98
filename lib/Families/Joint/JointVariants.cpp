//===- JointVariants.cpp - Variants of a joint kernel ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One variant for every combination of variants of the problems that some sizes
// can choose: where two problems have the same rows, few rows of one and many
// of the other are none. The first combination whose conditions all hold is
// that of the problems' own choices, because combinations come in the order of
// their variants. Problems may have variants of several numbers of threads; a
// combination is of one.
//
//===----------------------------------------------------------------------===//

#include "JointPlan.h"

#include "hk/Contract/Lds.h"
#include "hk/Contract/Order.h"
#include "hk/Dialect/WaitingProblems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

constexpr int64_t kUnbounded = INT64_MAX;

/// A condition of the form "dim `symbol` is at most `most`".
struct Bound {
  int64_t symbol, most;
};

/// The values of the dim symbols that a combination can be chosen for.
class SizeRanges {
public:
  explicit SizeRanges(int64_t dims) : low(dims, 0), high(dims, kUnbounded) {}
  void atMost(Bound bound) {
    high[bound.symbol] = std::min(high[bound.symbol], bound.most);
  }
  void above(Bound bound) {
    low[bound.symbol] = std::max(low[bound.symbol], bound.most + 1);
  }
  bool isEmpty() const {
    return llvm::any_of(llvm::zip(low, high), [](auto range) {
      return std::get<0>(range) > std::get<1>(range);
    });
  }

private:
  SmallVector<int64_t> low, high;
};

/// The bound that the condition of `variant` is; none where it says more, or
/// nothing.
std::optional<Bound> boundOf(VariantOp variant) {
  auto launch = cast<LaunchDimsOp>(variant.getBody().front().getTerminator());
  auto compare = launch.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::ule)
    return std::nullopt;
  auto size = dyn_cast<BlockArgument>(compare.getLhs());
  APInt most;
  if (!size || !matchPattern(compare.getRhs(), m_ConstantInt(&most)))
    return std::nullopt;
  return Bound{int64_t(size.getArgNumber()), most.getSExtValue()};
}

/// The variants of a problem whose blocks have `threads` threads.
SmallVector<VariantOp> variantsOf(KernelOp problem, int64_t threads) {
  return llvm::to_vector(
      llvm::make_filter_range(problem.getVariants(), [&](VariantOp variant) {
        return int64_t(variant.getThreads()) == threads;
      }));
}

class Combinations {
public:
  explicit Combinations(KernelOp joint) : joint(joint) {
    for (KernelOp problem : joint.getProblems())
      choices.push_back(variantsOf(problem, int64_t(*joint.getThreads())));
  }

  SmallVector<SmallVector<VariantOp>> reachable() {
    extend({}, SizeRanges(joint.getNumDims()));
    return std::move(found);
  }

private:
  void extend(SmallVector<VariantOp> chosen, SizeRanges ranges) {
    if (chosen.size() == choices.size()) {
      found.push_back(std::move(chosen));
      return;
    }
    for (VariantOp variant : choices[chosen.size()]) {
      SizeRanges with = ranges;
      std::optional<Bound> bound = boundOf(variant);
      if (bound)
        with.atMost(*bound);
      if (!with.isEmpty()) {
        chosen.push_back(variant);
        extend(chosen, with);
        chosen.pop_back();
      }
      // Later variants are for the sizes that this one leaves.
      if (bound)
        ranges.above(*bound);
      if (ranges.isEmpty())
        return;
    }
  }

  KernelOp joint;
  SmallVector<SmallVector<VariantOp>> choices;
  SmallVector<SmallVector<VariantOp>> found;
};

/// Condition and grid of a part, as values of the joint variant's region.
LaunchDims cloneLaunch(OpBuilder &b, VariantOp part, ValueRange dims) {
  Block &block = part.getBody().front();
  IRMapping map;
  for (BlockArgument argument : block.getArguments())
    map.map(argument, dims[argument.getArgNumber()]);
  for (Operation &op : block.without_terminator())
    b.clone(op, map);
  auto launch = cast<LaunchDimsOp>(block.getTerminator());
  return {map.lookup(launch.getCondition()), map.lookup(launch.getX()),
          map.lookup(launch.getY()), map.lookup(launch.getZ())};
}

/// All conditions hold; the blocks of all problems in one row.
LaunchDims sumOf(OpBuilder &b, Location loc, ArrayRef<VariantOp> parts,
                 ValueRange dims) {
  LaunchDims sum;
  for (VariantOp part : parts) {
    LaunchDims own = cloneLaunch(b, part, dims);
    Value blocks = arith::MulIOp::create(b, loc, own.x, own.y);
    blocks = arith::MulIOp::create(b, loc, blocks, own.z);
    if (!sum.x) {
      sum.condition = own.condition;
      sum.x = blocks;
      continue;
    }
    sum.condition =
        b.createOrFold<arith::AndIOp>(loc, sum.condition, own.condition);
    sum.x = arith::AddIOp::create(b, loc, sum.x, blocks);
  }
  sum.y = sum.z = arith::ConstantIndexOp::create(b, loc, 1);
  return sum;
}

} // namespace

SmallVector<VariantOp> mlir::hk::problemVariants(KernelOp joint,
                                                 VariantOp variant) {
  SmallVector<VariantOp> parts;
  auto tiles = cast<JointTileAttr>(variant.getTile()).getParts();
  // Variants of a problem that have the same tile have the same code.
  for (auto [problem, tile] : llvm::zip_equal(joint.getProblems(), tiles))
    for (VariantOp own : KernelOp(problem).getVariants())
      if (own.getTile() == tile) {
        parts.push_back(own);
        break;
      }
  return parts;
}

LogicalResult mlir::hk::addJointVariants(KernelOp joint,
                                         const ::hk::Target &target,
                                         DecisionLog &log) {
  for (KernelOp problem : joint.getProblems())
    if (variantsOf(problem, int64_t(*joint.getThreads())).empty() &&
        failed(familyOf(problem.getFamily()).addVariants(problem, target, log)))
      return failure();
  for (ArrayRef<VariantOp> parts : Combinations(joint).reachable()) {
    SmallVector<Attribute> tiles;
    int64_t lds = isOrdered(joint) ? ::hk::kOrderLdsBytes : 0;
    for (VariantOp part : parts) {
      tiles.push_back(part.getTile());
      lds = std::max(lds, int64_t(part.getLdsBytes()));
    }
    addVariant(joint, JointTileAttr::get(joint.getContext(), tiles),
               int64_t(*joint.getThreads()),
               llvm::alignTo(lds, ::hk::kSharedLdsAlign),
               [&](OpBuilder &b, Location loc, ValueRange dims) {
                 return sumOf(b, loc, parts, dims);
               });
  }
  return success();
}
