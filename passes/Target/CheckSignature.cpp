//===- CheckSignature.cpp - Arguments and results -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything after this pass may take for granted that every argument and every
// result is a ranked tensor of an element type that hk has: the module ABI
// passes nothing else. And that a function's name can stand in JSON.
//
//===----------------------------------------------------------------------===//

#include "hk/Dialect/HK.h"
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
               << " to be a ranked tensor of f32, bf16, f16, i1, i8, i16, i32, "
                  "i64, "
                  "f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, f8E8M0FNU or "
                  "f4E2M1FN, but got "
               << type;
    return success();
  };
  if (failed(check(function.getArgumentTypes(), "argument")))
    return failure();
  return check(function.getResultTypes(), "result");
}

struct HKCheckSignature
    : ::mlir::hk::impl::HKCheckSignatureBase<HKCheckSignature> {
  using HKCheckSignatureBase::HKCheckSignatureBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(checkSignature(function)))
        return signalPassFailure();
  }
};
} // namespace
