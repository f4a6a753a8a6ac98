//===- AttentionRegions.cpp - The C++ of an attention's regions -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `score` and `weight` become static functions of one struct, pulled like the
// values of a row: their scalar arguments are parameters, their tensors are
// operands of the kernel, which they find in its argument words.
//
//===----------------------------------------------------------------------===//

#include "AttentionRegions.h"
#include "Emission/Puller.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
class RegionEmitter {
public:
  RegionEmitter(KernelOp kernel, ArrayRef<int64_t> reads, raw_ostream &os)
      : kernel(kernel), reads(reads), dims(DimSymbols::ofKernel(kernel)),
        os(os) {}

  void run(Region &score, Region &weight, StringRef name) {
    auto flag = [](Region &region) {
      return region.empty() ? "false" : "true";
    };
    os << "struct " << name
       << " {\n  static constexpr bool kScore = " << flag(score)
       << ", kWeight = " << flag(weight) << ";\n";
    if (!score.empty())
      write(score.front(), "score", AttentionOp::kNumScoreArguments);
    if (!weight.empty())
      write(weight.front(), "weight", AttentionOp::kNumWeightArguments);
    os << "};\n\n";
  }

private:
  /// The parameters, in the order of the region's arguments; the score, if the
  /// region has it, is in front.
  static constexpr StringLiteral kPositions[] = {"sequence", "head",    "query",
                                                 "key",      "queries", "keys"};

  /// Whether a score of -inf, a key that is not seen, must become a weight of
  /// 0: there is no softmax that does, and an infinity in a constant or in what
  /// is read.
  static bool hidesKeys(Block &block, unsigned numScalars) {
    auto attention = dyn_cast<AttentionOp>(block.getParentOp());
    if (!attention || attention.getNormalizer() != Normalizer::none)
      return false;
    auto isFloat = [](Value value) {
      return isa<FloatType>(getElementTypeOrSelf(value.getType()));
    };
    return llvm::any_of(block.getArguments().drop_front(numScalars), isFloat) ||
           llvm::any_of(block.getOps<ConstantOp>(), [&](ConstantOp op) {
             return isFloat(op.getResult()) &&
                    llvm::any_of(
                        op.getValue().getValues<APFloat>(),
                        [](const APFloat &v) { return v.isInfinity(); });
           });
  }

  void write(Block &block, StringRef name, unsigned numScalars) {
    bool hasScore = numScalars > std::size(kPositions);
    os << "  HK_DEV float " << name << "([[maybe_unused]] const u64 *words";
    if (hasScore)
      os << ", [[maybe_unused]] float s";
    for (StringRef position : kPositions)
      os << ", [[maybe_unused]] i32 " << position;
    os << ") {\n";

    CodeWriter out;
    Puller puller(kernel, dims, out);
    puller.declareArguments();
    for (unsigned i = 0; i < numScalars; ++i) {
      StringRef parameter =
          hasScore && i == 0 ? "s" : kPositions[i - (hasScore ? 1 : 0)];
      StringRef carrier = hasScore && i == 0 ? "float" : "i32";
      Expr one = splat({carrier, 1}, {parameter.str(), {carrier}});
      puller.bind(block.getArgument(i),
                  [one](ArrayRef<AffineExpr>, int) { return one; });
    }
    for (auto [index, operand] : llvm::enumerate(reads))
      puller.bindTo(block.getArgument(numScalars + unsigned(index)),
                    kernel.getSpecBlock().getArgument(unsigned(operand)));
    Expr result = puller.pullScalar(block.getTerminator()->getOperand(0), {});
    if (hasScore && hidesKeys(block, numScalars)) {
      out.line("float r = " + result.text + ";");
      out.line("return r == kMinusInf ? 0.f : r;");
    } else {
      out.line("return " + result.text + ";");
    }
    out.print(os, 4);
    os << "  }\n";
  }

  KernelOp kernel;
  ArrayRef<int64_t> reads;
  DimSymbols dims;
  raw_ostream &os;
};
} // namespace

void mlir::hk::emitAttentionRegions(KernelOp kernel, Region &score,
                                    Region &weight, ArrayRef<int64_t> reads,
                                    StringRef name, raw_ostream &os) {
  RegionEmitter(kernel, reads, os).run(score, weight, name);
}
