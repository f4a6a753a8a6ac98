//===- Quantisation.cpp - Quantisation of ONNX ----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To come.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace mlir;
using namespace mlir::hk::importer;

ArrayRef<Operator> mlir::hk::importer::quantisationOperators() { return {}; }
