//===- Rotary.cpp - Rotary embeddings out of products and halves ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x * cos + rot(x) * sin with rot(x) = (-second, first), of halves (neox) or of
// neighbours (gptj), or each part by itself. cos and sin broadcast to x: their
// one long dim but the last counts positions.
//
//===----------------------------------------------------------------------===//

#include "Raise/Forms.h"

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::raise;

namespace {
/// Elements offset, offset + stride, ... of the last dim of a tensor.
struct Part {
  Value source;
  int64_t offset = 0, stride = 1, size = 0;
};
/// The two parts of each pair, x = (first, second).
struct Pairs {
  Value source;
  RopeStyle style = RopeStyle::neox;
  bool inverse = false;
};
/// cos and sin, with an angle for each pair or for each element.
struct Angles {
  Value cos, sin;
  bool perElement = false;
};
} // namespace

static Part partOf(Value value) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getType().getRank() != slice.getSourceType().getRank() ||
      slice.getType().getRank() == 0)
    return {};
  int64_t last = slice.getType().getRank() - 1;
  for (int64_t d = 0; d < last; ++d) {
    // The whole of the other dims; of dynamic ones a slice from 0 on that
    // broadcasts against the whole.
    if (slice.getStaticOffsets()[d] != 0 || slice.getStaticStrides()[d] != 1 ||
        slice.getType().getDimSize(d) != slice.getSourceType().getDimSize(d))
      return {};
  }
  Part made{slice.getSource(), slice.getStaticOffsets()[last],
            slice.getStaticStrides()[last], slice.getStaticSizes()[last]};
  return ShapedType::isDynamic(made.offset) ||
                 ShapedType::isDynamic(made.stride) ||
                 ShapedType::isDynamic(made.size)
             ? Part()
             : made;
}

/// Whether `first` and `second` are the halves, or the neighbours, of x.
static std::optional<Pairs> pairsOf(const Part &first, const Part &second) {
  if (!first.source || first.source != second.source ||
      first.size != second.size || first.stride != second.stride ||
      lastSize(first.source) != 2 * first.size)
    return std::nullopt;
  if (first.stride == 1 && first.offset == 0 && second.offset == first.size)
    return Pairs{first.source, RopeStyle::neox, false};
  if (first.stride == 2 && first.offset == 0 && second.offset == 1)
    return Pairs{first.source, RopeStyle::gptj, false};
  return std::nullopt;
}

/// a and b of a concatenation of two along the last dim, also of [..., n, 1]
/// whose last dims are then joined (`stacked`).
static std::optional<std::pair<Value, Value>> twoOf(Value value,
                                                    bool &stacked) {
  stacked = false;
  Value joined = value;
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>()) {
    SmallVector<ReassociationIndices> groups =
        collapse.getReassociationIndices();
    if (groups.empty() || groups.back().size() != 2 ||
        !llvm::all_of(ArrayRef(groups).drop_back(),
                      [](const auto &group) { return group.size() == 1; }))
      return std::nullopt;
    joined = collapse.getSrc();
    stacked = true;
  }
  auto concat = joined.getDefiningOp<ConcatOp>();
  if (!concat || concat.getInputs().size() != 2 ||
      int64_t(concat.getDim()) != concat.getType().getRank() - 1)
    return std::nullopt;
  Value a = concat.getInputs()[0], b = concat.getInputs()[1];
  if (!stacked)
    return std::pair(a, b);
  auto x = a.getDefiningOp<tensor::ExpandShapeOp>(),
       y = b.getDefiningOp<tensor::ExpandShapeOp>();
  if (!x || !y || lastSize(a) != 1 || lastSize(b) != 1 ||
      shapeOf(x.getSrc()).size() + 1 != shapeOf(a).size() ||
      shapeOf(y.getSrc()).size() + 1 != shapeOf(b).size())
    return std::nullopt;
  return std::pair(x.getSrc(), y.getSrc());
}

/// The x of rot(x).
static std::optional<Pairs> rotated(Value value) {
  bool stacked;
  auto parts = twoOf(value, stacked);
  if (!parts)
    return std::nullopt;
  auto negatedFirst = parts->first.getDefiningOp<NegOp>(),
       negatedSecond = parts->second.getDefiningOp<NegOp>();
  if (bool(negatedFirst) == bool(negatedSecond))
    return std::nullopt;
  bool inverse = bool(negatedSecond);
  Value second = inverse ? parts->first : negatedFirst.getInput(),
        first = inverse ? negatedSecond.getInput() : parts->second;
  auto pairs = pairsOf(partOf(first), partOf(second));
  if (!pairs || (pairs->style == RopeStyle::gptj) != stacked)
    return std::nullopt;
  pairs->inverse = inverse;
  return pairs;
}

/// A table of an angle per pair where `table` has each twice, as `style` needs
/// it: of the function of doubled angles, or doubled itself.
static Value halved(OpBuilder &b, Location loc, Value table, RopeStyle style) {
  table = throughUnitDims(table);
  Operation *function = table.getDefiningOp();
  bool isFunction = isa_and_nonnull<CosOp, SinOp>(function);
  Value doubled = isFunction ? throughUnitDims(function->getOperand(0)) : table;
  bool stacked;
  auto halves = twoOf(doubled, stacked);
  if (!halves || halves->first != halves->second ||
      stacked != (style == RopeStyle::gptj))
    return nullptr;
  if (!isFunction)
    return halves->first;
  Type type =
      RankedTensorType::get(shapeOf(halves->first), Raiser::elementOf(table));
  return isa<CosOp>(function)
             ? CosOp::create(b, loc, type, halves->first).getResult()
             : SinOp::create(b, loc, type, halves->first).getResult();
}

/// All dims but the last joined.
static Value asRows(OpBuilder &b, Location loc, Value value) {
  int64_t rank = shapeOf(value).size();
  if (rank == 1)
    return nullptr;
  SmallVector<ReassociationIndices> groups{
      llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)), {rank - 1}};
  return rank == 2 ? value : collapse(b, loc, value, groups);
}

/// hk.rope of x, whose angles broadcast as `like`.
static Outcome build(Raiser &raiser, Operation *root, const Pairs &pairs,
                     Value like, Angles angles) {
  OpBuilder &b = raiser.b;
  Location loc = root->getLoc();
  int64_t rank = shapeOf(pairs.source).size();
  if (rank < 3 || rank > 4)
    return Outcome::miss(Reason::UnsupportedShape,
                         "expected heads of 3 or 4 dims, but got " +
                             Twine(rank));
  SmallVector<int64_t> positions;
  int64_t missing = rank - int64_t(shapeOf(like).size());
  for (auto [d, size] : llvm::enumerate(shapeOf(like).drop_back()))
    if (size != 1)
      positions.push_back(missing + d);
  // Dims in front count tokens, the one before the last heads.
  bool perSequence = rank == 4 && positions.size() == 2 && positions[0] == 0;
  if (missing < 0 || (positions.size() != 1 && !perSequence))
    return Outcome::miss(Reason::UnsupportedShape,
                         "expected angles of positions, or of sequences and "
                         "positions");
  if (perSequence &&
      raiser.dims().dim(like, 0) != raiser.dims().dim(pairs.source, 0))
    return Outcome::miss(Reason::SizeUnknown,
                         "it is not known whether all sequences share angles");
  int64_t position = positions.back();
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  int64_t front = rank - 3; // where positions go
  if (position > front)
    std::swap(order[position], order[front]);
  Value cos = asRows(b, loc, angles.cos), sin = asRows(b, loc, angles.sin);
  if (!cos || !sin)
    return Outcome::none();
  Type element = Raiser::elementOf(root->getResult(0));
  Value whole = transpose(b, loc, throughWidening(pairs.source), order);
  SmallVector<ReassociationIndices> tokens{{0, 1}, {2}, {3}};
  Value x = perSequence ? collapse(b, loc, whole, tokens) : whole;
  Value made = RopeOp::create(
      b, loc, RankedTensorType::get(shapeOf(x), element), pairs.style, x,
      throughWidening(cos), throughWidening(sin), /*positions=*/Value(),
      /*offsets=*/Value(), /*bounds=*/Value(),
      perSequence ? 0 : std::min(position, front), angles.perElement,
      /*nope_first=*/false, pairs.inverse);
  if (perSequence)
    made = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(shapeOf(whole), element), made, tokens,
        tensor::getMixedSizes(b, loc, whole));
  return Outcome::raised(transpose(b, loc, made, order));
}

/// x * cos + rot(x) * sin
static Outcome ropeOfWhole(Raiser &raiser, Operation *root) {
  auto add = dyn_cast<AddOp>(root);
  if (!add)
    return Outcome::none();
  for (auto [plain, turned] :
       {std::pair<Value, Value>(add.getLhs(), add.getRhs()),
        std::pair<Value, Value>(add.getRhs(), add.getLhs())}) {
    auto left = plain.getDefiningOp<MulOp>(),
         right = turned.getDefiningOp<MulOp>();
    if (!left || !right)
      continue;
    for (int r : {0, 1}) {
      auto pairs = rotated(right->getOperand(r));
      if (!pairs)
        continue;
      int x =
          throughWidening(left->getOperand(0)) == throughWidening(pairs->source)
              ? 0
              : 1;
      if (throughWidening(left->getOperand(x)) !=
          throughWidening(pairs->source))
        return Outcome::miss(Reason::OtherFormula,
                             "cos and sin multiply different tensors");
      if (!raiser.mayDrop(plain) || !raiser.mayDrop(turned))
        return Outcome::miss(Reason::RoundsBetween, "its products are rounded");
      Value cos = left->getOperand(1 - x), sin = right->getOperand(1 - r);
      if (lastSize(cos) != lastSize(pairs->source) ||
          shapeOf(cos) != shapeOf(sin))
        return Outcome::miss(Reason::UnsupportedShape,
                             "expected an angle for each element of a head");
      Location loc = root->getLoc();
      Angles angles{halved(raiser.b, loc, cos, pairs->style),
                    halved(raiser.b, loc, sin, pairs->style), false};
      if (!angles.cos || !angles.sin)
        angles = {throughUnitDims(cos), throughUnitDims(sin), true};
      // The operator turns back by the angle of the partner.
      if (pairs->inverse && angles.perElement)
        return Outcome::miss(Reason::OtherFormula,
                             "it turns back by an angle for each element");
      return build(raiser, root, *pairs, cos, angles);
    }
  }
  return Outcome::none();
}

/// a * b as one of the parts of pairs and its factor.
static std::optional<std::pair<Part, Value>> scaledPart(Value value) {
  auto mul = value.getDefiningOp<MulOp>();
  if (!mul)
    return std::nullopt;
  for (int i : {0, 1})
    if (Part part = partOf(mul->getOperand(i)); part.source)
      return std::pair(part, mul->getOperand(1 - i));
  return std::nullopt;
}

/// (first * cos - second * sin, second * cos + first * sin)
static Outcome ropeOfParts(Raiser &raiser, Operation *root) {
  bool stacked;
  auto parts = twoOf(root->getResult(0), stacked);
  auto sub = parts ? parts->first.getDefiningOp<SubOp>() : SubOp();
  auto add = parts ? parts->second.getDefiningOp<AddOp>() : AddOp();
  if (!sub || !add)
    return Outcome::none();
  auto a = scaledPart(sub.getLhs()), b = scaledPart(sub.getRhs()),
       c = scaledPart(add.getLhs()), d = scaledPart(add.getRhs());
  if (!a || !b || !c || !d)
    return Outcome::none();
  if (c->first.offset == a->first.offset)
    std::swap(c, d);
  auto pairs = pairsOf(a->first, b->first), again = pairsOf(d->first, c->first);
  if (!pairs || !again || again->source != pairs->source ||
      (pairs->style == RopeStyle::gptj) != stacked)
    return Outcome::none();
  Value cos = a->second, sin = b->second;
  if (c->second != cos || d->second != sin)
    return Outcome::miss(Reason::OtherFormula,
                         "the two halves are turned by different angles");
  for (Value product : {sub.getLhs(), sub.getRhs(), add.getLhs(), add.getRhs()})
    if (!raiser.mayDrop(product))
      return Outcome::miss(Reason::RoundsBetween, "its products are rounded");
  if (lastSize(cos) * 2 != lastSize(pairs->source) ||
      shapeOf(cos) != shapeOf(sin))
    return Outcome::miss(Reason::UnsupportedShape,
                         "expected an angle for each pair of a head");
  return build(raiser, root, *pairs, cos,
               {throughUnitDims(cos), throughUnitDims(sin), false});
}

/// `rope` of x instead of its own input.
static Value ropeOf(OpBuilder &b, Location loc, RopeOp rope, Value x,
                    Type type) {
  return RopeOp::create(b, loc, type, rope.getStyle(), x, rope.getCos(),
                        rope.getSin(), rope.getPositions(), rope.getOffsets(),
                        rope.getBounds(), rope.getPositionDim(),
                        rope.getAnglePerElement(), rope.getNopeFirst(),
                        rope.getInverse());
}

/// The first elements of a head rotated, the others as they are.
static Outcome partialRope(Raiser &raiser, Operation *root) {
  auto concat = dyn_cast<ConcatOp>(root);
  if (!concat || concat.getInputs().size() != 2 ||
      int64_t(concat.getDim()) != concat.getType().getRank() - 1)
    return Outcome::none();
  auto back = concat.getInputs()[0].getDefiningOp<TransposeOp>();
  auto rope =
      (back ? back.getInput() : concat.getInputs()[0]).getDefiningOp<RopeOp>();
  Part rest = partOf(concat.getInputs()[1]);
  if (!rope || !rest.source)
    return Outcome::none();
  auto there = rope.getInput().getDefiningOp<TransposeOp>();
  Part turned = partOf(there ? there.getInput() : rope.getInput());
  if (turned.source != rest.source || turned.stride != 1 || rest.stride != 1 ||
      turned.offset != 0 || rest.offset != turned.size ||
      rest.offset + rest.size != lastSize(rest.source) ||
      bool(there) != bool(back) ||
      Raiser::elementOf(rest.source) != Raiser::elementOf(concat.getResult()))
    return Outcome::none();
  OpBuilder &b = raiser.b;
  Location loc = root->getLoc();
  Value x = there ? transpose(b, loc, rest.source, there.getPermutation())
                  : rest.source;
  Value made = ropeOf(b, loc, rope, x, x.getType());
  return Outcome::raised(back ? transpose(b, loc, made, back.getPermutation())
                              : made);
}

/// A rotation in f32 whose result is rounded once.
static Outcome rounded(Raiser &raiser, Operation *root) {
  auto cast = dyn_cast<CastOp>(root);
  auto back =
      cast ? cast.getInput().getDefiningOp<TransposeOp>() : TransposeOp();
  auto rope = !cast  ? RopeOp()
              : back ? back.getInput().getDefiningOp<RopeOp>()
                     : cast.getInput().getDefiningOp<RopeOp>();
  if (!rope || !Raiser::elementOf(rope.getResult()).isF32() ||
      !(Raiser::elementOf(cast.getResult()).isBF16() ||
        Raiser::elementOf(cast.getResult()).isF16()))
    return Outcome::none();
  auto type = RankedTensorType::get(shapeOf(rope.getResult()),
                                    Raiser::elementOf(cast.getResult()));
  Value made = ropeOf(raiser.b, root->getLoc(), rope, rope.getInput(), type);
  return Outcome::raised(
      back ? transpose(raiser.b, root->getLoc(), made, back.getPermutation())
           : made);
}

ArrayRef<Rule> raise::rotaryRules() {
  static const Rule rules[] = {{"hk.rope", ropeOfWhole},
                               {"hk.rope", ropeOfParts},
                               {"hk.rope", partialRope},
                               {"hk.rope", rounded}};
  return rules;
}
