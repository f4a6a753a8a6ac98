//===- HK.h - The hk dialect -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Umbrella of the dialect: its class, enums, attributes, interfaces and ops.
//
//===----------------------------------------------------------------------===//

#ifndef HK_DIALECT_HK_H
#define HK_DIALECT_HK_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "hk/Contract/DType.h"
#include "hk/Contract/Mesh.h"
#include "hk/Contract/Target.h"
#include "hk/Contract/Tile.h"
#include "hk/Contract/WeightSlice.h"

#include <optional>

#include "hk/Dialect/HKDialect.h.inc"
#include "hk/Dialect/HKEnums.h.inc"

namespace mlir::hk {
/// Reductions of trailing dims that operators need.
enum class RowReduction : int32_t {
  SumOfSquares,
  Sum,
  SumOfCentredSquares, // needs Sum
  Maximum,
  Minimum,
  SumOfExp, // e^(x - maximum); needs Maximum
  AbsMaximum,
};

/// The dims of a matrix product C[M, N] = A[M, K] B[K, N].
enum class MatmulDim { M, N, K };

/// What an operator over several ranks does. A rank sends part r of its operand
/// along dim `split` to the rank at place r, or all of it to every rank, or
/// nothing unless it is `root`. What it gets it reduces, or concatenates along
/// dim `concat`; either in the order of the ranks. Without an operand its
/// result is its place.
struct Exchange {
  std::optional<int64_t> split, concat, root;
  std::optional<ReduceKind> reduction;
  Transport transport = Transport::in_order;
};

/// Of which operands a result is a linear function, roundings aside: of none,
/// of all together, or of each while the others stay as they are.
enum class Linearity { none, joint, each };

/// The type of a value that is a tensor, as those of all operators are.
inline RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

class ShapeRelations; // hk/Dialect/ShapeRelations.h
class ShardFactors;   // hk/Dialect/ShardFactors.h

/// Checks what `op`, a ShapeOpInterface, states with the sizes of its types.
LogicalResult verifyShapes(Operation *op);
/// The sizes of its results from those of its operands.
LogicalResult reifyShapes(Operation *op, OpBuilder &b,
                          ReifiedRankedShapedTypeDims &shapes);

/// See HK_OperandsInMemory.
template <typename ConcreteOp>
class OperandsInMemory
    : public OpTrait::TraitBase<ConcreteOp, OperandsInMemory> {};
template <typename ConcreteOp>
class DecodesOperand : public OpTrait::TraitBase<ConcreteOp, DecodesOperand> {};
template <typename ConcreteOp>
class CountsItems : public OpTrait::TraitBase<ConcreteOp, CountsItems> {};
template <typename ConcreteOp>
class RunsAlongTokens : public OpTrait::TraitBase<ConcreteOp, RunsAlongTokens> {
};
template <typename ConcreteOp>
class PairsColumns : public OpTrait::TraitBase<ConcreteOp, PairsColumns> {};
} // namespace mlir::hk

#include "hk/Dialect/HKInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "hk/Dialect/HKAttrs.h.inc"

namespace mlir::hk {
class VariantOp;

/// How keys and values of an attention are stored; see hk.attention.
enum class KeyForm { Dense, Ragged, Paged };

/// The dims of a tensor of keys, values or a cache that count rows (of a
/// sequence or a block), heads, and elements of a head; the second of two is a
/// chunk.
struct CacheDims {
  SmallVector<unsigned, 2> rows;
  unsigned head;
  SmallVector<unsigned, 2> elements;
};
/// Those of a tensor of rank 4 or 5 with this layout; dim 0 counts sequences or
/// blocks.
const CacheDims &cacheDimsOf(CacheLayout layout);

/// Trailing dims that a permutation moves: rank minus its fixed prefix.
int64_t transposedLocalDims(ArrayRef<int64_t> permutation);

/// Elements that share an e8m0 scale.
inline constexpr int64_t kMxBlock = 32;

// Operand maps that several operators have; see RowwiseOpInterface.

/// NumPy broadcasting: aligned at the last dim; 1 repeats.
SmallVector<AffineMap> broadcastMaps(Operation *op);
/// The first operand is read anywhere in the last `dims` dims; the others are
/// vectors along the last one.
SmallVector<AffineMap> rowMaps(Operation *op, int64_t dims = 1);
/// Every operand fills a part of dim `axis`.
SmallVector<AffineMap> partMaps(Operation *op, int64_t axis);
/// A tensor, its scale and, if there are, zero points: of one element, or per
/// `group` elements of the dims that they do not share with the tensor.
SmallVector<AffineMap> scaledMaps(Operation *op, int64_t group);

/// {group} if `scale` has an element per group of the last dim.
SmallVector<int64_t> scaleGroups(Value scale, int64_t group);

RowReduction rowReductionOf(ReduceKind kind);

/// The contract's element type of an MLIR type; nullopt if hk has none.
std::optional<::hk::DType> dtypeOf(Type type);
Type typeOf(::hk::DType dtype, MLIRContext *context);
/// Whether two elements of `type` share a byte.
bool isPacked(Type type);
/// i4 or ui4.
bool isInt4(Type type);

/// The target of the module around `op`, from its `hk.target` attribute;
/// nullptr when it has none.
const ::hk::Target *targetOf(Operation *op);

/// The mesh of the module around `op`, from its `hk.mesh` attribute; nullopt
/// when it has none.
std::optional<::hk::Mesh> meshOf(Operation *op);

/// Names of discardable attributes; an hk attribute that is not listed here is
/// an error wherever it stands.
inline constexpr llvm::StringLiteral kTargetAttrName = "hk.target"; // module
/// String, of a module: the ranks that run its functions, as "tp=2,ep=4".
inline constexpr llvm::StringLiteral kMeshAttrName = "hk.mesh";
/// String, of a module: whether sums over ranks are made by a "kernel" that
/// writes into the other ranks' memory, wherever one can, with a "product"
/// before it that may send its rows, or by the "engine", whatever the target's
/// default is. For tests and benchmarks.
inline constexpr llvm::StringLiteral kExchangeAttrName = "hk.exchange";
/// String, of a kernel: the axis over whose ranks the launch behind adds its
/// first result. Launches with many rows send it to the other rank themselves.
inline constexpr llvm::StringLiteral kSendsAttrName = "hk.sends";
/// Unit, of a kernel that sends: its last input is what the launch behind adds
/// to the sums, and launches that send add it. Of the kernel behind: it adds
/// that only where it has not come with the sums.
inline constexpr llvm::StringLiteral kAddsAttrName = "hk.adds";
/// Of a module: a dictionary from names of kernels to arrays of tiles. The
/// driver found them to spill registers when it compiled the kernels.
inline constexpr llvm::StringLiteral kSpillingTilesAttrName =
    "hk.spilling_tiles";
/// String, of a module: the main loop (GemmLoop) that its products use wherever
/// it can compute them, whatever the cost model says. For tests and benchmarks.
inline constexpr llvm::StringLiteral kGemmLoopAttrName = "hk.gemm_loop";
/// Of a function: which other one it is a version of, an hk.version attribute.
inline constexpr llvm::StringLiteral kVersionAttrName = "hk.version";
/// Unit, of an argument: memory that the function writes in place.
inline constexpr llvm::StringLiteral kStateAttrName = "hk.state";
/// Unit, of an argument: it is written as a whole.
inline constexpr llvm::StringLiteral kOutputAttrName = "hk.output";
/// String, of an argument or a result: its public name, which can be the name
/// of a file.
inline constexpr llvm::StringLiteral kNameAttrName = "hk.name";
/// Array of strings, of an argument: a name for each dim, "_" for none. Dims of
/// one name have one size.
inline constexpr llvm::StringLiteral kDimsAttrName = "hk.dims";

/// Fails for a discardable attribute of `op` that belongs to no dialect, and
/// says which inherent one is near.
LogicalResult verifyOnlyKnownAttributes(Operation *op);

template <typename ConcreteType>
class OnlyKnownAttributes
    : public OpTrait::TraitBase<ConcreteType, OnlyKnownAttributes> {
public:
  static LogicalResult verifyTrait(Operation *op) {
    return verifyOnlyKnownAttributes(op);
  }
};

/// Largest hk.constant.
inline constexpr int64_t kMaxConstantBytes = 256;
} // namespace mlir::hk

#define GET_OP_CLASSES
#include "hk/Dialect/HKOps.h.inc"

#endif // HK_DIALECT_HK_H
