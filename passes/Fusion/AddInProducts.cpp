//===- AddInProducts.cpp - Products that send sums of three ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the launch behind a product that sends only adds something to the sum,
// the product adds that, too, and nobody reads it twice: it becomes the
// product's last input. A kernel has one form, so this is for kernels all of
// whose launches can.
//
//===----------------------------------------------------------------------===//

#include "AddInProducts.h"
#include "JointKernels.h"

#include "hk/Families/KernelExchange.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
/// A launch that sends, the one behind, and what that adds to the sum, or null.
struct Pair {
  LaunchOp product, sum;
  Value addend;
  int64_t align = 0;
};

/// Which input of its kernel is added to the sum, if nothing else reads that.
std::optional<unsigned> addendOf(AllReduceOp sum) {
  if (!sum.getResult().hasOneUse())
    return std::nullopt;
  auto add = dyn_cast<AddOp>(*sum.getResult().user_begin());
  if (!add || add.getType() != sum.getResult().getType())
    return std::nullopt;
  Value other = add->getOperand(0) == sum.getResult() ? add->getOperand(1)
                                                      : add->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(other);
  auto kernel = sum->getParentOfType<KernelOp>();
  if (!argument || argument.getType() != add.getType() ||
      argument.getArgNumber() >= kernel.getNumInputs())
    return std::nullopt;
  return argument.getArgNumber();
}

class Adder {
public:
  void run(ModuleOp module) {
    module.walk([&](LaunchOp launch) { collect(launch); });
    while (refuseOne())
      ;
    llvm::SetVector<Operation *> kernels;
    auto unit = UnitAttr::get(module.getContext());
    for (Pair &pair : pairs) {
      if (!pair.addend)
        continue;
      KernelOp product = kernelOf(pair.product);
      if (kernels.insert(product))
        extend(product);
      SmallVector<int64_t> aligns(product.getAligns());
      int64_t &align = aligns[product.getNumInputs() - 1];
      align = std::min(align, pair.align);
      product.setAligns(aligns);
      kernelOf(pair.sum)->setAttr(kAddsAttrName, unit);
      pair.product.getInputsMutable().append(pair.addend);
    }
  }

private:
  void collect(LaunchOp launch) {
    auto sum = dyn_cast_or_null<AllReduceOp>(
        exchangeOf(kernelOf(launch)).getOperation());
    auto input = sum ? dyn_cast<BlockArgument>(sum.getInput()) : nullptr;
    if (!input)
      return;
    auto product =
        launch->getOperand(input.getArgNumber()).getDefiningOp<LaunchOp>();
    if (!product || !kernelOf(product)->hasAttr(kSendsAttrName))
      return;
    Pair &pair = pairs.emplace_back(Pair{product, launch, nullptr});
    std::optional<unsigned> operand = addendOf(sum);
    if (!operand || kernelOf(launch).getAligns()[*operand] < 16)
      return;
    Value addend = launch->getOperand(*operand);
    Operation *maker = addend.getDefiningOp();
    if (maker && (maker->getBlock() != product->getBlock() ||
                  !maker->isBeforeInBlock(product)))
      return;
    pair.addend = addend;
    pair.align = kernelOf(launch).getAligns()[*operand];
  }

  /// Where one of two launches of a kernel cannot, the other does not.
  bool refuseOne() {
    for (Pair &pair : pairs)
      for (Pair &other : pairs)
        if (pair.addend && !other.addend &&
            (kernelOf(pair.product) == kernelOf(other.product) ||
             kernelOf(pair.sum) == kernelOf(other.sum))) {
          pair.addend = nullptr;
          return true;
        }
    return false;
  }

  /// Gives a product another input, as its result is.
  void extend(KernelOp kernel) {
    int64_t at = kernel.getNumInputs();
    Block &spec = kernel.getSpecBlock();
    spec.insertArgument(unsigned(at), spec.getArgument(unsigned(at)).getType(),
                        kernel.getLoc());
    SmallVector<Attribute> shapes(kernel.getShapes().getValue());
    shapes.insert(shapes.begin() + at, shapes[at]);
    SmallVector<int64_t> aligns(kernel.getAligns());
    aligns.insert(aligns.begin() + at, aligns[at]);
    Builder builder(kernel.getContext());
    kernel.setShapesAttr(builder.getArrayAttr(shapes));
    kernel.setAligns(aligns);
    kernel.setNumInputs(at + 1);
    kernel->setAttr(kAddsAttrName, builder.getUnitAttr());
  }

  SmallVector<Pair> pairs;
};
} // namespace

void mlir::hk::addInProducts(ModuleOp module) { Adder().run(module); }
