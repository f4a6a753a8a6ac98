//===- Outline.cpp - hk.fused to hk.kernel and hk.launch ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two regions are one kernel when their bodies are equal and the same dims of
// their operands are equal. The alignment that a kernel may rely on is the
// least over its launches.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include <map>

namespace mlir::hk {
#define GEN_PASS_DEF_HKOUTLINE
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// Hash of a body, equal for equal bodies. (Attributes hash by address: it
/// differs from run to run and must only pick a bucket.)
static llvm::hash_code hashBody(Block &body) {
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::hash_code hash(0);
  auto number = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    hash = llvm::hash_combine(hash, value.getType().getAsOpaquePointer());
  };
  for (BlockArgument argument : body.getArguments())
    number(argument);
  for (Operation &op : body) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     &op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
    for (Value operand : op.getOperands())
      hash = llvm::hash_combine(hash, numbers.lookup(operand));
    for (Value result : op.getResults())
      number(result);
  }
  return hash;
}

/// The symbolic shapes of the operands: d0, d1, ... in the order of first
/// appearance. A `?` is always a symbol, even where its value is known.
static ArrayAttr shapesOf(FusedOp fused, const DimSymbols &dims) {
  llvm::DenseMap<DimName, int64_t> symbols;
  SmallVector<Attribute> shapes;
  // The body's types: canonicalisation makes those of operands more static.
  for (auto [operand, argument] :
       llvm::zip(fused->getOperands(), fused.getBody().getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> sizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (!type.isDynamicDim(dim)) {
        sizes.push_back(type.getDimSize(dim));
        continue;
      }
      auto [it, inserted] =
          symbols.try_emplace(dims.dim(operand, dim), symbols.size());
      sizes.push_back(-1 - it->second);
    }
    shapes.push_back(SymShapeAttr::get(fused.getContext(), sizes));
  }
  return ArrayAttr::get(fused.getContext(), shapes);
}

/// A name for people: the operators, at most three of them.
static std::string nameOf(FusedOp fused) {
  SmallVector<StringRef> names;
  for (Operation &op : fused.getBody().front().without_terminator())
    if (isa<HKDialect>(op.getDialect()) && !isa<ConstantOp>(op))
      if (StringRef name = op.getName().stripDialect();
          !llvm::is_contained(names, name))
        names.push_back(name);
  if (names.empty())
    names.push_back(stringifyFamilyKind(fused.getFamily()));
  if (names.size() > 3)
    names = {names[0], names[1], "etc"};
  return llvm::join(names, "_");
}

namespace {
struct HKOutline : ::mlir::hk::impl::HKOutlineBase<HKOutline> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      for (Block &block : function.getBody()) {
        SmallVector<FusedOp> work(block.getOps<FusedOp>());
        if (work.empty())
          continue;
        DimSymbols dims(block);
        for (FusedOp fused : work)
          outline(fused, dims, symbols, function);
      }
    }
    for (auto &[kernel, aligns] : alignsOf)
      kernel->setAttr(cast<KernelOp>(kernel).getAlignsAttrName(),
                      DenseI64ArrayAttr::get(&getContext(), aligns));
    alignsOf.clear();
    buckets.clear();
  }

private:
  KernelOp kernelOf(FusedOp fused, ArrayAttr shapes, SymbolTable &symbols,
                    Operation *before) {
    Block &body = fused.getBody().front();
    std::vector<KernelOp> &bucket =
        buckets[static_cast<size_t>(hashBody(body))];
    for (KernelOp known : bucket)
      if (known.getFamily() == fused.getFamily() &&
          known.getShapes() == shapes &&
          known.getNumInputs() == fused.getInputs().size() &&
          OperationEquivalence::isRegionEquivalentTo(
              known.getSpecBlock().getParent(), &fused.getBody(),
              OperationEquivalence::IgnoreLocations)) {
        ++numShared;
        return known;
      }
    ++numKernels;
    OpBuilder builder(before);
    SmallVector<int64_t> aligns(shapes.size(), kMaxAlignment);
    auto kernel = KernelOp::create(builder, fused.getLoc(), nameOf(fused),
                                   fused.getFamily(), fused.getInputs().size(),
                                   shapes, aligns, /*threads=*/IntegerAttr());
    builder.createBlock(&kernel.getBody());
    auto spec = SpecOp::create(builder, fused.getLoc());
    IRMapping mapping;
    fused.getBody().cloneInto(&spec.getBody(), mapping);
    kernel->remove();
    symbols.insert(kernel, before->getIterator());
    bucket.push_back(kernel);
    return kernel;
  }

  void outline(FusedOp fused, DimSymbols &dims, SymbolTable &symbols,
               Operation *before) {
    // Results without elements need no kernel.
    if (llvm::all_of(fused.getResultTypes(), [](Type type) {
          return llvm::is_contained(cast<RankedTensorType>(type).getShape(), 0);
        })) {
      fused->replaceAllUsesWith(fused.getOuts());
      fused.erase();
      return;
    }
    KernelOp kernel = kernelOf(fused, shapesOf(fused, dims), symbols, before);
    SmallVector<int64_t> &aligns = alignsOf[kernel];
    aligns.resize(fused->getNumOperands(), kMaxAlignment);
    for (auto [align, operand] : llvm::zip(aligns, fused->getOperands()))
      align = std::min(align, guaranteedAlignment(operand));
    SmallVector<bool> reads;
    for (unsigned index = 0; index < fused.getOuts().size(); ++index)
      reads.push_back(fused.readsOut(index));
    OpBuilder builder(fused);
    auto launch = LaunchOp::create(builder, fused.getLoc(),
                                   fused.getResultTypes(), kernel.getSymName(),
                                   fused.getInputs(), fused.getOuts(), reads);
    for (auto [from, to] : llvm::zip(fused.getResults(), launch.getResults()))
      dims.alias(from, to);
    fused->replaceAllUsesWith(launch.getResults());
    fused.erase();
  }

  std::map<size_t, std::vector<KernelOp>> buckets; // looked up only
  llvm::MapVector<Operation *, SmallVector<int64_t>> alignsOf;
};
} // namespace
