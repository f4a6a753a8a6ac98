//===- DimRules.cpp - Sizes of views and of index arithmetic --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What upstream's operators, fusions and launches say of sizes; those of hk say
// it themselves (DimRelations.cpp). Any other gives results of unknown sizes.
//
//===----------------------------------------------------------------------===//

#include "DimSymbolsBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

/// One dim of `collapsed` is the product of a group of dims of `expanded`.
void DimSymbolsBuilder::reassociate(Value collapsed, Value expanded,
                                    ArrayRef<ReassociationIndices> groups) {
  auto type = cast<RankedTensorType>(expanded.getType());
  bool expands = collapsed.getDefiningOp() == nullptr ||
                 !isa<tensor::CollapseShapeOp>(collapsed.getDefiningOp());
  for (auto [dim, group] : llvm::enumerate(groups)) {
    int64_t fixed = 1;
    SmallVector<Node> dynamic;
    int64_t open = -1;
    for (int64_t inner : group) {
      if (type.isDynamicDim(inner)) {
        dynamic.push_back(node(expanded, inner));
        open = inner;
      } else {
        fixed *= type.getDimSize(inner);
      }
    }
    if (dynamic.empty())
      continue;
    if (!expands)
      derive(Kind::Product, dynamic, fixed, collapsed, dim);
    else if (dynamic.size() == 1)
      derive(Kind::FloorDiv, node(collapsed, dim), fixed, expanded, open);
    else // several unknown factors: their values are the op's operands
      derive(Kind::Product, dynamic, fixed, collapsed, dim);
  }
}

void DimSymbolsBuilder::visitView(Operation *op) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    int64_t result = 0;
    for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(dim))
        unite(node(slice.getResult(), result++), sizeNode(size));
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    reassociate(expand.getSrc(), expand.getResult(),
                expand.getReassociationIndices());
    for (auto [dim, size] : llvm::enumerate(expand.getMixedOutputShape()))
      unite(node(expand.getResult(), dim), sizeNode(size));
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    reassociate(collapse.getResult(), collapse.getSrc(),
                collapse.getReassociationIndices());
  } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    if (isa<RankedTensorType>(cast.getSource().getType()) &&
        isa<RankedTensorType>(cast.getType()))
      sameShape(cast.getSource(), cast.getResult());
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    for (auto [dim, size] : llvm::enumerate(empty.getMixedSizes()))
      unite(node(empty, dim), sizeNode(size));
  } else if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    if (index && isa<RankedTensorType>(dim.getSource().getType()))
      indices[dim.getResult()] = node(dim.getSource(), *index);
  }
}

/// Sizes that the function computes itself.
void DimSymbolsBuilder::visitIndex(Operation *op) {
  Value result = op->getResult(0);
  if (!result.getType().isIndex())
    return;
  SmallVector<Node> operands;
  bool minus = isa<arith::SubIOp>(op), product = isa<arith::MulIOp>(op);
  bool sum = minus || isa<arith::AddIOp>(op);
  int64_t constant = sum ? 0 : 1;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    APInt value;
    bool isConstant = matchPattern(operand, m_ConstantInt(&value));
    if (minus && isConstant != (index == 1))
      return; // only x - constant is a sum
    if (!isConstant)
      operands.push_back(indexNode(operand));
    else if (sum)
      constant += minus ? -value.getSExtValue() : value.getSExtValue();
    else if (product || index == 1)
      constant *= value.getSExtValue();
    else
      return; // stays an index value that is only itself
  }
  if (operands.empty() || (!sum && !product && operands.size() != 1))
    return;
  auto known = indices.find(result);
  Node made = known == indices.end() ? make() : known->second;
  indices[result] = made;
  derive(made,
         sum                       ? Kind::Sum
         : product                 ? Kind::Product
         : isa<arith::DivUIOp>(op) ? Kind::FloorDiv
                                   : Kind::CeilDiv,
         operands, constant, result, 0);
}

void DimSymbolsBuilder::visitLaunch(LaunchOp launch) {
  if (!llvm::all_of(launch->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
    return;
  for (auto [out, result] : llvm::zip(launch.getOuts(), launch.getResults()))
    sameShape(result, out);
  if (kernels.empty())
    if (auto module = launch->getParentOfType<ModuleOp>())
      for (auto kernel : module.getOps<KernelOp>())
        kernels[kernel.getSymNameAttr()] = kernel;
  auto it = kernels.find(launch.getKernelAttr().getAttr());
  if (it == kernels.end())
    return;
  llvm::DenseMap<DimName, Node> seen;
  auto shapes = it->second.getShapes().getAsRange<SymShapeAttr>();
  for (auto [operand, shape] : llvm::zip(launch->getOperands(), shapes))
    for (auto [dim, size] : llvm::enumerate(shape.getSizes())) {
      Node n = node(operand, dim);
      if (auto [first, inserted] = seen.try_emplace(size, n); !inserted)
        unite(first->second, n);
    }
  relateLaunch(launch, it->second, seen);
}

const DimSymbols &DimSymbolsBuilder::symbolsOf(KernelOp kernel) {
  std::unique_ptr<DimSymbols> &symbols = kernelSymbols[kernel];
  if (!symbols)
    symbols = std::make_unique<DimSymbols>(DimSymbols::ofKernel(kernel));
  return *symbols;
}

/// The node of a size of a kernel's body for one launch of it, where
/// `nodeOfName` has the dims of the operands; nullopt where the body computes
/// it in a way of its own.
std::optional<DimSymbolsBuilder::Node>
DimSymbolsBuilder::instantiate(const DimSymbols &dims, const SizeExpr &size,
                               llvm::DenseMap<DimName, Node> &nodeOfName) {
  SmallVector<Node> operands;
  for (DimName name : size.operands) {
    if (name >= 0) {
      operands.push_back(constantNode(name));
      continue;
    }
    auto it = nodeOfName.find(name);
    if (it == nodeOfName.end()) {
      std::optional<Node> made =
          instantiate(dims, dims.definition(-1 - name), nodeOfName);
      if (!made)
        return std::nullopt;
      it = nodeOfName.try_emplace(name, *made).first;
    }
    operands.push_back(it->second);
  }
  switch (size.kind) {
  case Kind::Constant:
    return constantNode(size.constant);
  case Kind::Argument:
  case Kind::Index:
  case Kind::Opaque:
    return std::nullopt;
  case Kind::Product:
  case Kind::FloorDiv:
  case Kind::CeilDiv:
  case Kind::Sum:
    return compute(size.kind, operands, size.constant);
  }
  llvm_unreachable("all kinds are handled");
}

/// What the operators of the kernel compute of sizes of its operands is so for
/// those of the launch.
void DimSymbolsBuilder::relateLaunch(
    LaunchOp launch, KernelOp kernel,
    llvm::DenseMap<DimName, Node> &nodeOfName) {
  const DimSymbols &dims = symbolsOf(kernel);
  Block &body = kernel.getSpecBlock();
  for (const DimSymbols::Guard &guard : dims.guards()) {
    auto argument = dyn_cast_or_null<BlockArgument>(guard.lhs.value);
    if (guard.lhs.kind != Kind::Argument || !argument ||
        argument.getOwner() != &body || guard.rhs.operands.empty())
      continue;
    Value operand = launch->getOperand(argument.getArgNumber());
    if (std::optional<Node> size = instantiate(dims, guard.rhs, nodeOfName))
      unite(node(operand, guard.lhs.dim), *size);
  }
}

void DimSymbolsBuilder::visitFused(FusedOp fused) {
  for (auto [out, result] : llvm::zip(fused.getOuts(), fused.getResults()))
    sameShape(result, out);
  Block &body = fused.getBody().front();
  for (auto [argument, operand] :
       llvm::zip(body.getArguments(), fused->getOperands()))
    sameShape(operand, argument);
  for (Operation &inner : body)
    visit(&inner);
  for (auto [value, result] :
       llvm::zip(body.getTerminator()->getOperands(), fused.getResults()))
    sameShape(result, value);
}

void DimSymbolsBuilder::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
            tensor::CollapseShapeOp, tensor::CastOp, tensor::EmptyOp,
            tensor::DimOp>([&](auto) { visitView(op); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp,
            arith::CeilDivUIOp>([&](auto) { visitIndex(op); })
      .Case<ShapeOpInterface>([&](auto) { visitStated(op); })
      .Case<FusedOp>([&](FusedOp o) { visitFused(o); })
      .Case<LaunchOp>([&](LaunchOp o) { visitLaunch(o); });
}
