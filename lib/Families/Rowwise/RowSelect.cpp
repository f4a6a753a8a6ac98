//===- RowSelect.cpp - Selections of a row --------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A selection is a statistic whose result is not one number: hk.topk leaves
// the selected elements in LDS (on the host, in a local array), where later
// phases read them at any place, and hk.group_limit a word of bits. The scores
// are passed to the kernel's template as a function of the chunk.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"

#include "hk/Contract/Exchange.h"
#include "hk/Contract/LdsRowwise.h"
#include "hk/Contract/LdsTopk.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;

static StringRef spell(TieRule ties) {
  return ties == TieRule::lowest_index ? "Ties::Lowest" : "Ties::Highest";
}
static StringRef spell(TopkOrder order) {
  return order == TopkOrder::by_value ? "Order::ByValue" : "Order::ByIndex";
}
static StringRef spell(GroupScore score) {
  return score == GroupScore::maximum ? "GroupScore::Maximum"
                                      : "GroupScore::Top2Sum";
}

::hk::RowResidence mlir::hk::residenceOf(const RowPlan &plan,
                                         const ::hk::RowTile &tile) {
  return ::hk::rowResidence(tile, plan.statChunkBytes(tile.vec));
}

bool mlir::hk::isResident(const RowPlan &plan, const ::hk::RowTile &tile) {
  if (plan.stats().empty() || !plan.selections().empty() || tile.slots == 0 ||
      tile.rows != 1)
    return false;
  int64_t chunks = llvm::divideCeil(plan.widest(), tile.vec);
  return tile.slots < int64_t(llvm::divideCeil(chunks, tile.threadsPerRow())) ||
         residenceOf(plan, tile).lds > 0;
}

int64_t mlir::hk::rowLds(const RowPlan &plan, const ::hk::Target &target,
                         const ::hk::RowTile &tile) {
  int64_t chunkBytes =
      isResident(plan, tile) ? plan.statChunkBytes(tile.vec) : 0;
  int64_t bytes = ::hk::ldsAdd(
      ::hk::rowwiseLds(target, tile, plan.stats().size(), chunkBytes),
      selectionLds(plan, target, tile));
  if (plan.exchange())
    bytes = ::hk::ldsAdd(int64_t(llvm::alignTo(bytes, ::hk::kExchangeChunk)),
                         exchangeLds(plan));
  return bytes;
}

int64_t mlir::hk::selectionLds(const RowPlan &plan, const ::hk::Target &target,
                               const ::hk::RowTile &tile) {
  int64_t bytes = 0;
  for (const RowSelection &selection : plan.selections()) {
    if (auto topk = dyn_cast<TopkOp>(selection.op)) {
      bytes = ::hk::ldsAdd(bytes, ::hk::topkLds(target, tile, topk.getK()));
      continue;
    }
    auto limit = cast<GroupLimitOp>(selection.op);
    int64_t n =
        cast<RankedTensorType>(limit.getInput().getType()).getShape().back();
    bytes = ::hk::ldsAdd(
        bytes, ::hk::groupLimitLds(target, tile, n, limit.getGroups()));
  }
  return bytes;
}

/// The members that selections and kept rows add to the kernel's LDS.
static std::string membersText(const RowPlan &plan, const ::hk::Target &target,
                               const ::hk::RowTile &tile) {
  std::string text;
  for (auto [i, selection] : llvm::enumerate(plan.selections())) {
    std::string type;
    if (auto topk = dyn_cast<TopkOp>(selection.op)) {
      type = ::hk::topkInWave(target, tile)
                 ? ("TopkShared<" + Twine(tile.rows) + ", ").str()
                 : "TopkBlockShared<";
      type += std::to_string(topk.getK()) + ">";
    } else {
      auto limit = cast<GroupLimitOp>(selection.op);
      int64_t n =
          cast<RankedTensorType>(limit.getInput().getType()).getShape().back();
      type = ("GroupShared<" + Twine(tile.rows) + ", " + Twine(n) + ", " +
              Twine(limit.getGroups()) + ">")
                 .str();
    }
    text += "  " + type + " select" + std::to_string(i) + ";\n";
  }
  if (plan.exchange())
    text += exchangeMemberText(plan);
  if (!isResident(plan, tile))
    return text;
  int64_t lds = residenceOf(plan, tile).lds;
  for (BlockArgument operand : plan.statOperands()) {
    Type type = cast<RankedTensorType>(operand.getType()).getElementType();
    text += ("  Packed<" + dtypeText(type) + ", " + Twine(tile.vec) + "> kept" +
             Twine(operand.getArgNumber()) + "[" + Twine(lds * tile.threads) +
             "];\n")
                .str();
  }
  return text;
}

std::string mlir::hk::sharedText(const RowPlan &plan,
                                 const ::hk::Target &target,
                                 const ::hk::RowTile &tile, StringRef name) {
  int64_t reductions = plan.stats().size();
  std::string base;
  int64_t scratch = ::hk::rowwiseLds(target, tile, reductions, 0);
  if (scratch > 0)
    base = ("RowShared<" + Twine(tile.threadsPerRow()) + ", " +
            Twine(tile.threads) + ", " + Twine(reductions) + ">")
               .str();
  int64_t bytes = rowLds(plan, target, tile);
  if (bytes == scratch)
    return ("using " + name + " = " + (base.empty() ? "NoShared" : base) +
            ";\n")
        .str();
  return ("struct " + name + (base.empty() ? "" : " : " + base) + " {\n" +
          membersText(plan, target, tile) + "};\nstatic_assert(kLdsBytes<" +
          name + "> == " + Twine(bytes) + ");\n")
      .str();
}

Expr RowEmitter::keptGroups(GroupLimitOp op) {
  return keptGroupNames.lookup(op);
}

/// `score`: what the selection reads, as a function of slot and chunk.
std::string RowEmitter::emitScore(Space &space, Value input,
                                  const RowLoop &shape) {
  std::string name = out.freshName("score");
  out.openLambda(name, "[[maybe_unused]] int s, " + shape.index + " c");
  enterLoop(space, shape);
  current = shape;
  // Strips belong to a loop, which the selection has of its own.
  current.batched &= !shape.isInStrips();
  Position position(rowCoordinates.begin(), rowCoordinates.end());
  position.resize(cast<RankedTensorType>(input.getType()).getRank() - 1,
                  constant(0));
  position.push_back(currentChunk * shape.vec);
  out.line("return " + pull(input, position, shape.vec).text + ";");
  exchangeLanes({});
  current = RowLoop();
  out.closeLambda();
  return name;
}

void RowEmitter::emitSelection(const RowSelection &selection) {
  Value input = selection.input;
  Space &space = spaceOf(dims.shape(input).take_back(1));
  RowLoop shape = planLoop(space, {});
  std::string n = text(space.size);
  std::string score = emitScore(space, input, shape);
  ::hk::RowTile pod = podOf(tile);
  // Members are in the plan's order; selections are emitted phase by phase.
  const auto *listed =
      llvm::find_if(plan.selections(), [&](const RowSelection &other) {
        return other.op == selection.op;
      });
  std::string member =
      "lds.select" + std::to_string(listed - plan.selections().begin());
  std::string name = "selected" + std::to_string(selectionCount++);
  std::string owned =
      " &" + name + " = " + member + ".row[" +
      (tile.getRows() == 1 ? std::string("0")
                           : "threadId() / " + std::to_string(threadsPerRow)) +
      "];";
  if (host)
    owned = " " + name + ";";
  std::string vec = std::to_string(shape.vec);

  if (auto limit = dyn_cast<GroupLimitOp>(selection.op)) {
    int64_t groups = limit.getGroups();
    out.line("GroupRow<" + n + ", " + Twine(groups) + ">" + owned);
    std::string rules = std::to_string(limit.getTopGroups()) + ", " +
                        spell(limit.getScore()).str();
    Expr best = {"bestGroups<" + std::to_string(threadsPerRow) + ", " + vec +
                     ", " + n + ", " + std::to_string(groups) + ", " + rules +
                     ">(" + score + ", " + (host ? "0" : "thread") + ", " +
                     name + ")",
                 {"u64"}};
    keptGroupNames[limit] = out.define(rowDepth, "groups", best);
    return;
  }

  auto topk = cast<TopkOp>(selection.op);
  std::string k = std::to_string(topk.getK());
  std::string rules =
      (spell(topk.getTies()) + ", " + spell(topk.getOrder()) + ">(").str();
  out.line("TopkRow<" + k + ">" + owned);
  if (host)
    out.line("topkOnHost<" + vec + ", " + k + ", " + rules + score + ", " + n +
             ", " + name + ");");
  else if (::hk::topkInWave(target, pod))
    out.line("topkInWave<" + Twine(threadsPerRow) + ", " + vec + ", " +
             Twine(shape.rounds) + ", " + k + ", " + rules + score + ", " + n +
             ", thread, " + name + ");");
  else
    out.line("topkInBlock<" + Twine(threadsPerRow) + ", " + vec + ", " + k +
             ", " + rules + score + ", " + n + ", thread, " + name + ", " +
             member + ".radix);");
  bindSelected(topk, name);
}

void RowEmitter::bindSelected(TopkOp topk, const std::string &name) {
  bind(topk.getValues(), [this, name](Args position, int count) {
    return Expr{name + ".values<" + std::to_string(count) + ">(" +
                    text(position.back()) + ")",
                {"float", count},
                rowDepth};
  });
  bool wide = cast<RankedTensorType>(topk.getIndices().getType())
                  .getElementType()
                  .isInteger(64);
  bind(topk.getIndices(), [this, name, wide](Args position, int count) {
    Expr index = {name + ".indices<" + std::to_string(count) + ">(" +
                      text(position.back()) + ")",
                  {"i32", count},
                  rowDepth};
    return wide ? call("convertTo<i64>", index, "i64") : index;
  });
}
