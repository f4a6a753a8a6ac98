//===- RowExchange.cpp - Rows that are sums over ranks --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel may begin with one sum over ranks: kernels/collective/exchange.h
// leaves the row's sums in LDS, where the phases behind it read them at any
// place. Loads that need nothing of the sums are issued before it.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "RowVariants.h"

#include "hk/Contract/Exchange.h"
#include "hk/Families/KernelExchange.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;

/// Elements of the row that is exchanged.
static int64_t widthOf(const RowPlan &plan) {
  ArrayRef<int64_t> shape = plan.exchange().getType().getShape();
  int64_t width = 1;
  for (int64_t size : shape.drop_front(plan.numRowDims()))
    width *= size;
  return width;
}

int64_t mlir::hk::exchangeLds(const RowPlan &plan) {
  if (!plan.exchange())
    return 0;
  int64_t bits = plan.exchange().getType().getElementTypeBitWidth();
  return int64_t(llvm::alignTo(widthOf(plan) * bits / 8, 16));
}

std::string mlir::hk::exchangeMemberText(const RowPlan &plan) {
  return ("  ExchangedRow<" +
          dtypeText(plan.exchange().getType().getElementType()) + ", " +
          Twine(widthOf(plan)) + "> sums;\n")
      .str();
}

SmallVector<RankedTile> mlir::hk::exchangeTiles(const RowPlan &plan,
                                                const ::hk::Target &target) {
  SmallVector<RankedTile> tiles;
  int64_t vec = plan.commonVec(16 / plan.rowElementBytes());
  int64_t chunks = llvm::divideCeil(plan.widest(), vec);
  // Of 4096 rows; what the link takes is the same with every tile.
  double moved = 4096.0 * double(plan.widest()) * plan.bytesPerRowElement();
  for (int64_t threads : {64, 128, 256, 512, 1024}) {
    // Half of the threads of a block idle in its only round.
    if (threads > target.maxThreads || (threads > 64 && threads >= 2 * chunks))
      break;
    int64_t slots = llvm::divideCeil(chunks, threads);
    RankedTile &ranked = tiles.emplace_back();
    ranked.tile = {1, int32_t(threads), int32_t(vec), int32_t(slots)};
    // Two chunks of a thread under way at once hide what the link takes; more
    // of them are registers, more threads are barriers.
    double order = double(std::max<int64_t>(slots, 2)) + double(threads) / 1024;
    ranked.microseconds = moved / target.memoryGBps / 1e3 + order / 16;
  }
  return tiles;
}

void mlir::hk::reportKernelExchange(KernelOp kernel, AllReduceOp sum,
                                    const ::hk::Target &target,
                                    DecisionLog &log) {
  RankedTensorType type = sum.getInput().getType();
  double bytes = type.getElementTypeBitWidth() / 8.0;
  for (int64_t size : type.getShape())
    bytes *= ShapedType::isDynamic(size) ? 1 : double(size);
  int64_t ranks = ranksOf(sum);
  bool hasOwners = mayHaveOwners(sum);
  int64_t most = hasOwners ? ::hk::mostOneShotBytes(target, ranks)
                           : ::hk::mostPushedBytes(target, ranks, hasOwners);
  ::hk::ExchangeCalibration rates = ::hk::exchangeCalibration(target);
  double us = double(ranks - 1) * bytes / rates.linkGBps / 1e3;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "into the other ranks' memory";
  if (most != INT64_MAX)
    os << " up to " << most << " bytes, beyond by "
       << (hasOwners ? "an owner of each row" : "the runtime's engine");
  os << ", modelled ";
  if (type.hasStaticShape())
    os << llvm::format("%.1f us", rates.pushUs + us);
  else
    os << llvm::format("%.1f us and %.4f", rates.pushUs, us)
       << " times its dynamic sizes";
  Candidate candidate{text, Verdict::accept()};
  candidate.microseconds = type.hasStaticShape() ? rates.pushUs + us : 0;
  log.add({DecisionKind::Shard,
           kernel.getLoc(),
           ("@" + kernel.getSymName()).str(),
           {std::move(candidate)},
           0});
}

/// The lambda `name` of what `add` adds to `sum`, and the prefetch of its row
/// unless products have left columns whose sums have it in them. Words of the
/// exchange begin at `words`.
void RowEmitter::emitAddend(StringRef name, AddOp add, AllReduceOp sum,
                            const Position &position, int vec, int64_t words) {
  auto other = cast<BlockArgument>(
      add->getOperand(add->getOperand(0) == sum.getResult() ? 1 : 0));
  out.openLambda(name, "i32 c");
  out.line("return " + pull(other, position, vec).text + ";");
  out.closeLambda();
  if (auto *measured = ::hk::rowwiseCalibration(target);
      measured && measured->prefetchesRows) {
    prefetches.ofRow.push_back(
        "if (!words[" + std::to_string(words + ::hk::kExchangeSummed) +
        "]) prefetchL2<" + std::to_string(exchangeLds(plan)) +
        ">((const void *)(" + rowText(other) + "));");
    prefetches.bytesOfRow += exchangeLds(plan);
  }
}

void RowEmitter::emitExchange() {
  AllReduceOp sum = plan.exchange();
  // Loads of later phases that wait for nothing.
  earlyLoads = out.reserve(out.depth());
  int64_t ranks = ranksOf(sum), vec = exchangeVecOf(sum);
  int64_t words = kernel.getNumOperands() + kernel.getNumDims();
  for (BlockArgument argument : kernel.getSpecBlock().getArguments())
    words += std::max<int64_t>(
        0, cast<RankedTensorType>(argument.getType()).getRank() - 1);
  AffineExpr rows = constant(1);
  for (DimName dim : plan.rows())
    rows = rows * size(dim);

  std::string own = out.freshName("own");
  out.openLambda(own, "i32 c");
  AffineExpr chunk = symbol("c");
  ArrayRef<DimName> local =
      dims.shape(sum.getInput()).drop_front(plan.numRowDims());
  Position position = positionOf(local, chunk * vec);
  out.line("return " + pull(sum.getInput(), position, int(vec)).text + ";");
  out.closeLambda();
  // What is added to the sums, unless it has come with them.
  AddOp add;
  std::string added = out.freshName("added");
  if (kernel->hasAttr(kAddsAttrName)) {
    add = cast<AddOp>(*sum.getResult().user_begin());
    emitAddend(added, add, sum, position, int(vec), words);
  }
  auto type = [](Value value) {
    return dtypeText(getElementTypeOrSelf(value.getType()));
  };
  // Rows that are sent to all; more of them have owners.
  std::string name = "exchangeRow", oneShot;
  if (mayHaveOwners(sum)) {
    int64_t rowBytes = exchangeLds(plan);
    name = "exchangeRowOfMany";
    oneShot = ", " + std::to_string(::hk::mostOneShotBytes(target, ranks) /
                                    std::max<int64_t>(rowBytes, 1));
  }
  out.line(Twine(name) + "<" + type(sum.getInput()) + ", " +
           type(sum.getResult()) + ", " + Twine(ranks) + ", " +
           Twine(isOfEngine(sum) ? 1 : ranks) + ", " +
           Twine(tile.getThreads()) + oneShot + ">(words + " + Twine(words) +
           ", row, thread, u32(" + text(rows) + "), " + own + ", lds.sums" +
           (add ? ", " + added : "") + ");");

  Value result = add ? add.getResult() : sum.getResult();
  bind(result, [this, result](Args at, int count) {
    AffineExpr flat = constant(0);
    for (int64_t d = plan.numRowDims(); d < int64_t(at.size()); ++d)
      flat = flat * sizeOf(result, d) + at[d];
    return Expr{"lds.sums.load<" + std::to_string(count) + ">(" +
                    text(simplify(flat)) + ")",
                carrierOf(getElementTypeOrSelf(result.getType()), count),
                rowDepth};
  });
}
