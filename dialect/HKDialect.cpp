//===- HKDialect.cpp - The hk dialect and its attributes ------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration of ops and attributes, what attributes check and how they print,
// and the mapping between MLIR types and the contract's element types.
//
//===----------------------------------------------------------------------===//

#include "OpSyntax.h"
#include "OpUtils.h"
#include "RecurrentFactors.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

#include "hk/Dialect/HKDialect.cpp.inc"
#include "hk/Dialect/HKEnums.cpp.inc"
#include "hk/Dialect/HKInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "hk/Dialect/HKAttrs.cpp.inc"

namespace {
/// A function of base ops may be called: its body takes the call's place.
struct HKInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void HKDialect::initialize() {
  addInterfaces<HKInlinerInterface>();
  registerHKDialectOperations(this);
  addAttributes<
#define GET_ATTRDEF_LIST
#include "hk/Dialect/HKAttrs.cpp.inc"
      >();
  attachRecurrentFactors(*getContext());
}

static ParseResult refuseOperator(OpAsmParser &parser, OperationState &state) {
  InFlightDiagnostic diag = parser.emitError(
      parser.getNameLoc(), "is no operator; docs/operators.md lists them");
  SmallVector<StringRef> known;
  for (RegisteredOperationName op :
       parser.getContext()->getRegisteredOperations())
    if (op.getDialectNamespace() == HKDialect::getDialectNamespace())
      known.push_back(op.getStringRef());
  suggestName(diag, state.name.getStringRef(), known, /*listsOthers=*/false);
  return diag;
}

std::optional<Dialect::ParseOpHook>
HKDialect::getParseOperationHook(StringRef) const {
  return refuseOperator;
}

namespace {
/// What exporters write for a small constant becomes the operator that kernels
/// take in. A larger one stays, and is refused where it is read.
struct ConstantOfArith : OpRewritePattern<arith::ConstantOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ConstantOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    auto value = dyn_cast<DenseElementsAttr>(op.getValue());
    std::optional<::hk::DType> dtype =
        type ? dtypeOf(type.getElementType()) : std::nullopt;
    if (!value || !dtype ||
        ::hk::packedBytes(*dtype, type.getNumElements()) > kMaxConstantBytes)
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(op, type, value);
    return success();
  }
};

/// Whether `size` is that of dim `dim` of `tensor`, `known` unless dynamic.
bool isSizeOf(OpFoldResult size, Value tensor, int64_t dim, int64_t known) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant == known;
  auto def = cast<Value>(size).getDefiningOp<tensor::DimOp>();
  return def && def.getSource() == tensor && def.getConstantIndex() == dim;
}

/// Values that are cut from the keys are the first columns of the keys.
struct ValuesOfKeys : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    auto slice = op.getValue().getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || slice.getSource() != op.getKey() || op.getVScale() ||
        op.getKeyLayout() != CacheLayout::token_major ||
        op.getValueLayout() != CacheLayout::token_major ||
        !llvm::all_of(slice.getMixedOffsets(), isZeroInteger) ||
        !llvm::all_of(slice.getMixedStrides(), isOneInteger))
      return failure();
    // Every dim but the last is whole.
    ArrayRef<int64_t> from = slice.getSourceType().getShape();
    SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
    for (auto [dim, size] : llvm::enumerate(from.drop_back()))
      if (!isSizeOf(sizes[dim], op.getKey(), dim, size))
        return failure();
    rewriter.modifyOpInPlace(op,
                             [&] { op.getValueMutable().assign(op.getKey()); });
    return success();
  }
};
} // namespace

void HKDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<ConstantOfArith, ValuesOfKeys>(getContext());
}

Operation *HKDialect::materializeConstant(OpBuilder &b, Attribute value,
                                          Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(b, loc, type, elements);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name) {
  if (::hk::findTarget(name.str().c_str()))
    return success();
  InFlightDiagnostic diag = emitError();
  diag << "unknown target '" << name << "'; known are ";
  llvm::interleaveComma(::hk::kTargets, diag,
                        [&](const ::hk::Target &t) { diag << t.name; });
  return diag;
}

/// `<[d0, 4096]>`: d followed by the symbol's number, or a constant.
Attribute SymShapeAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> sizes;
  auto parseSize = [&]() -> ParseResult {
    int64_t size;
    OptionalParseResult constant = parser.parseOptionalInteger(size);
    if (constant.has_value()) {
      if (failed(*constant))
        return failure();
      if (size < 0)
        return parser.emitError(parser.getCurrentLocation(),
                                "expected a size of at least 0, but got ")
               << size;
      sizes.push_back(size);
      return success();
    }
    StringRef symbol;
    SMLoc loc = parser.getCurrentLocation();
    uint64_t number;
    if (parser.parseKeyword(&symbol))
      return failure();
    if (!symbol.consume_front("d") || symbol.getAsInteger(10, number) ||
        number > (1u << 30))
      return parser.emitError(loc, "expected a size or a dim symbol like d0");
    sizes.push_back(-1 - static_cast<int64_t>(number));
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize) ||
      parser.parseGreater())
    return {};
  return SymShapeAttr::get(parser.getContext(), sizes);
}

void SymShapeAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getSizes(), printer, [&](int64_t size) {
    if (isSymbol(size))
      printer << 'd' << symbolOf(size);
    else
      printer << size;
  });
  printer << "]>";
}

//===----------------------------------------------------------------------===//
// Types and targets
//===----------------------------------------------------------------------===//

std::optional<::hk::DType> mlir::hk::dtypeOf(Type type) {
  using D = std::optional<::hk::DType>;
  return TypeSwitch<Type, D>(type)
      .Case([](Float32Type) { return ::hk::DType::F32; })
      .Case([](BFloat16Type) { return ::hk::DType::BF16; })
      .Case([](Float16Type) { return ::hk::DType::F16; })
      .Case([](Float8E4M3FNType) { return ::hk::DType::F8E4M3FN; })
      .Case([](Float8E4M3FNUZType) { return ::hk::DType::F8E4M3FNUZ; })
      .Case([](Float8E5M2Type) { return ::hk::DType::F8E5M2; })
      .Case([](Float8E5M2FNUZType) { return ::hk::DType::F8E5M2FNUZ; })
      .Case([](Float4E2M1FNType) { return ::hk::DType::F4E2M1FN; })
      .Case([](Float8E8M0FNUType) { return ::hk::DType::F8E8M0FNU; })
      .Case([](IntegerType t) -> D {
        if (t.isUnsignedInteger(4))
          return ::hk::DType::UI4;
        if (!t.isSignless())
          return std::nullopt;
        switch (t.getWidth()) {
        case 1:
          return ::hk::DType::I1;
        case 4:
          return ::hk::DType::I4;
        case 8:
          return ::hk::DType::I8;
        case 16:
          return ::hk::DType::I16;
        case 32:
          return ::hk::DType::I32;
        case 64:
          return ::hk::DType::I64;
        default:
          return std::nullopt;
        }
      })
      .Default(std::nullopt);
}

Type mlir::hk::typeOf(::hk::DType dtype, MLIRContext *context) {
  switch (dtype) {
  case ::hk::DType::F32:
    return Float32Type::get(context);
  case ::hk::DType::BF16:
    return BFloat16Type::get(context);
  case ::hk::DType::F16:
    return Float16Type::get(context);
  case ::hk::DType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case ::hk::DType::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case ::hk::DType::F8E5M2:
    return Float8E5M2Type::get(context);
  case ::hk::DType::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case ::hk::DType::F4E2M1FN:
    return Float4E2M1FNType::get(context);
  case ::hk::DType::F8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case ::hk::DType::I1:
    return IntegerType::get(context, 1);
  case ::hk::DType::I8:
    return IntegerType::get(context, 8);
  case ::hk::DType::I16:
    return IntegerType::get(context, 16);
  case ::hk::DType::I32:
    return IntegerType::get(context, 32);
  case ::hk::DType::I64:
    return IntegerType::get(context, 64);
  case ::hk::DType::I4:
    return IntegerType::get(context, 4);
  case ::hk::DType::UI4:
    return IntegerType::get(context, 4, IntegerType::Unsigned);
  }
  llvm_unreachable("every element type has a case");
}

bool mlir::hk::isPacked(Type type) {
  std::optional<::hk::DType> dtype = dtypeOf(type);
  return dtype && ::hk::isPacked(*dtype);
}

bool mlir::hk::isInt4(Type type) {
  return type.isSignlessInteger(4) || type.isUnsignedInteger(4);
}

const ::hk::Target *mlir::hk::targetOf(Operation *op) {
  for (; op; op = op->getParentOp())
    if (auto target = op->getAttrOfType<TargetAttr>(kTargetAttrName))
      return ::hk::findTarget(target.getName().str().c_str());
  return nullptr;
}

std::optional<::hk::Mesh> mlir::hk::meshOf(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto text =
      module ? module->getAttrOfType<StringAttr>(kMeshAttrName) : StringAttr();
  ::hk::Mesh mesh;
  if (!text || !::hk::Mesh::parse(text.getValue(), mesh).empty())
    return std::nullopt; // the module's verifier says so
  return mesh;
}
