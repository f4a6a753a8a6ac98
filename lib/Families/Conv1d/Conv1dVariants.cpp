//===- Conv1dVariants.cpp - Tile and grid of a causal convolution
//------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One variant: every tile moves the same bytes, and the contract names the one
// with the widest accesses. Strips of tokens are the grid's x, channels its y.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "Conv1dPlan.h"

#include "hk/Contract/Conv1dTiles.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;

static LaunchDims gridOf(CausalConv1dOp conv, const ::hk::Conv1dTile &tile,
                         LaunchBuilder &launch) {
  Value input = conv.getInput();
  Value tokens = launch.size(input, conv.getTokenDim()), strips;
  if (Value offsets = conv.getOffsets()) {
    strips = launch.raggedTiles(tokens, tile.tokens, launch.size(offsets, 0));
  } else {
    Value each = launch.atLeast(launch.ceilDivide(tokens, tile.tokens), 1);
    strips = launch.multiply(each, launch.size(input, 0));
  }
  return launch.grid(
      launch.ceilDivide(strips, ::hk::conv1dStripLanes(tile)),
      launch.constant(llvm::divideCeil(
          conv.getNumChannels(), int64_t(tile.channels) * tile.channelLanes)));
}

LogicalResult mlir::hk::addConv1dVariants(KernelOp kernel,
                                          const ::hk::Target &target,
                                          DecisionLog &log) {
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  Conv1dPlan facts(kernel, dims);
  CausalConv1dOp conv = facts.getConv();
  Type element =
      cast<RankedTensorType>(conv.getInput().getType()).getElementType();
  ::hk::Conv1dShape shape;
  shape.channels = conv.getNumChannels();
  shape.channelDivisor = facts.channelDivisor();
  shape.tokens = facts.staticTokens();
  shape.elementBytes = ::hk::info(*dtypeOf(element)).bits / 8;
  shape.channelLast = facts.isChannelLast();
  ::hk::Conv1dTile tile = ::hk::conv1dTile(target, shape);

  reportOnlyTile(kernel, log,
                 "items " + Twine(tile.items) + ", channel lanes " +
                     Twine(tile.channelLanes) + ", channels " +
                     Twine(tile.channels) + ", tokens " + Twine(tile.tokens));
  auto attr =
      Conv1dTileAttr::get(kernel.getContext(), tile.items, tile.channelLanes,
                          tile.channels, tile.tokens);
  addVariant(kernel, dims, attr, ::hk::conv1dThreads(target, tile),
             /*ldsBytes=*/0,
             [&](LaunchBuilder &launch) { return gridOf(conv, tile, launch); });
  return success();
}
