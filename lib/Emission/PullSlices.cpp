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

static void forEachSlice(Puller &p, Value input, Puller::Args position,
                         llvm::function_ref<void(Puller::Args inSlice)> body) {
  std::string s = p.code().freshName("s");
  p.code().openEach("SLICE", s + ", " + Twine(tensorType(input).getDimSize(0)));
  Position inSlice = {p.symbol(s)};
  llvm::append_range(inSlice, position);
  body(inSlice);
  p.code().close();
}

static Expr pullSumSlices(Puller &p, SumSlicesOp op, Puller::Args position,
                          int vec) {
  Value input = op.getInput();
  Type to = tensorType(op.getResult()).getElementType();
  Expr sum =
      p.code().declare("v", carrierOf(tensorType(input).getElementType(), vec));
  forEachSlice(p, input, position, [&](Puller::Args inSlice) {
    p.code().line(sum.text + " += " + p.pull(input, inSlice, vec).text + ";");
  });
  return isa<FloatType>(to) ? rounded(to, toFloat(sum)) : sum;
}

/// The log-sum-exp of a slice, and of its result what is pulled.
struct SlicePart {
  Expr weight, part;
};

/// As forEachSlice, `load` first for several slices, then `use` of each.
static void
loadThenUse(Puller &p, int64_t count, Puller::Args position, int vec,
            llvm::function_ref<SlicePart(Puller::Args inSlice)> load,
            llvm::function_ref<void(const SlicePart &)> use) {
  CodeWriter &code = p.code();
  CType type = {"float", vec};
  int64_t ahead = std::min<int64_t>(count, ::hk::kCombineInFlight);
  std::string group = code.freshName("g"), e = code.freshName("e");
  std::string weights = code.freshName("w"), parts = code.freshName("t");
  std::string last = std::to_string(count - 1);
  code.openEach("PLACE", group + ", " + Twine(llvm::divideCeil(count, ahead)));
  code.line("float " + weights + "[" + Twine(ahead) + "];");
  code.line(type.text() + " " + parts + "[" + Twine(ahead) + "];");
  code.openEach("ELEMENT", e + ", " + Twine(ahead));
  std::string slice = code.freshName("s");
  std::string place = group + " * " + std::to_string(ahead) + " + " + e;
  code.line(
      "const i32 " + slice + " = " + place +
      (count % ahead == 0 ? "" : " < " + last + " ? " + place + " : " + last) +
      ";");
  Position inSlice = {p.symbol(slice)};
  llvm::append_range(inSlice, position);
  SlicePart loaded = load(inSlice);
  SlicePart kept = {{weights + "[" + e + "]", {"float"}},
                    {parts + "[" + e + "]", type}};
  code.assign(kept.weight, loaded.weight);
  code.assign(kept.part, loaded.part);
  code.close();
  code.openEach("ELEMENT", e + ", " + Twine(ahead));
  code.openIf(place + " <= " + last);
  use(kept);
  code.close();
  code.close();
  code.close();
}

static Expr pullAttentionCombine(Puller &p, AttentionCombineOp op, bool lse,
                                 Puller::Args position, int vec) {
  // The log-sum-exp has one element per row: neighbours are other rows.
  if (lse && vec > 1)
    return p.pullByElement(op.getLse(), position, vec);
  Puller::Args row = lse ? position : position.drop_back();
  CType type = {"float", vec};
  Expr zero = splat(type, {"0.f", {"float"}});
  std::string sum = p.code().freshName("c");
  p.code().line("SliceCombine<" + Twine(vec) + "> " + sum + ";");
  auto add = [&](const SlicePart &from) {
    checkType(from.part, type, "a part that is combined");
    p.code().line(sum + ".add(" + from.weight.text + ", " + from.part.text +
                  ");");
  };
  if (op.getSink())
    add({p.pullScalar(op.getSink(), row.take_back()), zero});
  auto load = [&](unsigned pair, Puller::Args inPart) -> SlicePart {
    Expr weight = p.pullScalar(op.getPartLses()[pair], inPart);
    if (lse)
      return {weight, zero};
    Position at(inPart);
    at.push_back(position.back());
    return {weight, p.pull(op.getPartials()[pair], at, vec)};
  };
  for (unsigned pair = 0; pair < op.getPartials().size(); ++pair) {
    auto loadOfPair = [&](Puller::Args inPart) { return load(pair, inPart); };
    if (op.isSliced(pair))
      loadThenUse(p, tensorType(op.getPartLses()[pair]).getDimSize(0), row, vec,
                  loadOfPair, add);
    else
      add(loadOfPair(row));
  }
  int depth = p.code().depth();
  if (lse)
    return splat(type, {sum + ".lse()", {"float"}, depth});
  return rounded(tensorType(op.getResult()).getElementType(),
                 {sum + ".value()", type, depth});
}

void mlir::hk::addSlicePulls(PullTable &table) {
  table.add(pullSumSlices);
  table.add(pullAttentionCombine);
}
