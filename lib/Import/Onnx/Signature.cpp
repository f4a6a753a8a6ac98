//===- Signature.cpp - Arguments, results and weights of a function -------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs of the graph become arguments, with the names of their dims; constants
// become weights when something reads them; outputs become results.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <onnx/onnx_pb.h>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

/// The largest dim of a tensor.
static constexpr int64_t kLargestDim = int64_t(1) << 40;

std::string mlir::hk::importer::publicName(StringRef text) {
  constexpr size_t kMostBytes = 150;
  std::string name;
  for (char c : text.take_front(kMostBytes))
    name += llvm::isAlnum(c) || c == '_' || c == '.' || c == '-' ? c : '_';
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

FailureOr<RankedTensorType> GraphImporter::typeOf(Location loc, int dtype,
                                                  ArrayRef<Size> shape) {
  Type element = elementType(dtype, builder.getContext());
  if (!element)
    return emitError(loc, "hk has no tensors of ")
           << dtypeName(dtype) << "; cast, or export with another type";
  if (int64_t(shape.size()) > options.maxRank)
    return emitError(loc, "expected at most ")
           << options.maxRank << " dims, but got " << shape.size();
  if (element.getIntOrFloatBitWidth() < 8 && !element.isInteger(1) &&
      (shape.empty() || shape.back().getConstant().value_or(1) % 2 != 0))
    return emitError(loc, "expected a known even last size, since elements of ")
           << dtypeName(dtype) << " lie two to a byte, but got "
           << (shape.empty() ? std::string("a number")
                             : symbols.describe(shape.back()));
  SmallVector<int64_t> sizes;
  int64_t count = 8;
  for (const Size &size : shape) {
    std::optional<int64_t> known = size.getConstant();
    if (!size.isValid() || (known && (*known < 0 || *known > kLargestDim ||
                                      llvm::MulOverflow(count, *known, count))))
      return emitError(loc, "expected sizes of a tensor, but got ")
             << symbols.describe(size);
    sizes.push_back(known.value_or(ShapedType::kDynamic));
  }
  return RankedTensorType::get(sizes, element);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The elements as an attribute; null for element types that have none here.
static ElementsAttr attributeOf(const Data &data, RankedTensorType type) {
  unsigned bits =
      type.getElementType().isInteger(1) ? 8 : type.getElementTypeBitWidth();
  if (bits < 8)
    return {};
  SmallVector<bool> flags;
  if (type.getElementType().isInteger(1)) {
    for (char c : data.bytes)
      flags.push_back(c != 0);
    return DenseElementsAttr::get(type, flags);
  }
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef<char>(data.bytes.data(), data.bytes.size()));
}

Value GraphImporter::weight(Location loc, const Item &item,
                            RankedTensorType type) {
  std::string name = item.name.empty() ? "constant" : item.name;
  const Data &data = *item.data;
  std::vector<int64_t> sizes(data.sizes.begin(), data.sizes.end());
  std::string dtype = dtypeInfo(data.dtype)->safetensors;
  if (data.dtype == kUInt4 || data.dtype == kInt4)
    sizes.back() /= 2;
  // Models of one file may share a weight; others get a name of their own.
  std::string unique = name;
  for (unsigned i = 1;; ++i) {
    auto found = target.weightIndex.find(unique);
    if (found == target.weightIndex.end())
      break;
    const OnnxWeight &other = target.weights[found->second];
    if (other.sizes == sizes && other.dtype == dtype &&
        other.bytes == data.bytes)
      break;
    unique = name + "." + std::to_string(i);
  }
  auto [entry, isNew] =
      target.weightIndex.try_emplace(unique, target.weights.size());
  std::string symbol = "w" + std::to_string(entry->second);
  if (isNew) {
    target.weights.push_back({unique, dtype, sizes, data.bytes});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(target.module->getBody());
    if (entry->second > 0)
      builder.setInsertionPointAfter(
          target.module->lookupSymbol("w" + std::to_string(entry->second - 1)));
    WeightOp::create(builder, loc, symbol, unique, type, ArrayAttr());
  }
  return WeightRefOp::create(builder, loc, type, symbol);
}

FailureOr<Value> GraphImporter::tensorOf(Location loc, Item &item) {
  if (item.tensor)
    return item.tensor;
  bool isUInt8 = item.dtype == kUInt8;
  FailureOr<RankedTensorType> type =
      typeOf(loc, isUInt8 ? int(kInt8) : item.dtype, item.shape);
  if (failed(type))
    return failure();
  if (!item.data) {
    SmallVector<int64_t> numbers;
    for (const Size &size : *item.integers) {
      std::optional<int64_t> known = size.getConstant();
      if (!known)
        return emitError(loc, "a number that depends on sizes of the inputs, ")
               << symbols.describe(size)
               << ", is used as data, which hk cannot do; fix the size with "
                  "--dim";
      numbers.push_back(*known);
    }
    item.data = store.makeIntegers(item.dtype,
                                   cast<ShapedType>(*type).getShape(), numbers);
  }
  if (isUInt8) {
    Item made;
    made.dtype = kInt8;
    made.shape = item.shape;
    made.data = store.lessHalf(*item.data);
    made.name = item.name + ".int8";
    FailureOr<Value> value = tensorOf(loc, made);
    if (succeeded(value))
      item.tensor = *value;
    return value;
  }
  uint64_t bytes = item.data->bytes.size();
  ElementsAttr attribute =
      bytes <= uint64_t(kMaxConstantBytes) && type->getNumElements() > 0
          ? attributeOf(*item.data, *type)
          : ElementsAttr();
  item.tensor = attribute
                    ? ConstantOp::create(builder, loc, attribute).getResult()
                    : weight(loc, item, *type);
  return item.tensor;
}

std::optional<SmallVector<Size>>
GraphImporter::integersOf(const Item &item) const {
  if (item.integers)
    return item.integers;
  if (!item.data || dtypeInfo(item.dtype)->isFloat ||
      item.data->getNumElements() > options.maxEvaluated)
    return std::nullopt;
  SmallVector<Size> numbers;
  for (int64_t i = 0, e = item.data->getNumElements(); i < e; ++i)
    numbers.push_back(item.data->integer(i));
  return numbers;
}

//===----------------------------------------------------------------------===//
// uint8 at the border
//===----------------------------------------------------------------------===//

/// Bytes of uint8 that a caller has, as int8 less 128, and back: both are the
/// byte with its highest bit changed.
static Value otherBytes(OpBuilder &b, Location loc, Value bytes) {
  auto type = cast<RankedTensorType>(bytes.getType());
  auto wide = type.clone(b.getI32Type()), truth = type.clone(b.getI1Type());
  auto number = [&](int32_t value) {
    auto scalar = RankedTensorType::get({}, b.getI32Type());
    return ConstantOp::create(b, loc, DenseElementsAttr::get(scalar, value));
  };
  Value x = CastOp::create(b, loc, wide, bytes);
  Value isNegative =
      CompareOp::create(b, loc, truth, ComparePredicate::lt, x, number(0));
  Value up = AddOp::create(b, loc, wide, x, number(128)),
        down = AddOp::create(b, loc, wide, x, number(-128));
  Value made = SelectOp::create(b, loc, wide, isNegative, up, down);
  return CastOp::create(b, loc, type, made);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

FailureOr<Item> GraphImporter::argumentItem(const ::onnx::ValueInfoProto &info,
                                            SmallVector<std::string> &names) {
  Location loc = locationOf("input '" + info.name() + "'");
  if (!info.type().has_tensor_type())
    return emitError(loc, "expected a tensor; sequences, maps and optional "
                          "values are not supported");
  const auto &type = info.type().tensor_type();
  if (!type.has_shape())
    return emitError(loc, "expected a shape: its rank must be known; run "
                          "ONNX's shape inference, or export with shapes");
  Item item;
  item.dtype = type.elem_type();
  int64_t rank = type.shape().dim_size();
  if (rank > options.maxRank)
    return emitError(loc, "expected at most ")
           << options.maxRank << " dims, but got " << rank;
  for (const auto &dim : type.shape().dim()) {
    StringRef name(dim.dim_param());
    names.push_back(dim.has_dim_value() ? "" : name.str());
    auto fixed = options.dims.find(name);
    if (dim.has_dim_value())
      item.shape.push_back(dim.dim_value());
    else if (!name.empty() && fixed != options.dims.end())
      item.shape.push_back(fixed->second);
    else
      item.shape.push_back(Size::invalid()); // a symbol, once there is a value
  }
  return item;
}

/// hk has no uint8: an argument has its bytes as int8.
static int typeOfArgument(int dtype) {
  return dtype == kUInt8 ? int(kInt8) : dtype;
}

/// The arguments' types without symbols: invalid sizes are dynamic.
static RankedTensorType openType(GraphImporter &importer, const Item &item) {
  SmallVector<int64_t> sizes;
  for (const Size &size : item.shape)
    sizes.push_back(size.getConstant().value_or(ShapedType::kDynamic));
  return RankedTensorType::get(
      sizes,
      elementType(typeOfArgument(item.dtype), importer.builder.getContext()));
}

/// Open sizes get a symbol, the same where they have the same name.
void GraphImporter::nameDims(Item &item, ArrayRef<std::string> names,
                             unsigned argument) {
  Location loc = function.getLoc();
  SmallVector<StringRef> shown;
  for (auto [d, size] : llvm::enumerate(item.shape)) {
    const std::string &dim = names[d];
    shown.push_back(size.isValid() || dim.empty() ? "_" : StringRef(dim));
    if (size.isValid())
      continue;
    auto known = dims.find(dim);
    if (!dim.empty() && known != dims.end()) {
      size = known->second;
      continue;
    }
    Value value = tensor::DimOp::create(builder, loc, item.tensor, d);
    size = symbols.add(
        dim.empty() ? item.name + " dim " + std::to_string(d) : dim, value);
    if (!dim.empty())
      dims.try_emplace(dim, size);
  }
  if (llvm::any_of(shown, [](StringRef dim) { return dim != "_"; }))
    function.setArgAttr(argument, kDimsAttrName,
                        builder.getStrArrayAttr(shown));
}

void GraphImporter::fixDim(StringRef name, size_t dim, int64_t size) {
  Item *item = find(name);
  if (dim >= item->shape.size() || item->shape[dim].getConstant() ||
      item->dtype == kUInt8)
    return;
  item->shape[dim] = size;
  item->tensor.setType(openType(*this, *item));
  unsigned argument = arguments.lookup(name);
  if (auto names =
          function.getArgAttrOfType<ArrayAttr>(argument, kDimsAttrName)) {
    SmallVector<Attribute> shown(names.getValue());
    shown[dim] = builder.getStringAttr("_");
    function.setArgAttr(argument, kDimsAttrName, builder.getArrayAttr(shown));
  }
  function.setType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), function.getResultTypes()));
}

LogicalResult GraphImporter::addArguments(StringRef name) {
  std::vector<Item> added;
  SmallVector<SmallVector<std::string>> dimNames;
  SmallVector<Type> types;
  SmallVector<std::string> names;
  llvm::StringSet<> taken;
  for (const auto &input : graph.input()) {
    if (find(input.name()))
      continue; // an initializer, as models before IR 4 have it
    SmallVector<std::string> dims;
    FailureOr<Item> item = argumentItem(input, dims);
    if (failed(item))
      return failure();
    Location loc = locationOf("input '" + input.name() + "'");
    Shape known;
    for (const Size &size : item->shape)
      known.push_back(size.isValid() ? size : Size(0));
    // An input that nothing reads is left out, whatever its type.
    if (!used.contains(input.name()))
      continue;
    if (failed(typeOf(loc, typeOfArgument(item->dtype), known)))
      return failure();
    std::string shown = publicName(input.name());
    while (!taken.insert(shown).second)
      shown += "_";
    arguments[input.name()] = added.size();
    item->name = input.name();
    types.push_back(openType(*this, *item));
    added.push_back(std::move(*item));
    dimNames.push_back(std::move(dims));
    names.push_back(shown);
  }
  builder.setInsertionPointToEnd(target.module->getBody());
  Location loc = locationOf("function '" + name + "'");
  function = func::FuncOp::create(builder, loc, name,
                                  builder.getFunctionType(types, {}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  for (auto [i, item] : llvm::enumerate(added)) {
    item.tensor = body->getArgument(i);
    nameDims(item, dimNames[i], i);
    if (item.dtype == kUInt8)
      item.tensor = otherBytes(builder, loc, item.tensor);
    function.setArgAttr(i, kNameAttrName, builder.getStringAttr(names[i]));
    std::string original = item.name;
    if (failed(define(loc, original, std::move(item))))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Whether a view, or a chain of views, of an argument or a constant: what no
/// operator writes.
static bool isUnwritten(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<ConstantOp, WeightRefOp>(op))
      return true;
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp,
             tensor::ExtractSliceOp>(op))
      return false;
    // A slice is not written as such, whatever it is of.
    if (isa<tensor::ExtractSliceOp>(op))
      return true;
    value = op->getOperand(0);
  }
  return true;
}

LogicalResult GraphImporter::writeState(Location loc, StringRef name,
                                        StringRef present, Value written) {
  for (const State &state : states)
    if (state.argument == name)
      return emitError(loc, "expected cache '")
             << name << "' to be written by one node, but another writes it";
  function.setArgAttr(arguments.lookup(name), kStateAttrName,
                      builder.getUnitAttr());
  states.push_back({name.str(), present.str(), written});
  return success();
}

LogicalResult GraphImporter::addResults() {
  Location loc = locationOf(Twine("results"));
  SmallVector<Value> values;
  SmallVector<std::string> names;
  llvm::StringSet<> taken;
  llvm::SmallDenseSet<Value> returned;
  for (const auto &entry : arguments)
    taken.insert(publicName(entry.first()));
  builder.setInsertionPointToEnd(&function.getBody().front());
  for (const auto &output : graph.output()) {
    if (llvm::any_of(states, [&](const State &state) {
          return state.present == output.name();
        }))
      continue;
    auto found = items.find(output.name());
    Location place = locationOf("output '" + output.name() + "'");
    if (found == items.end())
      return emitError(place, "expected a node, an input or an initializer to "
                              "make it");
    const auto &type = output.type().tensor_type();
    if (output.type().has_tensor_type() && type.elem_type() != 0 &&
        type.elem_type() != found->second.dtype)
      return emitError(place, "expected elements of ")
             << dtypeName(type.elem_type()) << ", as the model says, but got "
             << dtypeName(found->second.dtype);
    FailureOr<Value> value = tensorOf(place, found->second);
    if (failed(value))
      return failure();
    Value result = *value;
    if (found->second.dtype == kUInt8)
      result = otherBytes(builder, place, result);
    if (isUnwritten(result) || !returned.insert(result).second)
      result = CopyOp::create(builder, place, result.getType(), result);
    std::string shown = publicName(output.name());
    while (!taken.insert(shown).second)
      shown += "_out";
    names.push_back(shown);
    values.push_back(result);
  }
  size_t outputs = values.size();
  for (const State &state : states)
    values.push_back(state.value);
  func::ReturnOp::create(builder, loc, values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           ValueRange(values).getTypes()));
  for (size_t i = 0; i < outputs; ++i)
    function.setResultAttr(i, kNameAttrName, builder.getStringAttr(names[i]));
  return success();
}
