//===- Puller.cpp - C++ for a value at a position -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Symbols, memo, loads and stores of kernel operands, and the dispatch to the
// operators.
//
//===----------------------------------------------------------------------===//

#include "ArgumentWords.h"
#include "PullTable.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

//===----------------------------------------------------------------------===//
// Spelling
//===----------------------------------------------------------------------===//

std::string mlir::hk::dtypeText(Type elementType) {
  return dtypeText(*dtypeOf(elementType));
}
std::string mlir::hk::dtypeText(::hk::DType dtype) {
  using ::hk::DType;
  switch (dtype) {
  case DType::F32:
    return "DType::F32";
  case DType::BF16:
    return "DType::BF16";
  case DType::F16:
    return "DType::F16";
  case DType::F8E4M3FN:
    return "DType::F8E4M3FN";
  case DType::F8E4M3FNUZ:
    return "DType::F8E4M3FNUZ";
  case DType::F8E5M2:
    return "DType::F8E5M2";
  case DType::F8E5M2FNUZ:
    return "DType::F8E5M2FNUZ";
  case DType::F4E2M1FN:
    return "DType::F4E2M1FN";
  case DType::F8E8M0FNU:
    return "DType::F8E8M0FNU";
  case DType::I1:
    return "DType::I1";
  case DType::I8:
    return "DType::I8";
  case DType::I16:
    return "DType::I16";
  case DType::I32:
    return "DType::I32";
  case DType::I64:
    return "DType::I64";
  case DType::I4:
    return "DType::I4";
  case DType::UI4:
    return "DType::UI4";
  }
  llvm_unreachable("every dtype is listed");
}

std::string mlir::hk::vecText(Type elementType, int vec) {
  StringRef carrier = isa<FloatType>(elementType)         ? "float"
                      : elementType.isSignlessInteger(64) ? "i64"
                                                          : "i32";
  return ("Vec<" + carrier + ", " + Twine(vec) + ">").str();
}

std::string mlir::hk::roundText(Type elementType, int vec, const Twine &expr) {
  if (elementType.isF32() || !isa<FloatType>(elementType))
    return expr.str();
  return ("roundTo<" + dtypeText(elementType) + ", " + Twine(vec) + ">(" +
          expr + ")")
      .str();
}

std::string mlir::hk::floatText(double value) {
  if (std::isnan(value))
    return "__builtin_nanf(\"\")";
  if (std::isinf(value))
    return value < 0 ? "-__builtin_inff()" : "__builtin_inff()";
  char buffer[40];
  snprintf(buffer, sizeof(buffer), "%.9g", value);
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + "f";
}

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Symbols and positions
//===----------------------------------------------------------------------===//

Puller::Puller(KernelOp kernel, const DimSymbols &dims, CodeWriter &out)
    : kernel(kernel), dims(dims), out(out) {}

AffineExpr Puller::symbol(StringRef name, int depth) {
  symbols.push_back({name.str(), depth});
  return getAffineSymbolExpr(symbols.size() - 1, getContext());
}

AffineExpr Puller::sharedSymbol(StringRef name, int depth) {
  AffineExpr &known = sharedSymbols[name];
  if (!known)
    known = symbol(name, depth);
  return known;
}

AffineExpr Puller::constant(int64_t value) {
  return getAffineConstantExpr(value, getContext());
}

AffineExpr Puller::defineIndex(int depth, StringRef prefix, const Twine &text) {
  return symbol(out.define(depth, "auto", prefix, text), depth);
}

AffineExpr Puller::size(DimName name) {
  if (name >= 0)
    return constant(name);
  auto it = sizeSymbols.find(name);
  if (it != sizeSymbols.end())
    return it->second;
  int64_t index = SymShapeAttr::symbolOf(name);
  AffineExpr expr;
  if (index < kernel.getNumDims()) {
    expr = symbol(("d" + Twine(index)).str(), 0);
  } else {
    const SizeExpr &definition = dims.definition(index);
    SmallVector<AffineExpr> operands;
    for (DimName operand : definition.operands)
      operands.push_back(size(operand));
    switch (definition.kind) {
    case SizeExpr::Kind::Product:
      expr = constant(definition.constant);
      for (AffineExpr operand : operands)
        expr = expr * operand;
      break;
    case SizeExpr::Kind::Sum:
      expr = constant(definition.constant);
      for (AffineExpr operand : operands)
        expr = expr + operand;
      break;
    case SizeExpr::Kind::FloorDiv:
      expr = operands[0].floorDiv(definition.constant);
      break;
    case SizeExpr::Kind::CeilDiv:
      expr = (operands[0] + (definition.constant - 1))
                 .floorDiv(definition.constant);
      break;
    case SizeExpr::Kind::Constant:
      expr = constant(definition.constant);
      break;
    case SizeExpr::Kind::Argument:
      expr = size(dims.dim(definition.value, definition.dim));
      break;
    case SizeExpr::Kind::Index:
    case SizeExpr::Kind::Opaque:
      llvm_unreachable("matching refuses sizes that only data can tell");
    }
  }
  sizeSymbols[name] = expr;
  return expr;
}

std::string Puller::text(AffineExpr expr) const {
  if (auto c = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(c.getValue());
  if (auto s = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[s.getPosition()].name;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  StringRef op;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    op = " + ";
    break;
  case AffineExprKind::Mul:
    op = " * ";
    break;
  case AffineExprKind::FloorDiv:
    op = " / ";
    break;
  case AffineExprKind::Mod:
    op = " % ";
    break;
  default:
    llvm_unreachable("positions use + * / % only");
  }
  return ("(" + text(binary.getLHS()) + op + text(binary.getRHS()) + ")").str();
}

int Puller::depthOf(ArrayRef<AffineExpr> exprs) const {
  int depth = out.hoistLimit();
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr e) {
      if (auto s = dyn_cast<AffineSymbolExpr>(e))
        depth = std::max(depth, symbols[s.getPosition()].depth);
    });
  return depth;
}

int Puller::placeOf(ArrayRef<AffineExpr> position, int vec) const {
  int depth = depthOf(position);
  return vec > 1 && !lanes.text.empty() ? std::max(depth, lanes.depth) : depth;
}

std::string Puller::key(Value value, ArrayRef<AffineExpr> position, int vec,
                        StringRef tag) {
  auto [it, inserted] = valueIds.try_emplace(value, valueIds.size());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << it->second << ' ' << vec << ' ' << tag;
  for (AffineExpr expr : position)
    os << ' ' << expr.getAsOpaquePointer();
  if (vec > 1)
    os << ' ' << lanes.text;
  return text;
}

//===----------------------------------------------------------------------===//
// Kernel operands
//===----------------------------------------------------------------------===//

void Puller::declareArguments() {
  ArgumentWords words(kernel);
  Block &body = kernel.getSpecBlock();
  for (BlockArgument arg : body.getArguments()) {
    bool isOut = int64_t(arg.getArgNumber()) >= int64_t(kernel.getNumInputs());
    out.line("[[maybe_unused]] const auto p" + Twine(arg.getArgNumber()) +
             " = global<" + (isOut ? "" : "const ") + "Storage<" +
             dtypeText(elementTypeOf(arg)) + ">>(" +
             words.address(arg.getArgNumber()) + ");");
  }
  for (int64_t d = 0; d < kernel.getNumDims(); ++d)
    out.line("[[maybe_unused]] const i64 d" + Twine(d) + " = " +
             words.size(-1 - d) + ";");
  for (BlockArgument arg : body.getArguments()) {
    int64_t rank = cast<ShapedType>(arg.getType()).getRank();
    for (int64_t d = 0; d + 1 < rank; ++d)
      out.line("[[maybe_unused]] const i64 s" + Twine(arg.getArgNumber()) +
               "_" + Twine(d) + " = " + words.stride(arg.getArgNumber(), d) +
               ";");
  }
}

std::string Puller::offsetText(unsigned operand, Args position) const {
  std::string result;
  for (auto [d, index] : llvm::enumerate(position)) {
    auto c = dyn_cast<AffineConstantExpr>(index);
    if (c && c.getValue() == 0)
      continue;
    if (!result.empty())
      result += " + ";
    std::string stride = (" s" + Twine(operand) + "_" + Twine(d)).str();
    if (d + 1 == position.size())
      result += "i64(" + text(index) + ")";
    else if (isa<AffineSymbolExpr>(index)) // Rows may be cheaper than numbers.
      result += "strided(" + text(index) + "," + stride + ")";
    else
      result += "i64(" + text(index) + ") *" + stride;
  }
  return result.empty() ? "0" : result;
}

int64_t Puller::alignment(unsigned operand, AffineExpr last, int vec) const {
  KernelOp owner = kernel;
  Value value = owner.getSpecBlock().getArgument(operand);
  int64_t bits = ::hk::info(*dtypeOf(elementTypeOf(value))).bits;
  int64_t bytes = std::max<int64_t>(1, vec * bits / 8);
  int64_t element = std::max<int64_t>(1, bits / 8);
  int64_t known = owner.getAligns()[operand];
  int64_t divisor = last ? last.getLargestKnownDivisor() : 0;
  if (divisor != 0)
    known = std::gcd(known, std::max<int64_t>(1, divisor * bits / 8));
  int64_t align = 1;
  while (align < bytes && known % (align * 2) == 0)
    align *= 2;
  return std::max(align, element);
}

std::string Puller::accessText(BlockArgument argument, Args position,
                               int vec) const {
  unsigned operand = argument.getArgNumber();
  AffineExpr last = position.empty() ? AffineExpr() : position.back();
  return ("<" + dtypeText(elementTypeOf(argument)) + ", " + Twine(vec) + ", " +
          Twine(alignment(operand, last, vec)) + ">(p" + Twine(operand) + ", " +
          offsetText(operand, position))
      .str();
}

std::string Puller::load(BlockArgument argument, Args position, int vec) {
  Type type = elementTypeOf(argument);
  if (vec == 1 && isPacked(type))
    return vecText(type, 1) + "(loadScalar<" + dtypeText(type) + ">(p" +
           std::to_string(argument.getArgNumber()) + ", " +
           offsetText(argument.getArgNumber(), position) + "))";
  bool masked = vec > 1 && !lanes.text.empty();
  std::string expr = (masked ? "loadMasked" : "load") +
                     accessText(argument, position, vec) +
                     (masked ? ", " + lanes.text : "") + ")";
  if (loadGuard.text.empty())
    return expr;
  useDepth(loadGuard.depth);
  return loadGuard.text + " ? " + expr + " : " + vecText(type, vec) + "(0)";
}

void Puller::store(unsigned operand, Args position, int vec, StringRef vector,
                   bool rounded) {
  BlockArgument argument = kernel.getSpecBlock().getArgument(operand);
  bool masked = vec > 1 && !lanes.text.empty();
  auto stream = streamed.find(operand);
  bool streams = !masked && rounded && stream != streamed.end();
  StringRef function = masked     ? "storeMasked"
                       : !rounded ? "store"
                       : streams  ? "storeStreamed"
                                  : "storeExact";
  out.lineIf(storeGuard, function + accessText(argument, position, vec) + ", " +
                             (masked ? lanes.text + ", " : "") + vector +
                             (streams ? ", " + stream->second : "") + ");");
}

//===----------------------------------------------------------------------===//
// Pulling
//===----------------------------------------------------------------------===//

std::string Puller::splat(Type elementType, StringRef one, int vec, int depth) {
  if (vec == 1)
    return one.str();
  return out.define(depth, vecText(elementType, vec), "v",
                    vecText(elementType, vec) + "(" + one + "[0])");
}

std::string Puller::keepFirst(Type elementType, StringRef vector,
                              StringRef count, StringRef fill, int vec) {
  return out.define(out.depth(), vecText(elementType, vec), "v",
                    "keepFirst<" + Twine(vec) + ">(" + vector + ", " + count +
                        ", " + fill + ")");
}

std::string Puller::pullByElement(Value value, Args position, int vec) {
  Type type = elementTypeOf(value);
  std::string name = out.freshName("v"), e = out.freshName("e");
  out.line(vecText(type, vec) + " " + name + " = 0;");
  Expr saved = exchangeLanes({});
  out.openElements(e, vec, saved.text);
  Position one(position);
  one.back() = one.back() + symbol(e);
  std::string element = pull(value, one, 1);
  out.line(name + "[" + e + "] = " + element + "[0];");
  exchangeLanes(std::move(saved));
  out.close();
  return name;
}

Expr Puller::pulledScalar(Value value, Args position) {
  Expr saved = exchangeLanes({});
  Expr one = pulled(value, position, 1);
  exchangeLanes(std::move(saved));
  one.text += "[0]";
  return one;
}

std::string Puller::pullBroadcast(Value operand, Args position, int vec) {
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rank = type.getRank();
  int64_t skip = int64_t(position.size()) - rank;
  Position own;
  for (int64_t d = 0; d < rank; ++d)
    own.push_back(type.getDimSize(d) == 1 ? constant(0) : position[d + skip]);
  bool repeatsLast = rank == 0 || type.getDimSize(rank - 1) == 1;
  if (vec > 1 && repeatsLast) {
    // Where it is known may be further in than its position says.
    Expr one = pulled(operand, own, 1);
    return splat(type.getElementType(), one.text, vec,
                 std::max(one.depth, depthOf(own)));
  }
  return pull(operand, own, vec);
}

Expr Puller::pulled(Value value, Args position, int vec) {
  std::string memo = key(value, position, vec);
  const Expr *known = out.recall(memo);
  // What is loaded in some places only is not known in others.
  if (!known && !loadGuard.text.empty()) {
    memo += " where " + loadGuard.text;
    known = out.recall(memo);
  }
  if (known) {
    useDepth(known->depth);
    return *known;
  }
  int outer = std::exchange(usedDepth, 0);
  Expr made = {emit(value, position, vec)};
  // Scopes that are closed by now no longer count.
  made.depth =
      std::min(out.depth(), std::max(placeOf(position, vec), usedDepth));
  // Handlers return a name where they had to write statements of their own.
  if (llvm::all_of(made.text, [](char c) { return llvm::isAlnum(c); }))
    made.depth = out.depth();
  else
    made.text = out.define(made.depth, vecText(elementTypeOf(value), vec), "v",
                           made.text);
  out.remember(memo, made);
  usedDepth = std::max(outer, made.depth);
  return made;
}

std::string Puller::emit(Value value, Args position, int vec) {
  if (Value outer = resolved(value); outer != value)
    return pull(outer, position, vec);
  if (auto it = bound.find(value); it != bound.end())
    return it->second(position, vec);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return load(argument, position, vec);
  return pullFunctionOf(value.getDefiningOp())(*this, cast<OpResult>(value),
                                               position, vec);
}

Expr Puller::defineOnce(const Expr &of, StringRef type, StringRef prefix,
                        const std::string &text) {
  int depth = std::max(out.hoistLimit(), std::min(out.depth(), of.depth));
  return out.defineOnce(depth, type, prefix, text);
}

Expr Puller::statistic(Operation *, Value, RowReduction, int64_t, Args,
                       AffineExpr, Args, int) {
  llvm_unreachable("this family has no statistics of a row");
}

void mlir::hk::writeMethod(raw_ostream &os, KernelOp kernel,
                           const DimSymbols &dims, const Twine &head,
                           llvm::function_ref<void(Puller &)> writeBody) {
  CodeWriter out;
  Puller puller(kernel, dims, out);
  puller.declareArguments();
  writeBody(puller);
  os << "  HK_MEM " << head << " const {\n";
  out.print(os, 4);
  os << "  }\n";
}
