//===- OrderSums.cpp - Memory for sums that blocks make in order ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel whose blocks can sum in memory, in order, gets that memory: two more
// outs, a buffer and words that a launch in front zeroes, and is built again
// for them. On memrefs, where every launch has words of its own.
//
//===----------------------------------------------------------------------===//

#include "JointKernels.h"
#include "LoggedPass.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Contract/Order.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKORDERSUMS
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Size `dim` of `memref`, made of sizes of arguments; null: something else.
Value sizeOf(Value memref, int64_t dim, OpBuilder &builder) {
  Location loc = memref.getLoc();
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(unsigned(dim)))
    return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim));
  if (isa<BlockArgument>(memref))
    return memref::DimOp::create(builder, loc, memref, dim);
  Operation *op = memref.getDefiningOp();
  if (auto cast = dyn_cast<memref::CastOp>(op))
    return sizeOf(cast.getSource(), dim, builder);
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
    return getValueOrCreateConstantIndexOp(builder, loc,
                                           expand.getMixedOutputShape()[dim]);
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
    Value product = arith::ConstantIndexOp::create(builder, loc, 1);
    ReassociationIndices joined = collapse.getReassociationIndices()[dim];
    for (int64_t from : joined)
      if (Value size = sizeOf(collapse.getSrc(), from, builder))
        product = builder.createOrFold<arith::MulIOp>(loc, product, size);
      else
        return {};
    return product;
  }
  auto folded = builder.createOrFold<memref::DimOp>(loc, memref, dim);
  if (auto left = folded.getDefiningOp<memref::DimOp>())
    return isa<BlockArgument>(left.getSource()) ? folded : Value();
  return folded;
}

/// The dim symbols of `kernel` where it is launched.
SmallVector<Value> sizesOf(LaunchOp launch, KernelOp kernel,
                           OpBuilder &builder) {
  SmallVector<Value> sizes(kernel.getNumDims());
  forEachSymbol(kernel, SmallVector<Value>(launch->getOperands()),
                [&](int64_t symbol, Value operand, int64_t dim) {
                  if (!sizes[symbol])
                    sizes[symbol] = sizeOf(operand, dim, builder);
                });
  return sizes;
}

struct HKOrderSums
    : LoggedPass<::mlir::hk::impl::HKOrderSumsBase<HKOrderSums>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override {
    const ::hk::Target *target = requireTarget(getOperation());
    if (!target)
      return signalPassFailure();
    if (!::hk::blocksWait(*target))
      return;
    SymbolTable symbols(getOperation());
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    for (LaunchOp launch : launches)
      if (failed(order(launch, *target, symbols)))
        return signalPassFailure();
    eraseUnlaunched(getOperation(), symbols);
  }

private:
  LogicalResult order(LaunchOp launch, const ::hk::Target &target,
                      SymbolTable &symbols) {
    KernelOp plain = kernelOf(launch);
    const Family &family = familyOf(plain.getFamily());
    OpBuilder builder(launch);
    SmallVector<Value> sizes = sizesOf(launch, plain, builder);
    if (llvm::is_contained(sizes, nullptr))
      return success();
    SmallVector<OwnMemory> memories =
        family.getOrderedSums(plain, target, builder, sizes);
    if (memories.empty())
      return success();
    KernelOp &kernel = ordered[plain];
    if (!kernel)
      kernel = withOuts(plain, memories, symbols);
    DecisionLog &decisions = log();
    if (kernel.getVariants().empty() &&
        failed(family.addVariants(kernel, target, decisions)))
      return failure();
    SmallVector<Value> outs(launch.getOuts());
    SmallVector<bool> reads(launch.getReadsOut());
    for (const OwnMemory &memory : memories) {
      RankedTensorType type = typeOf(memory, plain);
      auto alloc = memref::AllocOp::create(
          builder, launch.getLoc(),
          MemRefType::get(type.getShape(), type.getElementType()),
          type.isDynamicDim(0) ? ValueRange(memory.rows) : ValueRange());
      if (isWords(memory) &&
          failed(zero(alloc, target, symbols, builder, decisions)))
        return failure();
      outs.push_back(alloc);
      reads.push_back(true);
    }
    LaunchOp::create(builder, launch.getLoc(), TypeRange(), kernel.getSymName(),
                     launch.getInputs(), outs, reads);
    launch.erase();
    ++numOrdered;
    return success();
  }

  static bool isWords(const OwnMemory &memory) {
    return memory.element.isInteger();
  }
  /// A kernel with dim symbols has as many rows as these say, every other one
  /// a constant number.
  static RankedTensorType typeOf(const OwnMemory &memory, KernelOp kernel) {
    SmallVector<int64_t> shape = {kernel.getNumDims() > 0
                                      ? ShapedType::kDynamic
                                      : *getConstantIntValue(memory.rows)};
    if (memory.columns > 0)
      shape.push_back(memory.columns);
    return RankedTensorType::get(shape, memory.element);
  }

  static LogicalResult zero(memref::AllocOp words, const ::hk::Target &target,
                            SymbolTable &symbols, OpBuilder &builder,
                            DecisionLog &decisions) {
    FailureOr<KernelOp> zero =
        zeroKernel(words.getType().getDimSize(0), "turns", target, symbols,
                   words.getLoc(), decisions);
    if (failed(zero))
      return failure();
    LaunchOp::create(builder, words.getLoc(), TypeRange(), zero->getSymName(),
                     zero->getNumInputs() > 0 ? ValueRange(words.getResult())
                                              : ValueRange(),
                     words.getResult(), SmallVector<bool>{false});
    return success();
  }

  /// A copy of `kernel` with outs for `memories`, without variants.
  static KernelOp withOuts(KernelOp kernel, ArrayRef<OwnMemory> memories,
                           SymbolTable &symbols) {
    OpBuilder builder(kernel);
    auto copy = cast<KernelOp>(kernel->clone());
    copy.setSymName((kernel.getSymName() + "_in_order").str());
    for (VariantOp variant : copy.getVariants())
      variant.erase();
    SmallVector<Attribute> shapes(copy.getShapes().getValue());
    SmallVector<int64_t> aligns(copy.getAligns());
    Block &spec = copy.getSpecBlock();
    auto yield = cast<YieldOp>(spec.getTerminator());
    int64_t symbol = kernel.getNumDims();
    for (const OwnMemory &memory : memories) {
      RankedTensorType type = typeOf(memory, kernel);
      SmallVector<int64_t> shape(type.getShape());
      if (type.isDynamicDim(0))
        shape[0] = -1 - symbol++;
      shapes.push_back(SymShapeAttr::get(copy.getContext(), shape));
      aligns.push_back(kMaxAlignment);
      yield.getValuesMutable().append(
          ValueRange(spec.addArgument(type, copy.getLoc())));
    }
    copy.setShapesAttr(builder.getArrayAttr(shapes));
    copy.setAligns(aligns);
    symbols.insert(copy, kernel->getIterator());
    return copy;
  }

  llvm::DenseMap<Operation *, KernelOp> ordered;
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createHKOrderSums(DecisionLog &log) {
  return std::make_unique<HKOrderSums>(log);
}
