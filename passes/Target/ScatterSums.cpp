//===- ScatterSums.cpp - A sum over ranks of which each has some rows -----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequence parallel. What follows a sum over ranks row by row (residual, norm,
// quantisation) every rank computes for all rows. Instead a rank may keep some
// rows of the sum, compute theirs alone, and all of them gather what others
// read. A region is all such operators that sums lead to: a residual that the
// next sum is added to stays in parts between them. RowRegions are rewritten
// where the model says that this takes less time.
//
//===----------------------------------------------------------------------===//

#include "LoggedPass.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Analysis/FactorsOf.h"
#include "hk/Contract/Calibration.h"
#include "hk/Families/Family.h"
#include "hk/Families/KernelExchange.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKSCATTERSUMS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

static double bytesOf(Value value) {
  RankedTensorType type = tensorType(value);
  return double(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
}

namespace {
/// Sums over one axis, and what follows them row by row.
struct RowRegion {
  std::string axis;
  int64_t ranks, rows;
  SmallVector<AllReduceOp> sums;
  SmallVector<Operation *> ops; // in the order of the block
};

class RowRegions {
public:
  RowRegions(Block &block, const ::hk::Target &target)
      : block(block), dims(block), context{dims, target} {}

  /// Sums that cannot be in one are told to `refuse`.
  void find(function_ref<void(AllReduceOp, const Verdict &)> refuse);
  /// Those with operators behind their sums.
  SmallVector<RowRegion> take();
  /// Operands of `op` with a row for each of its results; none: it does not
  /// work row by row.
  SmallVector<Value> rowsOf(Operation *op) const;

private:
  SmallVector<unsigned> numbersOfRows(Operation *op) const;
  Verdict judge(AllReduceOp sum, int64_t ranks) const;
  bool isFollowed(AllReduceOp sum) const;
  void join(Operation *op);
  int64_t root(int64_t region) const {
    while (parents[region] != region)
      region = parents[region];
    return region;
  }

  Block &block;
  DimSymbols dims;
  FusionContext context;
  std::vector<RowRegion> regions;
  std::vector<int64_t> parents; // of merged regions
  /// Numbers of the operands that have rows, as they are first asked for: the
  /// operands themselves are replaced.
  mutable llvm::DenseMap<Operation *, SmallVector<unsigned>> rows;
  llvm::DenseMap<Value, int64_t> regionOf;
};
} // namespace

SmallVector<Value> RowRegions::rowsOf(Operation *op) const {
  auto [known, isNew] = rows.try_emplace(op);
  if (isNew)
    known->second = numbersOfRows(op);
  return llvm::map_to_vector(
      known->second, [&](unsigned number) { return op->getOperand(number); });
}

SmallVector<unsigned> RowRegions::numbersOfRows(Operation *op) const {
  if (op->getNumResults() == 0 || op->getNumRegions() != 0 ||
      isa<CollectiveOpInterface>(op) || !isa<HKDialect>(op->getDialect()) ||
      !familyOf(FamilyKind::rowwise).canStart(op, context).accepted())
    return {};
  ShardFactors factors = factorsOf(op);
  for (const ShardFactor &factor : factors.get()) {
    auto isRows = [&](const FactorPlace &place) {
      return place.dim == 0 && place.offset == 0 && place.unit == 1 &&
             !place.mayCopy;
    };
    auto hasRows = [&](Value value) {
      return llvm::any_of(factor.places, [&](const FactorPlace &place) {
        return place.value == value && isRows(place);
      });
    };
    if (factor.kind != FactorKind::Parallel ||
        !llvm::all_of(op->getResults(), hasRows))
      continue;
    SmallVector<unsigned> numbers;
    for (OpOperand &operand : op->getOpOperands())
      if (hasRows(operand.get()))
        numbers.push_back(operand.getOperandNumber());
    return numbers;
  }
  return {};
}

bool RowRegions::isFollowed(AllReduceOp sum) const {
  return llvm::any_of(sum->getUsers(), [&](Operation *user) {
    return llvm::is_contained(rowsOf(user), sum.getResult());
  });
}

Verdict RowRegions::judge(AllReduceOp sum, int64_t ranks) const {
  RankedTensorType type = sum.getType();
  if (!type.hasStaticShape())
    return Verdict::refuse(Reason::SizeUnknown,
                           "that its rows can be shared is known only where "
                           "their number is, when it is compiled");
  if (type.getDimSize(0) == 0 || type.getDimSize(0) % ranks != 0)
    return Verdict::refuse(Reason::UnsupportedShape,
                           "its " + Twine(type.getDimSize(0)) +
                               " rows cannot be shared by " + Twine(ranks) +
                               " ranks");
  return Verdict::accept();
}

void RowRegions::find(function_ref<void(AllReduceOp, const Verdict &)> refuse) {
  for (Operation &op : block) {
    auto sum = dyn_cast<AllReduceOp>(op);
    if (!sum) {
      join(&op);
      continue;
    }
    int64_t ranks = ranksOf(sum);
    if (ranks == 1 || sum.getKind() != ReduceKind::sum ||
        sum.getTransport() != Transport::any_order ||
        sum.getType().getRank() < 2)
      continue;
    if (Verdict verdict = judge(sum, ranks); !verdict.accepted()) {
      if (isFollowed(sum))
        refuse(sum, verdict);
      continue;
    }
    regionOf[sum.getResult()] = int64_t(regions.size());
    parents.push_back(int64_t(regions.size()));
    regions.push_back(
        {sum.getAxis().str(), ranks, sum.getType().getDimSize(0), {sum}, {}});
  }
}

void RowRegions::join(Operation *op) {
  if (llvm::none_of(op->getOperands(),
                    [&](Value operand) { return regionOf.contains(operand); }))
    return;
  int64_t region = -1;
  SmallVector<Value> rows = rowsOf(op);
  for (Value operand : op->getOperands()) {
    auto it = regionOf.find(operand);
    if (it == regionOf.end())
      continue;
    if (!llvm::is_contained(rows, operand))
      return;
    int64_t of = root(it->second);
    if (region >= 0 && (regions[of].axis != regions[region].axis ||
                        regions[of].rows != regions[region].rows))
      return;
    if (region >= 0 && of != region) {
      parents[of] = region;
      llvm::append_range(regions[region].sums, regions[of].sums);
      llvm::append_range(regions[region].ops, regions[of].ops);
    }
    region = of == region || region >= 0 ? region : of;
  }
  auto isStatic = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() && type.getRank() >= 2;
  };
  if (region < 0 || !llvm::all_of(op->getResults(), isStatic) ||
      !llvm::all_of(rows, isStatic))
    return;
  for (Value result : op->getResults())
    regionOf[result] = region;
  regions[region].ops.push_back(op);
}

SmallVector<RowRegion> RowRegions::take() {
  SmallVector<RowRegion> taken;
  for (auto [index, region] : llvm::enumerate(regions)) {
    if (root(int64_t(index)) != int64_t(index) || region.ops.empty())
      continue;
    llvm::sort(region.ops, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    taken.push_back(std::move(region));
  }
  return taken;
}

namespace {
/// What lies at the edges of a region.
struct Edges {
  llvm::SetVector<Value> made;  // by its operators, and its sums
  llvm::SetVector<Value> whole; // rows that come from elsewhere
  llvm::SetVector<Value> read;  // of `made`, elsewhere

  Edges(const RowRegion &region, const RowRegions &regions) {
    for (AllReduceOp sum : region.sums)
      made.insert(sum.getResult());
    for (Operation *op : region.ops)
      made.insert_range(op->getResults());
    for (Operation *op : region.ops)
      for (Value rows : regions.rowsOf(op))
        if (!made.contains(rows))
          whole.insert(rows);
    llvm::SmallPtrSet<Operation *, 16> own(region.ops.begin(),
                                           region.ops.end());
    for (Value value : made)
      for (Operation *user : value.getUsers())
        if (!own.contains(user))
          read.insert(value);
  }
};

/// Modelled microseconds of a region's exchanges and of what it reads and
/// writes, in the launches of now and in parts.
struct Times {
  double now = 0, parts = 0;

  Times(const RowRegion &region, const Edges &edges,
        const ::hk::Target &target) {
    ::hk::ExchangeCalibration rates = ::hk::exchangeCalibration(target);
    auto link = [&](double bytes) { return bytes / rates.linkGBps / 1e3; };
    auto ofParts = [&](double bytes) { return bytes / rates.partsGBps / 1e3; };
    double others = double(region.ranks - 1), share = others / region.ranks;
    double moved = 0, inKernels = 0;
    for (AllReduceOp sum : region.sums) {
      double bytes = bytesOf(sum.getInput());
      // What a kernel writes to all others, or an owner of each row to two.
      if (judgeKernelExchange(sum, target).accepted()) {
        now += rates.pushUs;
        inKernels += link(std::min(others, 2 * share) * bytes);
      } else {
        now +=
            rates.startUs + link(2 * share * bytes) + target.launchMicroseconds;
      }
      parts +=
          rates.startUs + ofParts(share * bytes) + target.launchMicroseconds;
      moved += bytesOf(sum.getResult());
    }
    for (Value rows : edges.whole)
      moved += bytesOf(rows);
    for (Value made : edges.read)
      moved += bytesOf(made);
    // What one launch writes for another one.
    for (Value made : edges.made)
      if (!edges.read.contains(made) && !made.hasOneUse())
        moved += 2 * bytesOf(made);
    double memory = moved / target.memoryGBps / 1e3;
    // A kernel that exchanges rows reads and writes others meanwhile.
    now += std::max(memory, inKernels);
    parts += memory / double(region.ranks);
    for (Value made : edges.read)
      parts += rates.startUs + ofParts(share * bytesOf(made));
    // The numbers of a rank's rows.
    if (!edges.whole.empty())
      parts += 2 * target.launchMicroseconds;
  }
};

/// Rewrites a region.
class Scatterer {
public:
  Scatterer(const RowRegion &region, const Edges &edges,
            const RowRegions &regions)
      : region(region), edges(edges), regions(regions),
        b(region.sums.front()->getContext()) {}

  void run() {
    for (AllReduceOp sum : region.sums) {
      b.setInsertionPoint(sum);
      parts[sum.getResult()] = ReduceScatterOp::create(
          b, sum.getLoc(), partOf(sum.getType()), sum.getKind(), sum.getInput(),
          sum.getAxis(), uint64_t(0), sum.getTransport());
    }
    for (Operation *op : region.ops)
      rewrite(op);
    for (Value made : edges.read)
      gather(made);
    for (Operation *op : llvm::reverse(region.ops))
      op->erase();
    for (AllReduceOp sum : region.sums)
      sum->erase();
  }

private:
  RankedTensorType partOf(RankedTensorType type) const {
    SmallVector<int64_t> shape(type.getShape());
    shape[0] /= region.ranks;
    return type.clone(shape);
  }

  void rewrite(Operation *op) {
    IRMapping map;
    for (Value rows : regions.rowsOf(op)) {
      Value &part = parts[rows];
      if (!part)
        part = ownRows(rows);
      map.map(rows, part);
    }
    b.setInsertionPoint(op);
    Operation *clone = b.clone(*op, map);
    for (auto [result, part] :
         llvm::zip_equal(op->getResults(), clone->getResults())) {
      part.setType(partOf(tensorType(result)));
      parts[result] = part;
    }
  }

  /// A rank's rows of what every rank has whole.
  Value ownRows(Value whole) {
    b.setInsertionPointAfterValue(whole);
    return GatherRowsOp::create(b, whole.getLoc(), partOf(tensorType(whole)),
                                whole, numbers(whole.getLoc()));
  }

  /// Of a rank's rows.
  Value numbers(Location loc) {
    int64_t count = region.rows / region.ranks;
    auto each = RankedTensorType::get({count}, b.getI32Type()),
         one = RankedTensorType::get({}, b.getI32Type());
    Value rank = RankOp::create(b, loc, one, region.axis);
    Value steps = ConstantOp::create(
        b, loc,
        SplatElementsAttr::get(one, b.getI32IntegerAttr(int32_t(count))));
    return AddOp::create(b, loc, each,
                         IotaOp::create(b, loc, each, /*like=*/Value()),
                         MulOp::create(b, loc, one, rank, steps));
  }

  void gather(Value made) {
    b.setInsertionPointAfterValue(parts[made]);
    Value whole = AllGatherOp::create(b, made.getLoc(), tensorType(made),
                                      parts[made], region.axis, uint64_t(0));
    made.replaceUsesWithIf(whole, [&](OpOperand &use) {
      return !llvm::is_contained(region.ops, use.getOwner());
    });
  }

  const RowRegion &region;
  const Edges &edges;
  const RowRegions &regions;
  OpBuilder b;
  llvm::DenseMap<Value, Value> parts;
};

struct HKScatterSums
    : LoggedPass<::mlir::hk::impl::HKScatterSumsBase<HKScatterSums>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override {
    const ::hk::Target *target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        run(block, *target);
  }

private:
  void run(Block &block, const ::hk::Target &target) {
    RowRegions regions(block, target);
    regions.find([&](AllReduceOp sum, const Verdict &verdict) {
      report(sum, "whole", verdict);
    });
    for (const RowRegion &region : regions.take()) {
      Edges edges(region, regions);
      Times times(region, edges, target);
      std::string us =
          llvm::formatv("{0:f1} us instead of {1:f1}", times.parts, times.now);
      bool pays = times.parts < times.now;
      for (AllReduceOp sum : region.sums)
        report(sum, pays ? "by parts of its rows, " + us : "whole",
               pays ? Verdict::accept()
                    : Verdict::refuse(Reason::CostlierFused, us));
      if (!pays)
        continue;
      numScattered += region.sums.size();
      Scatterer(region, edges, regions).run();
    }
  }

  void report(AllReduceOp sum, std::string what, const Verdict &verdict) {
    Decision decision{DecisionKind::Shard,
                      sum.getLoc(),
                      ("hk.all_reduce over \"" + sum.getAxis() + "\"").str(),
                      {{std::move(what), Verdict::accept()}},
                      0};
    if (!verdict.accepted())
      decision.candidates.push_back({"by parts of its rows", verdict});
    log().add(std::move(decision));
  }
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createHKScatterSums(DecisionLog &log) {
  return std::make_unique<HKScatterSums>(log);
}
