//===- Table.cpp - The table of operators ---------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All files' tables, and what the importer answers of them.
//
//===----------------------------------------------------------------------===//

#include "Convolutions.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

ArrayRef<Operator> mlir::hk::importer::allOperators() {
  static const std::vector<Operator> all = [] {
    std::vector<Operator> made;
    for (ArrayRef<Operator> table :
         {pointwiseOperators(),    logicOperators(),
          reductionOperators(),    normOperators(),
          viewOperators(),         gatherOperators(),
          constantOperators(),     productOperators(),
          attentionOperators(),    rotaryOperators(),
          quantisationOperators(), integerProductOperators(),
          blockwiseOperators(),    expertOperators(),
          choiceOperators(),       convolutionOperators(),
          poolingOperators(),      resizeOperators(),
          channelOperators(),      einsumOperators(),
          formulaOperators(),      oneHotOperators(),
          paddingOperators(),      integerConvolutionOperators(),
          requantisedOperators(),  scatterOperators(),
          recurrentOperators()})
      made.insert(made.end(), table.begin(), table.end());
    llvm::sort(made, [](const Operator &a, const Operator &b) {
      return std::tuple(StringRef(a.domain), StringRef(a.name), a.since) <
             std::tuple(StringRef(b.domain), StringRef(b.name), b.since);
    });
    return made;
  }();
  return all;
}

const Operator *mlir::hk::importer::findOperator(StringRef domain,
                                                 StringRef name, int opset) {
  const Operator *found = nullptr;
  // In ascending order of opsets: the last that is old enough.
  for (const Operator &op : allOperators())
    if (domain == op.domain && name == op.name && op.since <= opset)
      found = &op;
  return found;
}

std::vector<OnnxOperatorInfo> mlir::hk::onnxOperators() {
  std::vector<OnnxOperatorInfo> infos;
  for (const Operator &op : allOperators())
    infos.push_back({op.domain, op.name, op.summary, op.since});
  return infos;
}
