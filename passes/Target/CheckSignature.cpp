//===- CheckSignature.cpp - Arguments and results -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything after this pass may take for granted that every argument and every
// result is a ranked tensor of an element type that hk has, that its bytes can
// be counted, that public names are different, and that what a function writes
// in place it also returns. And that a function's name can stand in JSON.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/State.h"
#include "hk/Dialect/HK.h"
#include "hk/Passes/Entry.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKCHECKSIGNATURE
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
bool isTensorOfHK(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && dtypeOf(tensor.getElementType());
}

LogicalResult checkSignature(func::FuncOp function) {
  if (!llvm::json::isUTF8(function.getSymName()))
    return function.emitOpError("expected a name in UTF-8, but got '")
           << llvm::json::fixUTF8(function.getSymName()) << "'";
  auto check = [&](TypeRange types, StringRef what) -> LogicalResult {
    for (auto [i, type] : llvm::enumerate(types))
      if (!isTensorOfHK(type))
        return function.emitOpError("expected ")
               << what << " #" << i
               << " to be a ranked tensor of f32, bf16, f16, i1, i4, ui4, i8, "
                  "i16, i32, i64, "
                  "f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU or "
                  "f4E2M1FN, but got "
               << type;
      else if (auto tensor = cast<RankedTensorType>(type);
               !hasWholeRows(tensor))
        return function.emitOpError("expected the last size of ")
               << what << " #" << i << " to be static and even for "
               << tensor.getElementType() << ", but got " << type;
    return success();
  };
  if (failed(check(function.getArgumentTypes(), "argument")))
    return failure();
  return check(function.getResultTypes(), "result");
}

/// Sums of bytes of tensors stay below 2^63.
constexpr int64_t kMostBytes = int64_t(1) << 48;

/// Whether the static sizes of `type` multiply to less than kMostBytes.
bool isCountable(RankedTensorType type) {
  std::optional<::hk::DType> dtype = dtypeOf(type.getElementType());
  int64_t bits = dtype ? ::hk::info(*dtype).bits : 8;
  if (llvm::is_contained(type.getShape(), 0))
    return true;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size) &&
        (llvm::MulOverflow(bits, size, bits) || bits > 8 * kMostBytes))
      return false;
  return true;
}

LogicalResult checkBytes(func::FuncOp function) {
  auto check = [&](Location loc, Type type) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || isCountable(tensor))
      return success();
    return emitError(loc, "expected a tensor of at most 2^48 bytes, but got ")
           << type;
  };
  for (BlockArgument argument : function.getArguments())
    if (failed(check(argument.getLoc(), argument.getType())))
      return failure();
  WalkResult walked = function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (failed(check(op->getLoc(), type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Names, writes and values are those of one block, whose end returns them.
LogicalResult checkBlocks(func::FuncOp function) {
  if (function.getBody().hasOneBlock())
    return success();
  return function.emitOpError("expected one block, but got ")
         << llvm::range_size(function.getBody())
         << "; hk has no control flow: compute both branches and choose with "
            "hk.select, or compile a function for each";
}

/// Arguments and results are found by their names.
LogicalResult checkNames(func::FuncOp function) {
  llvm::StringMap<std::string> taken;
  auto take = [&](StringRef name, std::string what) -> LogicalResult {
    auto [it, inserted] = taken.try_emplace(name, what);
    if (inserted)
      return success();
    return function.emitOpError("expected public names to be different, but ")
           << it->second << " and " << what << " are both '" << name
           << "'; give one of them another '" << kNameAttrName << "'";
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(
            take(argumentName(function, i), "argument #" + std::to_string(i))))
      return failure();
  Operation *ret = function.getBody().front().getTerminator();
  unsigned outputs = 0;
  for (OpOperand &operand : ret->getOpOperands()) {
    if (stateArgumentOf(operand.get()))
      continue; // no argument of its own
    unsigned i = operand.getOperandNumber();
    if (failed(take(outputName(function, i, outputs++),
                    "result #" + std::to_string(i))))
      return failure();
  }
  return success();
}

/// Whether `value` comes to the function's return, through views and further
/// writes in place.
bool isReturned(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<func::ReturnOp>(user))
      return true;
    for (OpResult result : user->getResults()) {
      OpOperand *state = tiedStateOf(result);
      bool continues =
          state ? state == &use
                : isa_and_nonnull<tensor::TensorDialect>(user->getDialect());
      if (continues && isReturned(result))
        return true;
    }
    return false;
  });
}

/// The value that first had the memory of `value`, before views and writes.
Value memoryOf(Value value) {
  while (true) {
    value = rootOfViews(value);
    auto result = dyn_cast<OpResult>(value);
    OpOperand *state = result ? tiedStateOf(result) : nullptr;
    auto insert = value.getDefiningOp<tensor::InsertSliceOp>();
    if (!state && !insert)
      return value;
    value = state ? state->get() : insert.getDest();
  }
}

/// What `op` writes in place is a state, or a value that the function made.
LogicalResult checkMemory(func::FuncOp function, Operation &op, Value written) {
  Value memory = memoryOf(written);
  if (memory.getDefiningOp<WeightRefOp>())
    return op.emitOpError("writes in place into a weight; write into an "
                          "hk.copy of it");
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!argument || function.getArgAttr(argument.getArgNumber(), kStateAttrName))
    return success();
  return op.emitOpError("writes in place into argument '")
         << argumentName(function, argument.getArgNumber())
         << "', which is an input; give the argument '" << kStateAttrName
         << "' or write into an hk.copy of it";
}

/// A write whose result nobody returns is no effect in the graph: it would be
/// dropped, or done although the caller was not told of it.
LogicalResult checkWrites(func::FuncOp function) {
  for (Operation &op : function.getBody().front())
    for (OpResult result : op.getResults()) {
      OpOperand *state = tiedStateOf(result);
      if (state && failed(checkMemory(function, op, state->get())))
        return failure();
      BlockArgument argument = state ? stateArgumentOf(state->get()) : nullptr;
      if (!argument || isReturned(result))
        continue;
      return op.emitOpError("writes the state '")
             << argumentName(function, argument.getArgNumber())
             << "', but the function does not return what it wrote; return "
                "result #"
             << result.getResultNumber() << " of it, or what later writes make "
             << "of it";
    }
  return success();
}

/// Equal names in hk.dims are equal sizes; static ones are compared here.
LogicalResult checkDims(func::FuncOp function) {
  llvm::StringMap<std::pair<unsigned, int64_t>> sizes; // of argument
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto names = function.getArgAttrOfType<ArrayAttr>(i, kDimsAttrName);
    if (!names)
      continue;
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    for (auto [dim, name] : llvm::enumerate(names.getAsRange<StringAttr>())) {
      int64_t size = type.getDimSize(dim);
      if (name.getValue() == "_" || ShapedType::isDynamic(size))
        continue;
      auto [it, inserted] =
          sizes.try_emplace(name.getValue(), std::make_pair(i, size));
      if (!inserted && it->second.second != size)
        return function.emitOpError("expected the dims '")
               << name.getValue() << "' to have one size, but got "
               << it->second.second << " in '"
               << argumentName(function, it->second.first) << "' and " << size
               << " in '" << argumentName(function, i) << "'";
    }
  }
  return success();
}

struct HKCheckSignature
    : ::mlir::hk::impl::HKCheckSignatureBase<HKCheckSignature> {
  using HKCheckSignatureBase::HKCheckSignatureBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (failed(checkSignature(function)))
        return signalPassFailure();
      if (!function.isPublic() || function.isExternal())
        continue;
      if (failed(checkBlocks(function)) || failed(checkBytes(function)) ||
          failed(checkNames(function)) || failed(checkDims(function)) ||
          failed(checkWrites(function)))
        return signalPassFailure();
    }
  }
};
} // namespace
