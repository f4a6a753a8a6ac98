//===- Conv1dTiles.cpp - Tile and grid of a causal convolution ------------===//
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

#include "Conv1dKernel.h"

#include "hk/Contract/Conv1dTiles.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

class GridBuilder {
public:
  GridBuilder(OpBuilder &builder, Location loc, ValueRange symbols,
              KernelOp kernel)
      : b(builder), loc(loc), symbols(symbols), kernel(kernel) {}

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value size(Value operand, int64_t dim) {
    unsigned index = cast<BlockArgument>(operand).getArgNumber();
    int64_t name =
        cast<SymShapeAttr>(kernel.getShapes()[index]).getSizes()[dim];
    return SymShapeAttr::isSymbol(name)
               ? Value(symbols[SymShapeAttr::symbolOf(name)])
               : constant(name);
  }

  LaunchDims dims(CausalConv1dOp conv, const ::hk::Conv1dTile &tile) {
    Value input = conv.getInput(), one = constant(1);
    Value tokens = size(input, conv.getTokenDim()), strips;
    Value perStrip = constant(tile.tokens);
    if (Value offsets = conv.getOffsets()) {
      // See device/ragged.h: there is an offset for the tokens of no sequence.
      Value full = b.createOrFold<arith::DivUIOp>(loc, tokens, perStrip);
      strips = b.createOrFold<arith::AddIOp>(loc, full, size(offsets, 0));
    } else {
      Value each = b.createOrFold<arith::CeilDivUIOp>(loc, tokens, perStrip);
      each = b.createOrFold<arith::MaxUIOp>(loc, each, one);
      strips = b.createOrFold<arith::MulIOp>(loc, each, size(input, 0));
    }
    LaunchDims launch;
    launch.condition = arith::ConstantIntOp::create(b, loc, 1, 1);
    launch.x = b.createOrFold<arith::CeilDivUIOp>(
        loc, strips, constant(::hk::conv1dStripLanes(tile)));
    launch.y = constant(llvm::divideCeil(
        conv.getNumChannels(), int64_t(tile.channels) * tile.channelLanes));
    launch.z = one;
    return launch;
  }

private:
  OpBuilder &b;
  Location loc;
  ValueRange symbols;
  KernelOp kernel;
};

} // namespace

LogicalResult mlir::hk::addConv1dVariants(KernelOp kernel,
                                          const ::hk::Target &target,
                                          DecisionLog &log) {
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  Conv1dKernel facts(kernel, dims);
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

  std::string what = ("items " + Twine(tile.items) + ", channel lanes " +
                      Twine(tile.channelLanes) + ", channels " +
                      Twine(tile.channels) + ", tokens " + Twine(tile.tokens))
                         .str();
  Decision decision{DecisionKind::Tile,
                    kernel.getLoc(),
                    kernel.getSymName().str(),
                    {},
                    /*chosen=*/0};
  decision.candidates.push_back({what, Verdict::accept(), 0, 0});
  log.add(std::move(decision));
  auto attr =
      Conv1dTileAttr::get(kernel.getContext(), tile.items, tile.channelLanes,
                          tile.channels, tile.tokens);
  addVariant(
      kernel, attr, ::hk::conv1dThreads(target, tile), /*ldsBytes=*/0,
      [&](OpBuilder &builder, Location loc, ValueRange symbols) {
        return GridBuilder(builder, loc, symbols, kernel).dims(conv, tile);
      });
  return success();
}
