//===- GatedDeltaVariants.cpp - Tiles and grids of the gated delta rule ---===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On matrix units where they fit. On vector units a thread has at most
// kStateFloats of a state; where a block has a chunk, threads are as many as
// there is work for. Of few tokens reading and writing the states is the time:
// a second variant takes the lines of memory whole, and no detour by LDS.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "../TileReport.h"
#include "GatedDeltaPlan.h"
#include "GatedDeltaSteps.h"

#include "hk/Contract/Calibration.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;
using ::hk::GatedDeltaKernel;
using ::hk::GatedDeltaTile;

/// Registers that a thread's part of one state may take.
static constexpr int64_t kStateFloats = 32;
/// Where the states are the time, bytes of a row that neighbours read together,
/// registers of a thread's part, threads of a block, and the tokens of a
/// sequence up to which it is so. On an H200, 64 sequences of 32 heads, 128 x
/// 128 in f32: 69 us with 128 bytes, 80 with 64, 86 with 32; a copy takes 64
/// (results/h200-gated-delta.md).
static constexpr int64_t kStreamedBytes = 128, kStreamedFloats = 128;
static constexpr int64_t kStreamingThreads = 64, kFewTokens = 4;
static constexpr int64_t kHostColumns = 16;
static constexpr int64_t kBlockThreads = 256;
/// Threads of a block of whole heads, if so many suffice.
static constexpr int64_t kHeadsThreads = 512;

/// Where states go from segment to segment: values of a block, few so that all
/// units have a block.
static constexpr int64_t kStartsColumns = 8;

/// Values of a block that walks on vector units and has those of a chunk in
/// LDS.
static constexpr int64_t kScanValues = 64;
/// Threads that bring operands, or give results.
static constexpr int64_t kCopyThreads = 256;

static GatedDeltaTileAttr attributeOf(MLIRContext *context,
                                      const GatedDeltaTile &tile) {
  return GatedDeltaTileAttr::get(context, tile.threads, tile.lanes,
                                 tile.columns, tile.waves);
}

/// The largest power of two up to `most` that divides `n`.
static int64_t divisor(int64_t n, int64_t most) {
  while (most > 1 && n % most != 0)
    most /= 2;
  return most;
}

/// Values of a thread: neighbours with and without values of their own differ.
static int64_t columnsOf(const GatedDeltaPlan &plan, int64_t most) {
  return divisor(plan.fresh, divisor(plan.values, most));
}

static GatedDeltaTile hostTile(const GatedDeltaPlan &plan) {
  int64_t columns = columnsOf(plan, kHostColumns);
  if (plan.kernel == GatedDeltaKernel::WU)
    columns = divisor(plan.keys, columns);
  return {1, 1, int32_t(columns), 0};
}

/// Blocks that walk over tokens: lanes share the keys of a column.
static GatedDeltaTile walkingTile(const GatedDeltaPlan &plan,
                                  const ::hk::Target &target) {
  // The start of a chunk is kept beside the state that grows.
  bool scans = plan.kernel == GatedDeltaKernel::Scan;
  bool two = scans || plan.kernel == GatedDeltaKernel::State ||
             plan.kernel == GatedDeltaKernel::Transition;
  int64_t values = scans ? std::min(plan.values, kScanValues) : plan.values;
  int64_t columns = columnsOf(plan, two ? 2 : 4), lanes = 1;
  while (lanes < target.waveSize / 2 &&
         plan.keys * columns > lanes * kStateFloats / (two ? 2 : 1))
    lanes *= 2;
  int64_t threads = target.waveSize;
  while (threads < kBlockThreads && threads / lanes * columns < values)
    threads *= 2;
  return {int32_t(threads), int32_t(lanes), int32_t(columns), 0};
}

/// Threads of a block of whole heads: all their values at once.
static int64_t wholeHeadsThreads(const GatedDeltaPlan &plan, int64_t lanes,
                                 int64_t columns, int64_t least) {
  int64_t threads = least;
  while (threads / lanes * columns < plan.headsPerBlock() * plan.values)
    threads *= 2;
  return threads;
}

/// Blocks of whole heads: as few lanes for a column as registers allow where a
/// block has many values.
static GatedDeltaTile headsTile(const GatedDeltaPlan &plan,
                                const ::hk::Target &target) {
  int64_t columns = divisor(plan.values, 4), lanes = 1;
  int64_t all = plan.headsPerBlock() * plan.values;
  int64_t floats = kStateFloats;
  while (all * plan.keys / floats > kHeadsThreads && floats < 4 * kStateFloats)
    floats *= 2;
  while (lanes < target.waveSize / 2 && plan.keys * columns > lanes * floats)
    lanes *= 2;
  int64_t threads = wholeHeadsThreads(plan, lanes, columns, target.waveSize);
  return {int32_t(threads), int32_t(lanes), int32_t(columns), 0};
}

/// The tokens of a sequence; nullopt: the launch knows.
static std::optional<int64_t> staticTokens(const GatedDeltaPlan &plan) {
  if (plan.convolution)
    return 1;
  int64_t tokens = cast<ShapedType>(plan.lead().getType()).getDimSize(1);
  if (plan.offsets || ShapedType::isDynamic(tokens))
    return std::nullopt;
  return tokens;
}

/// A tile whose waves read and write a state by kStreamedBytes of a row, so
/// that few lanes share its other dim; nullopt where the states are not what
/// takes the time.
static std::optional<GatedDeltaTile> streamingTile(KernelOp kernel,
                                                   const GatedDeltaPlan &plan,
                                                   const ::hk::Target &target) {
  if (target.arch == ::hk::Arch::Host || !plan.state || !plan.keyMajor ||
      plan.kernel != GatedDeltaKernel::Recurrent ||
      staticTokens(plan).value_or(0) > kFewTokens)
    return std::nullopt;
  int64_t bytes =
      cast<ShapedType>(plan.state.getType()).getElementTypeBitWidth() / 8;
  int64_t columns = divisor(plan.values, 4), lanes = 1;
  while (lanes < target.waveSize / 2 &&
         (plan.keys * columns > lanes * kStreamedFloats ||
          target.waveSize / lanes * columns * bytes > kStreamedBytes))
    lanes *= 2;
  for (; lanes < target.waveSize; lanes *= 2) {
    int64_t threads = std::max<int64_t>(kStreamingThreads, target.waveSize);
    if (plan.wholeHeads)
      threads = wholeHeadsThreads(plan, lanes, columns, threads);
    GatedDeltaTile tile = {int32_t(threads), int32_t(lanes), int32_t(columns),
                           0};
    if (threads <= target.maxThreads &&
        !isKnownToSpill(kernel, attributeOf(kernel.getContext(), tile)))
      return tile;
  }
  return std::nullopt;
}

/// Multiplying waves and threads that bring operands.
static GatedDeltaTile tileOfWaves(const ::hk::Target &target, int64_t waves,
                                  int64_t others) {
  return {int32_t(waves * target.waveSize + others), 1, ::hk::kStagedVector,
          int32_t(waves)};
}

/// The tile of blocks that multiply by warpgroups, where they can.
static GatedDeltaTile warpgroupTile(const GatedDeltaPlan &plan,
                                    const ::hk::Target &target) {
  int64_t waves = ::hk::kWarpgroupValues / target.mmaM;
  if (plan.kernel == GatedDeltaKernel::Transition)
    return tileOfWaves(target, 2 * waves, kCopyThreads / 2);
  return tileOfWaves(target, waves, kCopyThreads);
}

bool mlir::hk::suitsMatrixUnits(const GatedDeltaPlan &plan,
                                const ::hk::Target &target) {
  if (plan.matrixName.empty() &&
      !plan.usesWarpgroups(target, warpgroupTile(plan, target)))
    return false;
  if (!plan.keyType.isIntOrFloat() ||
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
         (products || fits(plan.fresh ? plan.fresh : plan.values));
}

/// The first `waves` waves of a block multiply. Where a block walks, others
/// bring operands, and its rows are so few that all compute units have a block
/// where the batch has one sequence.
static GatedDeltaTile matrixTile(const GatedDeltaPlan &plan,
                                 const ::hk::Target &target) {
  if (!plan.walks())
    return tileOfWaves(target, plan.chunk / target.mmaM, 0);
  if (GatedDeltaTile tile = warpgroupTile(plan, target);
      plan.usesWarpgroups(target, tile) &&
      plan.values % ::hk::kWarpgroupValues == 0)
    return tile;
  int64_t waves = divisor(plan.values / target.mmaM, 4);
  auto fits = [&] {
    return layoutOf(plan, target, tileOfWaves(target, waves, kCopyThreads))
               .bytes <= target.ldsBytes;
  };
  while (waves > 1 &&
         (!fits() || plan.valueHeads * plan.values / (waves * target.mmaM) <
                         target.computeUnits * 3 / 4))
    waves /= 2;
  return tileOfWaves(target, waves, kCopyThreads);
}

/// Blocks that have columns of a state in LDS.
static GatedDeltaTile startsTile(const GatedDeltaPlan &plan,
                                 const ::hk::Target &target) {
  int32_t lanes = ::hk::startsLanes(target);
  int64_t threads = target.waveSize;
  while (threads < kBlockThreads && threads / lanes < plan.keys)
    threads *= 2;
  return {int32_t(threads), lanes,
          int32_t(divisor(plan.values, kStartsColumns)), 0};
}

/// Threads of a block that has a chunk and computes on vector units.
static int64_t chunkThreads(const GatedDeltaPlan &plan,
                            const ::hk::Target &target) {
  int64_t pieces = (plan.chunk / 4) * (plan.chunk / 4), wanted = plan.chunk;
  if (plan.kernel == GatedDeltaKernel::Kkt ||
      plan.kernel == GatedDeltaKernel::SumsAndKkt)
    wanted = std::max(wanted, pieces);
  else if (plan.kernel == GatedDeltaKernel::Output)
    wanted = std::max(pieces, std::min(plan.values, kBlockThreads));
  else if (plan.kernel == GatedDeltaKernel::SolveTril)
    wanted = 2 * plan.chunk; // two of a column
  else if (plan.kernel == GatedDeltaKernel::WU)
    wanted = std::min(std::max(plan.keys, plan.values), kBlockThreads);
  return llvm::alignTo(wanted, target.waveSize);
}

GatedDeltaTile mlir::hk::tileOfStep(const GatedDeltaPlan &step,
                                    const ::hk::Target &target,
                                    const GatedDeltaTile &whole) {
  if (step.walks() || step.steps.size() == 1 ||
      (whole.waves && suitsMatrixUnits(step, target)))
    return whole;
  if (target.arch == ::hk::Arch::Host)
    return hostTile(step);
  return {whole.threads, 1, 1, 0};
}

/// The tile of blocks that compute `steps`.
static GatedDeltaTile chooseTile(KernelOp kernel,
                                 ArrayRef<GatedDeltaPlan> steps,
                                 const ::hk::Target &target) {
  const GatedDeltaPlan &last = steps.back();
  if (target.arch == ::hk::Arch::Host)
    return hostTile(last);
  if (llvm::any_of(steps, [&](const GatedDeltaPlan &step) {
        return suitsMatrixUnits(step, target);
      })) {
    GatedDeltaTile tile = matrixTile(last, target);
    if (layoutOf(steps, target, tile).bytes <= target.ldsBytes &&
        !isKnownToSpill(kernel, attributeOf(kernel.getContext(), tile)))
      return tile;
  }
  if (last.kernel == GatedDeltaKernel::Starts)
    return startsTile(last, target);
  if (last.wholeHeads)
    return headsTile(last, target);
  if (last.walks())
    return walkingTile(last, target);
  int64_t threads = 0;
  for (const GatedDeltaPlan &step : steps)
    threads = std::max(threads, chunkThreads(step, target));
  return {int32_t(threads), 1, 1, 0};
}

/// Grid: x counts (sequence, head, slice) or (chunk, head), as the kernels do.
static LaunchDims gridOf(const GatedDeltaPlan &plan, const ::hk::Target &target,
                         const GatedDeltaTile &tile, LaunchBuilder &launch) {
  // Tokens after the last offset are one sequence more.
  Value x = launch.size(plan.offsets ? plan.offsets : plan.lead(), 0);
  if (plan.wholeHeads)
    return launch.grid(
        launch.multiply(x, plan.valueHeads / plan.headsPerBlock()));
  if (plan.kernel == GatedDeltaKernel::Starts)
    return launch.grid(
        launch.multiply(launch.size(plan.lead(), 1),
                        plan.valueHeads * (plan.values / tile.columns)));
  if (plan.walks())
    return launch.grid(
        launch.multiply(x, plan.segmentsOfBlocks() * plan.valueHeads *
                               gatedDeltaSlices(plan, target, tile)));
  if (plan.offsets)
    x = launch.raggedTiles(launch.size(plan.lead(), 0), plan.chunk, x);
  else
    x = launch.multiply(
        x, launch.ceilDivide(launch.size(plan.lead(), 1), plan.chunk));
  return launch.grid(launch.multiply(x, plan.valueHeads));
}

/// Whether sequences have kFewTokens at most, in the mean.
static Value hasFewTokens(const GatedDeltaPlan &plan, LaunchBuilder &launch) {
  if (!plan.offsets)
    return launch.isAtMost(launch.size(plan.lead(), 1), kFewTokens);
  Value bounds = launch.size(plan.offsets, 0);
  return launch.isAtMost(launch.size(plan.lead(), 0),
                         launch.multiply(bounds, kFewTokens));
}

static void reportTiles(KernelOp kernel, std::optional<GatedDeltaTile> few,
                        const GatedDeltaTile &tile, int64_t lds,
                        DecisionLog &log) {
  auto text = [](const GatedDeltaTile &tile) {
    return ("threads " + Twine(tile.threads) + ", lanes " + Twine(tile.lanes) +
            ", columns " + Twine(tile.columns) +
            (tile.waves ? ", matrix waves " + Twine(tile.waves) : Twine()))
        .str();
  };
  std::string all = text(tile);
  if (few)
    all += "; up to " + std::to_string(kFewTokens) +
           " tokens of a sequence: " + text(*few);
  reportOnlyTile(kernel, log, all, lds);
}

LogicalResult mlir::hk::addGatedDeltaVariants(KernelOp kernel,
                                              const ::hk::Target &target,
                                              DecisionLog &log) {
  SmallVector<GatedDeltaPlan, 1> steps = GatedDeltaPlan::of(kernel);
  if (steps.empty())
    return kernel.emitOpError("expected the body of a gated_delta kernel to "
                              "hold an operator of the gated delta rule");
  const GatedDeltaPlan &plan = steps.back();
  GatedDeltaTile tile = chooseTile(kernel, steps, target);
  int64_t lds = layoutOf(steps, target, tile).bytes;
  if (lds > target.ldsBytes)
    return plan.op->emitOpError("expected the LDS of kernel ")
           << kernel.getSymName() << " to be at most " << target.ldsBytes
           << " bytes on " << target.name << ", but it needs " << lds
           << "; use a smaller chunk than " << plan.chunk;
  // Whole heads need the same LDS for any number of tokens; other recurrences
  // load operands of a few as they need them, whatever the tile.
  std::optional<GatedDeltaTile> few = streamingTile(kernel, plan, target);
  std::optional<int64_t> tokens = staticTokens(plan);
  int64_t fewLds = plan.wholeHeads ? lds : 0;
  bool stages = plan.kernel == GatedDeltaKernel::Recurrent && lds != fewLds;
  if (!few && stages && tokens.value_or(0) <= kFewTokens)
    few = tile;
  if (few && (tokens || (few->lanes == tile.lanes && !stages))) {
    tile = *few;
    lds = fewLds;
    few = std::nullopt;
  }
  reportTiles(kernel, few, tile, lds, log);
  auto add = [&](const GatedDeltaTile &tile, int64_t lds, bool fewTokens) {
    addVariant(kernel, DimSymbols::ofKernel(kernel),
               attributeOf(kernel.getContext(), tile), tile.threads, lds,
               [&](LaunchBuilder &launch) {
                 LaunchDims dims = gridOf(steps.front(), target, tile, launch);
                 if (fewTokens)
                   dims.condition = hasFewTokens(plan, launch);
                 return dims;
               });
  };
  if (few)
    add(*few, fewLds, /*fewTokens=*/true);
  add(tile, lds, /*fewTokens=*/false);
  return success();
}
