//===- GemmOperandPaths.cpp - How the operands of a product reach LDS -----===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand whose rows lie as they are multiplied is copied straight into LDS;
// any other goes through registers, where it is decoded, converted or
// transposed. That is right, but slower, so the log says it.
//
//===----------------------------------------------------------------------===//

#include "GemmPlan.h"

#include "hk/Contract/Capability.h"

using namespace mlir;
using namespace mlir::hk;

static std::string nameOf(::hk::DType type, MLIRContext *context) {
  std::string text;
  llvm::raw_string_ostream(text) << typeOf(type, context);
  return text;
}

Verdict mlir::hk::copyVerdict(const GemmOperand &operand, ::hk::DType type,
                              const ::hk::Target &target,
                              int64_t rowAlignment) {
  MLIRContext *context = operand.data.getContext();
  if (operand.isDecoded())
    return Verdict::refuse(Reason::UnsupportedDType,
                           "it is decoded on the way to LDS");
  if (operand.type() != type)
    return Verdict::refuse(Reason::UnsupportedDType,
                           nameOf(operand.type(), context) +
                               " is converted to " + nameOf(type, context) +
                               ", which " + Twine(target.name) +
                               " multiplies instead");
  if (!operand.isKContiguous())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "its rows do not run along k: it is transposed in "
                           "registers; store it with k as the last dim");
  if (int64_t known = operandAlignment(operand, rowAlignment); known < 16)
    return Verdict::refuse(Reason::Unaligned,
                           "its rows begin at multiples of " + Twine(known) +
                               " bytes, not of 16");
  if (operand.gathered && !::hk::copiesGatheredRows(target))
    return Verdict::refuse(Reason::UnsupportedShape,
                           "its rows are gathered by index");
  return Verdict::accept();
}

/// One side of microscaledVerdict.
static Verdict takenAsStored(const GemmOperand &operand,
                             const ::hk::Target &target, const Twine &name,
                             int64_t rowAlignment) {
  if (!::hk::multipliesScaled(target, operand.type()))
    return Verdict::refuse(
        Reason::UnsupportedDType,
        "the " + name + " operand is of " +
            nameOf(operand.type(), operand.data.getContext()));
  if (operand.decoder)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "the " + name + " operand is decoded by " +
                               operand.decoder->getName().getStringRef());
  if (!operand.isKContiguous())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "rows of the " + name +
                               " operand do not run along k");
  if (int64_t known = operandAlignment(operand, rowAlignment); known < 16)
    return Verdict::refuse(Reason::Unaligned,
                           "rows of the " + name +
                               " operand begin at multiples of " +
                               Twine(known) + " bytes, not of 16");
  return Verdict::accept();
}

Verdict mlir::hk::microscaledVerdict(GemmPlan gemm, const ::hk::Target &target,
                                     int64_t alignA, int64_t alignB) {
  if (!target.scaledMma)
    return Verdict::refuse(Reason::UnsupportedDType,
                           Twine(target.name) +
                               " multiplies no elements with their scales");
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  for (auto [operand, name, align] :
       {std::tuple(&a, "left", alignA), std::tuple(&b, "right", alignB)})
    if (Verdict verdict = takenAsStored(*operand, target, name, align);
        !verdict.accepted())
      return verdict;
  if (!a.scale && !b.scale &&
      ::hk::info(gemmOperandType(target, a.result, b.result)).bits == 8)
    return Verdict::refuse(Reason::UnsupportedDType,
                           "blocks multiply operands without scales");
  if (gemm.hasScaleAlongK() || gemm.groupsK())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "f32 scales along k and groups of k need blocks");
  return Verdict::accept();
}

Verdict mlir::hk::pingPongVerdict(GemmPlan gemm, const ::hk::Target &target,
                                  int64_t alignA, int64_t alignB) {
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  ::hk::DType type = gemmOperandType(target, a.result, b.result);
  if (type == ::hk::DType::F32)
    return Verdict::refuse(Reason::UnsupportedDType, "f32 needs blocks");
  for (auto [operand, name, align] :
       {std::tuple(&a, "left", alignA), std::tuple(&b, "right", alignB)})
    if (Verdict verdict = copyVerdict(*operand, type, target, align);
        !verdict.accepted())
      return Verdict::refuse(verdict.getReason(),
                             "the " + Twine(name) +
                                 " operand: " + verdict.getDetail());
  if (gemm.groupsK())
    return Verdict::refuse(Reason::UnsupportedShape, "groups of k need blocks");
  if (gemm.hasScaleAlongK() && !::hk::isFp8(type))
    return Verdict::refuse(Reason::UnsupportedDType,
                           "f32 scales along k need 8-bit floats");
  if (gemm.hasScaleAlongK() && gemm.isPair())
    return Verdict::refuse(Reason::UnsupportedShape,
                           "a gated pair with f32 scales along k needs blocks");
  return Verdict::accept();
}

void mlir::hk::noteStagedOperands(GemmPlan gemm, const ::hk::Target &target,
                                  int64_t alignA, int64_t alignB,
                                  DecisionLog &log) {
  auto kernel = gemm.matmul->getParentOfType<KernelOp>();
  // The problem of a joint kernel was a kernel of its own before.
  if (target.arch == ::hk::Arch::Host || kernel.getLaunched() != kernel)
    return;
  GemmOperand a = gemm.operand(GemmSide::Lhs), b = gemm.operand(GemmSide::Rhs);
  ::hk::DType type = gemmOperandType(target, a.result, b.result);
  Decision decision{DecisionKind::Plan,
                    gemm.matmul.getLoc(),
                    gemm.matmul->getName().getStringRef().str(),
                    {},
                    /*chosen=*/-1};
  for (auto [operand, align, what] :
       {std::tuple(&a, alignA, "copy the left operand straight into LDS"),
        std::tuple(&b, alignB, "copy the right operand straight into LDS")})
    if (Verdict verdict = copyVerdict(*operand, type, target, align);
        !verdict.accepted())
      decision.candidates.push_back({what, std::move(verdict)});
  if (!decision.candidates.empty())
    log.add(std::move(decision));
}
