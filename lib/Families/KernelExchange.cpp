//===- KernelExchange.cpp - Exchanges that kernels make themselves --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes, families and the driver ask of such an exchange.
//
//===----------------------------------------------------------------------===//

#include "hk/Families/KernelExchange.h"

#include "hk/Contract/Exchange.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::hk;

bool mlir::hk::isOfEngine(CollectiveOpInterface op) {
  Exchange exchange = op.getExchange();
  if (!exchange.reduction)
    return true;
  Type type = tensorType(op->getOperand(0)).getElementType();
  if (isa<FloatType>(type))
    return *exchange.reduction == ReduceKind::sum &&
           exchange.transport == Transport::any_order;
  return type.isInteger(8) || type.isInteger(32) || type.isInteger(64);
}

CollectiveOpInterface mlir::hk::exchangeOf(KernelOp kernel) {
  for (auto op : kernel.getSpecBlock().getOps<CollectiveOpInterface>())
    return op;
  return {};
}

int64_t mlir::hk::ranksOf(CollectiveOpInterface op) {
  std::optional<::hk::Mesh> mesh = meshOf(op);
  return mesh->axes()[mesh->find(op.getAxis().str())].size;
}

bool mlir::hk::mayHaveOwners(CollectiveOpInterface op) {
  return ranksOf(op) > 2 &&
         tensorType(op->getOperand(0)).getElementTypeBitWidth() ==
             tensorType(op->getResult(0)).getElementTypeBitWidth();
}

int64_t mlir::hk::exchangeVecOf(AllReduceOp op) {
  return ::hk::kExchangeChunk * 8 /
         tensorType(op.getInput()).getElementTypeBitWidth();
}

Verdict mlir::hk::judgeKernelExchange(AllReduceOp op,
                                      const ::hk::Target &target) {
  auto module = op->getParentOfType<ModuleOp>();
  auto wish = module ? module->getAttrOfType<StringAttr>(kExchangeAttrName)
                     : StringAttr();
  bool wanted =
      wish ? wish.getValue() != "engine" : ::hk::exchangesInKernels(target);
  if (!wanted)
    return Verdict::refuse(Reason::Disabled,
                           Twine("kernels of ") + target.name +
                               " leave exchanges to the engine");
  Type from = tensorType(op.getInput()).getElementType();
  auto isSent = [](Type type) {
    return type.isF32() || type.isBF16() || type.isF16();
  };
  if (op.getKind() != ReduceKind::sum || !isSent(from) ||
      !isSent(tensorType(op.getResult()).getElementType()))
    return Verdict::refuse(Reason::UnsupportedDType,
                           "kernels exchange sums of f32, bf16 and f16");
  RankedTensorType type = tensorType(op.getResult());
  if (type.getRank() == 0 || type.isDynamicDim(type.getRank() - 1))
    return Verdict::refuse(Reason::SizeUnknown,
                           "a row that kernels exchange has a size that is "
                           "known when they are compiled");
  int64_t width = type.getShape().back(), vec = exchangeVecOf(op);
  if (width == 0 || width % vec != 0)
    return Verdict::refuse(Reason::Unaligned,
                           "kernels exchange rows of whole " +
                               Twine(::hk::kExchangeChunk) + " bytes");
  if (width * type.getElementTypeBitWidth() / 8 > ::hk::kMostExchangedBytes)
    return Verdict::refuse(Reason::LdsExceeded,
                           "a kernel keeps a row of at most " +
                               Twine(::hk::kMostExchangedBytes) +
                               " bytes that it exchanges");
  if (module && meshOf(op) && ranksOf(op) == 1)
    return Verdict::refuse(Reason::Disabled, "the axis has one rank");
  return Verdict::accept();
}
