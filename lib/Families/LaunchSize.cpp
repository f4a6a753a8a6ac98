//===- LaunchSize.cpp - What a variant's region says of a launch ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Condition and grid of a variant for given sizes, by the folders of the
// operators that compute them. A region of constants and dim symbols folds
// completely.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/Family.h"

using namespace mlir;
using namespace mlir::hk;

LaunchSize mlir::hk::launchSizeOf(VariantOp variant, ArrayRef<int64_t> dims) {
  Block &block = variant.getBody().front();
  Builder builder(variant.getContext());
  llvm::DenseMap<Value, Attribute> known;
  for (BlockArgument argument : block.getArguments())
    known[argument] = builder.getIndexAttr(dims[argument.getArgNumber()]);
  for (Operation &op : block.without_terminator()) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)))
      continue;
    for (auto [result, folded] : llvm::zip(op.getResults(), results)) {
      auto attribute = dyn_cast<Attribute>(folded);
      known[result] = attribute ? attribute : known.lookup(cast<Value>(folded));
    }
  }
  auto numberOf = [&](Value value) {
    auto number = dyn_cast_or_null<IntegerAttr>(known.lookup(value));
    assert(number && "the region computes with folding operators only");
    return number.getValue().getSExtValue();
  };
  auto launch = cast<LaunchDimsOp>(block.getTerminator());
  return {numberOf(launch.getCondition()) != 0, numberOf(launch.getX()),
          numberOf(launch.getY()), numberOf(launch.getZ())};
}

VariantOp mlir::hk::variantFor(KernelOp kernel, ArrayRef<int64_t> dims) {
  std::vector<VariantOp> variants = kernel.getVariants();
  for (VariantOp variant : variants)
    if (launchSizeOf(variant, dims).applies)
      return variant;
  return variants.back();
}
