//===- MergeProducts.cpp - Products of one input become one ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The projections of a layer (query, key and value; gate and up) read the same
// rows. One product with the concatenated weights reads them once and is one
// launch: the concatenation is a recipe that hk-fold-weights evaluates, and the
// projections are views of the result; of weights that stay quantised the codes
// and their scales are concatenated. A gate and its up projection become the
// halves that hk-fold-gates looks for.
//
// A projection stays alone where a view of a wider result would cost a launch:
// where it is a result of the function, an operand of a product, or read by a
// pointwise operator that is its epilogue.
//
//===----------------------------------------------------------------------===//

#include "Fusion/PrepareBlock.h"
#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/Gates.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKMERGEPRODUCTS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {

/// A product of a weight, with the bias that is all that reads it.
struct Projection {
  MatmulOp product;
  AddOp bias; // null: none

  Value result() const {
    return bias ? AddOp(bias).getResult() : MatmulOp(product).getResult();
  }
  int64_t columns() const {
    return cast<RankedTensorType>(result().getType()).getShape().back();
  }
};

using Projections = SmallVector<Projection>;

/// Merges the projections of one block.
class Merger {
public:
  explicit Merger(Block &block) : block(block) {}
  /// Number of products that became part of another.
  int64_t run();

private:
  std::optional<Projection> projectionOf(MatmulOp product) const;
  bool mayBeView(Value result) const;
  void mergeGates(Projections &projections);
  void merge(ArrayRef<Projection> parts);
  Value concatenate(ArrayRef<Value> weights, int64_t dim);
  Value concatenateWeights(ArrayRef<Projection> parts);

  Block &block;
  OpBuilder builder{block.getParentOp()->getContext()};
  int64_t count = 0;
};

struct HKMergeProducts
    : ::mlir::hk::impl::HKMergeProductsBase<HKMergeProducts> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.isExternal() && function.getBody().hasOneBlock())
      numMerged += Merger(function.getBody().front()).run();
  }
};

} // namespace

static WeightRefOp weightOf(Value value) {
  return value ? value.getDefiningOp<WeightRefOp>() : WeightRefOp();
}

/// Whether `value` is a weight, or weights whose elements something moved.
static bool isOfWeights(Value value) {
  Operation *def = value.getDefiningOp();
  return isa_and_nonnull<WeightRefOp>(def) ||
         (def && isMovement(def) && def->getNumOperands() != 0 &&
          llvm::all_of(def->getOperands(), isOfWeights));
}

/// `value`, of weights, computed where `builder` is.
static Value cloneOf(Value value, OpBuilder &builder) {
  Operation *def = value.getDefiningOp();
  IRMapping map;
  for (Value operand : def->getOperands())
    map.map(operand, cloneOf(operand, builder));
  return builder.clone(*def, map)->getResult(0);
}

/// Whether `value` has a scale or zero point of its own for each row of codes,
/// or one for all that is a constant, or is null.
static bool isPerRow(Value value, int64_t rows) {
  if (!value || value.getDefiningOp<ConstantOp>())
    return true;
  return weightOf(value) && tensorType(value).getRank() == 2 &&
         tensorType(value).getDimSize(0) == rows;
}

/// What dequantises B [N, K], all of it weights; null if nothing does.
static DequantizeOp decoderOf(MatmulOp product) {
  auto decoder = product.getRhs().getDefiningOp<DequantizeOp>();
  if (!decoder || !product.getTransposeB() || !weightOf(decoder.getInput()) ||
      tensorType(decoder.getInput()).getRank() != 2)
    return {};
  int64_t rows = tensorType(decoder.getInput()).getDimSize(0);
  bool cut = weightOf(decoder.getScale()) &&
             isPerRow(decoder.getScale(), rows) &&
             isPerRow(decoder.getZeroPoint(), rows);
  return cut ? decoder : DequantizeOp();
}

/// The dim of B that counts columns of the result.
static int64_t columnDim(MatmulOp product) {
  return product.getRhsDim(MatmulDim::N);
}

/// Columns of the result for which one row of B's scales counts; 0: the scales
/// are not cut by columns.
static int64_t columnsPerScale(MatmulOp product) {
  int64_t columns = tensorType(product.getResult()).getShape().back();
  int64_t rows = tensorType(product.getRhsScale()).getDimSize(0);
  if (tensorType(product.getRhsScale()).getRank() != 2 || rows == 0 ||
      columns % rows != 0)
    return 0;
  return columns / rows;
}

std::optional<Projection> Merger::projectionOf(MatmulOp product) const {
  if (product->getBlock() != &block || product.getKSlices() ||
      !(isOfWeights(product.getRhs()) || decoderOf(product)) ||
      tensorType(product.getRhs()).getRank() != 2 ||
      ShapedType::isDynamic(tensorType(product.getResult()).getShape().back()))
    return std::nullopt;
  if (product.getRhsScale() &&
      (!weightOf(product.getRhsScale()) || columnsPerScale(product) == 0))
    return std::nullopt;
  Projection found = {product, {}};
  if (!product.getResult().hasOneUse())
    return found;
  auto bias = dyn_cast<AddOp>(*product.getResult().user_begin());
  if (bias && bias.getLhs() == product.getResult() &&
      isOfWeights(bias.getRhs()) &&
      tensorType(bias.getRhs()).getShape() ==
          tensorType(product.getResult()).getShape().take_back())
    found.bias = bias;
  return found;
}

static Type elementOf(Value value) {
  return value ? tensorType(value).getElementType() : Type();
}

/// Whether weights are dequantised alike, or none is.
static bool areDecodedAlike(MatmulOp x, MatmulOp y) {
  DequantizeOp a = decoderOf(x), b = decoderOf(y);
  if (!a || !b)
    return !a && !b;
  auto constant = [](Value value) {
    auto op = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
    return op ? op.getValue() : ElementsAttr();
  };
  return elementOf(a.getInput()) == elementOf(b.getInput()) &&
         elementOf(a.getScale()) == elementOf(b.getScale()) &&
         elementOf(a.getZeroPoint()) == elementOf(b.getZeroPoint()) &&
         constant(a.getZeroPoint()) == constant(b.getZeroPoint()) &&
         a.getOffset() == b.getOffset() && a.getGroupSize() == b.getGroupSize();
}

/// Whether two projections differ in their columns only.
static bool areAlike(const Projection &a, const Projection &b) {
  MatmulOp x = a.product, y = b.product;
  if (x.getLhs() != y.getLhs() || x.getLhsScale() != y.getLhsScale() ||
      x.getTransposeA() != y.getTransposeA() ||
      x.getTransposeB() != y.getTransposeB() ||
      x.getAccumulation() != y.getAccumulation() ||
      elementOf(x.getRhs()) != elementOf(y.getRhs()) ||
      elementOf(x.getResult()) != elementOf(y.getResult()) ||
      elementOf(x.getRhsScale()) != elementOf(y.getRhsScale()))
    return false;
  if (x.getRhsScale() && columnsPerScale(x) != columnsPerScale(y))
    return false;
  if (!areDecodedAlike(x, y))
    return false;
  AddOp p = a.bias, q = b.bias;
  if (!p || !q)
    return !p && !q;
  return elementOf(p.getRhs()) == elementOf(q.getRhs()) &&
         elementOf(p.getResult()) == elementOf(q.getResult());
}

/// Whether every reader takes a view of a wider result as it takes `result`.
bool Merger::mayBeView(Value result) const {
  return llvm::all_of(result.getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>() || isa<MatmulOp>(user))
      return false;
    if (!isView(user))
      return !isElementwise(user);
    return llvm::none_of(user->getResult(0).getUsers(), [](Operation *reader) {
      return reader->hasTrait<OpTrait::IsTerminator>() || isa<MatmulOp>(reader);
    });
  });
}

/// Whether the two are read by act(gate) * up and nothing else.
static bool areGateAndUp(const Projection &gate, const Projection &up) {
  if (!gate.result().hasOneUse() || !up.result().hasOneUse())
    return false;
  auto product = dyn_cast<MulOp>(*up.result().user_begin());
  return product && llvm::any_of(gatesOf(product), [&](const Gate &found) {
           return found.gate == gate.result() && found.up == up.result();
         });
}

Value Merger::concatenate(ArrayRef<Value> weights, int64_t dim) {
  SmallVector<int64_t> shape(tensorType(weights[0]).getShape());
  shape[dim] = 0;
  SmallVector<Value> parts;
  for (Value weight : weights) {
    shape[dim] += tensorType(weight).getDimSize(dim);
    // Where the merged product is, the others' weights may not be read yet.
    parts.push_back(cloneOf(weight, builder));
  }
  auto type =
      RankedTensorType::get(shape, tensorType(weights[0]).getElementType());
  return ConcatOp::create(builder, weights[0].getLoc(), type,
                          builder.getI64IntegerAttr(dim), parts);
}

/// B of the merged product, dequantised as its parts are.
Value Merger::concatenateWeights(ArrayRef<Projection> parts) {
  auto all = [&](function_ref<Value(DequantizeOp)> operand) {
    auto operandOf = [&](Projection p) {
      return operand(decoderOf(p.product));
    };
    return concatenate(llvm::map_to_vector(parts, operandOf), 0);
  };
  MatmulOp product = parts.front().product;
  DequantizeOp first = decoderOf(product);
  if (!first) {
    auto weightsOf = [](Projection p) -> Value { return p.product.getRhs(); };
    return concatenate(llvm::map_to_vector(parts, weightsOf),
                       columnDim(product));
  }
  Value codes = all([](DequantizeOp op) { return op.getInput(); });
  Value scale = all([](DequantizeOp op) { return op.getScale(); });
  Value zero = first.getZeroPoint();
  if (weightOf(zero))
    zero = all([](DequantizeOp op) { return op.getZeroPoint(); });
  else if (zero)
    zero = builder.clone(*zero.getDefiningOp())->getResult(0);
  auto type =
      RankedTensorType::get(tensorType(codes).getShape(),
                            tensorType(first.getResult()).getElementType());
  return DequantizeOp::create(builder, first.getLoc(), type, codes, scale, zero,
                              first.getOffset(), first.getGroupSize());
}

/// One product in place of `parts`, whose results become views of its own.
void Merger::merge(ArrayRef<Projection> parts) {
  // Where the first of them is the operands of all are known.
  MatmulOp first = parts.front().product;
  builder.setInsertionPoint(
      llvm::min_element(parts, [](Projection a, Projection b) {
        return a.product->isBeforeInBlock(b.product);
      })->product);
  auto all = [&](function_ref<Value(Projection)> operand, int64_t dim) {
    return concatenate(llvm::map_to_vector(parts, operand), dim);
  };
  Value weight = concatenateWeights(parts);
  Value scale;
  if (first.getRhsScale())
    scale = all([](Projection p) { return p.product.getRhsScale(); }, 0);
  int64_t columns = 0;
  for (const Projection &part : parts)
    columns += part.columns();
  auto widen = [&](Value value) {
    SmallVector<int64_t> shape(tensorType(value).getShape());
    shape.back() = columns;
    return RankedTensorType::get(shape, tensorType(value).getElementType());
  };
  Value merged = MatmulOp::create(
      builder, first.getLoc(), widen(first.getResult()), first.getLhs(), weight,
      first.getLhsScale(), scale, first.getTransposeA(), first.getTransposeB(),
      IntegerAttr(), first.getAccumulation());
  if (AddOp bias = parts.front().bias) {
    Value biases = all([](Projection p) { return p.bias.getRhs(); }, 0);
    merged = AddOp::create(builder, bias.getLoc(), widen(bias.getResult()),
                           merged, biases);
  }
  int64_t rank = tensorType(merged).getRank(), offset = 0;
  SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(rank, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, merged.getLoc(), merged);
  for (const Projection &part : parts) {
    offsets.back() = builder.getIndexAttr(offset);
    sizes.back() = builder.getIndexAttr(part.columns());
    offset += part.columns();
    part.result().replaceAllUsesWith(tensor::ExtractSliceOp::create(
        builder, merged.getLoc(), tensorType(part.result()), merged, offsets,
        sizes, strides));
  }
  count += int64_t(parts.size()) - 1;
}

/// Merges the pairs of a gate and its up projection; leaves the others.
void Merger::mergeGates(Projections &projections) {
  for (size_t i = 0; i < projections.size(); ++i)
    for (size_t j = 0; j < projections.size(); ++j) {
      if (i == j || !areAlike(projections[i], projections[j]) ||
          !areGateAndUp(projections[i], projections[j]))
        continue;
      merge({projections[i], projections[j]});
      projections.erase(projections.begin() + std::max(i, j));
      projections.erase(projections.begin() + std::min(i, j));
      return mergeGates(projections);
    }
}

int64_t Merger::run() {
  llvm::MapVector<Value, Projections> ofInput;
  for (auto product : block.getOps<MatmulOp>())
    if (std::optional<Projection> found = projectionOf(product))
      ofInput[product.getLhs()].push_back(*found);
  for (auto &[input, projections] : ofInput) {
    mergeGates(projections);
    llvm::erase_if(projections, [&](const Projection &projection) {
      return !mayBeView(projection.result());
    });
    while (projections.size() > 1) {
      Projections alike, others;
      for (const Projection &projection : projections)
        (areAlike(projections.front(), projection) ? alike : others)
            .push_back(projection);
      projections = others;
      if (alike.size() > 1)
        merge(alike);
    }
  }
  eraseUnused(block);
  return count;
}
