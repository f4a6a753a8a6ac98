//===- VariantBuilder.cpp - Adds hk.variant ops to a kernel ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that builds a variant's region, so that families only state
// conditions and grids.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/Family.h"

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isKnownToSpill(KernelOp kernel, Attribute tile) {
  auto known =
      kernel->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
          kSpillingTilesAttrName);
  auto tiles = known ? known.getAs<ArrayAttr>(kernel.getSymName()) : nullptr;
  return tiles && llvm::is_contained(tiles, tile);
}

VariantOp mlir::hk::addVariant(
    KernelOp kernel, Attribute tile, int64_t threads, int64_t ldsBytes,
    llvm::function_ref<LaunchDims(OpBuilder &, Location, ValueRange)> fill) {
  Location loc = kernel.getLoc();
  std::string name = "v" + std::to_string(kernel.getVariants().size());
  OpBuilder builder = OpBuilder::atBlockEnd(&kernel.getBody().front());
  auto variant = VariantOp::create(builder, loc, name, tile, threads, ldsBytes);
  SmallVector<Type> types(kernel.getNumDims(), builder.getIndexType());
  SmallVector<Location> locations(types.size(), loc);
  Block *block = builder.createBlock(&variant.getBody(), {}, types, locations);
  LaunchDims dims = fill(builder, loc, block->getArguments());
  LaunchDimsOp::create(builder, loc, dims.condition, dims.x, dims.y, dims.z);
  return variant;
}
