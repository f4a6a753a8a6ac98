//===- RoutingEmit.cpp - The C++ of a routing kernel ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls of runtime/kernels/routing in order. What a step loads, and what is
// stored of its results, are lambdas whose text comes from the puller, with the
// step's results bound to their parameters.
//
//===----------------------------------------------------------------------===//

#include "Emission/ArgumentWords.h"
#include "Emission/Puller.h"
#include "RoutingPlan.h"

using namespace mlir;
using namespace mlir::hk;

namespace {

class RoutingEmitter {
public:
  /// `shared`: the keys that several blocks sort, or null.
  RoutingEmitter(KernelOp kernel, const DimSymbols &dims,
                 const RoutingPlan &plan, Value shared, CodeWriter &out)
      : kernel(kernel), plan(plan), shared(shared), out(out),
        puller(kernel, dims, out) {}

  void run() {
    puller.declareArguments();
    out.line("const Steps::Share share = Steps::shareOf(block, " +
             (shared ? sizeText(shared) : "0") + ");");
    writeCounts();
    for (Operation *step : plan.steps())
      if (auto sort = dyn_cast<SortByKeyOp>(step))
        writeSort(sort);
      else
        byOneBlock([&] { writeStep(step); });
    byOneBlock([&] { writeCountStores(); });
    for (Operation *op : plan.getMembers())
      if (auto bits = dyn_cast<CountBitsOp>(op))
        writeCountsBefore(bits);
  }

private:
  void writeStep(Operation *step) {
    if (auto segments = dyn_cast<SegmentsOp>(step))
      writeSegments(segments);
    else
      writeSums(cast<CumsumOp>(step));
  }

  /// What no blocks share, each of them does another part of.
  void byOneBlock(function_ref<void()> write) {
    if (!shared)
      return write();
    out.openIf("share.index == " + std::to_string(single++) + " % share.count");
    write();
    out.close();
  }

  OperandRange yielded() {
    return kernel.getSpecBlock().getTerminator()->getOperands();
  }
  BlockArgument outOf(size_t index) {
    return kernel.getSpecBlock().getArgument(kernel.getNumInputs() + index);
  }
  std::string sizeText(Value value, int64_t dim = 0) {
    return puller.text(puller.sizeOf(value, dim));
  }

  /// `const auto name = [&](parameters) { body };`
  std::string lambda(StringRef prefix, StringRef parameters,
                     function_ref<void()> body) {
    std::string name = out.freshName(prefix);
    out.openLambda(name, parameters);
    body();
    out.closeLambda();
    return name;
  }

  /// `value` is the i32 expression `text` wherever it is pulled.
  void bindTo(Value value, const std::string &text) {
    puller.bind(value, [text](ArrayRef<AffineExpr>, int) {
      return splat({"i32", 1}, {text, {"i32"}});
    });
  }

  /// Stores row `at` of kernel result `index`.
  void store(size_t index, AffineExpr at) {
    Value value = yielded()[index];
    ArrayRef<int64_t> inner =
        cast<RankedTensorType>(value.getType()).getShape().drop_front();
    int64_t count = 1;
    for (int64_t size : inner)
      count *= size;
    for (int64_t e = 0; e < count; ++e) {
      Position position(inner.size() + 1, at);
      int64_t rest = e;
      for (size_t d = inner.size(); d-- > 0; rest /= inner[d])
        position[d + 1] = puller.constant(rest % inner[d]);
      puller.store(kernel.getNumInputs() + index, position, 1,
                   puller.pull(value, position, 1));
    }
  }

  /// The kernel's results that are found at `place`.
  SmallVector<size_t> resultsAt(RoutingPlace place) {
    SmallVector<size_t> indices;
    for (auto [index, value] : llvm::enumerate(yielded()))
      if (plan.placeOf(value) == place)
        indices.push_back(index);
    return indices;
  }

  /// A lambda that stores what is found at `place`, or Ignore; `at` is the
  /// parameter that says where.
  std::string consumer(StringRef prefix, StringRef parameters, StringRef at,
                       RoutingPlace place) {
    SmallVector<size_t> results = resultsAt(place);
    if (results.empty())
      return "Ignore()";
    return lambda(prefix, parameters, [&] {
      AffineExpr index = puller.symbol(at);
      for (size_t result : results)
        store(result, index);
    });
  }

  /// Rows of the results at `place`; 0: there are none.
  std::string rowsAt(RoutingPlace place) {
    SmallVector<size_t> results = resultsAt(place);
    return results.empty() ? "0" : sizeText(outOf(results.front()));
  }

  std::string wordOf(const RoutingCounter &counter) {
    return lambda("word", "const i64 w, const i64 r", [&] {
      out.line("return u32(" +
               puller
                   .pullScalar(counter.source,
                               {puller.symbol("w"), puller.symbol("r")})
                   .text +
               ");");
    });
  }

  void writeCounts() {
    for (const RoutingCounter &counter : plan.counters()) {
      std::string bins = std::to_string(counter.bins);
      std::string where = "<" + std::to_string(counter.offset) + ", " + bins;
      if (counter.bits) {
        out.line("Steps::countBits" + where + ">(lds, " +
                 sizeText(counter.source, 1) + ", " + wordOf(counter) + ");");
        continue;
      }
      std::string key = lambda("key", "const i64 i", [&] {
        std::string k =
            puller.pullScalar(counter.source, {puller.symbol("i")}).text;
        out.line("return " + k + " >= 0 && " + k + " < " + bins + " ? i32(" +
                 k + ") : -1;");
      });
      keyOf[counter.offset] = key;
      if (shared)
        out.line("Steps::countAllKeys(lds, " + sizeText(counter.source) +
                 ", share, " + key + ");");
      else
        out.line("Steps::countKeys" + where + ">(lds, " +
                 sizeText(counter.source) + ", " + key + ");");
    }
    if (plan.counters().empty())
      return;
    out.line("Steps::combineCounts(lds);");
    for (Operation *op : plan.getMembers())
      if (plan.counts(op)) {
        int64_t offset = plan.counterOf(op).offset;
        puller.bind(op->getResult(0), [this, offset](
                                          ArrayRef<AffineExpr> position, int) {
          return splat({"i32", 1},
                       {"lds.totals[" + puller.text(position[0] + offset) + "]",
                        {"i32"}});
        });
      }
  }

  void writeCountsBefore(CountBitsOp op) {
    SmallVector<size_t> results = resultsAt({RoutingSpace::Blocks, op});
    if (results.empty())
      return;
    const RoutingCounter &counter = plan.counterOf(op);
    bindTo(op.getBefore(), "count");
    std::string before =
        lambda("before", "const i64 t, const i64 c, const i32 count", [&] {
          Position at = {puller.symbol("t"), puller.symbol("c")};
          for (size_t result : results)
            puller.store(kernel.getNumInputs() + result, at, 1,
                         puller.pull(op.getBefore(), at, 1));
        });
    out.line("Steps::bitsBefore<" + Twine(counter.offset) + ", " +
             Twine(counter.bins) + ", " + Twine(op.getBlock()) + ">(lds, " +
             sizeText(counter.source, 1) + ", " + wordOf(counter) + ", " +
             before + ");");
  }

  void writeSort(SortByKeyOp sort) {
    const RoutingCounter &counter = plan.counterOf(sort);
    RoutingPlace order{RoutingSpace::Order, sort};
    RoutingPlace position{RoutingSpace::Position, sort};
    bindTo(sort.getOrder(), "item");
    bindTo(sort.getPosition(), "place");
    std::string toOrder =
        consumer("order", "const i64 j, const i32 item", "j", order);
    std::string toPosition =
        consumer("position", "const i64 i, const i32 place", "i", position);
    out.line("Steps::sortByKey<" + Twine(counter.offset) + ", " +
             Twine(counter.bins) + ", " + Twine(sort.getBlock()) + ">(lds, " +
             sizeText(sort.getKeys()) + ", " + rowsAt(order) + ", share, " +
             keyOf[counter.offset] + ", " + toOrder + ", " + toPosition + ");");
  }

  void writeSegments(SegmentsOp segments) {
    bool bounds = segments.getForm() == SegmentForm::bounds;
    Value given = segments.getSegments();
    std::string length = lambda("length", "const i64 i", [&] {
      AffineExpr i = puller.symbol("i");
      std::string first = puller.pullScalar(given, {i}).text;
      if (bounds)
        out.line("return i32(u32(" + puller.pullScalar(given, {i + 1}).text +
                 ") - u32(" + first + "));");
      else
        out.line("return " + first + ";");
    });
    RoutingPlace places{RoutingSpace::Places, segments};
    bindTo(segments.getIds(), "segment");
    bindTo(segments.getRanks(), "rank");
    bindTo(segments.getOffsets(), "sum");
    std::string item = consumer(
        "item", "const i64 j, const i32 segment, const i32 rank", "j", places);
    std::string offset = consumer("offset", "const i64 i, const i32 sum", "i",
                                  {RoutingSpace::Sums, segments});
    Expr total = out.define(
        out.depth(), "total",
        {"Steps::segments<" + std::to_string(segments.getBlock()) + ">(lds, " +
             sizeText(given) + (bounds ? " - 1" : "") + ", " + rowsAt(places) +
             ", " + length + ", " + item + ", " + offset + ")",
         {"i32"}});
    writeTotal(segments, segments.getOffsets(), total.text);
  }

  void writeSums(CumsumOp cumsum) {
    Value input = cumsum.getInput();
    std::string value = lambda("value", "const i64 i", [&] {
      out.line("return u32(" +
               puller.pullScalar(input, {puller.symbol("i")}).text + ");");
    });
    bool inclusive = cumsum.getKind() == ScanKind::inclusive;
    bindTo(cumsum.getResult(), inclusive ? "i32(before + own)" : "i32(before)");
    std::string sum =
        consumer("sum", "const i64 i, const u32 before, const u32 own", "i",
                 {RoutingSpace::Sums, cumsum});
    std::string total =
        out.define(out.depth(), "total",
                   {"Steps::prefixSums(lds, " + sizeText(input) + ", " + value +
                        ", " + sum + ")",
                    {"u32"}})
            .text;
    if (cumsum.getKind() != ScanKind::offsets)
      return;
    out.openIf("threadId() == 0");
    out.line(sum + "(" + sizeText(input) + ", " + total + ", 0u);");
    out.close();
    writeTotal(cumsum, cumsum.getResult(), "i32(" + total + ")");
  }

  /// The last of `sums` is the step's total.
  void writeTotal(Operation *step, Value sums, const std::string &total) {
    SmallVector<size_t> results = resultsAt({RoutingSpace::Total, step});
    if (results.empty())
      return;
    bindTo(sums, total);
    out.openIf("threadId() == 0");
    for (size_t result : results)
      store(result, puller.constant(0));
    out.close();
  }

  void writeCountStores() {
    for (size_t result : resultsAt({RoutingSpace::Bins, nullptr})) {
      std::string bin = lambda("bin", "const i64 i",
                               [&] { store(result, puller.symbol("i")); });
      out.line("Steps::forBins(" + sizeText(outOf(result)) + ", " + bin + ");");
    }
  }

  KernelOp kernel;
  const RoutingPlan &plan;
  Value shared;
  CodeWriter &out;
  Puller puller;
  /// Steps so far that one block does.
  int64_t single = 0;
  /// The lambda of the keys of each counter, by its offset.
  llvm::DenseMap<int64_t, std::string> keyOf;
};

} // namespace

LogicalResult mlir::hk::emitRouting(KernelOp kernel, const ::hk::Target &target,
                                    StringRef prefix, raw_ostream &os) {
  DimSymbols dims = DimSymbols::ofKernel(kernel);
  RoutingPlan plan;
  Verdict verdict = plan.analyze(RoutingPlan::bodyOf(kernel), dims);
  if (!verdict.accepted())
    return kernel.emitOpError("is no routing kernel: ") << verdict.getDetail();
  ArgumentWords words(kernel);
  // Not every position that is named is needed in the end.
  os << "#include \"kernels/device/quant.h\"\n"
        "#include \"kernels/routing/routing.h\"\n\n"
        "#pragma clang diagnostic ignored \"-Wunused-variable\"\n"
        "#pragma clang diagnostic ignored \"-Wunused-parameter\"\n\n";
  auto writeVariant = [&](VariantOp variant) {
    auto tile = cast<RoutingTileAttr>(variant.getTile());
    Value shared = plan.sharedKeys(target, {int32_t(tile.getThreads())}, dims);
    CodeWriter body;
    RoutingEmitter(kernel, dims, plan, shared, body).run();
    std::string symbol = (prefix + variant.getSymName()).str();
    os << "\nusing Steps_" << symbol << " = Routing<" << tile.getThreads()
       << ", " << plan.numBins() << ", " << (shared ? "true" : "false")
       << ">;\n"
       << entryMacro(kernel) << "(" << symbol << ", " << words.size() << ", "
       << tile.getThreads() << ", 1, Steps_" << symbol << "::Shared) {\n"
       << "using Steps = Steps_" << symbol << ";\n"
       << body.str() << "}\n";
  };
  writeAmongKernels(
      kernel, os, [&] { llvm::for_each(kernel.getVariants(), writeVariant); });
  return success();
}
