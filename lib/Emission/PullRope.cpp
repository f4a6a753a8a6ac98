//===- PullRope.cpp - Pulling rotary embedding ----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element is turned with its partner, by the angles of the token's row of
// the tables. Elements that are not rotated, and tokens without a row, stay as
// they are.
//
//===----------------------------------------------------------------------===//

#include "PullTable.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::hk;

static Type elementTypeOf(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

/// `index * scale`.
static std::pair<AffineExpr, int64_t> splitScale(AffineExpr expr) {
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || expr.getKind() != AffineExprKind::Mul)
    return {expr, 1};
  auto scale = dyn_cast<AffineConstantExpr>(product.getRHS());
  return scale ? std::pair(product.getLHS(), scale.getValue())
               : std::pair(expr, int64_t(1));
}

/// The m of `(a mod m) * s`, which is simplified to
/// `a * s + (a floordiv m) * (-m * s)`; also gives s.
static std::optional<std::pair<int64_t, int64_t>>
scaledModulus(AffineExpr lhs, AffineExpr rhs) {
  auto [index, scale] = splitScale(lhs);
  auto [quotient, back] = splitScale(rhs);
  auto division = dyn_cast<AffineBinaryOpExpr>(quotient);
  if (!division || quotient.getKind() != AffineExprKind::FloorDiv ||
      division.getLHS() != index)
    return std::nullopt;
  auto modulus = dyn_cast<AffineConstantExpr>(division.getRHS());
  if (!modulus || modulus.getValue() * scale != -back)
    return std::nullopt;
  return std::pair(modulus.getValue(), scale);
}

/// The values that an index takes, for any value of its symbols.
static std::optional<std::pair<int64_t, int64_t>> rangeOf(AffineExpr expr) {
  if (auto c = dyn_cast<AffineConstantExpr>(expr))
    return std::pair(c.getValue(), c.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    if (auto modulus = scaledModulus(binary.getLHS(), binary.getRHS()))
      return std::pair(int64_t(0), (modulus->first - 1) * modulus->second);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  auto range = rangeOf(binary.getLHS());
  if (!constant)
    return std::nullopt;
  int64_t c = constant.getValue();
  if (expr.getKind() == AffineExprKind::Mod)
    return range && range->first >= 0 && range->second < c
               ? range
               : std::optional(std::pair(int64_t(0), c - 1));
  if (!range)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return std::pair(range->first + c, range->second + c);
  if (expr.getKind() == AffineExprKind::Mul && c >= 0)
    return std::pair(range->first * c, range->second * c);
  return std::nullopt;
}

/// Whether an index below `end` is at least `bound`, if that is always so or
/// never.
static std::optional<bool> isAtLeast(Puller &p, AffineExpr index, int64_t bound,
                                     int64_t end) {
  auto range = p.knownRange(index);
  if (!range)
    range = rangeOf(index);
  if (range && range->first >= bound && range->second < end)
    return true;
  if (range && range->first >= 0 && range->second < bound)
    return false;
  return std::nullopt;
}

static int64_t headSize(RopeOp op) {
  return cast<RankedTensorType>(op.getInput().getType()).getShape().back();
}
/// The first element of a head that is rotated.
static int64_t firstRotated(RopeOp op) {
  return op.getNopeFirst() ? headSize(op) - int64_t(op.getRotarySize()) : 0;
}

/// Whether all elements at `d` are known to be among the rotated ones.
static bool allRotated(Puller &p, RopeOp op, AffineExpr d) {
  int64_t rotary = op.getRotarySize(), first = firstRotated(op);
  auto range = p.knownRange(d);
  return rotary == headSize(op) ||
         (range && range->first >= first && range->second < first + rotary);
}

/// `d` or, where it is less than `limit`, `d + below`, else `d + above`.
static AffineExpr movedBy(Puller &p, AffineExpr d, int64_t limit, int64_t below,
                          int64_t above) {
  std::string text = p.text(d);
  auto plus = [&](int64_t step) {
    return " i64(" + text + ") + " + std::to_string(step);
  };
  return p.defineIndex(p.depthOf(d), "at",
                       text + " < " + std::to_string(limit) + " ?" +
                           plus(below) + " :" + plus(above));
}

/// The partners of the elements at `position`, which becomes theirs. The
/// partner of the first element of a pair comes later, and is negated; if that
/// is known of all, `negated` says so instead.
static Expr pullPartner(Puller &p, RopeOp op, Position &position, int vec,
                        bool &negated) {
  int64_t rotary = op.getRotarySize(), first = firstRotated(op);
  int64_t distance = op.getStyle() == RopeStyle::neox ? rotary / 2 : 1;
  AffineExpr d = position.back();
  if (std::optional<bool> second =
          isAtLeast(p, p.simplify(d - first), distance, 2 * distance)) {
    position.back() = p.simplify(d + (*second ? -distance : distance));
    negated = !*second;
    return p.pull(op.getInput(), position, vec);
  }
  Expr isFirst;
  auto signedPartner = [&] {
    return choice(isFirst, {"-1.f", {"float"}}, {"1.f", {"float"}}) *
           p.pull(op.getInput(), position, vec);
  };
  if (p.votes() && op.getStyle() == RopeStyle::neox &&
      !llvm::isPowerOf2_64(distance)) {
    // Also of an element that is not rotated this is one of the head.
    int64_t limit = first + distance;
    isFirst = {
        p.text(d) + " < " + std::to_string(limit), {"bool"}, p.depthOf(d)};
    position.back() = movedBy(p, d, limit, distance, -distance);
    return signedPartner();
  }
  // An element outside of the rotated ones gets some partner inside.
  int64_t periods = llvm::alignTo(first, rotary) - first;
  AffineExpr own = p.simplify((d + periods) % rotary);
  AffineExpr pair = p.simplify(own.floorDiv(2 * distance)) * (2 * distance);
  AffineExpr inPair = p.simplify(own % (2 * distance));
  position.back() =
      p.simplify(pair + (inPair + distance) % (2 * distance) + first);
  isFirst = {p.text(inPair) + " < " + std::to_string(distance),
             {"bool"},
             p.depthOf(inPair)};
  return signedPartner();
}

/// Whether the tables have a row for each token, which is found by its number.
static bool hasOwnRows(Puller &p, RopeOp op) {
  return !op.getPositions() && !op.getBounds() && !op.getOffsets() &&
         p.dimSymbols().equal(op.getCos(), 0, op.getInput(),
                              int64_t(op.getPositionDim()));
}

/// The row of the tables, once per token, and whether there is one.
static ExistingRow rowOf(Puller &p, RopeOp op, ArrayRef<AffineExpr> token) {
  AffineExpr place = token[op.getPositionDim()];
  // Without positions of their own heads have those of their token.
  bool known = p.votes() && !op.getPositions() && !op.getOffsets();
  int depth = p.depthOf(known ? Puller::Args(place) : token);
  std::string rows = p.text(p.sizeOf(op.getCos(), 0));
  Expr at = {"i64(" + p.text(place) + ")", {"i64"}};
  if (op.getPositions())
    at = scalarCast("i64", p.pullScalar(op.getPositions(), token));
  if (Value bounds = op.getBounds()) {
    // Matching admits constants and operands of the kernel only.
    auto constant = bounds.getDefiningOp<ConstantOp>();
    std::string list =
        constant
            ? p.tableOf(constant).text
            : "p" + std::to_string(cast<BlockArgument>(bounds).getArgNumber());
    at.text = "placeInSequence(" + list + ", i64(" +
              p.text(p.sizeOf(bounds, 0)) + "), " + at.text + ")";
  }
  if (op.getOffsets())
    at = at + scalarCast("i64", p.pullScalar(op.getOffsets(), token));
  // Operators that look up the same row share it.
  std::string key = "rope row " + at.text + " of " + rows;
  return p.existingRow(key, depth, p.sizeOf(op.getCos(), 0),
                       [&] { return p.code().define(depth, "at", at); });
}

/// Whether the element at `d` is one of those that are turned; null: all are.
static Expr isRotated(Puller &p, RopeOp op, AffineExpr d) {
  int64_t head = headSize(op), rotary = op.getRotarySize();
  int64_t first = firstRotated(op);
  Expr made;
  if (allRotated(p, op, d))
    return made;
  if (first > 0)
    made = {p.text(d) + " >= " + std::to_string(first), {"bool"}, p.depthOf(d)};
  if (first + rotary < head)
    made = both(made, {p.text(d) + " < " + std::to_string(first + rotary),
                       {"bool"},
                       p.depthOf(d)});
  return made;
}

/// What a table of sines or cosines has in `row` for rotated element `j`.
static Expr pullAngle(Puller &p, RopeOp op, Value table, AffineExpr row,
                      AffineExpr j, int vec, bool onlyRotated) {
  int64_t half = op.getRotarySize() / 2;
  if (op.getAnglePerElement())
    return p.pull(table, {row, j}, vec);
  if (op.getStyle() == RopeStyle::neox) {
    auto second = isAtLeast(p, j, half, 2 * half);
    bool odd = p.votes() && onlyRotated && !llvm::isPowerOf2_64(half);
    AffineExpr own = second && p.votes() ? p.simplify(j - (*second ? half : 0))
                     : odd               ? movedBy(p, j, half, 0, -half)
                                         : p.simplify(j % half);
    return p.pull(table, {row, own}, vec);
  }
  Position pair = {row, p.simplify(j.floorDiv(2))};
  if (vec == 1)
    return p.pull(table, pair, 1);
  Expr angles = p.pull(table, pair, vec / 2);
  return {"repeatPairs<" + std::to_string(vec) + ">(" + angles.text + ")",
          {angles.type.element, vec},
          angles.depth};
}

/// `y` where there is a row of angles and `rotated` holds, else `x`, both of
/// `type`.
static Expr whereRotated(Puller &p, const ExistingRow &row, const Expr &rotated,
                         const Expr &y, const Expr &x, Type type,
                         Puller::Args position, int vec) {
  CodeWriter &code = p.code();
  if (!p.votes()) {
    Expr defined = code.define(p.placeOf(y, position, vec), "v", y);
    Expr turned = both(row.exists, rotated);
    return turned ? choice(turned, defined, x) : defined;
  }
  // Tokens without a row are rare, elements that are not rotated are not.
  auto whereFound = [&](const Expr &made) {
    std::string mostly =
        type.isF32() ? "mostly" : "mostlyRounded<" + dtypeText(type) + ">";
    return row.exists ? call(mostly, {row.exists, made, x}, "float") : made;
  };
  if (!rotated)
    return whereFound(code.define(p.placeOf(y, position, vec), "v", y));
  // Whole chunks of a thread are not.
  Expr made = code.declare("v", x.type, x.text);
  code.openIf(rotated.text, Hoist::Never);
  code.assign(made, whereFound(y));
  code.close();
  return made;
}

static Expr pullRope(Puller &p, RopeOp op, Puller::Args position, int vec) {
  int64_t rotary = op.getRotarySize(), first = firstRotated(op);
  bool neox = op.getStyle() == RopeStyle::neox;
  AffineExpr d = position.back();
  bool wholeChunks = d.isMultipleOf(vec) && first % vec == 0 &&
                     rotary % vec == 0 && (!neox || rotary / 2 % vec == 0);
  if (vec > 1 && !wholeChunks)
    return p.pullByElement(op.getResult(), position, vec);

  // Loads that need nothing else come first.
  Expr x = p.pull(op.getInput(), position, vec), other;
  Position partner(position);
  bool negated = false;
  if (neox || vec == 1)
    other = pullPartner(p, op, partner, vec, negated);
  AffineExpr symbol = position[op.getPositionDim()];
  ExistingRow row;
  if (!hasOwnRows(p, op)) {
    row = rowOf(p, op, position.drop_back(2));
    symbol = p.sharedSymbol(row.index.text, row.index.depth);
  }
  Expr rotated = isRotated(p, op, d);
  // The gradient takes the sine of the partner; only own angles tell.
  bool partnerSine = op.getInverse() && op.getAnglePerElement();
  AffineExpr ofSine = partnerSine && other ? partner.back() : d;
  // Some angle of the row is less than a condition.
  bool anyAngle = p.votes() && neox && first == 0 && !op.getAnglePerElement();
  p.guardLoads(anyAngle ? row.guard : both(row.guard, rotated));
  bool onlyRotated = !rotated || !anyAngle;
  Expr cos = pullAngle(p, op, op.getCos(), symbol, p.simplify(d - first), vec,
                       onlyRotated);
  Expr sin = pullAngle(p, op, op.getSin(), symbol, p.simplify(ofSine - first),
                       vec, onlyRotated);
  p.guardLoads({});

  Expr cosine = x * cos, sine = other ? other * sin : x * sin, sum;
  if (other)
    sum = op.getInverse() != negated ? call("difference", {cosine, sine})
                                     : cosine + sine;
  else if (partnerSine || !op.getAnglePerElement())
    // Where both of a pair have one sine the product is turned, which the sum
    // does by itself.
    sum = cosine + call("rotatePairs", op.getInverse() ? -sine : sine);
  else
    sum = cosine + call("rotatePairs", x) * sin;
  Type type = elementTypeOf(op.getResult());
  return whereRotated(p, row, rotated, rounded(type, sum), x, type, position,
                      vec);
}

void mlir::hk::addRopePulls(PullTable &table) { table.add(pullRope); }
