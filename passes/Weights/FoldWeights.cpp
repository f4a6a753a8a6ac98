//===- FoldWeights.cpp - Compute with weights at compile time -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What row-wise operators and views compute from weights and constants alone is
// the same in every call. It becomes the recipe of a new weight, which the
// compiler evaluates when it writes the weights file; weights that nothing
// reads any more are no longer part of the library. Equal recipes, also of
// different functions, are one weight. What is stored in fewer bits than it is
// computed with stays as it is stored: a model's memory, and the time of a
// decode step, are the bytes of its weights.
//
//===----------------------------------------------------------------------===//

#include "Fusion/PrepareBlock.h"
#include "hk/Analysis/Alignment.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKFOLDWEIGHTS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// A weight that is this many times as large as what it is made from costs more
/// to read than to compute.
static constexpr int64_t kMostGrowth = 4;

/// Results of at most this many bytes (weights of norms, scales, tables) are
/// folded even if they are larger than what is stored.
static constexpr int64_t kSmallBytes = 64 << 10;

/// And larger ones that are this part larger: padding. Scales and zero points
/// may be this part of the codes that they belong to.
static constexpr int64_t kPadding = 8;

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return ::hk::packedBytes(*dtypeOf(tensor.getElementType()),
                           tensor.getNumElements());
}

namespace {
struct HKFoldWeights : ::mlir::hk::impl::HKFoldWeightsBase<HKFoldWeights> {
  using HKFoldWeightsBase::HKFoldWeightsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    recipes.clear();
    SymbolTable table(module);
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && function.getBody().hasOneBlock())
        run(function, table);
    // Weights that only recipes need are read from the file then.
    for (WeightOp weight :
         llvm::make_early_inc_range(module.getOps<WeightOp>()))
      if (replaced.contains(weight) &&
          SymbolTable::symbolKnownUseEmpty(weight, module))
        weight.erase();
    replaced.clear();
  }

private:
  void run(func::FuncOp function, SymbolTable &table);
  /// Whether `op`, which reads only what is known, is folded.
  bool isFoldable(Operation *op) const;
  /// Whether storing the results of `op` is no more than storing the weights
  /// they are made of.
  bool isWorthStoring(Operation *op) const;
  WeightOp weightFor(Value value, SymbolTable &table);

  llvm::DenseSet<Value> known; // weights, constants, what is made of them
  llvm::StringMap<WeightOp> recipes;
  llvm::DenseSet<Operation *> replaced;
};
} // namespace

/// Whether `op` is a weight, or numbers that kernels have without reading any.
static bool isGiven(Operation *op) {
  return isa<WeightRefOp>(op) ||
         (isa<RowwiseOpInterface>(op) && op->getNumOperands() == 0);
}

bool HKFoldWeights::isFoldable(Operation *op) const {
  if (op->getNumOperands() == 0 || op->getNumResults() == 0 ||
      !(isView(op) || (isa<RowwiseOpInterface>(op) && isPure(op))))
    return false;
  int64_t before = 0, after = 0;
  for (Value operand : op->getOperands()) {
    if (!known.contains(operand))
      return false;
    before += bytesOf(operand.getType());
  }
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || !type.hasStaticShape() || !dtypeOf(type.getElementType()))
      return false;
    after += bytesOf(type);
  }
  return after <= kMostGrowth * before;
}

/// The operations that make `value` from weights and constants.
static SetVector<Operation *> recipeOf(Value value) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  if (failed(getBackwardSlice(value, &slice, options)))
    slice.clear();
  return slice;
}

/// Bytes of the codes that `value` is the scale or the zero point of, if
/// nothing else reads it.
static int64_t bytesOfCodes(Value value) {
  int64_t bytes = 0;
  for (Operation *user : value.getUsers()) {
    auto dequantize = dyn_cast<DequantizeOp>(user);
    if (!dequantize || dequantize.getInput() == value ||
        !cast<RankedTensorType>(dequantize.getInput().getType())
             .hasStaticShape())
      return 0;
    bytes += bytesOf(dequantize.getInput().getType());
  }
  return bytes;
}

bool HKFoldWeights::isWorthStoring(Operation *op) const {
  if (expand)
    return true;
  int64_t made = 0, stored = 0;
  for (Value result : op->getResults())
    made += bytesOf(result.getType());
  if (made <= kSmallBytes)
    return true;
  for (Operation *member : recipeOf(op->getResult(0)))
    if (auto ref = dyn_cast<WeightRefOp>(member))
      stored += bytesOf(ref.getType());
  int64_t codes = bytesOfCodes(op->getResult(0));
  return made <= stored + (stored + codes) / kPadding;
}

void HKFoldWeights::run(func::FuncOp function, SymbolTable &table) {
  known.clear();
  Block &block = function.getBody().front();
  for (Operation &op : block)
    if (isGiven(&op) || isFoldable(&op))
      known.insert(op.result_begin(), op.result_end());

  // Needed in memory: what an operator reads that is not folded, also through
  // views; a view alone costs nothing and stays.
  llvm::DenseSet<Value> needed;
  SmallVector<std::pair<Value, WeightOp>> folded;
  auto isNeeded = [&](Value result) {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      return user->getNumResults() == 0 ||
             !known.contains(user->getResult(0)) ||
             (isView(user) && needed.contains(user->getResult(0)));
    });
  };
  for (Operation &op : llvm::reverse(block)) {
    if (op.getNumResults() == 0 || !known.contains(op.getResult(0)) ||
        llvm::none_of(op.getResults(), isNeeded))
      continue;
    bool isStored = isGiven(&op) || isView(&op);
    if (!isStored && !isWorthStoring(&op)) {
      for (Value result : op.getResults())
        known.erase(result); // computed in every call, from what it reads
      continue;
    }
    for (Value result : op.getResults()) {
      if (!isNeeded(result))
        continue;
      needed.insert(result);
      if (isStored)
        continue;
      if (WeightOp weight = weightFor(result, table))
        folded.push_back({result, weight});
    }
  }
  // Only now: recipes are made from the function as it was.
  for (auto [value, weight] : folded) {
    OpBuilder builder(value.getDefiningOp());
    value.replaceAllUsesWith(WeightRefOp::create(
        builder, value.getLoc(), value.getType(), weight.getSymName()));
    ++numFolded;
  }
  eraseUnused(block);
}

WeightOp HKFoldWeights::weightFor(Value value, SymbolTable &table) {
  SetVector<Operation *> slice = recipeOf(value);
  if (slice.empty())
    return nullptr;
  ModuleOp module = getOperation();
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  SmallVector<StringRef> sources;
  auto recipe = std::make_unique<Region>();
  Block &body = recipe->emplaceBlock();
  IRMapping map;
  OpBuilder inside(module.getContext());
  inside.setInsertionPointToEnd(&body);
  bool readsWeight = false;
  for (Operation *op : slice) {
    auto ref = dyn_cast<WeightRefOp>(op);
    if (!ref) {
      inside.clone(*op, map);
      continue;
    }
    auto source = table.lookup<WeightOp>(ref.getWeight());
    // A folded weight would have to be computed first.
    if (source.getInputs())
      return nullptr;
    readsWeight = true;
    replaced.insert(source);
    sources.push_back(source.getSource());
    map.map(ref.getResult(), body.addArgument(ref.getType(), ref.getLoc()));
  }
  if (!readsWeight)
    return nullptr;
  YieldOp::create(inside, value.getLoc(), map.lookup(value));

  // Printed under one name, equal recipes are equal texts.
  auto weight =
      WeightOp::create(builder, value.getLoc(), "recipe", "recipe",
                       value.getType(), builder.getStrArrayAttr(sources));
  weight.getRecipe().takeBody(*recipe);
  std::string text;
  llvm::raw_string_ostream os(text);
  weight.print(os, OpPrintingFlags().useLocalScope());
  auto [it, isNew] = recipes.try_emplace(text, weight);
  if (!isNew) {
    weight.erase();
    return it->second;
  }
  std::string name = "folded" + std::to_string(recipes.size() - 1);
  weight.setSource("hk." + name);
  weight.setSymName(name);
  table.insert(weight); // renames it where the module has the name
  return weight;
}
