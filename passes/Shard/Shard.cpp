//===- Shard.cpp - Cut a module between the ranks of a mesh ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One axis after the other: the second cuts what a rank of the first has. A
// function is looked at whole before anything of it is changed.
//
//===----------------------------------------------------------------------===//

#include "Annotations.h"
#include "LoggedPass.h"
#include "PartRows.h"
#include "Rewriter.h"
#include "SpellNorms.h"
#include "States.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKSHARD
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

namespace {
struct HKShard : LoggedPass<::mlir::hk::impl::HKShardBase<HKShard>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module);
  LogicalResult cut(func::FuncOp function, const Axis &axis, bool &cutsAny);
  void record(const ExchangeNote &note);
};
} // namespace

/// "hk.all_reduce over "tp"".
static std::string nameOf(Operation *op) {
  return (op->getName().getStringRef() + " over \"" +
          cast<CollectiveOpInterface>(op).getAxis() + "\"")
      .str();
}

void HKShard::record(const ExchangeNote &note) {
  ++numExchanges;
  auto type = cast<RankedTensorType>(note.op->getOperand(0).getType());
  int64_t elements = 1;
  bool perSize = false;
  for (int64_t size : type.getShape())
    if (ShapedType::isDynamic(size))
      perSize = true;
    else
      elements *= size;
  int64_t bytes = ::hk::packedBytes(*dtypeOf(type.getElementType()), elements);
  Exchange exchange = cast<CollectiveOpInterface>(note.op).getExchange();
  std::string what;
  llvm::raw_string_ostream os(what);
  os << bytes << " bytes" << (perSize ? " times its dynamic sizes" : "")
     << " a rank";
  if (exchange.reduction)
    os << ", transport " << stringifyTransport(exchange.transport);
  os << ", for " << note.asker->getName().getStringRef();
  Candidate candidate{what, Verdict::accept()};
  candidate.partner = note.asker->getLoc();
  log().add({DecisionKind::Shard,
             note.op->getLoc(),
             nameOf(note.op),
             {std::move(candidate)},
             0});
}

LogicalResult HKShard::cut(func::FuncOp function, const Axis &axis,
                           bool &cutsAny) {
  States states(function, axis);
  if (failed(states.run()))
    return failure();
  cutsAny |= states.cutsAny();
  Rewriter rewriter(function, states, axis);
  if (failed(rewriter.run()))
    return failure();
  numCut += rewriter.getNumSlices();
  for (const ExchangeNote &note : rewriter.getNotes())
    record(note);
  return success();
}

/// Weights of which every function has a part now.
static void eraseUnusedWeights(ModuleOp module,
                               const llvm::SmallPtrSetImpl<Operation *> &used) {
  // What only computed whole weights is dead.
  module.walk([](Operation *op) {
    if (op->use_empty() && isa<WeightRefOp>(op))
      op->erase();
  });
  for (auto weight : llvm::make_early_inc_range(module.getOps<WeightOp>()))
    if (used.contains(weight) &&
        SymbolTable::symbolKnownUseEmpty(weight, module))
      weight.erase();
}

/// Erases what nothing reads, last first.
static void eraseDead(func::FuncOp function) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// An axis whose name says nothing, unless the module says what it cuts.
static LogicalResult checkNames(ModuleOp module, const ::hk::Mesh &ranks) {
  bool isAnnotated = !module.getOps<shard::GridOp>().empty();
  for (const ::hk::MeshAxis &one : ranks.axes())
    if (one.name != "tp" && one.name != "ep" && !isAnnotated)
      return module.emitError("expected axes \"tp\", which cuts columns and "
                              "heads, and \"ep\", which cuts experts, but got "
                              "\"")
             << one.name
             << "\"; an axis of another name needs values that are annotated "
                "with shard.shard";
  return success();
}

LogicalResult HKShard::run(ModuleOp module) {
  ::hk::Mesh ranks;
  std::string wrong = ::hk::Mesh::parse(mesh, ranks);
  if (!wrong.empty())
    return module.emitError("expected a mesh as \"tp=2,ep=4\", but got '")
           << mesh.getValue() << "': " << wrong;
  if (module->hasAttr(kMeshAttrName))
    return module.emitError("expected a module of one rank, but it is one of "
                            "the mesh ")
           << module->getAttr(kMeshAttrName);
  module->setAttr(kMeshAttrName, StringAttr::get(&getContext(), mesh));
  if (failed(checkNames(module, ranks)) ||
      failed(checkAnnotations(module, ranks)))
    return failure();
  llvm::SmallPtrSet<Operation *, 16> used;
  module.walk([&](WeightRefOp ref) {
    used.insert(SymbolTable::lookupNearestSymbolFrom(ref, ref.getWeightAttr()));
  });
  int64_t sharers = 1;
  for (const ::hk::MeshAxis &one : ranks.axes())
    if (!Axis{one.name, one.size}.takesExperts())
      sharers *= one.size;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && function.getBody().hasOneBlock()) {
      partRows(function.getBody().front());
      if (sharers > 1)
        spellNorms(function.getBody().front(), sharers);
      useSizesOfSources(function.getBody().front());
    }
  for (const ::hk::MeshAxis &one : ranks.axes()) {
    Axis axis{one.name, one.size};
    bool cutsAny = false;
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.getBody().hasOneBlock())
        continue; // an error of hk-fuse
      if (failed(cut(function, axis, cutsAny)))
        return failure();
      eraseDead(function);
    }
    if (!cutsAny && axis.ranks > 1)
      return module.emitError("nothing in it can be cut along axis \"")
             << axis.name << "\": "
             << (axis.takesExperts()
                     ? "there is no grouped product by blocks or bounds whose "
                       "matrices are weights; leave that axis out, or"
                     : "no product with a weight is followed, through "
                       "operators that work on a part, by one that sums over "
                       "its columns;")
             << " annotate values with shard.shard";
  }
  eraseAnnotations(module);
  eraseUnusedWeights(module, used);
  return success();
}

std::unique_ptr<Pass> mlir::hk::createHKShard(const HKShardOptions &options,
                                              DecisionLog &log) {
  return std::make_unique<HKShard>(log, options);
}
