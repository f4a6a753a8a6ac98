//===- Conv1dEmit.cpp - The C++ of a causal convolution kernel ------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One epilogue struct, template instance and entry point per variant. The
// epilogue's text comes from the puller, with the sums bound to the
// convolution's result; every result is stored where its channels are.
//
//===----------------------------------------------------------------------===//

#include "Conv1dPlan.h"
#include "Emission/ArgumentsWriter.h"
#include "Emission/Puller.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Contract/Conv1dTiles.h"

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}
static unsigned argument(Value value) {
  return cast<BlockArgument>(value).getArgNumber();
}

namespace {

/// Pulls the epilogue of one vector of sums.
class EpiloguePuller : public Puller {
public:
  EpiloguePuller(KernelOp kernel, const DimSymbols &dims, CodeWriter &out,
                 const Conv1dPlan &facts, int vec)
      : Puller(kernel, dims, out), facts(facts), width(vec) {
    declareArguments();
    sequence = symbol("sequence");
    bool channelLast = facts.isChannelLast();
    // Written as a multiple, so that accesses know their alignment.
    StringRef vectored = channelLast ? "channel" : "token";
    out.line("[[maybe_unused]] const i64 vector = " + vectored + " / " +
             Twine(vec) + ";");
    AffineExpr multiple = symbol("vector") * vec;
    channel = channelLast ? multiple : symbol("channel");
    token = channelLast ? symbol("token") : multiple;
    if (!channelLast && vec > 1)
      exchangeLanes({"count", {"i64"}, out.depth()});
    bind(facts.getConv().getResult(),
         [this](ArrayRef<AffineExpr> position, int count) {
           return sums(position, count);
         });
  }

  /// Computes what several results are views of, once for all of them.
  void computeShared(ValueRange results) {
    llvm::SmallMapVector<Value, int, 4> views;
    for (Value value : results)
      ++views[rootOfViews(value)];
    for (auto [root, count] : views)
      if (count > 1)
        pull(root, positionIn(root), width);
  }

  void storeResult(unsigned operand, Value value) {
    int64_t begin = facts.placeOf(value).begin;
    int64_t end = begin + facts.numChannels(value);
    bool all = begin == 0 && end == facts.getConv().getNumChannels();
    std::string guard;
    if (!all)
      guard =
          ("channel >= " + Twine(begin) + " && channel < " + Twine(end)).str();
    code().openIf(guard);
    Position at = positionIn(value);
    store(operand, at, width, pull(value, at, width));
    code().close();
  }

private:
  Position positionIn(Value value) {
    const Conv1dPlace &place = facts.placeOf(value);
    Position position(place.roles.size(), constant(0));
    int64_t outermost =
        llvm::find(place.roles, Conv1dRole::Channel) - place.roles.begin();
    AffineExpr rest = channel - place.begin;
    for (int64_t d = int64_t(place.roles.size()) - 1; d >= 0; --d) {
      switch (place.roles[d]) {
      case Conv1dRole::Unit:
        break;
      case Conv1dRole::Sequence:
        position[d] = sequence;
        break;
      case Conv1dRole::Token:
        position[d] = token;
        break;
      case Conv1dRole::Channel: {
        AffineExpr size = sizeOf(value, d);
        position[d] = simplify(d == outermost ? rest : rest % size);
        rest = rest.floorDiv(size);
        break;
      }
      }
    }
    return position;
  }

  /// The sums at `position`, rounded; all of them or single ones.
  Expr sums(ArrayRef<AffineExpr> position, int count) {
    Expr elements = {"sums", {"float", width}};
    if (count != width) {
      AffineExpr first = facts.isChannelLast() ? channel : token;
      elements =
          splat({"float", count},
                laneOf(elements, text(simplify(position.back() - first))));
    }
    return rounded(elementTypeOf(facts.getConv().getResult()), elements);
  }

  const Conv1dPlan &facts;
  int width;
  AffineExpr sequence, token, channel;
};

class Conv1dEmitter {
public:
  Conv1dEmitter(KernelOp kernel, StringRef prefix, raw_ostream &os)
      : kernel(kernel), prefix(prefix), os(os),
        dims(DimSymbols::ofKernel(kernel)), facts(kernel, dims),
        conv(facts.getConv()), words(kernel), fields(words, os) {}

  void run() {
    os << "#include \"kernels/conv1d/conv1d.h\"\n"
          "#include \"kernels/device/math.h\"\n"
          "#include \"kernels/device/ops.h\"\n"
          "#include \"kernels/device/quant.h\"\n\n"
          "namespace {\n"
          "using namespace hk;\n\n";
    writeSpec();
    writeArguments();
    for (VariantOp variant : kernel.getVariants())
      writeVariant(variant);
    os << "} // namespace\n";
    for (VariantOp variant : kernel.getVariants()) {
      StringRef name = variant.getSymName();
      os << "\nHK_KERNEL(" << prefix << name << ", " << words.size()
         << ", Conv_" << name << "::kThreads, " << ::hk::kConv1dBlocksPerUnit
         << ", hk::NoShared) {\n  Conv_" << name
         << "::run(arguments(words), block, Epilogue_" << name
         << "{words});\n}\n";
    }
  }

private:
  int64_t alignOf(Value operand) {
    return operand ? kernel.getAligns()[argument(operand)] : 1;
  }
  std::string typeText(Value operand) {
    return dtypeText(elementTypeOf(operand ? operand : conv.getInput()));
  }

  void writeSpec() {
    auto flag = [](bool value) { return value ? "true" : "false"; };
    Value state = conv.getState(), indices = conv.getIndices();
    int64_t length = 0;
    if (state)
      length = cast<RankedTensorType>(state.getType())
                   .getDimSize(conv.getStateTokenDim());
    os << "constexpr Conv1dSpec kSpec = {\n"
       << "    .input = " << typeText(conv.getInput()) << ",\n"
       << "    .weight = " << typeText(conv.getWeight()) << ",\n"
       << "    .bias = " << typeText(conv.getBias()) << ",\n"
       << "    .channels = " << conv.getNumChannels() << ",\n"
       << "    .width = " << conv.getWidth() << ",\n"
       << "    .channelLast = " << flag(facts.isChannelLast()) << ",\n"
       << "    .ragged = " << flag(static_cast<bool>(conv.getOffsets()))
       << ",\n"
       << "    .hasBias = " << flag(static_cast<bool>(conv.getBias())) << ",\n"
       << "    .stateLength = " << length << ",\n"
       << "    .stateChannelLast = "
       << flag(conv.getStateLayout() == Conv1dLayout::channel_last) << ",\n"
       << "    .hasIndices = " << flag(static_cast<bool>(indices)) << ",\n"
       << "    .wideIndices = "
       << flag(indices && elementTypeOf(indices).isInteger(64)) << ",\n"
       << "    .hasInitial = " << flag(static_cast<bool>(conv.getHasInitial()))
       << ",\n"
       << "    .hasAccepted = " << flag(static_cast<bool>(conv.getAccepted()))
       << ",\n"
       << "    .hasRing = " << flag(static_cast<bool>(conv.getRing())) << ",\n"
       << "    .hasSeqIdx = " << flag(static_cast<bool>(conv.getSeqIdx()))
       << ",\n"
       << "    .hasPadSlot = " << flag(conv.getPadSlot().has_value()) << ",\n"
       << "    .padSlot = " << int64_t(conv.getPadSlot().value_or(0)) << ",\n"
       << "    .block = " << int64_t(conv.getBlock().value_or(0)) << ",\n"
       << "    .hasWindows = " << flag(windowsOperand() >= 0) << ",\n"
       << "    .alignInput = " << alignOf(conv.getInput()) << ",\n"
       << "    .alignWeight = " << alignOf(conv.getWeight()) << ",\n"
       << "    .alignBias = " << alignOf(conv.getBias()) << ",\n"
       << "    .alignState = " << alignOf(state) << "};\n\n";
  }

  /// The operand in which the windows are stored; -1: nothing reads them.
  int64_t windowsOperand() {
    Operation *yield = kernel.getSpecBlock().getTerminator();
    for (auto [index, value] : llvm::enumerate(yield->getOperands()))
      if (value == conv.getWindows())
        return int64_t(kernel.getNumInputs() + index);
    return -1;
  }

  void assignAddress(StringRef field, Value operand) {
    fields.assignAddress(field, operand ? int64_t(argument(operand)) : -1);
  }

  void writeArguments() {
    unsigned input = argument(conv.getInput());
    os << "HK_DEV Conv1dArgs arguments(const u64 *words) {\n"
          "  Conv1dArgs a = {};\n";
    assignAddress("input", conv.getInput());
    assignAddress("weight", conv.getWeight());
    assignAddress("bias", conv.getBias());
    assignAddress("offsets", conv.getOffsets());
    assignAddress("state", conv.getState());
    assignAddress("indices", conv.getIndices());
    assignAddress("initial", conv.getHasInitial());
    assignAddress("accepted", conv.getAccepted());
    assignAddress("ring", conv.getRing());
    assignAddress("seqIdx", conv.getSeqIdx());
    assignAddress("computed", conv.getComputed());
    if (conv.getComputed()) {
      unsigned indices = argument(conv.getIndices());
      fields.assign("blocks", words.dim(indices, 1));
      fields.assign("indexSequence", words.stride(indices, 0));
    }
    if (int64_t windows = windowsOperand(); windows >= 0) {
      fields.assign("windows", words.address(windows));
      fields.assign("windowSequence", words.stride(windows, 0));
      fields.assign("windowToken", words.stride(windows, 1));
      fields.assign("windowChannel", words.stride(windows, 2));
    }
    if (conv.getSeqIdx())
      fields.assign("seqIdxSequence",
                    words.stride(argument(conv.getSeqIdx()), 0));
    if (conv.getOffsets()) {
      fields.assign("sequences",
                    words.dim(argument(conv.getOffsets()), 0) + " - 1");
    } else {
      fields.assign("sequences", words.dim(input, 0));
      fields.assign("inputSequence", words.stride(input, 0));
    }
    fields.assign("tokens", words.dim(input, conv.getTokenDim()));
    fields.assign("inputToken", words.stride(input, conv.getTokenDim()));
    fields.assign("inputChannel", words.stride(input, conv.getChannelDim()));
    fields.assign("weightChannel", words.stride(argument(conv.getWeight()), 0));
    if (conv.getState()) {
      unsigned state = argument(conv.getState());
      fields.assign("lines", words.dim(state, 0));
      fields.assign("stateLine", words.stride(state, 0));
      fields.assign("stateToken", words.stride(state, conv.getStateTokenDim()));
      fields.assign("stateChannel",
                    words.stride(state, conv.getStateChannelDim()));
    }
    os << "  return a;\n}\n\n";
  }

  void writeVariant(VariantOp variant) {
    auto tile = cast<Conv1dTileAttr>(variant.getTile());
    int vec = facts.isChannelLast() ? tile.getChannels() : tile.getTokens();
    CodeWriter out;
    EpiloguePuller puller(kernel, dims, out, facts, vec);
    SmallVector<std::pair<unsigned, Value>> stored;
    Operation *yield = kernel.getSpecBlock().getTerminator();
    for (auto [index, value] : llvm::enumerate(yield->getOperands()))
      // The kernel writes the others by itself.
      if (value != conv.getNewState() && value != conv.getWindows())
        stored.push_back({unsigned(kernel.getNumInputs() + index), value});
    puller.computeShared(llvm::to_vector(llvm::make_second_range(stored)));
    for (auto [operand, value] : stored)
      puller.storeResult(operand, value);
    os << "struct Epilogue_" << variant.getSymName()
       << " {\n"
          "  const u64 *words;\n"
          "  static constexpr int kResults = "
       << stored.size()
       << ";\n\n"
          "  HK_MEM void apply([[maybe_unused]] i64 sequence,\n"
          "      [[maybe_unused]] i64 token, [[maybe_unused]] i64 channel,\n"
          "      [[maybe_unused]] i64 count,\n"
          "      [[maybe_unused]] Vec<float, "
       << vec << "> sums) const {\n";
    out.print(os, 4);
    os << "  }\n};\n"
       << "using Conv_" << variant.getSymName()
       << " = Conv1d<kSpec, Conv1dTile{" << tile.getItems() << ", "
       << tile.getChannelLanes() << ", " << tile.getChannels() << ", "
       << tile.getTokens() << "}>;\n";
  }

  KernelOp kernel;
  StringRef prefix;
  raw_ostream &os;
  DimSymbols dims;
  Conv1dPlan facts;
  CausalConv1dOp conv;
  ArgumentWords words;
  ArgumentsWriter fields;
};

} // namespace

LogicalResult mlir::hk::emitConv1d(KernelOp kernel, const ::hk::Target &,
                                   StringRef prefix, raw_ostream &os) {
  Conv1dEmitter(kernel, prefix, os).run();
  return success();
}
