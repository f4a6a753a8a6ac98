//===- AttentionEpilogue.cpp - What follows in an attention kernel --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows an element of the result through views, as lists of the result's
// dims: two dims that a view joins are one list, which a later view may part
// only where it was joined.
//
//===----------------------------------------------------------------------===//

#include "AttentionEpilogue.h"
#include "AttentionPlan.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"

using namespace mlir;
using namespace mlir::hk;

ResultPlaces::ResultPlaces(Value result, const DimSymbols &dims)
    : result(result), dims(dims) {
  ResultPlace own;
  for (auto [d, size] : llvm::enumerate(dims.shape(result))) {
    own.emplace_back();
    if (size != 1)
      own.back().push_back(int64_t(d));
  }
  places[result] = own;
}

const ResultPlace *ResultPlaces::find(Value value) const {
  auto it = places.find(value);
  return it == places.end() ? nullptr : &it->second;
}

bool ResultPlaces::isRead(Operation *op) const {
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return find(operand) != nullptr; });
}

int64_t mlir::hk::scaleColumnsOf(Operation *op) {
  if (op->getNumResults() != 2 ||
      rowReductionsOf(op) != ArrayRef(RowReduction::AbsMaximum))
    return 0;
  if (int64_t group = reductionGroupOf(op))
    return group;
  int64_t columns = tensorType(op->getOperand(0)).getShape().back();
  return ShapedType::isDynamic(columns) ? 0 : columns;
}

Verdict ResultPlaces::add(Operation *op) {
  if (!isRead(op))
    return Verdict::accept();
  if (quantization)
    return Verdict::refuse(op, Reason::NotAnEpilogue,
                           "stands behind a quantisation, which ends what "
                           "attention computes");
  if (scaleColumnsOf(op) != 0)
    return addQuantization(op);
  if (isView(op) || isa<TransposeOp>(op))
    return addView(op);
  if (isElementwise(op))
    return addPointwise(op);
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  if (!rowwise)
    return Verdict::refuse(op, Reason::OtherFamily,
                           "is not a pointwise operator");
  if (rowwise.getNumLocalDims() == 0)
    return Verdict::refuse(op, Reason::NotAnEpilogue,
                           "is not computed where attention stores its result");
  return Verdict::refuse(
      op, Reason::NeedsWholeRow,
      "needs other columns of its row, which are in other lanes");
}

Verdict ResultPlaces::place(Operation *op, ResultPlace place) {
  int64_t column = tensorType(result).getRank() - 1;
  bool wide = dims.dim(result, column) != 1;
  if (wide &&
      (place.empty() || place.back().empty() || place.back().back() != column))
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "moves the elements of a head");
  places[op->getResult(0)] = std::move(place);
  return Verdict::accept();
}

Verdict ResultPlaces::addPointwise(Operation *op) {
  Value made = op->getResult(0);
  const ResultPlace *own = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    const ResultPlace *place = find(operand.get());
    if (!place)
      continue;
    if (!readsOwnElement(operand) ||
        dims.shape(operand.get()) != dims.shape(made) ||
        (own && *own != *place))
      return Verdict::refuse(
          op, Reason::NotAnEpilogue,
          "reads other elements of the attention than its own");
    own = place;
  }
  std::optional<::hk::DType> type = dtypeOf(tensorType(made).getElementType());
  if (!type || ::hk::info(*type).bits < 8)
    return Verdict::refuse(
        op, Reason::UnsupportedDType,
        "makes elements of less than 8 bits, which attention does "
        "not store");
  return place(op, ResultPlace(*own));
}

/// Heads are in other tiles, so no scale may be of two, and scales of a part of
/// a head must not leave a remainder, whose lanes would have fewer columns.
Verdict ResultPlaces::addQuantization(Operation *op) {
  int64_t group = scaleColumnsOf(op);
  int64_t columns = tensorType(result).getShape().back(); // static: checkForm
  const ResultPlace &own = *find(op->getOperand(0));
  if (own.empty() || columns % group != 0)
    return Verdict::refuse(
        op, Reason::NeedsWholeRow,
        "needs other columns of its row, which are in other tiles: " +
            Twine(group) +
            " columns share a scale, which have to divide a "
            "head");
  std::optional<::hk::DType> type =
      dtypeOf(tensorType(op->getResult(0)).getElementType());
  if (!type || ::hk::info(*type).bits != 8)
    return Verdict::refuse(op, Reason::UnsupportedDType,
                           "makes elements of less than 8 bits, which "
                           "attention does not store");
  Verdict verdict = place(op, ResultPlace(own));
  if (verdict.accepted()) {
    quantization = op;
    places[op->getResult(1)] = places[op->getResult(0)];
  }
  return verdict;
}

/// Parts lists where the sizes of the new dims end.
Verdict ResultPlaces::addExpand(tensor::ExpandShapeOp op) {
  const ResultPlace &from = *find(op.getSrc());
  Value made = op.getResult();
  ResultPlace to(tensorType(made).getRank());
  for (auto [g, group] : llvm::enumerate(op.getReassociationIndices())) {
    ArrayRef<int64_t> list = from[g];
    auto large = llvm::make_filter_range(
        group, [&](int64_t d) { return dims.dim(made, d) != 1; });
    int64_t count = llvm::range_size(large);
    for (int64_t d : large) {
      DimName size = dims.dim(made, d);
      if (--count == 0) { // what is left
        to[d].assign(list.begin(), list.end());
        list = {};
        break;
      }
      int64_t known = 1;
      do {
        if (list.empty())
          return Verdict::refuse(op, Reason::UnsupportedShape,
                                 "parts a dim of the attention");
        DimName own = dims.dim(result, list.front());
        to[d].push_back(list.front());
        list = list.drop_front();
        if (own == size)
          break;
        if (SymShapeAttr::isSymbol(own) || SymShapeAttr::isSymbol(size))
          return Verdict::refuse(op, Reason::UnsupportedShape,
                                 "parts a dim of the attention");
        known *= own;
      } while (known < size);
      if (to[d].size() > 1 && known != size)
        return Verdict::refuse(op, Reason::UnsupportedShape,
                               "parts a dim of the attention");
    }
    if (!list.empty())
      return Verdict::refuse(op, Reason::UnsupportedShape,
                             "parts a dim of the attention");
  }
  return place(op, std::move(to));
}

Verdict ResultPlaces::addView(Operation *op) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return addExpand(expand);
  ResultPlace to;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    const ResultPlace &from = *find(collapse.getSrc());
    for (const ReassociationIndices &group :
         collapse.getReassociationIndices()) {
      SmallVector<int64_t, 2> &list = to.emplace_back();
      for (int64_t d : group)
        llvm::append_range(list, from[d]);
    }
    return place(op, std::move(to));
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    const ResultPlace &from = *find(transpose.getInput());
    for (int64_t d : transpose.getPermutation())
      to.push_back(from[d]);
    return place(op, std::move(to));
  }
  return Verdict::refuse(op, Reason::UnsupportedShape,
                         "takes a part of the attention");
}

/// Operators followed from a value to its readers.
static constexpr int kMostFollowed = 8;

static bool isFollowed(Operation *op) {
  return isView(op) || isa<TransposeOp>(op) || isElementwise(op);
}

/// Whether the scales of `op` are of columns of one head, which has `columns`.
static bool scalesHeads(Operation *op, int64_t columns) {
  int64_t group = scaleColumnsOf(op);
  return group != 0 && columns % group == 0;
}

/// Whether a kernel of whole rows reads `value`, or what is computed of its
/// elements: one of an operator that `isTaken` does not name.
static bool feedsRows(Value value,
                      llvm::function_ref<bool(Operation *)> isTaken,
                      int budget = kMostFollowed) {
  return budget > 0 && llvm::any_of(value.getUsers(), [&](Operation *user) {
           return isFollowed(user)
                      ? feedsRows(user->getResult(0), isTaken, budget - 1)
                      : isa<RowwiseOpInterface>(user) && !isTaken(user);
         });
}

bool mlir::hk::feedsKernelOfRows(AttentionOp attention,
                                 const ::hk::Target &target) {
  Value result = attention.getResult();
  return feedsRows(result, [&](Operation *user) {
    return scalesHeads(user, attention.getValueSize()) &&
           judgeEpilogue(attention, result, user, target).accepted();
  });
}

static int bitsOf(Value value) {
  std::optional<::hk::DType> type = dtypeOf(tensorType(value).getElementType());
  return type ? ::hk::info(*type).bits : 0;
}

/// A kernel of whole rows that follows computes `op` as well: the launches are
/// as many, and memory holds what the attention or what `op` makes.
static Verdict judgeRows(Operation *op, Value result) {
  if (isView(op) || isa<TransposeOp>(op))
    return Verdict::accept(); // its reader is judged
  int64_t columns = tensorType(result).getShape().back();
  if (bitsOf(op->getResult(0)) < bitsOf(result) ||
      !feedsRows(op->getResult(0),
                 [&](Operation *user) { return scalesHeads(user, columns); }))
    return Verdict::accept();
  return Verdict::refuse(
      op, Reason::CostlierFused,
      "is computed by the kernel of whole rows that follows, which "
      "would read as much behind it");
}

Verdict mlir::hk::checkJoinedEpilogue(ArrayRef<Operation *> group, Value result,
                                      Operation *op, const DimSymbols &dims) {
  ResultPlaces places(result, dims);
  for (Operation *member : group)
    (void)places.add(member); // accepted when it joined
  if (!places.isRead(op))
    return Verdict::refuse(
        op, Reason::NotAnEpilogue,
        "reads something else of the attention kernel than its "
        "result");
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def == result.getDefiningOp() && operand != result)
      return Verdict::refuse(op, Reason::NotAnEpilogue,
                             "reads the log-sum-exp");
  Verdict verdict = places.add(op);
  return verdict.accepted() ? judgeRows(op, result) : verdict;
}

/// Largest heads, and most queries of a sequence, whose epilogue was measured
/// to be as quick in the loops of sm_90a that the copy engine feeds
/// (benchmarks/results/h200-attention.md).
static constexpr int64_t kMostColumns = 64, kFewQueries = 64;
static constexpr int64_t kMostOfFewQueries = 128; // columns

/// Groups that waves cut the columns of values in at most, where those are
/// columns of keys (kAttentionCandidates).
static constexpr int64_t kMostColumnGroups = 4;

/// Whether whoever ends a row of `shape` on `target` has whole groups of its
/// columns; `bulk`: in the warp-specialised loop.
static Verdict checkScaleColumns(Operation *op,
                                 const ::hk::AttentionShape &shape, bool bulk,
                                 const ::hk::Target &target) {
  int64_t group = scaleColumnsOf(op);
  if (group == 0 || target.arch == ::hk::Arch::Host)
    return Verdict::accept();
  if (::hk::attentionSharesValues(shape) &&
      shape.valueDim / kMostColumnGroups % group != 0)
    return Verdict::refuse(
        op, Reason::UnsupportedShape,
        "has scales of " + Twine(group) + " columns, but waves share a row: " +
            Twine(shape.valueDim / kMostColumnGroups) + " columns each");
  // The lanes of a row put parts of other blocks together, eight columns each.
  if (bulk && (group % 8 != 0 || !llvm::isPowerOf2_64(uint64_t(group)) ||
               group > 8 * target.waveSize))
    return Verdict::refuse(
        op, Reason::UnsupportedShape,
        "has scales of " + Twine(group) +
            " columns; the loop that the copy engine feeds has them of 8, "
            "16, ..., 256");
  return Verdict::accept();
}

Verdict mlir::hk::judgeEpilogue(AttentionOp attention, Value result,
                                Operation *op, const ::hk::Target &target) {
  if (isView(op) || isa<TransposeOp>(op))
    return Verdict::accept(); // its reader is judged
  ::hk::AttentionShape shape = shapeOf(attention);
  ::hk::DType out = *dtypeOf(tensorType(result).getElementType());
  bool latent = checkLatent(attention, shape, out, target).accepted();
  bool bulk = checkBulk(attention, shape, out, target).accepted();
  Verdict columns = checkScaleColumns(op, shape, bulk, target);
  if (!columns.accepted())
    return columns;
  RankedTensorType query = tensorType(attention.getQuery());
  int64_t queries = query.getDimSize(attention.hasRaggedQueries() ? 0 : 1);
  bool few = !ShapedType::isDynamic(queries) && queries <= kFewQueries &&
             attention.getValueSize() <= kMostOfFewQueries;
  if (!latent && (!bulk || few || attention.getValueSize() <= kMostColumns))
    return Verdict::accept();
  return Verdict::refuse(
      op, Reason::CostlierFused,
      "is quicker in a launch of its own behind heads of more than " +
          Twine(kMostColumns) + " columns, or of more than " +
          Twine(kMostOfFewQueries) + " with up to " + Twine(kFewQueries) +
          " queries: every thread would compute 64 or more elements "
          "in turn at the end of a tile (measured)");
}

Verdict mlir::hk::checkTakenEpilogue(Operation *op) {
  if (isView(op) || isElementwise(op))
    return Verdict::accept();
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    if (!transpose.movesColumns())
      return Verdict::accept();
    return Verdict::refuse(op, Reason::UnsupportedShape,
                           "moves the elements of a head");
  }
  if (isa<RowwiseOpInterface>(op))
    return Verdict::refuse(op, Reason::NotAnEpilogue,
                           "is not computed where attention stores its result");
  return Verdict::refuse(op, Reason::OtherFamily,
                         "is not a pointwise operator");
}
