//===- JointEmit.cpp - The C++ of a joint kernel --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of every problem, by its own family, in a namespace of its own, and
// an entry point per variant that finds the problem of its block. How many
// blocks a problem has is computed from the words, as the launch computed it.
// In an ordered kernel blocks count themselves and wait (kernels/device/order).
//
//===----------------------------------------------------------------------===//

#include "JointPlan.h"

#include "Emission/ArgumentWords.h"
#include "hk/Dialect/WaitingProblems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Index values of a variant's region as C++.
class SizeText {
public:
  explicit SizeText(const ArgumentWords &words) : words(words) {}

  std::string operator()(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return words.size(-1 - int64_t(argument.getArgNumber()));
    return llvm::TypeSwitch<Operation *, std::string>(value.getDefiningOp())
        .Case([](arith::ConstantIndexOp op) {
          return std::to_string(op.value());
        })
        .Case([&](arith::AddIOp op) { return infix(op, " + "); })
        .Case([&](arith::SubIOp op) { return infix(op, " - "); })
        .Case([&](arith::MulIOp op) { return infix(op, " * "); })
        .Case([&](arith::DivUIOp op) { return infix(op, " / "); })
        .Case([&](arith::CeilDivUIOp op) {
          std::string each = (*this)(op.getRhs());
          return "((" + (*this)(op.getLhs()) + " + " + each + " - 1) / " +
                 each + ")";
        })
        .Case([&](arith::MinUIOp op) { return choice(op, " < "); })
        .Case([&](arith::MaxUIOp op) { return choice(op, " > "); })
        .Default([](Operation *op) -> std::string {
          llvm::report_fatal_error("no C++ for " +
                                   op->getName().getStringRef() +
                                   " in the grid of a shared launch");
        });
  }

private:
  std::string infix(Operation *op, StringRef sign) {
    return ("(" + (*this)(op->getOperand(0)) + sign +
            (*this)(op->getOperand(1)) + ")")
        .str();
  }
  std::string choice(Operation *op, StringRef sign) {
    std::string a = (*this)(op->getOperand(0)), b = (*this)(op->getOperand(1));
    return ("(" + a + sign + b + " ? " + a + " : " + b + ")").str();
  }

  const ArgumentWords &words;
};

class JointEmitter {
public:
  JointEmitter(KernelOp joint, const ::hk::Target &target, StringRef prefix,
               raw_ostream &os)
      : joint(joint), target(target), prefix(prefix), os(os), words(joint) {}

  LogicalResult run() {
    std::string problems;
    for (auto [index, problem] : llvm::enumerate(joint.getProblems())) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      if (failed(familyOf(problem.getFamily())
                     .emit(problem, target, prefix, stream)))
        return failure();
      problems += "namespace " + nameOf(index) + " {\n";
      problems += withoutIncludes(text);
      problems += "} // namespace " + nameOf(index) + "\n\n";
    }
    if (isOrdered(joint))
      includes.push_back("#include \"kernels/device/order.h\"");
    for (StringRef line : includes)
      os << line << "\n";
    os << "\n" << problems;
    for (VariantOp variant : joint.getVariants())
      writeEntry(variant);
    return success();
  }

private:
  static std::string nameOf(int64_t index) {
    return "problem" + std::to_string(index);
  }

  /// What follows the lines of includes, which it keeps.
  std::string withoutIncludes(StringRef text) {
    while (text.starts_with("#include")) {
      auto [line, rest] = text.split('\n');
      if (!llvm::is_contained(includes, line))
        includes.push_back(line.str());
      text = rest;
    }
    return text.ltrim('\n').str();
  }

  void writeEntry(VariantOp variant) {
    SmallVector<VariantOp> parts = problemVariants(joint, variant);
    auto function = [&](int64_t index) {
      return nameOf(index) + "::" + prefix.str() +
             parts[index].getSymName().str();
    };
    std::string lds = (prefix + variant.getSymName() + "_shared").str();
    os << "using " << lds << " = hk::SharedLds<";
    for (size_t i = 0; i < parts.size(); ++i)
      os << (i ? ", " : "") << function(i) << "_lds";
    os << (isOrdered(joint) ? ", hk::OrderLds>;\n" : ">;\n");
    writeHead(variant, lds);
    if (spread)
      writeRanges(parts);
    size_t maps = 0;
    for (auto [i, part] : llvm::enumerate(parts)) {
      if (!spread)
        writeRange(i, part);
      auto problem = cast<KernelOp>(part->getParentOp());
      size_t own =
          familyOf(problem.getFamily()).getTensorMaps(problem, part).size();
      if (waits(problem))
        writeWait(i);
      writeCall(i, i + 1 == parts.size(), function(i),
                own ? "maps + " + std::to_string(maps) + ", " : "");
      maps += own;
    }
    os << "}\n\n";
  }

  void writeHead(VariantOp variant, StringRef lds) {
    size_t maps =
        familyOf(FamilyKind::joint).getTensorMaps(joint, variant).size();
    spread = maps != 0;
    os << (spread ? StringRef("HK_MAPPED_KERNEL") : entryMacro(joint)) << "("
       << prefix << variant.getSymName() << ", " << words.size() << ", ";
    if (spread)
      os << maps << ", " << variant.getThreads();
    else
      os << variant.getThreads() << ", 1";
    os << ", " << lds << ") {\n  using namespace hk;\n";
    if (spread)
      os << "  beginAfterLast();\n";
    if (isOrdered(joint))
      os << "  const Global<u32> order = global<u32>("
         << words.address(joint.getNumOperands() - 1) << ");\n"
         << "  block = numberedBlock(order, block, lds.as<OrderLds>());\n";
  }

  void writeRange(size_t i, VariantOp part) {
    SizeText text(words);
    auto launch = cast<LaunchDimsOp>(part.getBody().front().getTerminator());
    os << "  const BlockRange range" << i << "{" << text(launch.getX()) << ", "
       << text(launch.getY()) << ", " << text(launch.getZ()) << "};\n";
  }

  /// The blocks of all problems, and for each how the others lie among them.
  void writeRanges(ArrayRef<VariantOp> parts) {
    for (auto [i, part] : llvm::enumerate(parts))
      writeRange(i, part);
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      os << "  const BlockSpread spread" << i << "{range" << i << ".size(), ";
      for (size_t j = i + 1; j < parts.size(); ++j)
        os << (j > i + 1 ? " + " : "") << "range" << j << ".size()";
      os << "};\n";
    }
  }

  /// For the blocks of all problems in front of problem `i`.
  void writeWait(size_t i) {
    os << "  awaitBlocks(order, u32(";
    for (size_t j = 0; j < i; ++j)
      os << (j ? " + " : "") << "range" << j << ".size()";
    os << "));\n";
  }

  void writeCall(size_t i, bool last, StringRef function, StringRef maps) {
    std::string number = std::to_string(i), range = "range" + number;
    std::string order = spread ? "spread" + number : range;
    std::string block = spread && !last ? order + ".own(block)" : "block";
    bool counts = !last && isOrdered(joint);
    os << "  ";
    if (!last)
      os << "if (" << order << ".holds(block))"
         << (counts ? " {\n    " : "\n    return ");
    os << function << "_body(words, " << maps << range << "[" << block
       << "], lds.as<" << function << "_lds>());\n";
    if (counts)
      os << "    countBlock(order);\n    return;\n  }\n";
    if (!last)
      os << "  block = " << order << ".after(block);\n";
  }

  KernelOp joint;
  const ::hk::Target &target;
  StringRef prefix;
  raw_ostream &os;
  ArgumentWords words;
  SmallVector<std::string> includes;
  /// Whether blocks of the variant use the copy engine and fill their compute
  /// units: then those of all problems lie among each other, so that some units
  /// wait for memory while others multiply.
  bool spread = false;
};

} // namespace

LogicalResult mlir::hk::emitJoint(KernelOp joint, const ::hk::Target &target,
                                  StringRef prefix, raw_ostream &os) {
  return JointEmitter(joint, target, prefix, os).run();
}
