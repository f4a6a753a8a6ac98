//===- AttentionRegions.cpp - The C++ of an attention's regions -----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `score`, `slope` and `weight` become static functions of one struct, pulled
// like the values of a row: their scalar arguments are parameters, their
// tensors are operands of the kernel, which they find in its argument words.
// Beside a `slope` what they read by the sequence alone is read once for a
// block: the branch around each such load would be one of every pair otherwise.
//
//===----------------------------------------------------------------------===//

#include "AttentionRegions.h"
#include "Emission/Puller.h"
#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
class RegionEmitter {
public:
  RegionEmitter(KernelOp kernel, ArrayRef<int64_t> reads, raw_ostream &os)
      : kernel(kernel), reads(reads), dims(DimSymbols::ofKernel(kernel)),
        os(os) {}

  void run(Region &score, Region *slope, Region &weight, StringRef name) {
    auto flag = [](Region &region) {
      return region.empty() ? "false" : "true";
    };
    os << "struct " << name
       << " {\n  static constexpr bool kScore = " << flag(score)
       << ", kWeight = " << flag(weight) << ";\n";
    if (slope && !slope->empty()) {
      for (Region *region : {&score, slope, &weight})
        if (!region->empty())
          findShared(region->front());
      if (!shared.empty())
        writeContext();
    }
    if (!score.empty())
      write(score.front(), "score");
    if (slope && !slope->empty())
      write(slope->front(), "slope");
    if (!weight.empty())
      write(weight.front(), "weight");
    os << "};\n\n";
  }

private:
  /// The parameters, in the order of the region's arguments; the score, if the
  /// region has it, is in front.
  static constexpr StringLiteral kPositions[] = {"sequence", "head",    "query",
                                                 "key",      "queries", "keys"};
  /// Those that all pairs of a sequence have in common.
  static constexpr StringLiteral kOfSequence[] = {"sequence", "queries",
                                                  "keys"};
  /// The place of "key" among them all.
  static constexpr unsigned kKey = 3;
  /// kLowestScore of softmax.h.
  static constexpr double kLow = -2.3e38;

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

  /// Whether `value` depends on which key the score is of.
  static bool dependsOnKey(Value value, Block &block) {
    SetVector<Operation *> producers;
    BackwardSliceOptions options;
    options.inclusive = true;
    if (Operation *op = value.getDefiningOp())
      (void)getBackwardSlice(op, &producers, options);
    Value key = block.getArgument(1 + kKey);
    return value == key || llvm::any_of(producers, [&](Operation *op) {
             return llvm::is_contained(op->getOperands(), key);
           });
  }

  /// Whether a score may be a finite number whose product with log2(e) is none:
  /// masks hide keys by adding the lowest number of f32 or bf16, or choose it.
  /// A row of which all scores are that low has the mean of the values.
  static bool nearsLowest(Block &block) {
    auto attention = dyn_cast<AttentionOp>(block.getParentOp());
    if (!attention || attention.getNormalizer() != Normalizer::softmax)
      return false;
    auto tables =
        block.getArguments().drop_front(AttentionOp::kNumScoreArguments);
    auto reads = [&](Operation &op) {
      return llvm::any_of(tables, [&](Value table) {
        auto type = dyn_cast<FloatType>(getElementTypeOrSelf(table.getType()));
        return type && llvm::is_contained(op.getOperands(), table) &&
               APFloat::semanticsMaxExponent(type.getFloatSemantics()) >= 127 &&
               llvm::any_of(op.getOperands(), [&](Value index) {
                 return dependsOnKey(index, block);
               });
      });
    };
    auto holds = [](Operation &op) {
      auto constant = dyn_cast<ConstantOp>(op);
      return constant &&
             isa<FloatType>(getElementTypeOrSelf(constant.getType())) &&
             llvm::any_of(constant.getValue().getValues<APFloat>(),
                          [](const APFloat &v) {
                            return v.isFinite() && v.convertToDouble() < kLow;
                          });
    };
    return llvm::any_of(block,
                        [&](Operation &op) { return holds(op) || reads(op); });
  }

  /// Those of its arguments that are no operands of the kernel.
  unsigned getNumScalars(Block &block) const {
    return block.getNumArguments() - unsigned(reads.size());
  }

  /// Adds what `block` reads by the sequence, and by its numbers of queries and
  /// keys, alone.
  void findShared(Block &block) {
    unsigned first = getNumScalars(block) - unsigned(std::size(kPositions));
    llvm::SmallDenseSet<Value> known;
    for (auto [index, position] : llvm::enumerate(kPositions))
      if (llvm::is_contained(kOfSequence, position))
        known.insert(block.getArgument(first + unsigned(index)));
    auto tables = block.getArguments().drop_front(getNumScalars(block));
    known.insert(tables.begin(), tables.end());
    for (Operation &op : block.without_terminator()) {
      if (!llvm::all_of(op.getOperands(),
                        [&](Value v) { return known.contains(v); }))
        continue;
      known.insert_range(op.getResults());
      if (llvm::any_of(op.getOperands(),
                       [&](Value v) { return llvm::is_contained(tables, v); }))
        llvm::append_range(shared, op.getResults());
    }
  }

  /// Whether values of two regions, or of one, are the same for a sequence.
  /// Arguments that all regions have stand at the end.
  static bool isSame(Value x, Value y) {
    auto argument = dyn_cast<BlockArgument>(x),
         other = dyn_cast<BlockArgument>(y);
    if (argument && other)
      return argument.getOwner()->getNumArguments() - argument.getArgNumber() ==
             other.getOwner()->getNumArguments() - other.getArgNumber();
    Operation *made = x.getDefiningOp(), *also = y.getDefiningOp();
    return made && also && made->getName() == also->getName() &&
           made->getAttrDictionary() == also->getAttrDictionary() &&
           x.getType() == y.getType() &&
           llvm::equal(made->getOperands(), also->getOperands(), isSame);
  }

  /// What the functions take instead of the words: these, and what is shared.
  void writeContext() {
    CodeWriter out;
    Puller puller(kernel, dims, out);
    puller.declareArguments();
    out.line("Context c = {words};");
    std::string fields;
    for (Value value : shared) {
      size_t index = size_t(
          llvm::find_if(shared, [&](Value x) { return isSame(x, value); }) -
          shared.begin());
      if (index < sharedFields.size()) {
        Expr earlier = sharedFields[index];
        sharedFields.push_back(earlier);
        continue;
      }
      bindArguments(puller, *value.getParentBlock());
      Expr read = puller.pull(value, {}, 1);
      std::string field = "shared" + std::to_string(index);
      fields += "    " + read.type.text() + " " + field + ";\n";
      out.line("c." + field + " = " + read.text + ";");
      sharedFields.push_back({"context." + field, read.type});
    }
    out.line("return c;");
    os << "  struct Context {\n    const u64 *words;\n"
       << fields << "  };\n"
       << "  HK_DEV Context context(const u64 *words";
    for (StringRef position : kOfSequence)
      os << ", [[maybe_unused]] i32 " << position;
    os << ") {\n";
    out.print(os, 4);
    os << "  }\n";
  }

  void bindArguments(Puller &puller, Block &block) {
    unsigned numScalars = getNumScalars(block);
    bool hasScore = numScalars > std::size(kPositions);
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
  }

  void write(Block &block, StringRef name) {
    unsigned numScalars = getNumScalars(block);
    bool hasScore = numScalars > std::size(kPositions);
    os << "  HK_DEV float " << name << "([[maybe_unused]] const "
       << (shared.empty() ? "u64 *words" : "Context &context");
    if (hasScore)
      os << ", [[maybe_unused]] float s";
    for (StringRef position : kPositions)
      os << ", [[maybe_unused]] i32 " << position;
    os << ") {\n";
    if (!shared.empty())
      os << "    [[maybe_unused]] const u64 *words = context.words;\n";

    CodeWriter out;
    Puller puller(kernel, dims, out);
    puller.declareArguments();
    bindArguments(puller, block);
    for (auto [value, field] : llvm::zip_equal(shared, sharedFields)) {
      Expr read = field;
      puller.bind(value, [read](ArrayRef<AffineExpr>, int) { return read; });
    }
    Expr result = puller.pullScalar(block.getTerminator()->getOperand(0), {});
    if (hasScore && hidesKeys(block, numScalars)) {
      out.line("float r = " + result.text + ";");
      out.line("return r == kMinusInf ? 0.f : r;");
    } else if (hasScore && nearsLowest(block)) {
      out.line("float r = " + result.text + ";");
      out.line("return r < kLowestScore && r > kMinusInf ? kLowestScore : r;");
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
  SmallVector<Value> shared; // and what they are in the functions
  SmallVector<Expr> sharedFields;
};
} // namespace

void mlir::hk::emitAttentionRegions(KernelOp kernel, Region &score,
                                    Region &weight, ArrayRef<int64_t> reads,
                                    StringRef name, raw_ostream &os,
                                    Region *slope) {
  RegionEmitter(kernel, reads, os).run(score, slope, weight, name);
}
