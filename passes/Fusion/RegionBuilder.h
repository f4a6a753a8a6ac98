//===- RegionBuilder.h - From groups to hk.fused -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the region of each group once, in any order; the block is scheduled
// afterwards.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES_FUSION_REGIONBUILDER_H
#define HK_PASSES_FUSION_REGIONBUILDER_H

#include "Fusion/FusionTable.h"
#include "hk/Analysis/ResolveDims.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::hk {

class RegionBuilder {
public:
  /// `dims` is extended with the results that are made.
  RegionBuilder(Block &block, DimSymbols &dims);
  ~RegionBuilder();
  RegionBuilder(const RegionBuilder &) = delete;
  RegionBuilder &operator=(const RegionBuilder &) = delete;

  /// Replaces the results of the group that are used outside; the members are
  /// left without uses.
  FusedOp build(const FusionGroup &group);

private:
  struct Interface {
    SmallVector<Value> inputs; // outside values, in order of first use
    SmallVector<Value> escaping, outs;
    SmallVector<bool> isState; // of each out
  };
  Interface interfaceOf(const FusionGroup &group);
  void cloneMembers(const FusionGroup &group, Block &body, IRMapping &mapping,
                    DimResolver &sizes);
  void cloneView(Operation *view, OpBuilder &builder, IRMapping &mapping,
                 DimResolver &sizes);
  void keepWholeDims(tensor::ExtractSliceOp slice, tensor::ExtractSliceOp made);

  DimSymbols &dims;
  Operation *anchor; // sizes are computed before it
  std::optional<DimResolver> outerSizes;
};

} // namespace mlir::hk

#endif // HK_PASSES_FUSION_REGIONBUILDER_H
