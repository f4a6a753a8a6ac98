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
#include "Signs.h"
#include "hk/Analysis/Alignment.h"

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

CType mlir::hk::carrierOf(Type elementType, int vec) {
  return {isa<FloatType>(elementType)         ? "float"
          : elementType.isSignlessInteger(64) ? "i64"
                                              : "i32",
          vec};
}

Expr mlir::hk::flagOf(const Expr &comparison) {
  return infix(call("convertTo<i32>", comparison, "i32"), " & ",
               {"1", {"i32"}});
}

Expr mlir::hk::toFloat(const Expr &expr) {
  return expr.type.element == "float" ? expr
                                      : call("convertTo<float>", expr, "float");
}

Expr mlir::hk::rounded(Type elementType, const Expr &expr) {
  if (elementType.isF32() || !isa<FloatType>(elementType))
    return expr;
  checkType(expr, {"float", expr.type.lanes}, "what is rounded");
  return call("roundTo<" + dtypeText(elementType) + ">", expr);
}

StringRef mlir::hk::reductionOf(RowReduction kind) {
  switch (kind) {
  case RowReduction::Maximum:
    return "Max";
  case RowReduction::AbsMaximum:
    return "MagnitudeMax";
  case RowReduction::Minimum:
    return "Min";
  case RowReduction::Sum:
  case RowReduction::SumOfSquares:
  case RowReduction::SumOfCentredSquares:
  case RowReduction::SumOfExp:
    return "Sum";
  }
  llvm_unreachable("every statistic is listed");
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
  return symbol(out.define(depth, prefix, {text.str(), {"auto"}}).text, depth);
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

/// The quotient or the remainder towards minus infinity, which C's are not.
static std::string floored(const std::string &x, const std::string &by,
                           bool remainder) {
  uint64_t size = 0;
  if (!StringRef(by).getAsInteger(10, size) && llvm::isPowerOf2_64(size))
    return remainder
               ? "(" + x + " & " + std::to_string(size - 1) + ")"
               : "(" + x + " >> " + std::to_string(llvm::Log2_64(size)) + ")";
  std::string rest = x + " % " + by;
  return remainder ? "(" + rest + " + (" + rest + " < 0 ? " + by + " : 0))"
                   : "(" + x + " / " + by + " - (" + rest + " < 0))";
}

std::string Puller::text(AffineExpr expr) const {
  if (auto c = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(c.getValue());
  if (auto s = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[s.getPosition()].name;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  bool divides = expr.getKind() == AffineExprKind::FloorDiv ||
                 expr.getKind() == AffineExprKind::Mod;
  if (divides && !isNonNegative(binary.getLHS()))
    return floored(text(binary.getLHS()), text(binary.getRHS()),
                   expr.getKind() == AffineExprKind::Mod);
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

int Puller::placeOf(const Expr &made, ArrayRef<AffineExpr> position,
                    int vec) const {
  int depth = std::max(made.depth, depthOf(position));
  if (vec > 1)
    depth = std::max(depth, lanes.depth);
  // Scopes that are closed by now no longer count.
  return std::min(out.depth(), depth);
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

std::string Puller::strideName(unsigned operand, int64_t dim) {
  return "s" + std::to_string(operand) + "_" + std::to_string(dim);
}

void Puller::declareArguments() {
  ArgumentWords words(kernel);
  Block &body = kernel.getSpecBlock();
  for (BlockArgument arg : body.getArguments()) {
    std::string address = words.address(arg.getArgNumber());
    if (votes())
      address = "opaqueUniform(" + address + ")";
    bool isOut = int64_t(arg.getArgNumber()) >= int64_t(kernel.getNumInputs());
    out.line("[[maybe_unused]] const auto p" + Twine(arg.getArgNumber()) +
             " = global<" + (isOut ? "" : "const ") + "Storage<" +
             dtypeText(elementTypeOf(arg)) + ">>(" + address + ");");
  }
  for (int64_t d = 0; d < kernel.getNumDims(); ++d)
    out.line("[[maybe_unused]] const i64 d" + Twine(d) + " = " +
             words.size(-1 - d) + ";");
  for (BlockArgument arg : body.getArguments()) {
    int64_t rank = cast<ShapedType>(arg.getType()).getRank();
    for (int64_t d = 0; d + 1 < rank; ++d) {
      unsigned operand = arg.getArgNumber();
      std::string name = strideName(operand, d);
      if (std::optional<int64_t> known = strideOf(operand, d))
        out.line("[[maybe_unused]] constexpr Stride<" + Twine(*known) + "> " +
                 name + ";");
      else
        out.line("[[maybe_unused]] const i64 " + name + " = " +
                 words.stride(operand, d) + ";");
    }
  }
}

bool Puller::countsBytes(unsigned operand, Args position) {
  auto type =
      cast<ShapedType>(kernel.getSpecBlock().getArgument(operand).getType());
  auto isEven = [&](int64_t dim) {
    std::optional<int64_t> stride = strideOf(operand, dim);
    return stride && *stride % 2 == 0;
  };
  return votes() && isPacked(type.getElementType()) && !position.empty() &&
         position.back().isMultipleOf(2) &&
         llvm::all_of(llvm::seq<int64_t>(0, type.getRank() - 1), isEven);
}

std::string Puller::offsetText(unsigned operand, Args position, bool bytes) {
  auto type =
      cast<ShapedType>(kernel.getSpecBlock().getArgument(operand).getType());
  std::string result, shared;
  auto add = [](std::string &sum, const std::string &term) {
    sum += (sum.empty() ? "" : " + ") + term;
  };
  auto strideText = [&](int64_t d) {
    return bytes ? "Stride<" + std::to_string(*strideOf(operand, d) / 2) + ">{}"
                 : strideName(operand, d);
  };
  size_t dense = denseRowDims(operand, position);
  if (dense > 0)
    add(shared,
        "strided(row, " +
            (dense == position.size() ? "Stride<1>{}" : strideText(dense - 1)) +
            ")");
  for (auto [d, index] : llvm::enumerate(position)) {
    auto c = dyn_cast<AffineConstantExpr>(index);
    if (d < dense || (c && c.getValue() == 0))
      continue;
    bool isSymbol = isa<AffineSymbolExpr>(index),
         isLast = d + 1 == position.size();
    AffineExpr place = isLast && bytes ? simplify(index.floorDiv(2)) : index;
    int64_t below = type.isDynamicDim(d) ? 0 : type.getDimSize(d);
    std::string number =
        (votes() ? "nearIndex<" + std::to_string(below) + ">" : "i64") + "(" +
        text(place) + ")";
    // Rows may be cheaper than numbers.
    std::string term =
        isLast     ? number
        : isSymbol ? "strided(" + text(index) + ", " + strideText(d) + ")"
                   : number + " * " + strideText(d);
    add(isSymbol && !isLast && sharesOffset(index) ? shared : result, term);
  }
  if (!shared.empty())
    result = sharedOffset(shared) + (result.empty() ? "" : " + ") + result;
  return result.empty() ? "0" : result;
}

std::string Puller::placeText(unsigned operand, Args position) {
  std::string pointer = "p" + std::to_string(operand);
  bool bytes = countsBytes(operand, position);
  std::string offset = offsetText(operand, position, bytes);
  if (!votes())
    return pointer + ", " + offset;
  Type type = elementTypeOf(kernel.getSpecBlock().getArgument(operand));
  std::string element = bytes ? "DType::I8" : dtypeText(type);
  return "addressOf<" + element + ">(" + pointer + ", " + offset + "), 0";
}

bool mlir::hk::isCoded(Type elementType) {
  return isa<Float4E2M1FNType, Float8E4M3FNType, Float8E4M3FNUZType,
             Float8E5M2Type>(elementType);
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

std::string Puller::accessText(BlockArgument argument, Args position, int vec) {
  unsigned operand = argument.getArgNumber();
  AffineExpr last = position.empty() ? AffineExpr() : position.back();
  return ("<" + dtypeText(elementTypeOf(argument)) + ", " + Twine(vec) + ", " +
          Twine(alignment(operand, last, vec)) + ">(" +
          placeText(operand, position))
      .str();
}

Expr Puller::load(BlockArgument argument, Args position, int vec) {
  Type type = elementTypeOf(argument);
  CType loaded = carrierOf(type, vec);
  auto tensor = cast<RankedTensorType>(argument.getType());
  // Other rows than the first may begin with the second element of a byte.
  if (vec > 1 && tensor.getRank() > 1 && !hasWholeRows(tensor))
    return pullByElement(argument, position, vec);
  if (vec == 1 && isPacked(type))
    return splat(loaded,
                 {"loadScalar<" + dtypeText(type) + ">(p" +
                      std::to_string(argument.getArgNumber()) + ", " +
                      offsetText(argument.getArgNumber(), position) + ")",
                  {loaded.element}});
  bool masked = vec > 1 && lanes;
  bool coded = !masked && vec > 1 && votes() && isCoded(type);
  std::string unpack = "unpackCodesOf<" + dtypeText(type) + ", " +
                       std::to_string(vec) + ">(loadPacked";
  Expr made = {(masked  ? "loadMasked"
                : coded ? unpack
                        : "load") +
                   accessText(argument, position, vec) +
                   (masked ? ", " + lanes.text : "") + (coded ? "))" : ")"),
               loaded};
  if (!loadGuard)
    return made;
  return choice(loadGuard, made, splat(loaded, {"0", {loaded.element}}));
}

void Puller::store(unsigned operand, Args position, int vec, const Expr &vector,
                   const Stored &stored) {
  BlockArgument argument = kernel.getSpecBlock().getArgument(operand);
  checkType(vector, carrierOf(elementTypeOf(argument), vec), "what is stored");
  // Partial vectors of a known size are stored by all that is known of them.
  bool partial = vec > 1 && lanes;
  bool masked = partial && lanes.type.element != kTailLanes;
  auto stream = streamed.find(operand);
  bool streams = !partial && stored.rounded && stream != streamed.end();
  bool quotients = !masked && stored.scale;
  bool within = quotients && stored.within;
  // An infinity of a rounded value is one; of others it is saturated.
  bool mayBeInf = isa<Float8E5M2Type>(elementTypeOf(argument));
  StringRef function = masked && stored.rounded && mayBeInf ? "storeMaskedExact"
                       : masked                             ? "storeMasked"
                       : streams                            ? "storeStreamed"
                       : stored.nearest                     ? "storeNearest"
                       : stored.rounded                     ? "storeExact"
                       : stored.numbers                     ? "storeNumbers"
                       : within                             ? "storeWithin"
                       : quotients                          ? "storeQuotients"
                                                            : "store";
  out.lineIf(storeGuard, function + accessText(argument, position, vec) + ", " +
                             (partial ? lanes.text + ", " : "") + vector.text +
                             (streams ? ", " + stream->second : "") +
                             (quotients ? ", " + stored.scale.text : "") +
                             ");");
}

void Puller::storeBits(unsigned operand, Args position, int vec,
                       StringRef bits) {
  BlockArgument argument = kernel.getSpecBlock().getArgument(operand);
  std::string packed = "Packed<" + dtypeText(elementTypeOf(argument)) + ", " +
                       std::to_string(vec) + ">";
  out.line("storePacked" + accessText(argument, position, vec) + ", bitCast<" +
           packed + ">(" + bits + "));");
}

//===----------------------------------------------------------------------===//
// Pulling
//===----------------------------------------------------------------------===//

Expr Puller::pullByElement(Value value, Args position, int vec) {
  Expr made = out.declare("v", carrierOf(elementTypeOf(value), vec));
  std::string e = out.freshName("e");
  Expr saved = exchangeLanes({});
  out.openElements(e, vec, saved.text);
  Position one(position);
  one.back() = one.back() + symbol(e);
  out.assign(laneOf(made, e), laneOf(pull(value, one, 1), "0"));
  exchangeLanes(std::move(saved));
  out.close();
  return made;
}

void Puller::openRange(AffineExpr at, AffineExpr begin, AffineExpr end) {
  std::string condition = text(at) + " < " + text(end);
  if (begin != constant(0))
    condition = text(at) + " >= " + text(begin) + " && " + condition;
  out.openIf(condition);
  ranges.push_back({at, begin, end});
}

void Puller::closeRange() {
  ranges.pop_back();
  out.close();
}

std::optional<std::pair<int64_t, int64_t>>
Puller::knownRange(AffineExpr index) const {
  if (!bounds.at)
    return std::nullopt;
  auto distance = dyn_cast<AffineConstantExpr>(simplify(index - bounds.at));
  if (!distance)
    return std::nullopt;
  return std::pair(bounds.begin + distance.getValue(),
                   bounds.end - 1 + distance.getValue());
}

Expr Puller::pullScalar(Value value, Args position) {
  Expr saved = exchangeLanes({});
  Expr one = pull(value, position, 1);
  exchangeLanes(std::move(saved));
  return laneOf(one, "0");
}

Expr Puller::pullBroadcast(Value operand, Args position, int vec) {
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rank = type.getRank();
  int64_t skip = int64_t(position.size()) - rank;
  Position own;
  for (int64_t d = 0; d < rank; ++d)
    own.push_back(type.getDimSize(d) == 1 ? constant(0) : position[d + skip]);
  bool repeatsLast = rank == 0 || type.getDimSize(rank - 1) == 1;
  if (vec == 1 || !repeatsLast)
    return pull(operand, own, vec);
  // Where it is known may be further in than its position says.
  Expr one = laneOf(pull(operand, own, 1), "0");
  return out.define(std::max(one.depth, depthOf(own)), "v",
                    splat(carrierOf(type.getElementType(), vec), one));
}

Expr Puller::pull(Value value, Args position, int vec) {
  std::string memo = key(value, position, vec);
  const Expr *known = out.recall(memo);
  // What is loaded in some places only is not known in others.
  if (!known && loadGuard) {
    memo += " where " + loadGuard.text;
    known = out.recall(memo);
  }
  if (known)
    return *known;
  Expr made = emit(value, position, vec);
  Operation *op = value.getDefiningOp();
  checkType(made, carrierOf(elementTypeOf(value), vec),
            op ? op->getName().getStringRef() : "argument");
  // A name where statements were needed, or where it is another value's: what
  // is made of it stays here. Further out, the rows of a gather whose indices
  // are a view take more instructions.
  if (made.isName())
    made.depth = out.depth();
  else
    made = out.define(placeOf(made, position, vec), "v", made);
  out.remember(memo, made);
  return made;
}

Expr Puller::emit(Value value, Args position, int vec) {
  if (Value outer = resolved(value); outer != value)
    return pull(outer, position, vec);
  if (auto it = bound.find(value); it != bound.end())
    return it->second(position, vec);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return load(argument, position, vec);
  return pullFunctionOf(value.getDefiningOp())(*this, cast<OpResult>(value),
                                               position, vec);
}

Expr Puller::defineOnce(StringRef prefix, const Expr &value) {
  int depth = std::max(out.hoistLimit(), std::min(out.depth(), value.depth));
  return out.defineOnce(depth, prefix, value);
}

/// Whether `index` is one of `size` ones.
static Expr isIndex(const Expr &index, const std::string &size) {
  return {index.text + " >= 0 && " + index.text + " < i64(" + size + ")",
          {"bool"}};
}

Expr Puller::defineExisting(StringRef prefix, int depth, const Expr &index,
                            const std::string &size) {
  Expr found = isIndex(index, size);
  Expr wide = index.type.element == "i64" ? index : scalarCast("i64", index);
  return out.define(depth, prefix, choice(found, wide, {"-1", {"i64"}}));
}

ExistingRow Puller::existingRow(const std::string &key, int depth,
                                AffineExpr size,
                                llvm::function_ref<Expr()> index) {
  auto rows = dyn_cast<AffineConstantExpr>(size);
  bool always = votes() && rows && rows.getValue() > 0;
  std::string existsKey = key + " exists";
  if (!out.recall(key)) {
    Expr at = index();
    depth = std::max(depth, at.depth);
    auto usually = [&](const std::string &condition) {
      Expr usual = {"usually(" + condition + ")", {"auto"}};
      out.remember(existsKey, out.define(depth, "found", usual));
      return *out.recall(existsKey);
    };
    Expr row;
    if (always) {
      std::string place =
          usually(isIndex(at, text(size)).text).text + " ? " + at.text + " : 0";
      // A place near the first row takes a shorter product.
      bool near = rows.getValue() < (int64_t(1) << 23);
      row = out.define(
          depth, "row",
          near ? Expr{"rowOfTable<" + text(size) + ">(" + place + ")", {"auto"}}
               : Expr{place, {"i64"}});
    } else {
      row = defineExisting("row", depth, at, text(size));
      if (votes())
        usually(row.text + " >= 0");
    }
    out.remember(key, row);
  }
  Expr row = *out.recall(key);
  Expr exists = {row.text + " >= 0", {"bool"}, row.depth};
  if (votes())
    exists = *out.recall(existsKey);
  return {row, exists, always ? Expr() : exists};
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
