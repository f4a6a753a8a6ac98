//===- Blocks.cpp - Building blocks of operators --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Broadcasting, views and numbers as hk and upstream's tensor operators have
// them.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::importer;

FailureOr<Shape> Node::broadcast(ArrayRef<Size> a, ArrayRef<Size> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape shape(a);
  for (size_t i = 0; i < b.size(); ++i) {
    Size &x = shape[shape.size() - 1 - i];
    const Size &y = b[b.size() - 1 - i];
    if (x == y || y.isConstant(1))
      continue;
    if (x.isConstant(1) || (!x.getConstant() && y.getConstant()))
      x = y;
    else if (x.getConstant() && y.getConstant())
      return error() << "expected shapes that broadcast, but got "
                     << describe(a) << " and " << describe(b);
  }
  return shape;
}

FailureOr<Tensor> Node::cast(const Tensor &x, int dtype) {
  if (x.dtype == dtype)
    return x;
  HK_TRY(made, type(dtype, x.shape));
  // Unlike a conversion to an integer, one to bool asks whether it is not 0.
  if (dtype == kBool) {
    HK_TRY(zero, scalar(0, x.dtype));
    return compare(ComparePredicate::ne, x, zero);
  }
  return Tensor{CastOp::create(b, loc, made, x.value), dtype, x.shape};
}

FailureOr<Tensor> Node::asNumber(const Tensor &x) {
  if (x.dtype != kBool)
    return x;
  HK_TRY(made, type(kInt8, x.shape));
  return Tensor{CastOp::create(b, loc, made, x.value), kInt8, x.shape};
}

FailureOr<Tensor> Node::compare(ComparePredicate predicate, const Tensor &x,
                                const Tensor &y) {
  HK_TRY(shape, broadcast(x.shape, y.shape));
  HK_TRY(made, type(kBool, shape));
  return Tensor{CompareOp::create(b, loc, made, predicate, x.value, y.value),
                kBool, shape};
}

FailureOr<Tensor> Node::select(const Tensor &condition, const Tensor &x,
                               const Tensor &y) {
  HK_TRY(both, broadcast(x.shape, y.shape));
  HK_TRY(shape, broadcast(condition.shape, both));
  HK_TRY(made, type(x.dtype, shape));
  return Tensor{
      SelectOp::create(b, loc, made, condition.value, x.value, y.value),
      x.dtype, shape};
}

FailureOr<Tensor> Node::constant(const Data &data, StringRef name) {
  Item item;
  item.dtype = data.dtype;
  item.shape.assign(data.sizes.begin(), data.sizes.end());
  item.data = data;
  item.name = name.str();
  HK_TRY(value, graph.tensorOf(loc, item));
  return Tensor{value, item.dtype, item.shape};
}

FailureOr<Tensor> Node::scalar(double value, int dtype) {
  if (failed(type(dtype, {})))
    return failure();
  return constant(graph.store.make(dtype, {}, value), "");
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Groups of dims of `from` and `to` with equal products, as few dims each as
/// can be proved.
static SmallVector<std::pair<ReassociationIndices, ReassociationIndices>>
groupDims(ArrayRef<Size> from, ArrayRef<Size> to) {
  SmallVector<std::pair<ReassociationIndices, ReassociationIndices>> groups;
  size_t i = 0, j = 0;
  auto close = [&](size_t a, size_t b) {
    groups.push_back({llvm::to_vector(llvm::seq<int64_t>(i, a)),
                      llvm::to_vector(llvm::seq<int64_t>(j, b))});
    i = a, j = b;
  };
  while (i < from.size() && j < to.size()) {
    SmallVector<Size> products{Size(1)};
    for (const Size &size : to.drop_front(j))
      products.push_back(products.back() * size);
    Size product(1);
    bool found = false;
    for (size_t a = i + 1; a <= from.size() && !found; ++a) {
      product = product * from[a - 1];
      for (size_t b = j + 1; b <= to.size() && !found; ++b)
        if (product == products[b - j]) {
          close(a, b);
          found = true;
        }
    }
    if (!found)
      close(from.size(), to.size());
  }
  // Dims of size 1 that are left go with the last group.
  if (!groups.empty()) {
    for (; i < from.size(); ++i)
      groups.back().first.push_back(i);
    for (; j < to.size(); ++j)
      groups.back().second.push_back(j);
  }
  return groups;
}

/// The product of these dims; dynamic if one of them is.
static int64_t staticProduct(Type type, ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t d : dims) {
    int64_t size = cast<RankedTensorType>(type).getDimSize(d);
    if (ShapedType::isDynamic(size))
      return ShapedType::kDynamic;
    product *= size;
  }
  return product;
}

FailureOr<Tensor> Node::reshape(const Tensor &x, ArrayRef<Size> shape) {
  if (llvm::equal(x.shape, shape))
    return x;
  Size before(1), after(1);
  for (const Size &size : x.shape)
    before = before * size;
  for (const Size &size : shape)
    after = after * size;
  std::optional<int64_t> difference = (before - after).getConstant();
  if (difference.value_or(0) != 0)
    return error() << "expected as many elements as " << describe(x.shape)
                   << " has, but got " << describe(shape);
  HK_TRY(result, type(x.dtype, shape));
  auto groups = groupDims(x.shape, shape);
  // A joined dim is static iff all its parts are; a cast is between two views
  // that know unequally much.
  SmallVector<ReassociationIndices> joined, parted;
  SmallVector<int64_t> joinedSizes, partedSizes;
  for (auto &[from, to] : groups) {
    joinedSizes.push_back(staticProduct(x.value.getType(), from));
    partedSizes.push_back(staticProduct(result, to));
    joined.push_back(from);
    parted.push_back(to);
  }
  auto between = RankedTensorType::get(joinedSizes, result.getElementType());
  auto parts = RankedTensorType::get(partedSizes, result.getElementType());
  Value value = x.value;
  if (x.rank() != between.getRank())
    value = tensor::CollapseShapeOp::create(b, loc, between, value, joined);
  if (value.getType() != parts)
    value = tensor::CastOp::create(b, loc, parts, value);
  if (result.getRank() != parts.getRank()) {
    SmallVector<OpFoldResult> sizes;
    for (const Size &size : shape)
      sizes.push_back(graph.symbols.materialize(b, loc, size));
    value = tensor::ExpandShapeOp::create(b, loc, result, value, parted, sizes);
  }
  if (x.rank() == 2 && !shape.empty() && shape[0] == before)
    graph.meanings.joined[value] = {x.value, x.shape};
  return Tensor{value, x.dtype, Shape(shape)};
}

FailureOr<Tensor> Node::transpose(const Tensor &x,
                                  ArrayRef<int64_t> permutation) {
  Shape shape;
  for (int64_t d : permutation)
    shape.push_back(x.shape[d]);
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, x.rank())))
    return x;
  HK_TRY(made, type(x.dtype, shape));
  return Tensor{TransposeOp::create(b, loc, made, x.value, permutation),
                x.dtype, shape};
}

FailureOr<Tensor> Node::slice(const Tensor &x, int64_t dim, const Size &offset,
                              const Size &size, int64_t stride) {
  if (offset.isConstant(0) && size == x.shape[dim] && stride == 1)
    return x;
  Shape shape = x.shape;
  shape[dim] = size;
  // No elements begin anywhere, but a view may not begin at its end.
  Size begin = size.isConstant(0) ? Size(0) : offset;
  HK_TRY(made, type(x.dtype, shape));
  SmallVector<OpFoldResult> offsets, sizes,
      strides(x.rank(), b.getIndexAttr(1));
  for (auto [d, s] : llvm::enumerate(shape)) {
    bool cut = int64_t(d) == dim;
    offsets.push_back(graph.symbols.materialize(b, loc, cut ? begin : Size(0)));
    sizes.push_back(graph.symbols.materialize(b, loc, s));
  }
  strides[dim] = b.getIndexAttr(stride);
  return Tensor{tensor::ExtractSliceOp::create(b, loc, made, x.value, offsets,
                                               sizes, strides),
                x.dtype, shape};
}

FailureOr<Tensor> Node::concat(int64_t dim, ArrayRef<Tensor> parts) {
  if (parts.size() == 1)
    return parts.front();
  Shape shape = parts.front().shape;
  SmallVector<Value> values{parts.front().value};
  for (const Tensor &part : parts.drop_front()) {
    if (part.rank() != int64_t(shape.size()) ||
        part.dtype != parts.front().dtype)
      return error() << "expected inputs of one rank and type, but got "
                     << describe(shape) << " of "
                     << dtypeName(parts.front().dtype) << " and "
                     << describe(part.shape) << " of " << dtypeName(part.dtype);
    for (auto [d, size] : llvm::enumerate(part.shape)) {
      if (int64_t(d) == dim)
        shape[d] = shape[d] + size;
      else if (!shape[d].getConstant() && size.getConstant())
        shape[d] = size;
      else if ((size - shape[d]).getConstant().value_or(0) != 0)
        return error() << "expected equal sizes but for dim " << dim
                       << ", but got " << describe(shape) << " and "
                       << describe(part.shape);
    }
    values.push_back(part.value);
  }
  HK_TRY(made, type(parts.front().dtype, shape));
  return Tensor{ConcatOp::create(b, loc, made, dim, values),
                parts.front().dtype, shape};
}

FailureOr<std::pair<Tensor, int64_t>> Node::tensorWith(const Size &size) {
  auto [item, dim] = graph.findDim(size);
  if (!item)
    return error() << "expected a size of the model or of a dim of an input, "
                      "but got "
                   << graph.symbols.describe(size) << "; fix it with --dim";
  return std::pair(Tensor{item->tensor, item->dtype, item->shape}, dim);
}

/// `count` ones and, for each of these sizes of inputs, as many: their product,
/// int32 [product].
static FailureOr<Tensor> onesOf(Node &node, int64_t count,
                                ArrayRef<unsigned> symbols) {
  SmallVector<int64_t> numbers(count, 1);
  HK_TRY(known, node.constant(
                    node.graph.store.makeIntegers(kInt32, count, numbers), ""));
  Tensor made = known;
  for (unsigned symbol : symbols) {
    Size size = Size::symbol(symbol), before = made.shape[0];
    HK_TRY(truths, node.truths(size));
    HK_TRY(ones, node.cast(truths, kInt32));
    HK_TRY(column, node.reshape(made, {before, Size(1)}));
    HK_TRY(row, node.reshape(ones, {Size(1), size}));
    HK_TRY(all, node.binary<MulOp>(column, row));
    HK_TRY(flat, node.reshape(all, {before * size}));
    made = flat;
  }
  return made;
}

FailureOr<Tensor> Node::truths(const Size &size) {
  const auto &terms = size.getTerms();
  // Of no dim, but a sum of products of such.
  if (!graph.findDim(size).first && !terms.empty() &&
      llvm::all_of(terms, [&](const auto &term) {
        return term.second >= 1 && term.second <= graph.options.maxEvaluated &&
               llvm::all_of(term.first, [&](unsigned symbol) {
                 return graph.findDim(Size::symbol(symbol)).first;
               });
      })) {
    SmallVector<Tensor> parts;
    for (const auto &[product, coefficient] : terms) {
      HK_TRY(ones, onesOf(*this, coefficient, product));
      parts.push_back(ones);
    }
    HK_TRY(ones, concat(0, parts));
    HK_TRY(line, reshape(ones, size));
    return compare(ComparePredicate::eq, line, line);
  }
  HK_TRY(found, tensorWith(size));
  auto [made, dim] = found;
  for (int64_t d = 0; d < made.rank(); ++d)
    if (d != dim) {
      HK_TRY(cut, slice(made, d, 0, 1));
      made = cut;
    }
  HK_TRY(line, reshape(made, size));
  // A NaN is not itself, an integer is.
  HK_TRY(integers, line.dtype == kInt64 || line.dtype == kInt32
                       ? FailureOr<Tensor>(line)
                       : cast(line, kInt8));
  return compare(ComparePredicate::eq, integers, integers);
}

/// `x`, of one element in dim `d`, repeated as often as a call says.
static FailureOr<Tensor> repeat(Node &node, const Tensor &x, int64_t d,
                                const Size &size) {
  HK_TRY(line, node.truths(size));
  Shape alone(x.rank(), Size(1));
  alone[d] = size;
  HK_TRY(condition, node.reshape(line, alone));
  // hk selects numbers.
  HK_TRY(number, node.asNumber(x));
  HK_TRY(made, node.select(condition, number, number));
  return node.cast(made, x.dtype);
}

FailureOr<Tensor> Node::expand(const Tensor &x, ArrayRef<Size> shape) {
  // hk has no operator that only repeats: copies are concatenated.
  constexpr int64_t kMostCopies = 256;
  Shape grown(shape.size() - x.rank(), Size(1));
  grown.append(x.shape);
  HK_TRY(result, reshape(x, grown));
  Tensor made = result;
  for (int64_t d = made.rank() - 1; d >= 0; --d) {
    if (made.shape[d] == shape[d] || !made.shape[d].isConstant(1))
      continue;
    std::optional<int64_t> copies = shape[d].getConstant();
    if (!copies) {
      HK_TRY(next, repeat(*this, made, d, shape[d]));
      made = next;
      continue;
    }
    if (*copies < 1 || *copies > kMostCopies)
      return error() << "expected dim " << d << " to be repeated 1 to "
                     << kMostCopies << " times, but got "
                     << graph.symbols.describe(shape[d]);
    HK_TRY(next, concat(d, SmallVector<Tensor>(*copies, made)));
    made = next;
  }
  return made;
}
