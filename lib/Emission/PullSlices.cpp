//===- PullSlices.cpp - Pulling the combination of partial results --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Partial results have the slices in front; a position of the result is read in
// each of them, by a loop that keeps several loads in flight. Where what is
// done with a part is long, compilers keep them in the order of the text: so
// parts are loaded before the first of them is looked at.
//
//===----------------------------------------------------------------------===//

#include "PullTable.h"

#include "hk/Contract/Cost.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static void forEachSlice(Puller &p, Value input, Puller::Args position,
                         llvm::function_ref<void(Puller::Args inSlice)> body) {
  std::string s = p.code().freshName("s");
  p.code().openEach("SLICE", s + ", " + Twine(tensorOf(input).getDimSize(0)));
  Position inSlice = {p.symbol(s)};
  llvm::append_range(inSlice, position);
  body(inSlice);
  p.code().close();
}

static std::string pullSumSlices(Puller &p, SumSlicesOp op,
                                 Puller::Args position, int vec) {
  Value input = op.getInput();
  Type from = tensorOf(input).getElementType();
  Type to = tensorOf(op.getResult()).getElementType();
  std::string sum = p.code().freshName("v");
  p.code().line(vecText(from, vec) + " " + sum + " = 0;");
  forEachSlice(p, input, position, [&](Puller::Args inSlice) {
    p.code().line(sum + " += " + p.pull(input, inSlice, vec) + ";");
  });
  p.useDepth(p.code().depth());
  if (isa<FloatType>(to) && !isa<FloatType>(from))
    return roundText(to, vec,
                     "convertTo<float, " + Twine(vec) + ">(" + sum + ")");
  return isa<FloatType>(to) && !to.isF32() ? roundText(to, vec, sum) : sum;
}

/// As forEachSlice, `load` first for several slices, which returns the texts of
/// a scalar and of `vec` elements, then `use` of each.
static void loadThenUse(
    Puller &p, int64_t count, Puller::Args position, int vec,
    llvm::function_ref<std::pair<std::string, std::string>(Puller::Args)> load,
    llvm::function_ref<void(StringRef, StringRef)> use) {
  CodeWriter &code = p.code();
  int64_t ahead = std::min<int64_t>(count, ::hk::kCombineInFlight);
  std::string group = code.freshName("g"), e = code.freshName("e");
  std::string scalars = code.freshName("w"), parts = code.freshName("t");
  std::string last = std::to_string(count - 1);
  code.openEach("PLACE", group + ", " + Twine(llvm::divideCeil(count, ahead)));
  code.line("float " + scalars + "[" + Twine(ahead) + "];");
  code.line("Vec<float, " + Twine(vec) + "> " + parts + "[" + Twine(ahead) +
            "];");
  code.openEach("ELEMENT", e + ", " + Twine(ahead));
  std::string slice = code.freshName("s");
  std::string place = group + " * " + std::to_string(ahead) + " + " + e;
  code.line(
      "const i32 " + slice + " = " + place +
      (count % ahead == 0 ? "" : " < " + last + " ? " + place + " : " + last) +
      ";");
  Position inSlice = {p.symbol(slice)};
  llvm::append_range(inSlice, position);
  auto [scalar, part] = load(inSlice);
  code.line(scalars + "[" + e + "] = " + scalar + ";");
  code.line(parts + "[" + e + "] = " + part + ";");
  code.close();
  code.openEach("ELEMENT", e + ", " + Twine(ahead));
  code.openIf(place + " <= " + last);
  use(scalars + "[" + e + "]", parts + "[" + e + "]");
  code.close();
  code.close();
  code.close();
}

static std::string pullAttentionCombine(Puller &p, AttentionCombineOp op,
                                        bool lse, Puller::Args position,
                                        int vec) {
  // The log-sum-exp has one element per row: neighbours are other rows.
  if (lse && vec > 1)
    return p.pullByElement(op.getLse(), position, vec);
  Puller::Args row = lse ? position : position.drop_back();
  std::string zero = "Vec<float, " + std::to_string(vec) + ">(0.f)";
  std::string sum = p.code().freshName("c");
  p.code().line("SliceCombine<" + Twine(vec) + "> " + sum + ";");
  if (op.getSink())
    p.code().line(sum + ".add(" + p.pullScalar(op.getSink(), row.take_back()) +
                  ", " + zero + ");");
  auto load = [&](unsigned pair, Puller::Args inPart) {
    std::string weight = p.pullScalar(op.getPartLses()[pair], inPart);
    if (lse)
      return std::pair(weight, zero);
    Position at(inPart);
    at.push_back(position.back());
    return std::pair(weight, p.pull(op.getPartials()[pair], at, vec));
  };
  auto add = [&](StringRef weight, StringRef part) {
    p.code().line(sum + ".add(" + weight + ", " + part + ");");
  };
  for (unsigned pair = 0; pair < op.getPartials().size(); ++pair) {
    auto loadOfPair = [&](Puller::Args inPart) { return load(pair, inPart); };
    if (op.isSliced(pair)) {
      loadThenUse(p, tensorOf(op.getPartLses()[pair]).getDimSize(0), row, vec,
                  loadOfPair, add);
    } else {
      auto [weight, part] = loadOfPair(row);
      add(weight, part);
    }
  }
  p.useDepth(p.code().depth());
  if (lse)
    return "Vec<float, 1>(" + sum + ".lse())";
  return roundText(tensorOf(op.getResult()).getElementType(), vec,
                   sum + ".value()");
}

void mlir::hk::addSlicePulls(PullTable &table) {
  table.add(pullSumSlices);
  table.add(pullAttentionCombine);
}
