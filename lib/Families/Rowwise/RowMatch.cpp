//===- RowMatch.cpp - Which operators share a row-wise kernel -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of the members must be the same, and every operand that the kernel
// itself makes must be needed in its own row only.
//
//===----------------------------------------------------------------------===//

#include "RowPlan.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/LoopMaps.h"
#include "hk/Contract/Cost.h"
#include "hk/Contract/Exchange.h"
#include "hk/Families/SmallReduction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

/// A segment that does not fit the lanes of a wave is reduced by every thread
/// for itself; beyond this size that is not worth it.
static constexpr int64_t kMaxSegment = 1024;
static constexpr int64_t kMaxOddSegment = 256;
/// hk.topk keeps what it selects in LDS, on the host on the stack.
static constexpr int64_t kMaxSelected = 16384;
/// hk.group_limit keeps the row in LDS.
static constexpr int64_t kMaxGroupedRow = 4096;
static constexpr size_t kMaxOps = 96;
static constexpr size_t kMaxOperands = 40;

bool mlir::hk::isRowwiseOp(Operation *op) {
  return isa<RowwiseOpInterface, AllReduceOp>(op) || isView(op);
}

int64_t mlir::hk::reducedDims(Operation *op) {
  auto rowwise = dyn_cast<RowwiseOpInterface>(op);
  return rowwise ? rowwise.getNumReducedDims() : 1;
}

static int64_t maxSegment(int64_t size) {
  return llvm::isPowerOf2_64(size) ? kMaxSegment : kMaxOddSegment;
}

bool mlir::hk::reducesWholeRow(Operation *op, ArrayRef<DimName> shape,
                               int64_t numRows) {
  int64_t reduced = reducedDims(op);
  int64_t between = int64_t(shape.size()) - reduced - numRows;
  if (between <= 0)
    return between == 0;
  // One segment is the row as well. Where it fits the lanes of a wave that is
  // how it is reduced, as the segments of its neighbours are.
  bool one = llvm::all_of(shape.slice(numRows, between),
                          [](DimName dim) { return dim == 1; });
  return one && (reduced > 1 || shape.back() < 0 ||
                 shape.back() > maxSegment(shape.back()));
}

bool mlir::hk::isTransposedStore(Operation *op,
                                 llvm::function_ref<bool(Operation *)> isMember,
                                 bool isAlone) {
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose || transpose.getPermutation().empty())
    return false;
  auto type = cast<RankedTensorType>(transpose.getType());
  // Two elements that share a byte must be stored together.
  if (isPacked(type.getElementType()) && transpose.movesColumns())
    return false;
  bool anyColumns = storesShortRows(op);
  // Elementwise readers may join it and read single elements of few operands.
  if (isAlone && anyColumns &&
      llvm::none_of(op->getUsers(), [](Operation *user) {
        return isRecomputable(user) || isView(user);
      }))
    return true;
  if (transpose.getPermutation().front() == 0 && !anyColumns)
    return false;
  Operation *producer = transpose.getInput().getDefiningOp();
  if (!producer || isa<ConstantOp>(producer) || !isMember(producer))
    return false;
  return llvm::none_of(op->getUsers(), [&](Operation *user) {
    return isMember(user) && !user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// The leading dims that are rows for `op`; `anyRow`: whatever row of its
/// operands it needs is at hand.
static SmallVector<DimName> rowsOf(Operation *op, const DimSymbols &dims,
                                   bool isTransposed, bool anyRow) {
  if (anyRow)
    return SmallVector<DimName>(dims.shape(op->getResult(0)));
  if (isTransposed)
    return SmallVector<DimName>(dims.shape(op->getOperand(0)).drop_back());
  if (auto write = dyn_cast<KVCacheWriteOp>(op))
    return SmallVector<DimName>(dims.shape(write.getValues()).drop_back(2));
  SmallVector<DimName> rows(dims.shape(op->getResult(0)));
  if (auto rowwise = dyn_cast<RowwiseOpInterface>(op))
    rows.pop_back_n(std::min<size_t>(rows.size(), rowwise.getNumLocalDims()));
  return rows;
}

static Verdict refuseView(Operation *op, const Twine &why) {
  return Verdict::refuse(Reason::UnsupportedShape,
                         op->getName().getStringRef() + " " + why);
}

/// Whether `op` is a form of its operator that can be pulled.
static Verdict checkForm(Operation *op) {
  for (Value value : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(value.getType());
        !type || !dtypeOf(type.getElementType()))
      return Verdict::refuse(Reason::UnsupportedDType,
                             "a result is not a tensor of an hk element type");
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic) ||
        llvm::any_of(slice.getStaticStrides(), ShapedType::isDynamic))
      return refuseView(op, "has dynamic offsets or strides");
  }
  if (auto topk = dyn_cast<TopkOp>(op); topk && topk.getK() > kMaxSelected)
    return refuseView(op, "selects " + Twine(topk.getK()) + "; at most " +
                              Twine(kMaxSelected) + " are supported");
  if (auto limit = dyn_cast<GroupLimitOp>(op)) {
    int64_t n =
        cast<RankedTensorType>(limit.getInput().getType()).getShape().back();
    if (n > kMaxGroupedRow)
      return refuseView(op, "has rows of " + Twine(n) + "; at most " +
                                Twine(kMaxGroupedRow) + " are supported");
  }
  return Verdict::accept();
}

/// A statistic that is not over the kernel's whole row must be over something
/// small.
static Verdict checkSegments(Operation *op, const DimSymbols &dims,
                             int64_t numRows) {
  if (isSelection(op) &&
      int64_t(dims.shape(op->getOperand(0)).size()) != numRows + 1)
    return Verdict::refuse(Reason::NeedsWholeRow,
                           op->getName().getStringRef() +
                               " selects from a part of the kernel's row; "
                               "hk.group_limit selects groups of a row");
  if (rowReductionsOf(op).empty())
    return Verdict::accept();
  ArrayRef<DimName> shape = dims.shape(op->getOperand(0));
  int64_t size = reductionGroupOf(op);
  if (size == 0) {
    int64_t reduced = reducedDims(op);
    if (reducesWholeRow(op, shape, numRows))
      return Verdict::accept();
    if (reduced > 1)
      return Verdict::refuse(Reason::NeedsWholeRow,
                             op->getName().getStringRef() + " reduces " +
                                 Twine(reduced) + " dims, a part of the row");
    size = shape.back();
  }
  if (size < 0)
    return Verdict::refuse(Reason::NeedsWholeRow,
                           op->getName().getStringRef() +
                               " reduces a part of the row of dynamic size");
  if (size > maxSegment(size))
    return Verdict::refuse(Reason::NeedsWholeRow,
                           op->getName().getStringRef() + " reduces " +
                               Twine(size) + " elements, a part of the row; " +
                               "at most " + Twine(maxSegment(size)) +
                               " is supported");
  return Verdict::accept();
}

namespace {
/// The operators of a group that belong to no row: elementwise on operands of
/// the kernel, and read as parameters by the group only. They are computed
/// wherever they are pulled.
class Parameters {
public:
  Parameters(ArrayRef<Operation *> ops,
             const llvm::SmallPtrSetImpl<Operation *> &members,
             Operation *joining)
      : members(members), joining(joining) {
    for (Operation *op : ops)
      if (fromParameters(op))
        found.insert(op);
    // What one loses by a use of its own, those that feed it or that it feeds
    // may lose as well.
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *op : llvm::reverse(ops))
        if (found.contains(op) &&
            (!fromParameters(op) || !readAsParameter(op->getResult(0))))
          changed |= found.erase(op);
    }
  }
  bool contains(Operation *op) const { return found.contains(op); }

private:
  bool fromParameters(Operation *op) const {
    if (isa<ConstantOp>(op) || !(isRecomputable(op) || isView(op)))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || !members.contains(def) || isa<ConstantOp>(def) ||
             found.contains(def);
    });
  }
  bool readAsParameter(Value value) const {
    return llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (members.contains(user))
        return found.contains(user) || readsAsParameter(use);
      if (user == joining && !isView(user))
        return readsAsParameter(use);
      return joining && isView(user) && readAsParameter(user->getResult(0));
    });
  }

  const llvm::SmallPtrSetImpl<Operation *> &members;
  Operation *joining;
  llvm::SmallPtrSet<Operation *, 8> found;
};
} // namespace

/// "[4, 8]"; a dynamic size that is one of an argument's says so.
static std::string describeDims(ArrayRef<DimName> names,
                                const DimSymbols &dims) {
  if (names.empty())
    return "all dims in one row";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(names, os, [&](DimName name) {
    if (name >= 0) {
      os << name;
      return;
    }
    const SizeExpr &size = dims.definition(-1 - name);
    auto argument = dyn_cast_or_null<BlockArgument>(size.value);
    if (size.kind == SizeExpr::Kind::Argument && argument)
      os << "? of argument " << argument.getArgNumber() << " dim " << size.dim;
    else
      os << "?";
  });
  os << "]";
  return text;
}

static Verdict refuseRows(Operation *op, ArrayRef<DimName> own,
                          ArrayRef<DimName> rows, const DimSymbols &dims) {
  bool unproved =
      !own.empty() && !rows.empty() && (own.front() < 0 || rows.front() < 0);
  return Verdict::refuse(
      Reason::RowDimsDiffer,
      op->getName().getStringRef() +
          " has other rows than the rest of the kernel: " +
          describeDims(own, dims) + ", not " + describeDims(rows, dims) +
          (unproved ? "; nothing shows that these sizes are equal" : ""));
}

/// Whether `op` reduces a whole tensor to one number.
static bool reducesAll(Operation *op) {
  if (rowReductionsOf(op).empty())
    return false;
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  return reducedDims(op) == result.getRank() && result.hasStaticShape() &&
         result.getNumElements() == 1;
}

/// Whether `type` is of a tensor that one workgroup reads soon.
static bool isSmall(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || isSmallReduction(shaped.getShape());
}

/// Whether the workgroup that reduces a large tensor may compute it, too:
/// nothing else reads it, and no more is read than the tensor would be.
static bool
computesWhatItReduces(ArrayRef<Operation *> ops,
                      const llvm::SmallPtrSetImpl<Operation *> &members) {
  llvm::SmallDenseSet<Value, 4> loaded;
  unsigned reduced = 0, read = 0;
  for (Operation *op : ops) {
    if (reducesAll(op))
      reduced = getElementTypeOrSelf(op->getOperand(0).getType())
                    .getIntOrFloatBitWidth();
    else if (!isRecomputable(op) ||
             llvm::any_of(op->getResults(), [&](Value result) {
               return !isSmall(result.getType()) &&
                      !llvm::all_of(result.getUsers(), [&](Operation *user) {
                        return members.contains(user);
                      });
             }))
      return false;
    for (Value operand : op->getOperands())
      if (!members.contains(operand.getDefiningOp()) &&
          !isSmall(operand.getType()) && loaded.insert(operand).second)
        read += getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth();
  }
  return read <= reduced;
}

/// A reduction of a whole tensor makes its kernel one row, which one workgroup
/// computes: worth it if everything is small, or if the tensor is read by one
/// workgroup in any case.
static bool makesOneRow(ArrayRef<Operation *> ops,
                        const llvm::SmallPtrSetImpl<Operation *> &members) {
  auto isOfSmall = [](Operation *op) {
    return llvm::all_of(op->getOperandTypes(), isSmall) &&
           llvm::all_of(op->getResultTypes(), isSmall);
  };
  return llvm::any_of(ops, reducesAll) &&
         (llvm::all_of(ops, isOfSmall) || computesWhatItReduces(ops, members));
}

/// Packed types are stored two elements at a time, and the scale of a group
/// where the group begins: between two elements where its size is odd.
static Verdict checkPairs(ArrayRef<Operation *> ops) {
  bool packed = llvm::any_of(ops, [](Operation *op) {
    return llvm::any_of(op->getResultTypes(), [](Type type) {
      return isPacked(getElementTypeOrSelf(type));
    });
  });
  for (Operation *op : ops)
    if (packed && reductionGroupOf(op) % 2 != 0)
      return Verdict::refuse(Reason::UnsupportedShape,
                             "elements of 4 bits beside groups of " +
                                 Twine(reductionGroupOf(op)) +
                                 ", an odd number");
  return Verdict::accept();
}

/// Whether `op` puts rows together, or in another order, of which the group
/// makes none: class tokens in front of patches, heads in front of tokens. They
/// are in memory, so that each row of the result can be found by itself.
static bool findsRowsInMemory(Operation *op,
                              function_ref<bool(Operation *)> makesRows) {
  auto concat = dyn_cast<ConcatOp>(op);
  bool joins =
      concat && int64_t(concat.getDim()) + 1 < concat.getType().getRank();
  return (joins || isa<TransposeOp>(op)) &&
         llvm::none_of(op->getOperands(), [&](Value operand) {
           Operation *def = operand.getDefiningOp();
           return def && makesRows(def);
         });
}

/// Refuses columns of memory as what is reduced, rows or groups of a row: each
/// phase would load their elements one by one, and lanes share no group.
/// `isOfMemory`: whether an operator orders elements of memory.
static Verdict checkColumns(ArrayRef<Operation *> ops,
                            function_ref<bool(Operation *)> isOfMemory) {
  bool reduces = llvm::any_of(
      ops, [](Operation *op) { return !rowReductionsOf(op).empty(); });
  for (Operation *op : ops) {
    auto transpose = dyn_cast<TransposeOp>(op);
    if (reduces && transpose && isOfMemory(op) && transpose.movesColumns())
      return Verdict::refuse(Reason::CostlierFused,
                             "a reduction would load columns of the operand of "
                             "hk.transpose, an element at a time");
  }
  return Verdict::accept();
}

/// A kernel has one sum over ranks, of rows that lie in memory and fit into
/// LDS.
static Verdict checkExchange(ArrayRef<Operation *> ops,
                             const llvm::SmallPtrSetImpl<Operation *> &members,
                             const DimSymbols &dims, const RowDims &rows) {
  AllReduceOp sum;
  for (Operation *op : ops) {
    auto other = dyn_cast<AllReduceOp>(op);
    if (!other)
      continue;
    if (sum)
      return Verdict::refuse(Reason::OtherFamily,
                             "a kernel makes one exchange with other ranks");
    sum = other;
  }
  if (!sum)
    return Verdict::accept();
  if (members.contains(sum.getInput().getDefiningOp()))
    return Verdict::refuse(
        Reason::OtherFamily,
        "an exchange with other ranks reads its operand from "
        "memory");
  if (llvm::any_of(ops, isSelection))
    return Verdict::refuse(Reason::OtherFamily,
                           "a selection and an exchange with other ranks have "
                           "a row in LDS each");
  ArrayRef<DimName> shape = dims.shape(sum.getResult());
  std::optional<int64_t> size =
      RowPlan::flatSize(shape.drop_front(rows.sizes.size()));
  int64_t bits = sum.getType().getElementTypeBitWidth();
  if (!size)
    return Verdict::refuse(Reason::SizeUnknown,
                           "the row that is exchanged has a dynamic size");
  if (*size * bits / 8 > ::hk::kMostExchangedBytes)
    return Verdict::refuse(Reason::LdsExceeded,
                           "the kernel's row has " + Twine(*size) +
                               " elements; at most " +
                               Twine(::hk::kMostExchangedBytes) +
                               " bytes of sums are kept in LDS");
  return Verdict::accept();
}

/// The elements of the operand of `transpose` that one of its uses needs.
static AffineMap mapThrough(TransposeOp transpose, OpOperand &use) {
  SmallVector<AffineMap> maps = operandMapsOf(use.getOwner());
  AffineMap map = maps.empty() ? AffineMap() : maps[use.getOperandNumber()];
  return map ? transpose.getOperandMaps().front().compose(map) : AffineMap();
}

static bool isRowDim(AffineMap map, int64_t dim) {
  return map && map.getResult(dim) == getAffineDimExpr(dim, map.getContext());
}

/// Whether `op` moves rows for members only, which need those of its operand:
/// slices that are put in front of hk.sum_slices. Nobody stores its result, so
/// its rows are those that its readers ask for.
static bool isReadThrough(Operation *op,
                          const llvm::SmallPtrSetImpl<Operation *> &members) {
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose || op->use_empty() || transpose.getPermutation().empty() ||
      transpose.getPermutation().front() == 0)
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    return members.contains(use.getOwner()) &&
           isRowDim(mapThrough(transpose, use), 0);
  });
}

/// Whether `operand` is needed in its own row only; where a transpose is read
/// through, its operand is, which `source` becomes.
static bool
staysInRowThrough(OpOperand &operand, int64_t numRows, Value &source,
                  const llvm::SmallPtrSetImpl<Operation *> &members) {
  source = operand.get();
  auto transpose = source.getDefiningOp<TransposeOp>();
  if (numRows == 0 || !transpose || !members.contains(transpose) ||
      !isReadThrough(transpose, members))
    return staysInRow(operand, numRows);
  source = transpose.getInput();
  AffineMap map = mapThrough(transpose, operand);
  return numRows < int64_t(map.getNumResults()) &&
         llvm::all_of(
             llvm::seq<int64_t>(0, numRows),
             [&](int64_t dim) { return isRowDim(map, dim); });
}

/// Whether each operator reduces a part of a row that fits, and needs nothing
/// of other rows that the group makes.
static Verdict checkMembers(ArrayRef<Operation *> ops,
                            const llvm::SmallPtrSetImpl<Operation *> &members,
                            function_ref<bool(Operation *)> hasNoRows,
                            const DimSymbols &dims, const RowDims &rows) {
  int64_t numRows = rows.sizes.size();
  for (Operation *op : ops) {
    if (hasNoRows(op) || isReadThrough(op, members))
      continue;
    // Its rows are those of its operand.
    bool isTransposed = isTransposedStore(
        op, [&](Operation *other) { return members.contains(other); },
        ops.size() == 1);
    if (Verdict segments = checkSegments(op, dims, numRows);
        !segments.accepted())
      return segments;
    for (OpOperand &operand : op->getOpOperands()) {
      Value source;
      bool inRow = staysInRowThrough(operand, numRows, source, members);
      Operation *producer = source.getDefiningOp();
      if (!producer || !members.contains(producer) || hasNoRows(producer))
        continue;
      if (isa<KVCacheWriteOp>(producer))
        return Verdict::refuse(Reason::StateReadAndWritten,
                               "a written cache is read in the same kernel");
      ArrayRef<DimName> shape = dims.shape(source);
      bool sameRows = int64_t(shape.size()) >= numRows &&
                      shape.take_front(numRows) == ArrayRef(rows.sizes);
      if (!sameRows || !(isTransposed || inRow))
        return Verdict::refuse(Reason::CrossesRows,
                               op->getName().getStringRef() +
                                   " needs other rows of its operand");
    }
  }
  return Verdict::accept();
}

/// Values that `ops` read and that none of `members` makes.
static size_t countOperands(ArrayRef<Operation *> ops,
                            const llvm::SmallPtrSetImpl<Operation *> &members) {
  llvm::SmallPtrSet<Value, 16> operands;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!members.contains(operand.getDefiningOp()))
        operands.insert(operand);
  return operands.size();
}

/// Leaves of `rows`, those of the operators in front, what `own` begins with,
/// too.
static void keepCommon(SmallVectorImpl<DimName> &rows, ArrayRef<DimName> own) {
  size_t common = 0;
  while (common < std::min(own.size(), rows.size()) &&
         own[common] == rows[common])
    ++common;
  rows.truncate(common);
}

/// Leaves of `rows` those of tokens where angles of a rotary embedding are
/// computed and the vector unit bounds: all heads of a token are one row then,
/// and a thread that has several of them computes their angles once.
static void joinHeads(ArrayRef<Operation *> ops,
                      SmallVectorImpl<DimName> &rows) {
  auto isComputed = [](Value table) {
    Operation *def = table.getDefiningOp();
    return def && computesAngles(def);
  };
  if (llvm::any_of(ops, [](Operation *op) {
        return isSelection(op) || !rowReductionsOf(op).empty();
      }))
    return;
  for (Operation *op : ops) {
    auto rope = dyn_cast<RopeOp>(op);
    const ::hk::Target *target = targetOf(op);
    if (!rope || !target || !::hk::boundByIssue(*target) ||
        !(isComputed(rope.getCos()) || isComputed(rope.getSin())))
      continue;
    size_t tokens = size_t(rope.getPositionDim()) + 1;
    if (tokens < rows.size() &&
        RowPlan::flatSize(ArrayRef(rows).drop_front(tokens)))
      rows.truncate(tokens);
  }
}

/// `rowsInMemory`: an operator that joins or orders rows in memory has the rows
/// of its result; else those in front of the dims along which it moves them.
static Verdict match(ArrayRef<Operation *> ops, const DimSymbols &dims,
                     RowDims &rows, Operation *joining, bool rowsInMemory) {
  if (ops.size() > kMaxOps)
    return Verdict::refuse(Reason::GroupFull, "more than " + Twine(kMaxOps) +
                                                  " operators in a kernel");
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  Parameters parameters(ops, members, joining);
  auto hasNoRows = [&](Operation *op) {
    return isa<ConstantOp>(op) || parameters.contains(op);
  };
  auto isOfMemory = [&](Operation *op) {
    return !hasNoRows(op) && findsRowsInMemory(op, [&](Operation *def) {
      return members.contains(def) && !hasNoRows(def);
    });
  };
  auto findsAnyRow = [&](Operation *op) {
    return rowsInMemory && isOfMemory(op);
  };
  // Lanes share no group of a row that ends within one. On an H200 a second
  // launch for few rows costs more than their elements.
  bool cutsGroups = llvm::any_of(ops, [&](Operation *op) {
    int64_t group = reductionGroupOf(op);
    return group != 0 && dims.shape(op->getOperand(0)).back() % group != 0;
  });
  auto findsColumns = [&](Operation *op) {
    const ::hk::Target *target = targetOf(op);
    return findsAnyRow(op) || (cutsGroups && target &&
                               ::hk::boundByIssue(*target) && isOfMemory(op));
  };
  bool first = true, oneRow = makesOneRow(ops, members);
  int64_t maxRank = 0;
  for (Operation *op : ops) {
    if (!isRowwiseOp(op))
      return Verdict::refuse(Reason::OtherFamily,
                             op->getName().getStringRef() +
                                 " is not a row-wise operator");
    if (Verdict form = checkForm(op); !form.accepted())
      return form;
    if (hasNoRows(op) || (!findsAnyRow(op) && isReadThrough(op, members)))
      continue;
    bool isTransposed = isTransposedStore(
        op, [&](Operation *other) { return members.contains(other); },
        ops.size() == 1);
    SmallVector<DimName> own = rowsOf(op, dims, isTransposed, findsAnyRow(op));
    bool isWrite = isa<KVCacheWriteOp>(op);
    maxRank = std::max<int64_t>(
        maxRank, isWrite ? 3 : int64_t(dims.shape(op->getResult(0)).size()));
    if (first) {
      rows.sizes = own;
      first = false;
      continue;
    }
    SmallVector<DimName> others(rows.sizes);
    keepCommon(rows.sizes, own);
    if (rows.sizes.empty() && (!others.empty() || !own.empty()) && !oneRow)
      return refuseRows(op, own, others, dims);
  }
  joinHeads(ops, rows.sizes);
  // Whole rows make vectors: the last dim is never a row dim.
  if (!rows.sizes.empty() && int64_t(rows.sizes.size()) >= maxRank)
    rows.sizes.truncate(maxRank - 1);
  if (countOperands(ops, members) > kMaxOperands)
    return Verdict::refuse(Reason::GroupFull, "more than " +
                                                  Twine(kMaxOperands) +
                                                  " operands of a kernel");

  if (Verdict pairs = checkPairs(ops); !pairs.accepted())
    return pairs;
  if (Verdict exchange = checkExchange(ops, members, dims, rows);
      !exchange.accepted())
    return exchange;
  if (Verdict columns = checkColumns(ops, findsColumns); !columns.accepted())
    return columns;
  return checkMembers(ops, members, hasNoRows, dims, rows);
}

Verdict mlir::hk::matchRows(ArrayRef<Operation *> ops, const DimSymbols &dims,
                            RowDims &rows, Operation *joining) {
  Verdict whole = match(ops, dims, rows, joining, /*rowsInMemory=*/false);
  if (whole.accepted() || llvm::none_of(ops, isMovement))
    return whole;
  RowDims found;
  Verdict inMemory = match(ops, dims, found, joining, /*rowsInMemory=*/true);
  if (inMemory.accepted())
    rows = std::move(found);
  return inMemory.accepted() || inMemory.getReason() == Reason::CostlierFused
             ? inMemory
             : whole;
}
