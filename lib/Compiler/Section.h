//===- Section.h - One target of a module, ready to link --------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the pipeline leaves of a module for one target: the plain data from
// which the tables of the module ABI are written. No MLIR types, so that a
// section outlives the IR it came from.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_COMPILER_SECTION_H
#define HK_LIB_COMPILER_SECTION_H

#include "hk/Contract/DType.h"
#include "hk/Contract/Target.h"
#include "hk/Contract/WeightSlice.h"
#include "hk/Runtime/ModuleAbi.h"

#include "mlir/IR/Location.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::hk {

struct VariantRecord {
  std::string symbol, tile;
  uint32_t threads = 0;
  uint32_t ldsBytes = 0;
  std::vector<hk_tensor_map_abi> maps;
  /// Its registers spill, and the family has no other tile.
  bool isLast = false;
};

/// A tensor that a kernel is launched on; `sizes` as in SymShapeAttr.
struct OperandRecord {
  ::hk::DType dtype;
  std::vector<int64_t> sizes;
};

/// As hk_collective_abi.
struct CollectiveRecord {
  std::string axis;
  ::hk::DType dtype, resultDType;
  uint32_t reduction = 0;
  bool anyOrder = false;
  int64_t split = -1, concat = -1, root = -1;
  std::vector<int64_t> sizes;
  uint32_t input = 0, inputStride = 0, extraWords = 0;
  int64_t mostPushed = 0, leastSent = 0;
  uint64_t sending = 0; // variants, a bit each
};

struct KernelRecord {
  std::string name, family, ops, planSymbol;
  std::vector<OperandRecord> inputs, outputs;
  /// Operators and their places in the source, of the first launch.
  std::vector<std::pair<std::string, Location>> sources;
  uint32_t numPointers = 0, numDims = 0, numStrides = 0;
  std::vector<VariantRecord> variants;
  /// Of a kernel that exchanges tensors with other ranks.
  std::optional<CollectiveRecord> collective;
  /// The runtime's engine runs it: it has no text and no binary.
  bool isOfEngine() const { return collective && collective->extraWords == 0; }
  std::string text;   // translation unit
  std::string binary; // object (host), code object (AMD) or PTX, once compiled
};

struct ArgumentRecord {
  std::string name;
  ::hk::DType dtype;
  hk_arg_role role;
  std::vector<int64_t> sizes;
  std::vector<std::string> dimNames; // "" where static
  std::string values;                // as in hk_arg_abi; "" for none
};

struct FunctionRecord {
  std::string name, runSymbol, shapeSymbol;
  std::vector<ArgumentRecord> arguments;
  uint32_t numLaunches = 0, numCollectives = 0;
  std::vector<std::string> order; // kernels by launch
  /// What a call with few rows launches instead, the fewest first.
  struct Version {
    std::string dim; // that counts the rows, as in `arguments`
    int64_t atMost;
    std::vector<std::string> order;
  };
  std::vector<Version> versions;
  struct Guard {
    std::string lhs, rhs;
    uint32_t relation; // hk_guard_relation
  };
  std::vector<Guard> guards;
};

struct WeightRecord {
  std::string source;
  std::string file; // from the module's folder; "": the module's own file
  ::hk::DType dtype;
  std::vector<int64_t> sizes; // of the tensor in its file
  uint64_t bytes = 0;
  std::vector<uint64_t> checksums; // as in hk_weight_abi
  std::vector<::hk::WeightSlice> slices;
};

struct Section {
  const ::hk::Target *target = nullptr;
  std::string cpuFeatures;
  std::string mesh; // "": one rank
  std::vector<KernelRecord> kernels;
  std::vector<FunctionRecord> functions;
  std::string llvmIR;
};

} // namespace mlir::hk

#endif // HK_LIB_COMPILER_SECTION_H
