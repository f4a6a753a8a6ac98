//===- AttentionEpilogueEmit.cpp - The C++ of what follows attention ------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functor that products have, with the result of the walk bound to the
// columns that it is called with. Every path has vectors of another number of
// columns, so there is a method for each.
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

  /// Where the columns are in a value that follows the result.
  Position placeOf(Value value) {
    Position position;
    for (ArrayRef<int64_t> list : *places.find(value)) {
      AffineExpr index = constant(0);
      for (int64_t d : list)
        index = index * sizeOf(result, d) + own[d];
      position.push_back(simplify(index));
    }
    return position;
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
        dims(DimSymbols::ofKernel(plan.getKernel())), os(os) {}

  void run() {
    os << "struct Epilogue {\n  const u64 *words;\n\n";
    writeResults();
    SmallVector<int> widths = {1, 2, 4, 8};
    if (target.arch == ::hk::Arch::Host)
      widths = {1, 16};
    for (int width : widths) {
      std::string condition = "V == " + std::to_string(width);
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
      os << "    Packed<" << dtypeText(elementTypeOf(stored.second)) << ", V> r"
         << index << ";\n";
    os << "  };\n\n";
  }

  std::string computeBody(int width) {
    CodeWriter out;
    AttentionPuller puller(plan, dims, out, width);
    std::string results;
    for (auto [operand, value] : plan.getEpilogue()) {
      Expr made = puller.pull(value, puller.placeOf(value), width);
      results += (results.empty() ? "" : ", ") +
                 ("packExact<" + dtypeText(elementTypeOf(value)) + ", " +
                  std::to_string(width) + ">(" + made.text + ")");
    }
    out.line("return {" + results + "};");
    return out.str().str();
  }

  std::string putBody(int width) {
    CodeWriter out;
    AttentionPuller puller(plan, dims, out, width);
    for (auto [index, stored] : llvm::enumerate(plan.getEpilogue()))
      puller.storeBits(unsigned(stored.first), puller.placeOf(stored.second),
                       width, "in.made.r" + std::to_string(index));
    return out.str().str();
  }

  static Type elementTypeOf(Value value) {
    return tensorType(value).getElementType();
  }

  const AttentionPlan &plan;
  const ::hk::Target &target;
  DimSymbols dims;
  raw_ostream &os;
};

} // namespace

void mlir::hk::emitAttentionEpilogue(const AttentionPlan &plan,
                                     const ::hk::Target &target,
                                     raw_ostream &os) {
  EpilogueEmitter(plan, target, os).run();
}
