//===- Puller.h - C++ for a value at a position -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The heart of emission: pull(value, position) writes the statements that
// compute `vec` consecutive elements of a tensor value and returns the name of
// the variable that holds them (a Vec of carriers, see
// runtime/kernels/device/types.h). Views only rewrite positions; pointwise
// operators pull their operands; block arguments load. Results are rounded to
// their element type. What was pulled is remembered in its scope, and whoever
// made it, an operator or a family, must have given it its value's type.
//
// A position has one affine expression per dim over symbols, which stand for
// C++ integer variables. The last one is the first of the `vec` elements.
//
// How an operator is pulled is registered beside its function (PullTable.h).
// Families bind the values that they compute themselves (the accumulator of a
// matrix product) and answer for statistics of a row.
//
//===----------------------------------------------------------------------===//

#ifndef HK_LIB_EMISSION_PULLER_H
#define HK_LIB_EMISSION_PULLER_H

#include "CodeWriter.h"

#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <optional>

namespace mlir::hk {

using Position = SmallVector<AffineExpr, 4>;

/// How the C++ of a type is spelled.
std::string dtypeText(Type elementType);
std::string dtypeText(::hk::DType dtype);
/// The hk::MxRounding of kernel code.
StringRef mxRoundingText(MxRounding rounding);
/// The reduction of device/reduce.h that computes a statistic.
StringRef reductionOf(RowReduction kind);
/// Whether kernels/device/decode.h may know a shorter way to read it.
bool isCoded(Type elementType);
/// What holds elements of a type in kernels; 0: one element.
CType carrierOf(Type elementType, int vec);
/// A vector of the one scale whose E8M0 byte is `byte`.
Expr decodedScale(const Expr &byte);
/// A comparison as 0 or 1.
Expr flagOf(const Expr &comparison);
/// `expr` in f32 carriers.
Expr toFloat(const Expr &expr);
/// `expr` (f32 carriers) rounded to an element type; integers as they are.
Expr rounded(Type elementType, const Expr &expr);

/// A row of a table by an index that may be none of its.
struct ExistingRow {
  Expr index;
  Expr exists;
  /// What loads from it need; null: nothing, as the index is 0 where there is
  /// no such row.
  Expr guard;
};

/// The type of lanes of which the compiler knows how many a partial vector has
/// (kernels/rowwise/tails.h).
inline constexpr llvm::StringLiteral kTailLanes = "TailLanes";

/// What is known of values that are stored.
struct Stored {
  bool rounded = true;  ///< they are values of the operand's element type
  bool numbers = false; ///< none is NaN
  Expr scale; ///< of quotients, none of which is NaN where it is a number
  bool within = false;  ///< these exceed no limit but by a rounding
  bool nearest = false; ///< they are integers that nearestInt made
};

class Puller {
public:
  using Args = ArrayRef<AffineExpr>;

  Puller(KernelOp kernel, const DimSymbols &dims, CodeWriter &out);
  virtual ~Puller() = default;

  /// Declares pointers, dims and strides from `words`; in the kernel's scope.
  void declareArguments();

  /// `vec` consecutive elements of `value` from `position` on.
  Expr pull(Value value, ArrayRef<AffineExpr> position, int vec);
  /// One element as a scalar expression.
  Expr pullScalar(Value value, ArrayRef<AffineExpr> position);

  /// `value` is computed by `source` instead of its defining op.
  using Source = std::function<Expr(ArrayRef<AffineExpr> position, int vec)>;
  void bind(Value value, Source source) { bound[value] = std::move(source); }

  /// `inner`, an argument of a region, is the kernel's argument `outer`.
  void bindTo(Value inner, Value outer) { aliases[inner] = outer; }
  /// The kernel's value that `value` stands for.
  Value resolved(Value value) const {
    auto it = aliases.find(value);
    return it == aliases.end() ? value : it->second;
  }

  /// A new symbol for the C++ integer variable `name` of the current scope.
  AffineExpr symbol(StringRef name, int depth);
  AffineExpr symbol(StringRef name) { return symbol(name, out.depth()); }
  /// The one symbol of a variable that several operators look up.
  AffineExpr sharedSymbol(StringRef name, int depth);
  /// `text` in a new variable of the current or an outer scope.
  AffineExpr defineIndex(int depth, StringRef prefix, const Twine &text);
  AffineExpr constant(int64_t value);
  int symbolDepth(AffineExpr symbol) const {
    return symbols[cast<AffineSymbolExpr>(symbol).getPosition()].depth;
  }
  /// The size that a dim has.
  AffineExpr size(DimName name);
  AffineExpr sizeOf(Value value, int64_t dim) {
    return size(dims.dim(value, dim));
  }

  /// An integer expression in C++; non-negative operands are assumed.
  std::string text(AffineExpr expr) const;
  /// The innermost scope that a symbol of `expr` belongs to, not outside of the
  /// conditional scopes that are open.
  int depthOf(ArrayRef<AffineExpr> exprs) const;
  /// Only the first `count` lanes of vectors that are pulled from now on exist;
  /// null: all. Returns what was said before.
  Expr exchangeLanes(Expr count) {
    return std::exchange(lanes, std::move(count));
  }
  /// How many there are; null: all.
  const Expr &getLaneCount() const { return lanes; }

  /// Opens a block that runs where begin <= at < end; what is pulled in it may
  /// not exchange lanes with those for which that does not hold.
  void openRange(AffineExpr at, AffineExpr begin, AffineExpr end);
  void closeRange();

  /// An index whose values are known: begin <= at < end.
  struct Bounds {
    AffineExpr at; // null: of no index
    int64_t begin = 0, end = 0;
  };
  /// What is known of an index while the next values are pulled. Returns what
  /// was known before.
  Bounds exchangeBounds(Bounds known) {
    return std::exchange(bounds, std::move(known));
  }
  /// The values of `index`, which is that index but for a constant: the first
  /// and the last one.
  std::optional<std::pair<int64_t, int64_t>> knownRange(AffineExpr index) const;

  /// Stores vec elements of kernel operand `operand`.
  void store(unsigned operand, ArrayRef<AffineExpr> position, int vec,
             const Expr &vector, const Stored &stored = {});

  /// Stores vec elements of `value` as kernel operand `operand`; floats of 8
  /// and 4 bits are pulled unrounded where they have such a form.
  void storeUnrounded(unsigned operand, Value value,
                      ArrayRef<AffineExpr> position, int vec);

  /// Stores elements in the bits that they have in memory.
  void storeBits(unsigned operand, ArrayRef<AffineExpr> position, int vec,
                 StringRef bits);

  /// A reduction over the elements of `input` that share the leading indices
  /// and, if `group` > 0, the group of `group` elements of the last dim number
  /// `segment`. `position` is where the caller pulls, or empty. Returns a
  /// scalar float.
  virtual Expr statistic(Operation *op, Value input, RowReduction kind,
                         int64_t group, ArrayRef<AffineExpr> leading,
                         AffineExpr segment, ArrayRef<AffineExpr> position,
                         int vec);

  /// The C++ variable with the groups that stay, a bit each.
  virtual Expr keptGroups(GroupLimitOp op);

  /// The scale of a quantisation with computed scales, as a scalar: of the
  /// group number `segment`, which covers `position` unless that is empty.
  Expr scaleOf(Operation *op, Args leading, AffineExpr segment, Args position,
               int vec);
  /// As scaleOf, for the group that covers `position`.
  Expr scaleAt(Operation *op, Args position, int vec);

  /// Stores from now on happen only where `condition` holds; empty: everywhere.
  void guardStores(std::string condition) { storeGuard = std::move(condition); }
  const std::string &getStoreGuard() const { return storeGuard; }

  /// The term that `kind` sums (or maximises) at a position.
  Expr statisticTerm(Operation *op, Value input, RowReduction kind,
                     ArrayRef<AffineExpr> position, int vec);

  /// Element by element, where vec elements do not come from vec consecutive
  /// ones.
  Expr pullByElement(Value value, Args position, int vec);
  /// An operand that broadcasts to the shape of `position`.
  Expr pullBroadcast(Value operand, Args position, int vec);
  /// The C++ array with the elements of a constant.
  Expr tableOf(ConstantOp op);

  /// The memo key of a value at a position; `tag` tells apart several things
  /// known of one value.
  std::string key(Value value, ArrayRef<AffineExpr> position, int vec,
                  StringRef tag = "");
  /// Where the statement that computes vec elements at `position` belongs, if
  /// `made` is how.
  int placeOf(const Expr &made, ArrayRef<AffineExpr> position, int vec) const;
  /// `value` in a variable: once, where what it is made of is known.
  Expr defineOnce(StringRef prefix, const Expr &value);
  /// Whether what rare lanes need is left to a vote of the wave, and loads are
  /// unconditional where that is safe (kVotes in the kernel).
  virtual bool votes() const { return false; }
  /// `index` in a variable, or -1 where it is none of `size` ones.
  Expr defineExisting(StringRef prefix, int depth, const Expr &index,
                      const std::string &size);
  /// The row `index()` of a table with `size` ones, once for `key`.
  ExistingRow existingRow(const std::string &key, int depth, AffineExpr size,
                          llvm::function_ref<Expr()> index);
  /// Loads happen only where `condition` holds and give anything elsewhere;
  /// null: everywhere.
  void guardLoads(Expr condition) { loadGuard = std::move(condition); }
  /// Whether the quantisation that asks is to leave its elements unrounded.
  bool takeUnrounded() { return std::exchange(leaveUnrounded, false); }

  CodeWriter &code() { return out; }
  const DimSymbols &dimSymbols() const { return dims; }
  MLIRContext *getContext() const { return kernel->getContext(); }
  AffineExpr simplify(AffineExpr expr) const;

protected:
  /// The elements of a quantised value before they are rounded to a float of 8
  /// or 4 bits, which storing does too, and what is known of them; null if
  /// there is no such form.
  Expr pullUnrounded(Value value, ArrayRef<AffineExpr> position, int vec,
                     Stored &stored);

  /// Kernel operands that are stored past the caches where the C++ condition
  /// holds.
  llvm::DenseMap<unsigned, std::string> streamed;

  /// Loads happen only where this condition holds, if there is one, and give
  /// anything elsewhere.
  Expr loadGuard;

  /// An expression that loads vec elements of an operand.
  virtual Expr load(BlockArgument argument, Args position, int vec);
  /// The template arguments and the arguments of a load: `<dtype, vec, align>`
  /// and `(pointer, offset)`.
  std::string accessText(BlockArgument argument, Args position, int vec);
  /// The name of a stride in C++.
  static std::string strideName(unsigned operand, int64_t dim);
  /// In elements, or in bytes of packed ones.
  std::string offsetText(unsigned operand, Args position, bool bytes = false);
  /// Whether offsets of an operand of packed elements count bytes, as all its
  /// strides are known to be whole ones.
  bool countsBytes(unsigned operand, Args position);
  /// The pointer and the offset of an access as its arguments.
  std::string placeText(unsigned operand, Args position);
  /// Whether the offset of a row, which is made of `indices`, is computed once
  /// for all loads and stores, and the name of such an offset.
  virtual bool sharesOffset(Args) const { return false; }
  virtual std::string sharedOffset(const std::string &text) { return text; }
  /// What every launch passes as a stride, if that is known to be one number.
  virtual std::optional<int64_t> strideOf(unsigned, int64_t) const {
    return std::nullopt;
  }
  /// How many leading indices are those of a row that lies behind the row
  /// before, so that its number alone tells where it is.
  virtual size_t denseRowDims(unsigned, Args) const { return 0; }
  /// Bytes that the address of such an access is known to be a multiple of.
  virtual int64_t alignment(unsigned operand, AffineExpr last, int vec) const;

  struct Range {
    AffineExpr at, begin, end;
  };
  /// Those of the blocks that are open.
  ArrayRef<Range> openRanges() const { return ranges; }

  KernelOp kernel;
  const DimSymbols &dims;
  CodeWriter &out;

private:
  Expr emit(Value value, Args position, int vec);

  /// Set for the quantisation that is pulled next.
  bool leaveUnrounded = false;

  struct SymbolInfo {
    std::string name;
    int depth;
  };
  SmallVector<SymbolInfo> symbols;
  llvm::DenseMap<Value, Source> bound;
  llvm::DenseMap<Value, Value> aliases;
  llvm::DenseMap<Value, int> valueIds;
  llvm::DenseMap<DimName, AffineExpr> sizeSymbols;
  llvm::StringMap<AffineExpr> sharedSymbols;
  Expr lanes;
  SmallVector<Range> ranges;
  Bounds bounds;
  std::string storeGuard;
};

/// Prints a method of a struct with the field `words`, `head` up to its const,
/// whose body `writeBody` pulls from `kernel`.
void writeMethod(raw_ostream &os, KernelOp kernel, const DimSymbols &dims,
                 const Twine &head,
                 llvm::function_ref<void(Puller &)> writeBody);

} // namespace mlir::hk

#endif // HK_LIB_EMISSION_PULLER_H
