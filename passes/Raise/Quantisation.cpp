//===- Quantisation.cpp - Quantised weights out of arithmetic -------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes converted to reals and multiplied by a scale are hk.dequantize, which a
// product takes in.
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

/// Whether a scale of this shape is one of all, or one of each row.
static bool isScaleOf(ArrayRef<int64_t> scale, ArrayRef<int64_t> codes) {
  if (llvm::all_of(scale, [](int64_t size) { return size == 1; }))
    return true;
  if (scale.size() != codes.size() || scale.back() != 1)
    return false;
  return llvm::all_of(llvm::zip(scale, codes), [](auto sizes) {
    return std::get<0>(sizes) == 1 || std::get<0>(sizes) == std::get<1>(sizes);
  });
}

/// cast(codes) * scale
static Outcome dequantize(Raiser &raiser, Operation *root) {
  auto mul = dyn_cast<MulOp>(root);
  if (!mul)
    return Outcome::none();
  for (auto [wide, scale] :
       {std::pair<Value, Value>(mul.getLhs(), mul.getRhs()),
        std::pair<Value, Value>(mul.getRhs(), mul.getLhs())}) {
    auto cast = wide.getDefiningOp<CastOp>();
    if (!cast || shapeOf(wide) != shapeOf(mul.getResult()))
      continue;
    Value codes = cast.getInput();
    Type element = Raiser::elementOf(codes);
    // Codes of 8 bits are exact in f32, bf16 and f16.
    if (!element.isInteger(8) && !element.isInteger(4))
      continue;
    if (!codes.getDefiningOp<WeightRefOp>())
      continue;
    if (!isScaleOf(shapeOf(scale), shapeOf(codes)))
      return Outcome::miss(Reason::OtherAxis,
                           "the scale is neither one number nor one of each "
                           "row");
    Value given = throughWidening(scale);
    // One of rank 0 has no dims to be one of.
    if (shapeOf(given).empty())
      given = tensor::ExpandShapeOp::create(
          raiser.b, root->getLoc(),
          RankedTensorType::get({1}, Raiser::elementOf(given)), given,
          ArrayRef<ReassociationIndices>{});
    uint64_t group = std::max<int64_t>(1, lastSize(codes));
    return Outcome::raised(DequantizeOp::create(
        raiser.b, root->getLoc(), mul.getType(), codes, given, Value(),
        /*offset=*/false, group));
  }
  return Outcome::none();
}

ArrayRef<Rule> raise::quantisationRules() {
  static const Rule rules[] = {{"hk.dequantize", dequantize, /*isExact=*/true}};
  return rules;
}
