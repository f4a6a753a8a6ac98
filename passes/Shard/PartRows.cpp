//===- PartRows.cpp - Heads beside tokens, not among them -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By hk-normalize's means, in the direction that it seldom takes.
//
//===----------------------------------------------------------------------===//

#include "PartRows.h"
#include "Fusion/PrepareBlock.h"
#include "Fusion/ScheduleBlock.h"
#include "Normalize/RowReshaper.h"
#include "hk/Analysis/Alignment.h"
#include "hk/Dialect/HK.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::hk;

/// Whether a dim of known size stands behind another one.
static bool hasHeads(const RowShape &shape) {
  return llvm::any_of(ArrayRef(shape.many).drop_front(),
                      [](DimName name) { return name > 1; });
}

/// Parts the rows of what reads joined ones, from `views` on downwards. Whether
/// anything changed.
static bool partRowsBehind(Block &block) {
  RowReshaper reshaper(block);
  llvm::SetVector<Operation *> views;
  for (auto view : block.getOps<tensor::CollapseShapeOp>())
    views.insert(view);
  bool changed = false;
  while (!views.empty()) {
    Operation *view = views.pop_back_val();
    if (!isa<tensor::CollapseShapeOp>(view))
      continue;
    std::optional<RowShape> shape = reshaper.rowShapeOf(view);
    if (!shape || !hasHeads(*shape))
      continue;
    llvm::SetVector<Operation *> users(view->user_begin(), view->user_end());
    for (Operation *user : users)
      if ((isa<RowwiseOpInterface>(user) || isView(user)) &&
          reshaper.canReshape(user, *shape, /*flatten=*/false)) {
        views.remove(user);
        for (Operation *next :
             reshaper.reshape(user, *shape, /*flatten=*/false))
          views.insert(next);
        changed = true;
      }
  }
  return changed;
}

/// Rows that were joined with their elements, too, and taken apart by tokens:
/// upstream's folds of two views, which now begin at parted rows.
static void foldViews(Block &block) {
  RewritePatternSet patterns(block.getParentOp()->getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns,
                                                     patterns.getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                       patterns.getContext());
  SmallVector<Operation *> views;
  for (Operation &op : block)
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      views.push_back(&op);
  (void)applyOpPatternsGreedily(views, std::move(patterns));
}

void mlir::hk::partRows(Block &block) {
  if (!partRowsBehind(block))
    return;
  foldViews(block);
  eraseUnused(block);
  scheduleBlock(block);
}
