//===- Views.cpp - Views that hide a form ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transposes in a row are one; one of [B * H, S, D] between two reshapes is one
// of [B, H, S, D]; reshapes that undo each other go away.
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

static Outcome doubleTranspose(Raiser &raiser, Operation *root) {
  auto op = dyn_cast<TransposeOp>(root);
  if (!op || !op.getInput().getDefiningOp<TransposeOp>())
    return Outcome::none();
  return Outcome::raised(
      transpose(raiser.b, root->getLoc(), op.getInput(), op.getPermutation()));
}

/// The names of the sizes of `value`, whose unknown ones are symbols.
static ArrayRef<DimName> names(Raiser &raiser, Value value) {
  return raiser.dims().shape(value);
}

/// expand(collapse(x)) into the shape of x.
static Outcome undoneReshape(Raiser &raiser, Operation *root) {
  auto expand = dyn_cast<tensor::ExpandShapeOp>(root);
  auto collapse = expand
                      ? expand.getSrc().getDefiningOp<tensor::CollapseShapeOp>()
                      : tensor::CollapseShapeOp();
  if (!collapse || collapse.getSrcType() != expand.getResultType() ||
      names(raiser, collapse.getSrc()) != names(raiser, expand.getResult()))
    return Outcome::none();
  return Outcome::raised(collapse.getSrc());
}

/// expand(transpose [0, 2, 1] (collapse (x))), with the first two dims joined.
static Outcome joinedTranspose(Raiser &raiser, Operation *root) {
  auto expand = dyn_cast<tensor::ExpandShapeOp>(root);
  auto middle =
      expand ? expand.getSrc().getDefiningOp<TransposeOp>() : TransposeOp();
  auto collapse =
      middle ? middle.getInput().getDefiningOp<tensor::CollapseShapeOp>()
             : tensor::CollapseShapeOp();
  if (!collapse || shapeOf(collapse.getSrc()).size() != 4 ||
      shapeOf(expand.getResult()).size() != 4 ||
      middle.getPermutation() != ArrayRef<int64_t>{0, 2, 1})
    return Outcome::none();
  ReassociationIndices front{0, 1};
  if (collapse.getReassociationIndices().front() != front ||
      expand.getReassociationIndices().front() != front)
    return Outcome::none();
  ArrayRef<DimName> before = names(raiser, collapse.getSrc()),
                    after = names(raiser, expand.getResult());
  if (before.take_front(2) != after.take_front(2))
    return Outcome::none();
  Value made =
      transpose(raiser.b, root->getLoc(), collapse.getSrc(), {0, 1, 3, 2});
  if (made.getType() != expand.getType())
    made = tensor::CastOp::create(raiser.b, root->getLoc(), expand.getType(),
                                  made);
  return Outcome::raised(made);
}

ArrayRef<Rule> raise::viewRules() {
  static const Rule rules[] = {{"", doubleTranspose, /*isExact=*/true},
                               {"", undoneReshape, /*isExact=*/true},
                               {"", joinedTranspose, /*isExact=*/true}};
  return rules;
}
