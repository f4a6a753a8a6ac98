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
// their element type. What was pulled is remembered in its scope.
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

namespace mlir::hk {

using Position = SmallVector<AffineExpr, 4>;

/// How the C++ of a type is spelled.
std::string dtypeText(Type elementType);
std::string dtypeText(::hk::DType dtype);
/// The hk::MxRounding of kernel code.
StringRef mxRoundingText(MxRounding rounding);
std::string vecText(Type elementType, int vec);
/// `expr` (f32 carriers) rounded to an element type.
std::string roundText(Type elementType, int vec, const Twine &expr);
/// A float literal that reads back exactly.
std::string floatText(double value);

class Puller {
public:
  using Args = ArrayRef<AffineExpr>;

  Puller(KernelOp kernel, const DimSymbols &dims, CodeWriter &out);
  virtual ~Puller() = default;

  /// Declares pointers, dims and strides from `words`; in the kernel's scope.
  void declareArguments();

  /// `vec` consecutive elements of `value` from `position` on.
  Expr pulled(Value value, ArrayRef<AffineExpr> position, int vec);
  std::string pull(Value value, ArrayRef<AffineExpr> position, int vec) {
    return pulled(value, position, vec).text;
  }
  /// One element as a scalar expression.
  Expr pulledScalar(Value value, ArrayRef<AffineExpr> position);
  std::string pullScalar(Value value, ArrayRef<AffineExpr> position) {
    return pulledScalar(value, position).text;
  }

  /// `value` is computed by `source` instead of its defining op.
  using Source =
      std::function<std::string(ArrayRef<AffineExpr> position, int vec)>;
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
  /// Where statements about vec elements at `position` belong.
  int placeOf(ArrayRef<AffineExpr> position, int vec) const;

  /// Only the first `count` lanes of vectors that are pulled from now on exist;
  /// empty: all. Returns what was said before.
  Expr exchangeLanes(Expr count) {
    return std::exchange(lanes, std::move(count));
  }
  /// An expression of how many there are; empty: all.
  const std::string &getLaneCount() const { return lanes.text; }

  /// Stores vec elements of kernel operand `operand`; `rounded`: they are
  /// values of its element type.
  void store(unsigned operand, ArrayRef<AffineExpr> position, int vec,
             StringRef vector, bool rounded = true);

  /// A reduction over the elements of `input` that share the leading indices
  /// and, if `group` > 0, the group of `group` elements of the last dim number
  /// `segment`. `position` is where the caller pulls, or empty. Returns a
  /// scalar float.
  virtual Expr statistic(Operation *op, Value input, RowReduction kind,
                         int64_t group, ArrayRef<AffineExpr> leading,
                         AffineExpr segment, ArrayRef<AffineExpr> position,
                         int vec);

  /// The C++ variable with the groups that stay, a bit each.
  virtual std::string keptGroups(GroupLimitOp op);

  /// The scale of a quantisation with computed scales, as a scalar: of the
  /// group number `segment`, which covers `position` unless that is empty.
  Expr scaleOf(Operation *op, Args leading, AffineExpr segment, Args position,
               int vec);
  /// As scaleOf, for the group that covers `position`.
  Expr scaleAt(Operation *op, Args position, int vec);

  /// Stores from now on happen only where `condition` holds; empty: everywhere.
  void guardStores(std::string condition) { storeGuard = std::move(condition); }

  /// The term that `kind` sums (or maximises) at a position.
  std::string statisticTerm(Operation *op, Value input, RowReduction kind,
                            ArrayRef<AffineExpr> position, int vec);

  /// Element by element, where vec elements do not come from vec consecutive
  /// ones.
  std::string pullByElement(Value value, Args position, int vec);
  /// An operand that broadcasts to the shape of `position`.
  std::string pullBroadcast(Value operand, Args position, int vec);
  std::string splat(Type elementType, StringRef one, int vec, int depth);
  std::string keepFirst(Type elementType, StringRef vector, StringRef count,
                        StringRef fill, int vec);
  /// The C++ array with the elements of a constant.
  std::string tableOf(ConstantOp op);

  /// The memo key of a value at a position; `tag` tells apart several things
  /// known of one value.
  std::string key(Value value, ArrayRef<AffineExpr> position, int vec,
                  StringRef tag = "");
  /// Records that the value being pulled uses a name of scope `depth`.
  void useDepth(int depth) { usedDepth = std::max(usedDepth, depth); }
  /// The innermost scope that it takes names from so far.
  int getUsedDepth() const { return usedDepth; }
  /// What `text`, which depends on the scalar `of` only, computes: once, where
  /// that is known.
  Expr defineOnce(const Expr &of, StringRef type, StringRef prefix,
                  const std::string &text);
  /// Loads happen only where `condition` holds and give anything elsewhere;
  /// empty: everywhere.
  void guardLoads(Expr condition) { loadGuard = std::move(condition); }
  /// Whether the quantisation that asks is to leave its elements unrounded.
  bool takeUnrounded() { return std::exchange(leaveUnrounded, false); }

  CodeWriter &code() { return out; }
  const DimSymbols &dimSymbols() const { return dims; }
  MLIRContext *getContext() const { return kernel->getContext(); }
  AffineExpr simplify(AffineExpr expr) const;

protected:
  /// The elements of a quantised value before they are rounded to a float of 8
  /// or 4 bits, which storing does too; empty if there is no such form.
  std::string pullUnrounded(Value value, ArrayRef<AffineExpr> position,
                            int vec);

  /// Kernel operands that are stored past the caches where the C++ condition
  /// holds.
  llvm::DenseMap<unsigned, std::string> streamed;

  /// Loads happen only where this condition holds, if it is not empty, and give
  /// anything elsewhere.
  Expr loadGuard;

  /// An expression that loads vec elements of an operand.
  virtual std::string load(BlockArgument argument, Args position, int vec);
  /// The template arguments and the arguments of a load: `<dtype, vec, align>`
  /// and `(pointer, offset)`.
  std::string accessText(BlockArgument argument, Args position, int vec) const;
  std::string offsetText(unsigned operand, Args position) const;
  /// Bytes that the address of such an access is known to be a multiple of.
  virtual int64_t alignment(unsigned operand, AffineExpr last, int vec) const;

  KernelOp kernel;
  const DimSymbols &dims;
  CodeWriter &out;

private:
  std::string emit(Value value, Args position, int vec);

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
  std::string storeGuard;
  /// The innermost scope that the value being pulled takes names from.
  int usedDepth = 0;
};

/// Prints a method of a struct with the field `words`, `head` up to its const,
/// whose body `writeBody` pulls from `kernel`.
void writeMethod(raw_ostream &os, KernelOp kernel, const DimSymbols &dims,
                 const Twine &head,
                 llvm::function_ref<void(Puller &)> writeBody);

} // namespace mlir::hk

#endif // HK_LIB_EMISSION_PULLER_H
