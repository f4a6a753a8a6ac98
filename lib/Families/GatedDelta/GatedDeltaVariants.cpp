//===- GatedDeltaVariants.cpp - Tiles and grids of the gated delta rule ---===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One variant, on matrix units where they fit. On vector units a thread has at
// most kStateFloats of a state; where a block has a chunk, threads are as many
// as there is work for.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "GatedDeltaPlan.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::GatedDeltaKernel;
using ::hk::GatedDeltaTile;

/// Registers that a thread's part of one state may take.
static constexpr int64_t kStateFloats = 32;
static constexpr int64_t kHostColumns = 16;
static constexpr int64_t kBlockThreads = 256;
/// Threads of a block of whole heads, if so many suffice.
static constexpr int64_t kHeadsThreads = 512;

/// Threads that bring operands.
static constexpr int64_t kCopyThreads = 256;

static int64_t ldsOf(const GatedDeltaPlan &plan, const ::hk::Target &target,
                     const GatedDeltaTile &tile) {
  if (plan.wholeHeads)
    return ::hk::recurrentHeadsLds(
        {plan.headsPerBlock() * plan.values, plan.convolution ? plan.keys : 0});
  return ::hk::gatedDeltaLds(target, plan.kernel,
                             {plan.chunk, plan.keys, plan.values}, tile);
}

/// The largest power of two up to `most` that divides `n`.
static int64_t divisor(int64_t n, int64_t most) {
  while (most > 1 && n % most != 0)
    most /= 2;
  return most;
}

static GatedDeltaTile hostTile(const GatedDeltaPlan &plan) {
  int64_t columns = divisor(plan.values, kHostColumns);
  if (plan.kernel == GatedDeltaKernel::WU)
    columns = divisor(plan.keys, columns);
  return {1, 1, int32_t(columns), 0};
}

/// Blocks that walk over tokens: lanes share the keys of a column.
static GatedDeltaTile walkingTile(const GatedDeltaPlan &plan,
                                  const ::hk::Target &target) {
  // The start of a chunk is kept beside the state that grows.
  bool two = plan.kernel == GatedDeltaKernel::State;
  int64_t columns = divisor(plan.values, two ? 2 : 4), lanes = 1;
  while (lanes < target.waveSize / 2 &&
         plan.keys * columns > lanes * kStateFloats / (two ? 2 : 1))
    lanes *= 2;
  int64_t threads = target.waveSize;
  while (threads < kBlockThreads && threads / lanes * columns < plan.values)
    threads *= 2;
  return {int32_t(threads), int32_t(lanes), int32_t(columns), 0};
}

/// Blocks of whole heads: all their values at once, by as few lanes for a
/// column as registers allow where a block has many values.
static GatedDeltaTile headsTile(const GatedDeltaPlan &plan,
                                const ::hk::Target &target) {
  int64_t columns = divisor(plan.values, 4), lanes = 1;
  int64_t all = plan.headsPerBlock() * plan.values;
  int64_t floats = kStateFloats;
  while (all * plan.keys / floats > kHeadsThreads && floats < 4 * kStateFloats)
    floats *= 2;
  while (lanes < target.waveSize / 2 && plan.keys * columns > lanes * floats)
    lanes *= 2;
  int64_t threads = target.waveSize;
  while (threads / lanes * columns < all)
    threads *= 2;
  return {int32_t(threads), int32_t(lanes), int32_t(columns), 0};
}

/// Whether rows of all tensors are 16-bit elements of one type, and whole
/// fragments.
static bool suitsMatrixUnits(const GatedDeltaPlan &plan) {
  if (plan.matrixName.empty() || !plan.keyType.isIntOrFloat() ||
      plan.keyType.getIntOrFloatBitWidth() != 16)
    return false;
  for (ArrayRef<GatedDeltaTensor> tensors :
       {ArrayRef(plan.reads), ArrayRef(plan.writes)})
    for (const GatedDeltaTensor &tensor : tensors) {
      bool rows =
          tensor.access != GatedDeltaAccess::Scalar && tensor.name != "result";
      if (rows && cast<ShapedType>(tensor.value.getType()).getElementType() !=
                      plan.keyType)
        return false;
    }
  bool products = plan.kernel == GatedDeltaKernel::Kkt ||
                  plan.kernel == GatedDeltaKernel::SumsAndKkt;
  auto fits = [](int64_t size) { return size == 64 || size == 128; };
  return (plan.chunk == 32 || plan.chunk == 64) && fits(plan.keys) &&
         (products || fits(plan.values));
}

/// The first `waves` waves of a block multiply. Where a block walks, others
/// bring operands, and its rows are so few that all compute units have a block
/// where the batch has one sequence.
static GatedDeltaTile matrixTile(const GatedDeltaPlan &plan,
                                 const ::hk::Target &target) {
  int64_t waves = plan.chunk / target.mmaM, copying = 0;
  if (plan.walks()) {
    waves = divisor(plan.values / target.mmaM, 4);
    while (waves > 1 && plan.valueHeads * plan.values / (waves * target.mmaM) <
                            target.computeUnits * 3 / 4)
      waves /= 2;
    copying = kCopyThreads;
  }
  return {int32_t(waves * target.waveSize + copying), 1, ::hk::kStagedVector,
          int32_t(waves)};
}

static GatedDeltaTileAttr attributeOf(MLIRContext *context,
                                      const GatedDeltaTile &tile) {
  return GatedDeltaTileAttr::get(context, tile.threads, tile.lanes,
                                 tile.columns, tile.waves);
}

static GatedDeltaTile chooseTile(KernelOp kernel, const GatedDeltaPlan &plan,
                                 const ::hk::Target &target) {
  if (target.arch == ::hk::Arch::Host)
    return hostTile(plan);
  if (suitsMatrixUnits(plan)) {
    GatedDeltaTile tile = matrixTile(plan, target);
    if (ldsOf(plan, target, tile) <= target.ldsBytes &&
        !isKnownToSpill(kernel, attributeOf(kernel.getContext(), tile)))
      return tile;
  }
  if (plan.wholeHeads)
    return headsTile(plan, target);
  if (plan.walks())
    return walkingTile(plan, target);
  int64_t pieces = (plan.chunk / 4) * (plan.chunk / 4), wanted = plan.chunk;
  if (plan.kernel == GatedDeltaKernel::Kkt ||
      plan.kernel == GatedDeltaKernel::SumsAndKkt)
    wanted = std::max(wanted, pieces);
  else if (plan.kernel == GatedDeltaKernel::Output)
    wanted = std::max(pieces, std::min(plan.values, kBlockThreads));
  else if (plan.kernel == GatedDeltaKernel::WU)
    wanted = std::min(std::max(plan.keys, plan.values), kBlockThreads);
  return {int32_t(llvm::alignTo(wanted, target.waveSize)), 1, 1, 0};
}

/// Grid: x counts (sequence, head, slice) or (chunk, head), as the kernels do.
static LaunchDims gridOf(const GatedDeltaPlan &plan, const ::hk::Target &target,
                         const GatedDeltaTile &tile, LaunchBuilder &launch) {
  // Tokens after the last offset are one sequence more.
  Value x = launch.size(plan.offsets ? plan.offsets : plan.lead(), 0);
  if (plan.wholeHeads)
    return launch.grid(
        launch.multiply(x, plan.valueHeads / plan.headsPerBlock()));
  if (plan.walks())
    return launch.grid(launch.multiply(
        x, plan.valueHeads * gatedDeltaSlices(plan, target, tile)));
  if (plan.offsets)
    x = launch.raggedTiles(launch.size(plan.lead(), 0), plan.chunk, x);
  else
    x = launch.multiply(
        x, launch.ceilDivide(launch.size(plan.lead(), 1), plan.chunk));
  return launch.grid(launch.multiply(x, plan.valueHeads));
}

LogicalResult mlir::hk::addGatedDeltaVariants(KernelOp kernel,
                                              const ::hk::Target &target,
                                              DecisionLog &log) {
  auto plan = GatedDeltaPlan::of(kernel);
  if (!plan)
    return kernel.emitOpError("expected the body of a gated_delta kernel to "
                              "hold an operator of the gated delta rule");
  GatedDeltaTile tile = chooseTile(kernel, *plan, target);
  int64_t lds = ldsOf(*plan, target, tile);
  if (lds > target.ldsBytes)
    return plan->op->emitOpError("expected the LDS of kernel ")
           << kernel.getSymName() << " to be at most " << target.ldsBytes
           << " bytes on " << target.name << ", but it needs " << lds
           << "; use a smaller chunk than " << plan->chunk;
  reportOnlyTile(
      kernel, log,
      "threads " + Twine(tile.threads) + ", lanes " + Twine(tile.lanes) +
          ", columns " + Twine(tile.columns) +
          (tile.waves ? ", matrix waves " + Twine(tile.waves) : Twine()),
      lds);
  addVariant(kernel, DimSymbols::ofKernel(kernel),
             attributeOf(kernel.getContext(), tile), tile.threads, lds,
             [&](LaunchBuilder &launch) {
               return gridOf(*plan, target, tile, launch);
             });
  return success();
}
