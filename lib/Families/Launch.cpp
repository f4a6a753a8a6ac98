//===- Launch.cpp - Variants and their grids ------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes as arith on the arguments of a variant's region, and the region.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::hk;

void mlir::hk::writeAmongKernels(KernelOp kernel, llvm::raw_ostream &os,
                                 llvm::function_ref<void()> write) {
  bool isLaunched = kernel.getLaunched() == kernel;
  os << (isLaunched ? "namespace hk {\n" : "using namespace hk;\n");
  write();
  if (isLaunched)
    os << "\n} // namespace hk\n";
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Value LaunchBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value LaunchBuilder::size(DimName name) {
  if (name >= 0)
    return constant(name);
  int64_t index = SymShapeAttr::symbolOf(name);
  if (index < int64_t(symbols.size()))
    return symbols[index];
  const SizeExpr &definition = dims.definition(index);
  SmallVector<Value> operands;
  for (DimName operand : definition.operands)
    operands.push_back(size(operand));
  switch (definition.kind) {
  case SizeExpr::Kind::Product: {
    Value product = constant(definition.constant);
    for (Value operand : operands)
      product = multiply(product, operand);
    return product;
  }
  case SizeExpr::Kind::Sum: {
    Value sum = constant(definition.constant);
    for (Value operand : operands)
      sum = add(sum, operand);
    return sum;
  }
  case SizeExpr::Kind::FloorDiv:
    return divide(operands[0], definition.constant);
  case SizeExpr::Kind::CeilDiv:
    return ceilDivide(operands[0], definition.constant);
  case SizeExpr::Kind::Constant:
    return constant(definition.constant);
  case SizeExpr::Kind::Argument:
    return size(definition.value, definition.dim);
  case SizeExpr::Kind::Index:
  case SizeExpr::Kind::Opaque:
    break;
  }
  llvm_unreachable("matching refuses sizes that only data can tell");
}

Value LaunchBuilder::product(ArrayRef<DimName> names) {
  Value result = constant(1);
  for (DimName name : names)
    result = multiply(result, size(name));
  return result;
}

Value LaunchBuilder::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value LaunchBuilder::subtract(Value a, int64_t b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, constant(b));
}
Value LaunchBuilder::multiply(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}
Value LaunchBuilder::divide(Value a, int64_t b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, constant(b));
}
Value LaunchBuilder::ceilDivide(Value a, Value b) {
  return builder.createOrFold<arith::CeilDivUIOp>(loc, a, b);
}
Value LaunchBuilder::larger(Value a, Value b) {
  return builder.createOrFold<arith::MaxUIOp>(loc, a, b);
}
Value LaunchBuilder::smaller(Value a, Value b) {
  return builder.createOrFold<arith::MinUIOp>(loc, a, b);
}

Value LaunchBuilder::always() {
  return arith::ConstantIntOp::create(builder, loc, 1, 1);
}
Value LaunchBuilder::isAtMost(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, a,
                                             b);
}

Value LaunchBuilder::both(Value a, Value b) {
  return builder.createOrFold<arith::AndIOp>(loc, a, b);
}

Value LaunchBuilder::choose(Value condition, Value ifTrue, Value ifFalse) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, ifTrue, ifFalse);
}

LaunchDims LaunchBuilder::grid(Value x, Value y, Value z) {
  LaunchDims launch;
  launch.condition = always();
  launch.x = x;
  launch.y = y ? y : constant(1);
  launch.z = z ? z : constant(1);
  return launch;
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

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

VariantOp
mlir::hk::addVariant(KernelOp kernel, const DimSymbols &dims, Attribute tile,
                     int64_t threads, int64_t ldsBytes,
                     llvm::function_ref<LaunchDims(LaunchBuilder &)> fill) {
  return addVariant(kernel, tile, threads, ldsBytes,
                    [&](OpBuilder &builder, Location loc, ValueRange symbols) {
                      LaunchBuilder launch(builder, loc, symbols, dims);
                      return fill(launch);
                    });
}
