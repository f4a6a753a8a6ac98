//===- Normalize.cpp - Views of rows out of the way of fusion -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view between two row-wise operators that joins or parts rows ([B, S, H] and
// [B * S, H]) would give them different rows, and so two kernels. Views that
// join rows move up and those that part them move down, to arguments, results
// and operators of other families, so that rows are one dim throughout. An
// operator that needs the dims apart (an operand [B, 1, H]) stops a view; then
// its row-wise neighbours get the dims apart, too. Transposes that move columns
// go behind what is computed element by element (SinkTransposes.h).
//
//===----------------------------------------------------------------------===//

#include "Fusion/PrepareBlock.h"
#include "Fusion/ScheduleBlock.h"
#include "Normalize/RowReshaper.h"
#include "Normalize/SinkTransposes.h"
#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKNORMALIZE
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
class BlockNormalizer {
public:
  explicit BlockNormalizer(Block &block) : block(block), reshaper(block) {}

  /// Number of operators whose rows got another shape.
  int64_t run();

private:
  void flatten(Operation *view);
  void part(Operation *view);
  void reshape(Operation *op, const RowShape &shape, bool flatten);
  void addViews();

  Block &block;
  RowReshaper reshaper;
  llvm::SetVector<Operation *> work;
  int64_t count = 0;
};

struct HKNormalize : ::mlir::hk::impl::HKNormalizeBase<HKNormalize> {
  void runOnOperation() override;
};
} // namespace

void BlockNormalizer::reshape(Operation *op, const RowShape &shape,
                              bool flatten) {
  ++count;
  work.remove(op);
  for (Operation *next : reshaper.reshape(op, shape, flatten))
    work.insert(next);
}

/// Moves a view that joins rows up by one operator, or one that parts them down
/// by as many as it can.
void BlockNormalizer::flatten(Operation *view) {
  std::optional<RowShape> shape = reshaper.rowShapeOf(view);
  if (!shape || view->use_empty())
    return;
  if (isa<tensor::CollapseShapeOp>(view)) {
    Operation *def = viewSource(view).getDefiningOp();
    if (def && reshaper.canReshape(def, *shape, /*flatten=*/true))
      reshape(def, *shape, /*flatten=*/true);
    return;
  }
  llvm::SetVector<Operation *> users(view->user_begin(), view->user_end());
  for (Operation *user : users)
    if (reshaper.canReshape(user, *shape, /*flatten=*/true))
      reshape(user, *shape, /*flatten=*/true);
}

/// Whether a row-wise operator reads `value` by its rows, through views.
static bool isReadByRow(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isView(user))
      return use.getOperandNumber() == 0 && isReadByRow(user->getResult(0));
    if (!isa<RowwiseOpInterface>(user))
      return false;
    std::optional<SmallVector<RowUse>> uses = rowUsesOf(user, /*numRows=*/1);
    return !uses || (*uses)[use.getOperandNumber()].kind != RowUse::Whole;
  });
}

/// Whether it is a view that nothing reads any more.
static bool isLeftOver(Operation *op) {
  return isView(op) && llvm::all_of(op->getUsers(), isLeftOver);
}

static bool hasOneReader(Operation *op) {
  return llvm::count_if(op->getUsers(),
                        [](Operation *user) { return !isLeftOver(user); }) == 1;
}

/// Whether the kernel of a product or an attention will compute `op`: it may
/// then read and write other operators' tensors through views, which cost
/// nothing.
static bool isEpilogue(Operation *op) {
  if (!isElementwiseOrPairs(op))
    return false;
  return llvm::any_of(op->getOperands(), [](Value operand) {
    Operation *def = operand.getDefiningOp();
    return def && (isa<ProductOpInterface, AttentionOp>(def) ||
                   (hasOneReader(def) && isEpilogue(def)));
  });
}

/// Where `view` is still between two row-wise operators, the one with one row
/// dim gets those of the other.
void BlockNormalizer::part(Operation *view) {
  std::optional<RowShape> shape = reshaper.rowShapeOf(view);
  if (!shape || !isReadByRow(view->getResult(0)) ||
      !isa_and_nonnull<RowwiseOpInterface>(
          rootOfViews(viewSource(view)).getDefiningOp()))
    return;
  llvm::SetVector<Operation *> parted;
  if (isa<tensor::ExpandShapeOp>(view))
    parted.insert(viewSource(view).getDefiningOp());
  else
    parted.insert(view->user_begin(), view->user_end());
  for (Operation *op : parted)
    if ((isa<RowwiseOpInterface>(op) && !isEpilogue(op)) || isView(op))
      if (reshaper.canReshape(op, *shape, /*flatten=*/false))
        reshape(op, *shape, /*flatten=*/false);
}

void BlockNormalizer::addViews() {
  for (Operation &op : block)
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      work.insert(&op);
}

int64_t BlockNormalizer::run() {
  auto isReshape =
      llvm::IsaPred<tensor::ExpandShapeOp, tensor::CollapseShapeOp>;
  addViews();
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (isReshape(op))
      flatten(op);
  }
  addViews();
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (isReshape(op))
      part(op);
  }
  return count;
}

void HKNormalize::runOnOperation() {
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
    // Other functions are an error of hk-fuse.
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    Block &block = function.getBody().front();
    sinkTransposes(block);
    int64_t count = BlockNormalizer(block).run();
    if (count == 0)
      continue;
    numReshaped += count;
    eraseUnused(block);
    scheduleBlock(block);
  }
}
