//===- GatedDeltaHeadsEmit.cpp - The C++ around a recurrence --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The convolution where an operand is read, and what follows a head's results:
// every lane has a vector of them, so a statistic of the head is a reduction
// over neighbouring lanes, and views only name the vector's place anew.
//
//===----------------------------------------------------------------------===//

#include "GatedDeltaHeadsEmit.h"

#include "hk/Analysis/LoopMaps.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace mlir::hk;

static Type elementOf(Value value) {
  return tensorType(value).getElementType();
}

//===----------------------------------------------------------------------===//
// The convolution
//===----------------------------------------------------------------------===//

/// `weights[j][e]` of the channels from `channel` on.
static std::string writeWeights(Puller &p, CausalConv1dOp op,
                                AffineExpr channel, int vec) {
  CodeWriter &out = p.code();
  std::string name = out.freshName("w"), e = out.freshName("e");
  int64_t width = op.getWidth();
  out.line("Vec<float, " + Twine(vec) + "> " + name + "[" + Twine(width) +
           "];");
  out.openElements(e, vec, "");
  AffineExpr own = channel + p.symbol(e);
  for (int64_t j = 0; j < width; ++j)
    out.line(name + "[" + Twine(j) + "][" + e + "] = " +
             p.pullScalar(op.getWeight(), {own, p.constant(j)}).text + ";");
  out.close();
  return name;
}

void mlir::hk::bindConvolution(Puller &puller, KernelOp kernel,
                               const ArgumentWords &words, CausalConv1dOp op) {
  auto state = cast<BlockArgument>(op.getState());
  unsigned number = state.getArgNumber();
  puller.bind(op.getResult(), [=, &puller, &words](Puller::Args at,
                                                   int vec) mutable {
    CodeWriter &out = puller.code();
    Type type = elementOf(state);
    AffineExpr channel = at.back();
    CType carrier = {"float", vec};
    Expr x = puller.pull(op.getInput(), at, vec);
    Expr bias = op.getBias() ? puller.pull(op.getBias(), {channel}, vec)
                             : splat(carrier, {"0", {"float"}});
    std::string weights = writeWeights(puller, op, channel, vec);
    std::string row = puller.text(at.front());
    std::string line = row;
    if (op.getIndices())
      line = puller.pullScalar(op.getIndices(), {at.front()}).text;
    line = out.define(out.depth(), "line", {"i64(" + line + ")", {"i64"}}).text;
    std::string kept = "isLine(" + line + ", " + words.dim(number, 0) + ")";
    if (std::optional<uint64_t> pad = op.getPadSlot())
      kept += " && " + line + " != " + std::to_string(int64_t(*pad));
    std::string fresh = "false";
    if (op.getHasInitial())
      fresh = "!" + puller.pullScalar(op.getHasInitial(), {at.front()}).text;
    Expr place = out.define(out.depth(), "place",
                            {"{" + kept + ", " + fresh + ", " + line + " * " +
                                 words.stride(number, 0) + " + i64(" +
                                 puller.text(channel) + "), i64(" +
                                 words.stride(number, 1) + ")}",
                             {"ConvolutionLine"}});
    int64_t bytes = ::hk::info(*dtypeOf(type)).bits / 8;
    int64_t align = std::gcd(kernel.getAligns()[number], vec * bytes);
    align = std::gcd(align, channel.getLargestKnownDivisor() * bytes);
    std::string y = "convolveToken<" + dtypeText(type) + ", " +
                    std::to_string(op.getWidth()) + ", " +
                    std::to_string(tensorType(state).getDimSize(1)) + ", " +
                    std::to_string(vec) + ", " + std::to_string(align) +
                    ">(global<Storage<" + dtypeText(type) + ">>(" +
                    words.address(number) + "), " + place.text + ", " + x.text +
                    ", " + bias.text + ", " + weights + ")";
    return rounded(elementOf(op.getResult()), {y, carrier, out.depth()});
  });
}

//===----------------------------------------------------------------------===//
// What follows
//===----------------------------------------------------------------------===//

namespace {

/// Pulls what a lane has of a head. All values are at one place, so a
/// statistic of an operator is known once it has been asked for there.
class HeadPuller final : public Puller {
public:
  HeadPuller(KernelOp kernel, const DimSymbols &dims, CodeWriter &out,
             int width, int64_t lanes)
      : Puller(kernel, dims, out), width(width), lanes(lanes) {}

  Expr statistic(Operation *op, Value input, RowReduction kind, int64_t, Args,
                 AffineExpr, Args position, int vec) override {
    if (auto it = known.find({op, int(kind)}); it != known.end())
      return it->second;
    if (vec != width || position.empty())
      llvm_unreachable("a lane has one vector of a head");
    StringRef combination = reductionOf(kind);
    Expr own =
        reduced(combination, statisticTerm(op, input, kind, position, vec));
    std::string all = code().freshName("a");
    code().line("float " + all + "[1] = {" + own.text + "};");
    code().line("reduceLanes<" + combination + ", 1, " + Twine(lanes) + ", " +
                Twine(lanes) + ">(" + all + ");");
    return known[{op, int(kind)}] =
               code().define(code().depth(), "f", {all + "[0]", {"float"}});
  }

private:
  int width;
  int64_t lanes;
  std::map<std::pair<Operation *, int>, Expr> known;
};

/// Where the lane's vector lies in a value that follows the result.
class HeadPlaces {
public:
  HeadPlaces(HeadPuller &puller, const GatedDeltaPlan &plan, Position at)
      : puller(puller), plan(plan) {
    places[plan.writes.front().value] = std::move(at);
  }

  const Position &of(Value value) {
    auto it = places.find(value);
    if (it != places.end())
      return it->second;
    Operation *op = value.getDefiningOp();
    Value from;
    for (Value operand : op->getOperands())
      if (!from && plan.resultOf(operand))
        from = operand;
    Position source = of(from), own;
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      own = collapsed(collapse, source);
    else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      own = expanded(expand, source);
    else
      own = source;
    return places[value] = std::move(own);
  }

private:
  Position collapsed(tensor::CollapseShapeOp op, const Position &source) {
    Position result;
    for (const ReassociationIndices &group : op.getReassociationIndices()) {
      AffineExpr index = puller.constant(0);
      for (int64_t d : group)
        index = index * puller.sizeOf(op.getSrc(), d) + source[d];
      result.push_back(puller.simplify(index));
    }
    return result;
  }
  Position expanded(tensor::ExpandShapeOp op, const Position &source) {
    Position result(tensorType(op.getResult()).getRank(), puller.constant(0));
    for (auto [g, group] : llvm::enumerate(op.getReassociationIndices())) {
      AffineExpr rest = source[g];
      for (int64_t d : llvm::reverse(group)) {
        AffineExpr size = puller.sizeOf(op.getResult(), d);
        bool outermost = d == group.front();
        result[d] = puller.simplify(outermost ? rest : rest % size);
        rest = puller.simplify(rest.floorDiv(size));
      }
    }
    return result;
  }

  HeadPuller &puller;
  const GatedDeltaPlan &plan;
  llvm::DenseMap<Value, Position> places;
};

} // namespace

void mlir::hk::writeFinish(raw_ostream &os, KernelOp kernel,
                           const GatedDeltaPlan &plan, const DimSymbols &dims,
                           int width) {
  CodeWriter out;
  int64_t lanes = plan.values / width;
  HeadPuller puller(kernel, dims, out, width, lanes);
  puller.declareArguments();
  out.line("const i64 vector = c / " + Twine(width) + ";");
  Position at;
  if (!plan.offsets)
    at.push_back(puller.symbol("b"));
  at.push_back(puller.symbol("t"));
  at.push_back(puller.symbol("head"));
  at.push_back(puller.symbol("vector") * width);
  Value result = plan.writes.front().value;
  puller.bind(result, [&](Puller::Args, int count) {
    if (count != width)
      llvm_unreachable("a lane has one vector of a head");
    return rounded(elementOf(result), {"x", {"float", count}});
  });
  HeadPlaces places(puller, plan, at);
  SmallVector<std::pair<unsigned, Value>> scales;
  Operation *yield = kernel.getSpecBlock().getTerminator();
  for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
    if (plan.resultOf(value) != result)
      continue;
    unsigned operand = unsigned(kernel.getNumInputs() + index);
    if (isa_and_nonnull<QuantizeOp>(value.getDefiningOp()) &&
        cast<OpResult>(value).getResultNumber() == 1) {
      scales.push_back({operand, value});
      continue;
    }
    const Position &place = places.of(value);
    puller.store(operand, place, width, puller.pull(value, place, width));
  }
  // A scale is known when the elements have been quantised.
  for (auto [operand, value] : scales) {
    auto op = cast<QuantizeOp>(value.getDefiningOp());
    Position place = places.of(op.getQuantized());
    (void)puller.pull(op.getQuantized(), place, width);
    int64_t group = reductionGroupOf(op);
    place.back() = group ? puller.simplify(place.back().floorDiv(group))
                         : puller.constant(0);
    puller.guardStores("c == 0");
    puller.store(operand, place, 1, puller.pull(value, place, 1));
    puller.guardStores("");
  }
  os << "  HK_MEM void finish(const i64 b, const i64 t, const i64 head, const "
        "i64 c, const Vec<float, "
     << width << "> x) const {\n";
  out.print(os, 4);
  os << "  }\n";
}
