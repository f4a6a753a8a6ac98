//===- OneHot.cpp - Rows of which one element is another ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Places along a new dim are compared with an index.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// Input 2 of OneHot, [off, on]: element `i`, of rank 0.
static FailureOr<Tensor> valueAt(Node &node, int64_t i) {
  HK_TRY(values, node.tensor(2));
  if (values.rank() != 1 || !values.shape[0].isConstant(2))
    return node.error() << "expected two values, off and on, but got "
                        << node.describe(values.shape);
  if (values.dtype == kBool || values.dtype == kUInt8)
    return node.error() << "expected values that are numbers, but got "
                        << dtypeName(values.dtype) << "; cast the result";
  HK_TRY(one, node.slice(values, 0, i, 1));
  return node.reshape(one, {});
}

/// Input 1 of OneHot, which may be a real number.
static FailureOr<int64_t> depthOf(Node &node) {
  constexpr int64_t kMostDepth = 1 << 24;
  const Item &item = node.input(1);
  double depth = 0;
  if (const DTypeInfo *info = dtypeInfo(item.dtype);
      item.data && info && info->isFloat) {
    depth = item.data->getNumElements() == 1 ? item.data->number(0) : 0;
  } else {
    HK_TRY(integers, node.integers(1, "depth"));
    depth = integers.size() == 1 ? double(integers[0]) : 0;
  }
  if (!(depth >= 1 && depth <= kMostDepth))
    return node.error() << "expected one depth from 1 to " << kMostDepth;
  return int64_t(depth);
}

static LogicalResult oneHot(Node &node) {
  HK_TRY(depth, depthOf(node));
  // An index outside of all places is none of them.
  HK_TRY(indices, indicesInto(node, 0, depth));
  HK_TRY(axis, node.axis(node.integer("axis", -1), indices.rank() + 1));
  Shape one = indices.shape;
  one.insert(one.begin() + axis, Size(1));
  HK_TRY(index, node.reshape(indices, one));
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq(depth));
  HK_TRY(row, node.constant(
                  node.graph.store.makeIntegers(indices.dtype, depth, numbers),
                  "hk.places"));
  Shape along(one.size(), Size(1));
  along[axis] = depth;
  HK_TRY(places, node.reshape(row, along));
  HK_TRY(hot, node.compare(ComparePredicate::eq, index, places));
  HK_TRY(on, valueAt(node, 1));
  HK_TRY(off, valueAt(node, 0));
  HK_TRY(made, node.select(hot, on, off));
  return node.result(0, made);
}

ArrayRef<Operator> mlir::hk::importer::oneHotOperators() {
  static const Operator table[] = {
      {"", "OneHot", 11, 3, 3, oneHot,
       "integer indices, a depth known at import"},
  };
  return table;
}
