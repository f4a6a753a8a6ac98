//===- JointEmit.cpp - The C++ of a joint kernel --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of every problem, by its own family, in a namespace of its own, and
// an entry point per variant that gives each problem its blocks
// (kernels/device/problems.h). How many a problem has is computed from the
// words, as the launch computed it.
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
    includes.push_back("#include \"kernels/device/problems.h\"");
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
    size_t maps = 0;
    for (auto [i, part] : llvm::enumerate(parts)) {
      auto problem = cast<KernelOp>(part->getParentOp());
      size_t own =
          familyOf(problem.getFamily()).getTensorMaps(problem, part).size();
      writeProblem(i, part, function(i),
                   own ? "maps + " + std::to_string(maps) + ", " : "");
      maps += own;
    }
    writeRun(parts.size());
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

  void writeProblem(size_t i, VariantOp part, StringRef function,
                    StringRef maps) {
    SizeText text(words);
    auto launch = cast<LaunchDimsOp>(part.getBody().front().getTerminator());
    os << "  const auto part" << i << " = problem"
       << (waits(cast<KernelOp>(part->getParentOp())) ? "<true>" : "") << "(\n"
       << "      BlockRange{" << text(launch.getX()) << ", "
       << text(launch.getY()) << ", " << text(launch.getZ()) << "},\n"
       << "      [&](BlockId own) __attribute__((always_inline)) {\n"
       << "        " << function << "_body(words, " << maps << "own, lds.as<"
       << function << "_lds>());\n"
       << "      });\n";
  }

  void writeRun(size_t count) {
    if (isOrdered(joint))
      os << "  runOrdered(order, 0, block";
    else
      os << (spread ? "  runSpread(block" : "  runInTurn(block");
    for (size_t i = 0; i < count; ++i)
      os << ", part" << i;
    os << ");\n";
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
