//===- AttentionEpilogueEmit.cpp - The C++ of what follows attention ------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functor that products have, with the result of the walk bound to the
// columns that it is called with. Every path has vectors of another number of
// columns, so there is a method for each. A quantisation is of the statistic of
// its columns that whoever calls found.
//
//===----------------------------------------------------------------------===//

#include "../EpilogueMethod.h"
#include "AttentionEpilogue.h"
#include "AttentionPlan.h"
#include "Emission/Puller.h"

#include "hk/Analysis/Alignment.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

/// Pulls the epilogue of `width` columns of one head.
class AttentionPuller : public Puller {
public:
  AttentionPuller(const AttentionPlan &plan, const DimSymbols &dims,
                  CodeWriter &out, int width)
      : Puller(plan.getKernel(), dims, out), result(plan.getResult()),
        places(result, dims), width(width) {
    declareArguments();
    if (!plan.getOp().hasRaggedQueries())
      own.push_back(symbol("batch"));
    own.push_back(symbol("row"));
    own.push_back(symbol("in.head"));
    if (width == 1) {
      own.push_back(symbol("col"));
    } else {
      // Written as a multiple, so that accesses know their alignment.
      out.line("[[maybe_unused]] const i64 vector = col / " + Twine(width) +
               ";");
      own.push_back(symbol("vector") * width);
    }
    bind(result, [this](ArrayRef<AffineExpr> position, int count) {
      return accumulated(position, count);
    });
    for (Operation &op : plan.getKernel().getSpecBlock().without_terminator()) {
      (void)places.add(&op); // accepted by fusion
      if (isView(&op) || isa<TransposeOp>(op))
        if (places.find(op.getResult(0)))
          bindView(&op);
    }
  }

  /// Where the columns are in a value that follows the result, or their scale
  /// in the scales.
  Position placeOf(Value value) {
    Operation *quantization = places.getQuantization();
    if (quantization && value == quantization->getResult(1)) {
      Position position = placeOf(quantization->getOperand(0));
      position.back() =
          simplify(position.back().floorDiv(scaleColumnsOf(quantization)));
      return position;
    }
    Position position;
    for (ArrayRef<int64_t> list : *places.find(value)) {
      AffineExpr index = constant(0);
      for (int64_t d : list)
        index = index * sizeOf(result, d) + own[d];
      position.push_back(simplify(index));
    }
    return position;
  }

  Expr statistic(Operation *, Value, RowReduction, int64_t,
                 ArrayRef<AffineExpr>, AffineExpr, ArrayRef<AffineExpr>,
                 int) override {
    return {"in.stat", {"float"}, code().depth()};
  }

private:
  /// The elements behind a view are those in front of it: dividing joined dims
  /// again would find what is known.
  void bindView(Operation *view) {
    Value made = view->getResult(0), source = view->getOperand(0);
    bind(made, [this, made, source](ArrayRef<AffineExpr> position, int count) {
      Position at = placeOf(source);
      at.back() = simplify(at.back() + position.back() - placeOf(made).back());
      return pull(source, at, count);
    });
  }

  Expr accumulated(ArrayRef<AffineExpr> position, int count) {
    Expr value = {"in.acc", {"float", width}};
    if (count != width) {
      AffineExpr offset = simplify(position.back() - own.back());
      value = splat({"float", count}, laneOf(value, text(offset)));
    }
    return rounded(tensorType(result).getElementType(), value);
  }

  Value result;
  ResultPlaces places;
  int width;
  SmallVector<AffineExpr> own; // by dim of the result
};

} // namespace

namespace {

/// Writes the functor. What is computed and what is stored are two methods:
/// reads wait for stores in front of them, which might be to the same memory.
class EpilogueEmitter {
public:
  EpilogueEmitter(const AttentionPlan &plan, const ::hk::Target &target,
                  raw_ostream &os)
      : plan(plan), target(target),
        dims(DimSymbols::ofKernel(plan.getKernel())), os(os),
        quantization(plan.getQuantization()),
        group(quantization ? scaleColumnsOf(quantization) : 0) {}

  void run() {
    os << "struct Epilogue {\n";
    if (quantization)
      os << "  static constexpr int kGroup = " << group << ";\n";
    os << "  const u64 *words;\n\n";
    writeResults();
    SmallVector<int> widths = {1, 2, 4, 8};
    if (target.arch == ::hk::Arch::Host)
      widths = {1, 16};
    for (int width : widths) {
      if (quantization && group % width != 0)
        continue;
      std::string condition = "V == " + std::to_string(width);
      if (quantization)
        writeEpilogueMethod("float", "stat", condition, statBody(width), os);
      writeEpilogueMethod("Results<V>", "compute", condition,
                          computeBody(width), os);
      writeEpilogueMethod("void", "put", condition, putBody(width), os);
    }
    os << "};\n\n";
  }

private:
  /// What is stored of V columns.
  void writeResults() {
    os << "  template <int V> struct Results {\n";
    for (auto [index, stored] : llvm::enumerate(plan.getEpilogue()))
      os << "    Packed<" << dtypeText(elementTypeOf(stored.second)) << ", "
         << (isScale(stored.second) ? "1" : "V") << "> r" << index << ";\n";
    os << "  };\n\n";
  }

  /// The largest magnitude to be quantised.
  std::string statBody(int width) {
    CodeWriter out;
    AttentionPuller puller(plan, dims, out, width);
    Value input = quantization->getOperand(0);
    Expr term =
        puller.statisticTerm(quantization, input, RowReduction::AbsMaximum,
                             puller.placeOf(input), width);
    out.line("return " + reduced("Max", term).text + ";");
    return out.str().str();
  }

  std::string computeBody(int width) {
    CodeWriter out;
    AttentionPuller puller(plan, dims, out, width);
    std::string results;
    for (auto [operand, value] : plan.getEpilogue()) {
      int count = isScale(value) ? 1 : width;
      Expr made = puller.pull(value, puller.placeOf(value), count);
      results += (results.empty() ? "" : ", ") +
                 ("packExact<" + dtypeText(elementTypeOf(value)) + ", " +
                  std::to_string(count) + ">(" + made.text + ")");
    }
    out.line("return {" + results + "};");
    return out.str().str();
  }

  std::string putBody(int width) {
    CodeWriter out;
    AttentionPuller puller(plan, dims, out, width);
    for (auto [index, stored] : llvm::enumerate(plan.getEpilogue())) {
      bool scale = isScale(stored.second);
      if (scale) // whoever has the first columns of a group stores it
        out.openIf("col % " + std::to_string(group) + " == 0");
      puller.storeBits(unsigned(stored.first), puller.placeOf(stored.second),
                       scale ? 1 : width, "in.made.r" + std::to_string(index));
      if (scale)
        out.close();
    }
    return out.str().str();
  }

  bool isScale(Value value) const {
    return quantization && value == quantization->getResult(1);
  }

  static Type elementTypeOf(Value value) {
    return tensorType(value).getElementType();
  }

  const AttentionPlan &plan;
  const ::hk::Target &target;
  DimSymbols dims;
  raw_ostream &os;
  Operation *quantization; // or null
  int64_t group;           // columns that share a scale
};

} // namespace

void mlir::hk::emitAttentionEpilogue(const AttentionPlan &plan,
                                     const ::hk::Target &target,
                                     raw_ostream &os) {
  EpilogueEmitter(plan, target, os).run();
}
