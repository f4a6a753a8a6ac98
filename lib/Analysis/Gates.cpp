//===- Gates.cpp - Gated units written as several operators ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Gates.h.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Gates.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

static std::optional<GateKind> gateKindOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<GateKind>>(op)
      .Case<SiluOp>([](auto) { return GateKind::silu; })
      .Case<GeluOp>([](auto) { return GateKind::gelu; })
      .Case<GeluTanhOp>([](auto) { return GateKind::gelu_tanh; })
      .Case<ReluOp>([](auto) { return GateKind::relu; })
      .Default([](Operation *) { return std::nullopt; });
}

SmallVector<Gate, 2> mlir::hk::gatesOf(MulOp product) {
  SmallVector<Gate, 2> found;
  for (auto [activated, up] :
       {std::pair<Value, Value>(product.getLhs(), product.getRhs()),
        std::pair<Value, Value>(product.getRhs(), product.getLhs())}) {
    Operation *activation = activated.getDefiningOp();
    std::optional<GateKind> kind =
        activation ? gateKindOf(activation) : std::nullopt;
    if (!kind || !activated.hasOneUse())
      continue;
    Value gate = activation->getOperand(0);
    if (gate.getType() == activated.getType() && gate.getType() == up.getType())
      found.push_back({*kind, gate, up});
  }
  return found;
}
