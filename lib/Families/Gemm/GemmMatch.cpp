//===- GemmMatch.cpp - What may join a matrix product ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product takes as epilogue what is computed from a few columns of one row:
// pointwise operators, a gate over the two halves of its columns, and a
// quantisation in groups of columns, or the choice of the best of few columns,
// which end it. Into the loads of an
// operand it takes what makes wide elements of narrow ones, and a quantisation
// in the blocks of a microscaling format: every block of C repeats that, in the
// shadow of its products. Nothing else: it would be repeated for nothing.
//
//===----------------------------------------------------------------------===//

#include "ColumnPlaces.h"
#include "GemmPlan.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/Capability.h"
#include "hk/Contract/Scale.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::hk;

static bool sameShape(const DimSymbols &dims, Value a, Value b) {
  return dims.shape(a) == dims.shape(b);
}

/// Rows of B that alternate are read where k is contiguous, one by one.
static bool canAlternate(GemmPlan gemm) {
  GemmOperand b = gemm.operand(GemmSide::Rhs);
  return !gemm.alternates() || (b.isKContiguous() && b.rowBlock <= 1);
}

/// Whether the second half of a pair's rows of B begins at a byte.
static bool halvesAtByte(GemmPlan gemm) {
  GemmOperand b = gemm.operand(GemmSide::Rhs);
  int64_t rows = cast<RankedTensorType>(b.data.getType()).getDimSize(b.row);
  return !gemm.isPair() || gemm.alternates() || b.isKContiguous() ||
         !::hk::isPacked(b.type()) || rows % 4 == 0;
}

namespace {

/// The group and what it would be with one operator more.
class EpilogueMatch {
public:
  EpilogueMatch(ArrayRef<Operation *> group, Operation *op,
                const FusionContext &context)
      : group(group), members(group.begin(), group.end()), op(op),
        context(context), gemm(describeGemm(group)) {}

  Verdict run() {
    if (isa<ProductOpInterface>(op))
      return refuse(Reason::OtherFamily, "is a product of its own");
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def)
        continue;
      if (gemm.quantize && def == gemm.quantize)
        return refuse(Reason::NotAnEpilogue,
                      "reads a quantisation that ends the epilogue");
    }
    if (llvm::any_of(op->getOperands(),
                     [&](Value operand) { return isBehindBest(operand); }))
      return joinBehindBest();
    // Of heads or of a slice it would choose among some columns of a row only.
    if (auto topk = dyn_cast<TopkOp>(op))
      return joinBest(topk);
    if (movesColumns() || readsPlaces())
      return joinPlaces();
    if (auto gated = dyn_cast<GatedActivationOp>(op))
      return joinGated(gated);
    if (reductionGroupOf(op) != 0)
      return joinQuantize();
    if (isElementwise(op))
      return joinPointwise();
    if (auto rowwise = dyn_cast<RowwiseOpInterface>(op)) {
      // Other rows are not of one tile.
      if (rowwise.getNumLocalDims() == 0)
        return refuse(Reason::NotAnEpilogue,
                      "is not computed behind a product's tile");
      return refuse(Reason::NeedsWholeRow,
                    "needs other columns of its row, which a product's "
                    "epilogue has for quantisations only");
    }
    return refuse(Reason::OtherFamily, "is not a pointwise operator");
  }

private:
  Verdict refuse(Reason reason, const Twine &why) const {
    return Verdict::refuse(reason, op->getName().getStringRef() + " " + why);
  }
  bool isMember(Value value) const {
    return value.getDefiningOp() && members.contains(value.getDefiningOp());
  }
  /// The value whose shape later operators must have.
  Value current() {
    return gemm.gated ? gemm.gated.getResult() : gemm.matmul.getResult();
  }

  /// The members' places of the product's columns.
  ColumnPlaces placesOfGroup() const {
    ColumnPlaces places(gemm.matmul, context.dims);
    for (Operation *member : group)
      (void)places.add(member); // accepted when it joined
    return places;
  }

  /// Whether an operand is a slice of the product, or joins some: such may have
  /// the product's shape with its columns in another order.
  bool readsPlaces() const {
    ColumnPlaces places = placesOfGroup();
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return (places.find(operand) || isMember(operand)) &&
             !places.isWhole(operand);
    });
  }

  /// Whether elements of the result are columns at another place. Tables, of
  /// which only the operator knows where it reads, are no columns.
  bool movesColumns() const {
    return isMovement(op) && !isElementwise(op) &&
           (isView(op) || llvm::none_of(op->getOpOperands(), isGathered));
  }

  Verdict joinPlaces() {
    if (gemm.gated || gemm.quantize)
      return refuse(Reason::NotAnEpilogue,
                    "reads a view of columns that the epilogue has consumed");
    for (Value operand : op->getOperands())
      if (operand.getDefiningOp<ConcatOp>() && isMember(operand))
        return refuse(Reason::NotAnEpilogue,
                      "reads a concatenation that ends the epilogue");
    if (auto sums = gemm.matmul; sums.getNumSliceDims() != 0)
      return refuse(Reason::NotAnEpilogue, "reads a view of partial sums");
    ColumnPlaces places = placesOfGroup();
    Verdict verdict = places.add(op);
    return verdict.accepted() && gemm.best ? requireVectors(places) : verdict;
  }

  /// A vector of columns is stored in a slice as a whole or not at all.
  Verdict requireVectors(const ColumnPlaces &places) const {
    int64_t vector = wholeVector(context.target);
    if (places.divisor() % vector == 0)
      return Verdict::accept();
    return refuse(Reason::UnsupportedShape,
                  "shares its kernel with slices of the product that cut its "
                  "vectors of " +
                      Twine(vector) + " columns");
  }

  Verdict joinPointwise() {
    if (!sameShape(context.dims, op->getResult(0), current()))
      return refuse(Reason::RowDimsDiffer,
                    "has another shape than the product");
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isMember(operand.get()))
        continue;
      if (!sameShape(context.dims, operand.get(), current()))
        return refuse(Reason::NotAnEpilogue,
                      "reads columns that the gate has consumed");
      if (!readsOwnElement(operand))
        return refuse(Reason::NotAnEpilogue,
                      "takes its scale from the product");
    }
    return Verdict::accept();
  }

  Verdict joinGated(GatedActivationOp gated) {
    if (gemm.gated)
      return refuse(Reason::NotAnEpilogue, "is a second gate");
    if (!sameShape(context.dims, gated.getInput(), gemm.matmul.getResult()))
      return refuse(Reason::RowDimsDiffer,
                    "has another shape than the product");
    // A wave folds the partial sums of its columns with one scale of B.
    int64_t half = gated.getType().getShape().back();
    if (gemm.scaleUse(GemmSide::Rhs) == ScaleUse::AlongK &&
        (gated.getInterleaved() || half % ::hk::kBlockScaleB.rows != 0))
      return refuse(Reason::UnsupportedShape,
                    "of a product with scales along k needs halves of whole "
                    "blocks of " +
                        Twine(::hk::kBlockScaleB.rows) + " columns");
    // A block holds both halves of its columns but stores only the gated ones.
    for (Operation *member : group)
      for (Operation *user : member->getUsers())
        if (user != op && !members.contains(user))
          return refuse(Reason::ResultEscapes,
                        "halves columns that are also used elsewhere");
    GemmPlan with = gemm;
    with.gated = gated;
    if (!canAlternate(with))
      return refuse(Reason::UnsupportedShape,
                    "whose columns alternate needs rows of B along k");
    if (!halvesAtByte(with))
      return refuse(Reason::UnsupportedShape,
                    "whose halves of packed rows do not begin at bytes");
    return requireTile(with);
  }

  Verdict joinQuantize() {
    if (gemm.quantize)
      return refuse(Reason::NotAnEpilogue, "is a second quantisation");
    int64_t group = reductionGroupOf(op);
    if (!llvm::is_contained(kGemmGroups, group))
      return refuse(Reason::UnsupportedShape,
                    "has groups of " + Twine(group) +
                        " columns; products quantise groups of 32, 64 and 128");
    if (!sameShape(context.dims, op->getOperand(0), current()))
      return refuse(Reason::RowDimsDiffer,
                    "has another shape than the product");
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    // The columns of a part of a group are stored one by one.
    if (isa<Float4E2M1FNType>(type.getElementType()) &&
        (type.isDynamicDim(type.getRank() - 1) ||
         type.getShape().back() % group != 0))
      return refuse(Reason::UnsupportedShape,
                    "stores two elements of fp4 at a time, and the last group "
                    "of columns is not whole");
    if (Verdict whole = requireVectors(placesOfGroup()); !whole.accepted())
      return whole;
    GemmPlan with = gemm;
    with.quantize = op;
    return requireTile(with);
  }

  /// Whether it follows from the best column alone.
  bool isBehindBest(Value value) const {
    return gemm.isBehindBest(
        value, [&](Operation *def) { return members.contains(def); });
  }
  Verdict joinBehindBest() const {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (type.isDynamicDim(type.getRank() - 1) ||
        type.getShape().back() > kMostBehindBest ||
        !(isElementwise(op) || isa<PadOp>(op)))
      return refuse(Reason::NotAnEpilogue,
                    "is more than a few elements behind the best column");
    for (OpOperand &operand : op->getOpOperands())
      if (isMember(operand.get()) &&
          (!isBehindBest(operand.get()) ||
           (isElementwise(op) && !readsOwnElement(operand))))
        return refuse(Reason::NotAnEpilogue,
                      "reads other columns beside the best one");
    return Verdict::accept();
  }

  Verdict joinBest(TopkOp topk) {
    auto whole = [&](const Twine &why) {
      return refuse(Reason::NeedsWholeRow, why);
    };
    if (gemm.best || gemm.quantize || gemm.gated || gemm.grouped())
      return whole("needs other columns of its row; a product chooses the best "
                   "column of a row once, behind no gate, quantisation or "
                   "experts");
    int64_t n = tensorType(topk.getInput()).getShape().back();
    if (topk.getK() != 1 || !llvm::is_contained(kBestColumns, n))
      return whole("needs other columns of its row; a product chooses one of "
                   "16, 32, 64 or 128");
    int64_t k = tensorType(gemm.matmul.getLhs())
                    .getDimSize(gemm.matmul.getLhsDim(MatmulDim::K));
    if (::hk::hasCopyEngine(context.target) &&
        (n > kMostBestColumnsSm90 || ShapedType::isDynamic(k) ||
         k > kMostBestDepthSm90))
      return refuse(Reason::CostlierFused,
                    "is as fast or faster in a launch of its own behind more "
                    "than " +
                        Twine(kMostBestColumnsSm90) + " columns or " +
                        Twine(kMostBestDepthSm90) + " of k (measured)");
    if (!sameShape(context.dims, topk.getInput(), current()) ||
        !placesOfGroup().isWhole(topk.getInput()) ||
        gemm.matmul.getNumSliceDims() != 0)
      return whole("needs other columns of its row, not of parts of it");
    if (Verdict vectors = requireVectors(placesOfGroup()); !vectors.accepted())
      return vectors;
    GemmPlan with = gemm;
    with.best = topk;
    Verdict verdict = requireTile(with);
    return verdict.accepted() ? bestVerdict(with, gemm, context.target)
                              : verdict;
  }

  Verdict requireTile(GemmPlan with) const {
    if (hasLegalTile(with, context.target))
      return Verdict::accept();
    return refuse(Reason::LdsExceeded, Twine("needs a tile that exceeds the ") +
                                           Twine(context.target.ldsBytes) +
                                           " bytes of LDS of " +
                                           context.target.name);
  }

  ArrayRef<Operation *> group;
  llvm::SmallPtrSet<Operation *, 16> members;
  Operation *op;
  const FusionContext &context;
  GemmPlan gemm;
};

} // namespace

static Verdict refuseDecoder(Operation *op, Reason reason, const Twine &why) {
  return Verdict::refuse(reason, op->getName().getStringRef() + " " + why);
}

/// Whether a product can read operand `side`, which `op` makes element by
/// element, from what `op` reads.
static Verdict checkElements(GemmPlan with, Operation *op, GemmSide side) {
  with.decoders[side == GemmSide::Lhs ? 0 : 1] = op;
  GemmOperand operand = with.operand(side);
  // Constants become a part of the kernel's body; decoders read memory.
  if (operand.isDecoded())
    for (Value value : {operand.data, operand.scale, operand.zeroPoint})
      if (value && value.getDefiningOp<ConstantOp>())
        return refuseDecoder(
            op, Reason::UnsupportedShape,
            "has constants where the product's kernel needs memory");
  // A tile's rows run along its rows or along k.
  int64_t last = int64_t(operand.order.size()) - 1;
  if (last >= 0 && operand.row != last && operand.k != last)
    return refuseDecoder(op, Reason::UnsupportedShape,
                         "makes matrices whose elements lie apart");
  // No vector of a group's rows begins where one of the matrix does, and an
  // order names rows one by one.
  if (side == GemmSide::Lhs && with.grouped() && !with.groupsK() &&
      !operand.isKContiguous())
    return refuseDecoder(op, Reason::UnsupportedShape,
                         "makes rows that do not run along k in memory, of "
                         "groups that begin at any of them");
  return Verdict::accept();
}

/// The same of the left operand and its scales, which `op` makes both, block by
/// block along k.
static Verdict checkQuantized(GemmPlan gemm, Operation *op, GemmSide side) {
  ProductOpInterface matmul = gemm.matmul;
  if (side != GemmSide::Lhs || !gemm.operand(GemmSide::Lhs).isKContiguous() ||
      matmul.getLhsScale() != op->getResult(1) ||
      gemmDims(matmul).row != matmul.getLhsDim(MatmulDim::M))
    return refuseDecoder(
        op, Reason::UnsupportedShape,
        "is taken in along k of the rows of a left operand only");
  auto quantize = dyn_cast<QuantizeOp>(op);
  if (quantize &&
      (quantize.getGranularity() != Granularity::per_group ||
       int64_t(quantize.getGroupSize()) != ::hk::kBlockScaleA.depth))
    return refuseDecoder(op, Reason::NeedsWholeRow,
                         "has other groups than the product's scales along k");
  return Verdict::accept();
}

Verdict mlir::hk::canTakeInGemm(ArrayRef<Operation *> group, Operation *op,
                                const FusionContext &context) {
  GemmPlan gemm = describeGemm(group);
  ProductOpInterface matmul = gemm.matmul;
  auto refuse = [&](Reason reason, const Twine &why) {
    return refuseDecoder(op, reason, why);
  };
  Value made = op->getResult(0);
  bool ofLhs = made == matmul.getLhs(), ofRhs = made == matmul.getRhs();
  // What the epilogue alone reads is a part of it.
  bool feedsProduct = llvm::any_of(made.getUsers(), [&](Operation *user) {
    return user == matmul || llvm::is_contained(gemm.decoders, user);
  });
  if ((isView(op) || isa<ConcatOp>(op) || isElementwise(op)) && !feedsProduct)
    return EpilogueMatch(group, op, context).run();
  if (!op->hasTrait<DecodesOperand>())
    return refuse(Reason::OtherFamily, "is no operand's decoder");
  if (ofLhs == ofRhs)
    return refuse(Reason::UnsupportedShape, "makes no operand, or both");
  GemmSide side = ofLhs ? GemmSide::Lhs : GemmSide::Rhs;
  if (Verdict reads = op->getNumResults() == 1 ? checkElements(gemm, op, side)
                                               : checkQuantized(gemm, op, side);
      !reads.accepted())
    return reads;
  gemm.decoders[ofLhs ? 0 : 1] = op;
  if (!canAlternate(gemm))
    return refuse(Reason::UnsupportedShape,
                  "scales several rows of B, which alternate");
  if (!halvesAtByte(gemm))
    return refuse(Reason::UnsupportedShape,
                  "makes packed rows whose halves do not begin at bytes");
  if (!hasLegalTile(gemm, context.target))
    return refuse(Reason::LdsExceeded, "needs a tile that " +
                                           Twine(context.target.name) +
                                           " does not have");
  return Verdict::accept();
}

Verdict mlir::hk::canStartGemm(Operation *op, const FusionContext &) {
  auto matmul = dyn_cast<ProductOpInterface>(op);
  if (!matmul)
    return Verdict::refuse(Reason::OtherFamily,
                           op->getName().getStringRef() + " is not a product");
  return verdictOf(matmul);
}

Verdict mlir::hk::canJoinGemm(ArrayRef<Operation *> group, Operation *op,
                              const FusionContext &context) {
  return EpilogueMatch(group, op, context).run();
}
