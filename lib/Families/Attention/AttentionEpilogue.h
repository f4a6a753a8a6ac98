//===- AttentionEpilogue.h - What attention kernels take in -----*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An attention kernel takes as epilogue what is computed from one element of
// its result: pointwise operators, and views between them that join, part or
// swap dims. A place says where in such a value the element lies. Last of all
// it takes a quantisation whose scales are of columns of one head.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_ATTENTION_ATTENTIONEPILOGUE_H
#define HK_FAMILIES_ATTENTION_ATTENTIONEPILOGUE_H

#include "hk/Dialect/HK.h"
#include "hk/Families/Family.h"

namespace mlir::hk {

class AttentionPlan;

/// For each dim of a value the dims of the result that it counts, the outermost
/// first; those of size 1 are left out.
using ResultPlace = SmallVector<SmallVector<int64_t, 2>>;

/// The places of what follows `result`, that of an attention kernel.
class ResultPlaces {
public:
  ResultPlaces(Value result, const DimSymbols &dims);

  /// Whether a kernel can compute `op` where it stores the result. What does
  /// not follow the result has no place, and none is needed.
  Verdict add(Operation *op);

  /// Null: it does not follow the result.
  const ResultPlace *find(Value value) const;
  /// Whether an operand of `op` follows the result.
  bool isRead(Operation *op) const;
  /// The quantisation that ends what follows, or null.
  Operation *getQuantization() const { return quantization; }

private:
  Verdict addQuantization(Operation *op);
  Verdict addPointwise(Operation *op);
  Verdict addView(Operation *op);
  Verdict addExpand(tensor::ExpandShapeOp op);
  /// Columns stay side by side.
  Verdict place(Operation *op, ResultPlace place);

  Value result;
  const DimSymbols &dims;
  llvm::DenseMap<Value, ResultPlace> places;
  Operation *quantization = nullptr;
};

/// The columns that share a scale of a quantisation which computes its scales;
/// 0: `op` is none.
int64_t scaleColumnsOf(Operation *op);

/// Whether `op`, which reads `result` of the kernel of `group` or what follows
/// it, may be computed there.
Verdict checkJoinedEpilogue(ArrayRef<Operation *> group, Value result,
                            Operation *op, const DimSymbols &dims);
/// Whether `op` behind `result` of `attention` is no slower in its kernel than
/// in a launch of its own, as far as that was measured.
Verdict judgeEpilogue(AttentionOp attention, Value result, Operation *op,
                      const ::hk::Target &target);
/// Whether a kernel of whole rows reads the result of `attention`, or what its
/// epilogue would compute of it, so that slices of the keys may be combined
/// there. A quantisation that the epilogue would end with is none.
bool feedsKernelOfRows(AttentionOp attention, const ::hk::Target &target);
/// Whether the kernel can compute `op`, which what follows its result reads
/// beside that.
Verdict checkTakenEpilogue(Operation *op);

/// Writes the functor Epilogue of a kernel that has one.
void emitAttentionEpilogue(const AttentionPlan &kernel,
                           const ::hk::Target &target, raw_ostream &os);

} // namespace mlir::hk

#endif // HK_FAMILIES_ATTENTION_ATTENTIONEPILOGUE_H
