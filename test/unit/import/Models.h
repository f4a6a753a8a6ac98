//===- Models.h - Models to damage ---------------------------- -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of damaged and hostile models share.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TEST_IMPORT_MODELS_H
#define HK_TEST_IMPORT_MODELS_H

#include <onnx/onnx_pb.h>

#include "gtest/gtest.h"

#include <random>
#include <string>
#include <vector>

/// Models that import: operators of ONNX's own, quantised ones with functions,
/// a decoder layer, convolutions.
const std::vector<::onnx::ModelProto> &wholeModels();

/// Imports, raises and prints these bytes; whether they are a model, and the
/// errors.
bool importBytes(const std::string &bytes, std::string &errors);

/// Every mutant is a module, or an error says why not.
void checkMutant(const std::string &bytes, unsigned &accepted);

#endif // HK_TEST_IMPORT_MODELS_H
