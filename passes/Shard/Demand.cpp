//===- Demand.cpp - Where a dim of a value may be cut ---------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Backwards through the factors of the operators that read the value.
//
//===----------------------------------------------------------------------===//

#include "Demand.h"
#include "hk/Analysis/State.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;
using namespace mlir::hk::shards;

std::string shards::ranksThatFit(function_ref<bool(int64_t)> fits) {
  std::vector<std::string> numbers;
  for (int64_t ranks = 2; ranks <= 64; ++ranks)
    if (fits(ranks))
      numbers.push_back(std::to_string(ranks));
  if (numbers.empty())
    return "no number of ranks";
  std::string last = numbers.back();
  numbers.pop_back();
  return numbers.empty() ? last : llvm::join(numbers, ", ") + " or " + last;
}

/// Splits pieces so that one begins at `at`.
static void cutAt(SmallVectorImpl<Demand::Piece> &pieces, int64_t at) {
  int64_t begin = 0;
  for (unsigned i = 0; i < pieces.size(); ++i) {
    if (at > begin && at < begin + pieces[i].size) {
      Demand::Piece rest = pieces[i];
      rest.size = begin + pieces[i].size - at;
      pieces[i].size = at - begin;
      pieces.insert(pieces.begin() + i + 1, rest);
      return;
    }
    begin += pieces[i].size;
  }
}

/// Asks `more` of the elements from `offset` on; false: it contradicts.
static bool impose(SmallVectorImpl<Demand::Piece> &pieces, int64_t offset,
                   ArrayRef<Demand::Piece> more) {
  int64_t begin = offset;
  for (const Demand::Piece &piece : more) {
    cutAt(pieces, begin);
    begin += piece.size;
    cutAt(pieces, begin);
  }
  int64_t at = 0, next = offset;
  unsigned i = 0;
  for (Demand::Piece &piece : pieces) {
    while (i < more.size() && at >= next + more[i].size)
      next += more[i++].size;
    if (at >= offset && i < more.size()) {
      const Demand::Piece &other = more[i];
      bool whole = piece.whole || other.whole;
      if (piece.parts && other.parts && piece.parts != other.parts)
        return false;
      if (whole && std::max(piece.parts, other.parts) > 1)
        return false;
      piece.whole = whole;
      piece.parts = std::max(piece.parts, other.parts);
      piece.unit = std::lcm(piece.unit, other.unit);
    }
    at += piece.size;
  }
  return true;
}

static void merge(Demand &into, const Demand &from) {
  into.ends |= from.ends;
  into.needers.append(from.needers.begin(), from.needers.end());
  if (into.refusal.empty() && !from.refusal.empty()) {
    into.refusal = from.refusal;
    into.refuser = from.refuser;
  }
}

/// What is asked of the steps of a factor that lie at `to` in a result, as
/// elements of `from`; nullopt where a cut lies inside of a step.
static std::optional<SmallVector<Demand::Piece>>
asked(const Demand &result, const ShardFactor &factor, const FactorPlace &to,
      const FactorPlace &from) {
  int64_t end = to.offset + factor.steps * to.unit, at = 0;
  SmallVector<Demand::Piece> all(result.pieces), pieces;
  cutAt(all, to.offset);
  cutAt(all, end);
  for (const Demand::Piece &piece : all) {
    bool inside = at >= to.offset && at < end;
    at += piece.size;
    if (!inside)
      continue;
    if (piece.size % to.unit != 0)
      return std::nullopt;
    pieces.push_back(
        {piece.size / to.unit * from.unit, mayCopy(factor) ? 0 : piece.parts,
         std::lcm(piece.unit, to.unit) / to.unit * from.unit, piece.whole});
  }
  return pieces;
}

/// Why so many ranks cannot share the steps of a factor that may copy.
static std::string copyRefusal(const ShardFactor &factor, const Axis &axis) {
  return "its " + std::to_string(factor.steps) + " " + factor.what +
         ", each with " + std::to_string(factor.places.front().unit) +
         " of the " + factor.readers + ", cannot be shared by " +
         std::to_string(axis.ranks) + " ranks of axis \"" + axis.name + "\"; ";
}

bool Demands::wantsColumns(ProductOpInterface product) {
  Value result = product.getResult();
  int64_t last = tensorType(result).getRank() - 1;
  if (tensorType(result).isDynamicDim(last) ||
      !canBePart(product.getRhs(), product.getRhsDim(MatmulDim::N)))
    return false;
  const Demand &demand = of(result, last);
  return demand.needers.empty() && demand.ends &&
         !llvm::all_of(demand.pieces, [](const auto &p) { return p.whole; });
}

bool Demands::canBePart(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return function &&
           function.getArgAttr(argument.getArgNumber(), kStateAttrName);
  }
  if (isa<WeightRefOp, ConstantOp, shard::ShardOp>(op))
    return true;
  auto [it, isNew] = parts.try_emplace({value, dim}, true);
  if (!isNew)
    return it->second;
  ShardFactors factors = factorsOf(op);
  bool can = llvm::any_of(factors.get(), [&](const ShardFactor &factor) {
    return factor.kind == FactorKind::Parallel &&
           llvm::any_of(factor.places,
                        [&](const FactorPlace &place) {
                          return place.value == value && place.dim == dim;
                        }) &&
           hasPartsBeside(factor, value, op);
  });
  return parts[{value, dim}] = can;
}

/// Whether the other operands of `op` that the factor cuts can be parts, too.
bool Demands::hasPartsBeside(const ShardFactor &factor, Value value,
                             Operation *op) {
  return llvm::all_of(factor.places, [&](const FactorPlace &place) {
    return place.value == value || place.value.getDefiningOp() == op ||
           (place.mayCopy && partsOfPlace(factor, place, axis.ranks) == 1) ||
           canBePart(place.value, place.dim);
  });
}

void Demands::addFactor(Operation *op, const ShardFactor &factor,
                        const FactorPlace &place, Demand &demand) {
  bool isNumbered =
      factor.kind == FactorKind::Rows || factor.kind == FactorKind::Groups;
  if (isNumbered || ShapedType::isDynamic(factor.steps)) {
    demand.needers.push_back(op);
    return;
  }
  int64_t length = factor.steps * place.unit;
  SmallVector<Demand::Piece> pieces{{length, 0, place.unit}};
  // Of two products of low rank the second is cut.
  auto product = dyn_cast<ProductOpInterface>(op);
  if (factor.kind == FactorKind::Sum) {
    bool staysWhole = product && wantsColumns(product);
    pieces.front().whole = staysWhole;
    // Copies would be added as often as there are ranks that have them.
    pieces.front().parts = staysWhole ? 0 : axis.ranks;
    demand.ends |= !staysWhole;
  }
  if (mayCopy(factor)) {
    std::optional<int64_t> parts = partsOfPlace(factor, place, axis.ranks);
    if (!parts && demand.refusal.empty()) {
      demand.refuser = op;
      demand.refusal = copyRefusal(factor, axis);
    }
    pieces = {{length, parts.value_or(axis.ranks), 1}};
  }
  bool fits = true;
  for (const FactorPlace &other : factor.places) {
    if (other.value.getDefiningOp() != op)
      continue; // an operand
    const Demand &result = of(other.value, other.dim);
    merge(demand, result);
    std::optional<SmallVector<Demand::Piece>> more =
        asked(result, factor, other, place);
    fits &= more && (mayCopy(factor) ? more->size() == 1 && !more->front().whole
                                     : impose(pieces, 0, *more));
  }
  if (!fits || !impose(demand.pieces, place.offset, pieces))
    demand.needers.push_back(op);
}

void Demands::addUse(Operation *op, Value value, int64_t dim, Demand &demand) {
  if (isa<tensor::DimOp>(op))
    return;
  if (isa<func::ReturnOp>(op)) {
    if (!stateArgumentOf(value))
      demand.needers.push_back(op);
    return;
  }
  bool covered = false;
  ShardFactors factors = factorsOf(op);
  for (const ShardFactor &factor : factors.get())
    for (const FactorPlace &place : factor.places)
      if (place.value == value && place.dim == dim &&
          (factor.kind != FactorKind::Parallel ||
           hasPartsBeside(factor, value, op))) {
        covered = true;
        addFactor(op, factor, place, demand);
      }
  Demand::Piece whole{tensorType(value).getDimSize(dim), 0, 1, true};
  if (!covered && !impose(demand.pieces, 0, whole))
    demand.needers.push_back(op);
}

Demand Demands::compute(Value value, int64_t dim) {
  Demand demand;
  demand.pieces.push_back({tensorType(value).getDimSize(dim), 0, 1});
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (Operation *op : value.getUsers())
    if (seen.insert(op).second)
      addUse(op, value, dim, demand);
  return demand;
}

const Demand &Demands::of(Value value, int64_t dim) {
  auto key = std::make_pair(value, dim);
  auto it = known.find(key);
  if (it != known.end())
    return *it->second;
  auto made = std::make_unique<Demand>(compute(value, dim));
  return *known.try_emplace(key, std::move(made)).first->second;
}

static int64_t partsOf(const Demand::Piece &piece, int64_t ranks,
                       bool cutsAll) {
  if (piece.whole && !cutsAll)
    return 1;
  return piece.parts ? piece.parts : ranks;
}
static bool fits(const Demand::Piece &piece, int64_t ranks, bool cutsAll) {
  int64_t parts = partsOf(piece, ranks, cutsAll);
  return parts == 1 || piece.size % (parts * piece.unit) == 0;
}

/// The numbers of ranks among which `value` can be cut along `dim`, with no
/// more that needs it whole than `now`. Each asks for parts of its own, as
/// copies do.
static std::string ranksThatCut(Value value, int64_t dim, const Demand &now,
                                bool cutsAll) {
  return ranksThatFit([&](int64_t ranks) {
    Axis axis{"", ranks};
    Demands demands(axis);
    const Demand &demand = demands.of(value, dim);
    return demand.refusal.empty() &&
           demand.needers.size() <= now.needers.size() &&
           llvm::all_of(demand.pieces, [&](const Demand::Piece &piece) {
             return fits(piece, ranks, cutsAll);
           });
  });
}

std::optional<Segments> shards::segmentsFor(const Demand &demand, Value value,
                                            int64_t dim, const Axis &axis,
                                            bool cutsAll,
                                            std::string &refusal) {
  if (!demand.refusal.empty()) {
    refusal =
        demand.refusal + ranksThatCut(value, dim, demand, cutsAll) + " can";
    return std::nullopt;
  }
  Segments segments;
  for (const Demand::Piece &piece : demand.pieces) {
    if (!fits(piece, axis.ranks, cutsAll)) {
      refusal = std::to_string(piece.size) + " elements" +
                (piece.unit == 1
                     ? std::string()
                     : ", in units of " + std::to_string(piece.unit) + ",") +
                " cannot be cut in " + std::to_string(axis.ranks) +
                " along axis \"" + axis.name + "\"; " +
                ranksThatCut(value, dim, demand, cutsAll) + " can share them";
      return std::nullopt;
    }
    segments.push_back({piece.size, partsOf(piece, axis.ranks, cutsAll)});
  }
  return segments;
}
