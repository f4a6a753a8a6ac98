//===- Family.h - Interface of a kernel family -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family is a kernel template plus what the compiler must know of it: which
// operators may share one of its kernels (canStart, canJoin, canMerge), which
// tiles are legal and best (addVariants) and the C++ that instantiates the
// template (emit). Optionally: when several blocks should share the reduction
// of one operator (planSplit, split). Fusion asks for verdicts only; it has no
// knowledge of its own of any operator. Families are registered in an explicit
// list.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_FAMILY_H
#define HK_FAMILIES_FAMILY_H

#include "hk/Analysis/DimSymbols.h"
#include "hk/Dialect/HK.h"
#include "hk/Families/Decision.h"
#include "hk/Families/Split.h"
#include "hk/Runtime/ModuleAbi.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::hk {

/// What a verdict may depend on besides the operators.
struct FusionContext {
  const DimSymbols &dims;
  const ::hk::Target &target;
  /// The operator that will join the groups that canMerge is asked about, or
  /// the view that canJoin is; else null.
  Operation *joining = nullptr;
};

/// Rows of an operand of which a block reads `most` at offsets of 32 bits from
/// the first one; `stride` elements of `bits` bits lie between two.
struct Reach {
  hk_number_abi rows;
  int64_t most;
  hk_number_abi stride;
  int64_t bits;
};

/// Memory that a launch has of its own: `rows` (an index) of `columns` elements
/// each; 0 columns: a vector.
struct OwnMemory {
  Type element;
  Value rows;
  int64_t columns = 0;
};

class Family {
public:
  virtual ~Family() = default;
  virtual FamilyKind getKind() const = 0;

  /// Whether `op` alone can be a kernel of this family.
  virtual Verdict canStart(Operation *op,
                           const FusionContext &context) const = 0;

  /// Whether `op`, a user of results of `group` or a view of them, may join.
  /// `group` is a valid kernel of this family in topological order; views
  /// (tensor.extract_slice, expand_shape, collapse_shape) are members too.
  virtual Verdict canJoin(ArrayRef<Operation *> group, Operation *op,
                          const FusionContext &context) const = 0;

  /// Whether `op`, the results of which only `group` reads, may be computed
  /// where the group's kernel reads them.
  virtual Verdict canTakeIn(ArrayRef<Operation *> group, Operation *op,
                            const FusionContext &context) const {
    (void)group, (void)op, (void)context;
    return Verdict::refuse(Reason::OtherFamily,
                           "kernels of this family read their operands");
  }

  /// Whether canTakeIn is also asked about what only operators that joined
  /// read.
  virtual bool takesInForEpilogues() const { return false; }

  /// Whether a kernel that takes in `op` can store its results as well, for the
  /// function to return or, unless it writes a state, for other kernels.
  virtual bool storesTakenIn(Operation *op) const {
    (void)op;
    return false;
  }

  /// Whether a kernel stores `result` of one of its operators though nothing
  /// reads it.
  virtual bool storesUnread(OpResult result) const {
    (void)result;
    return false;
  }

  /// Whether two valid groups of this family that have no path between them may
  /// be one kernel (siblings, or the operands of a later op).
  virtual Verdict canMerge(ArrayRef<Operation *> a, ArrayRef<Operation *> b,
                           const FusionContext &context) const = 0;

  /// In which of `counts` parts the reduction of `op`, any operator, could be
  /// cut, for the sizes that `sizeOf` knows; nullopt when there is nothing to
  /// decide.
  virtual std::optional<SplitPlan> planSplit(Operation *op,
                                             const ::hk::Target &target,
                                             ArrayRef<int64_t> counts,
                                             SizeOf sizeOf) const {
    (void)op, (void)target, (void)counts, (void)sizeOf;
    return std::nullopt;
  }

  /// Replaces `op` by an operator with `parts` partial results and one that
  /// combines them; `parts` is of a candidate of planSplit.
  virtual void split(Operation *op, int64_t parts, OpBuilder &builder) const {
    (void)op, (void)parts, (void)builder;
    llvm_unreachable("planSplit offered no parts");
  }

  /// Adds the hk.variant ops of `kernel` for `target`: for every M range the
  /// best legal tile. Reports every candidate to `log`. When no tile is legal:
  /// emits an error that names op, kernel, bytes asked, limit and the nearest
  /// tile that fits, and fails.
  virtual LogicalResult addVariants(KernelOp kernel, const ::hk::Target &target,
                                    DecisionLog &log) const = 0;

  /// Of how many threads the blocks of `kernel` can be, so that other problems
  /// share its launch; empty: its launch is never shared.
  virtual SmallVector<int64_t> getSharedThreads(KernelOp kernel,
                                                const ::hk::Target &) const {
    (void)kernel;
    return {};
  }
  /// Whether such a launch may hold a problem of family `other` as well.
  virtual bool mayShareWith(FamilyKind other) const {
    (void)other;
    return true;
  }

  /// The number of threads for a launch whose later problems need what the
  /// earlier ones make.
  virtual SmallVector<int64_t>
  getOrderedThreads(KernelOp kernel, const ::hk::Target &target) const {
    return getSharedThreads(kernel, target);
  }
  /// Whether blocks of its kernels may wait for those of earlier problems.
  virtual bool mayWait() const { return false; }

  /// Modelled time of a launch of `variant` where the kernel's dim symbols are
  /// `dims`; asked about kernels that getSharedThreads or getOrderedThreads has
  /// an answer for.
  virtual double getMicroseconds(KernelOp kernel, VariantOp variant,
                                 const ::hk::Target &target,
                                 ArrayRef<int64_t> dims) const {
    (void)kernel, (void)variant, (void)target, (void)dims;
    llvm_unreachable("its launch is never shared");
  }

  /// The part of the chip's units that a launch needs for that time: less than
  /// 1 where memory bounds it, which fewer units keep busy.
  virtual double getUnitShare(KernelOp kernel, VariantOp variant,
                              const ::hk::Target &target,
                              ArrayRef<int64_t> dims) const {
    (void)kernel, (void)variant, (void)target, (void)dims;
    return 1;
  }

  /// The tensor maps that `variant` takes as a parameter of its own, in order;
  /// sm_90a only.
  virtual SmallVector<hk_tensor_map_abi>
  getTensorMaps(KernelOp kernel, VariantOp variant) const {
    (void)kernel, (void)variant;
    return {};
  }

  /// What blocks of `variant` read at offsets of 32 bits. A launch whose rows
  /// lie further apart than those reach is refused.
  virtual SmallVector<Reach> getReaches(KernelOp kernel, VariantOp variant,
                                        const ::hk::Target &target) const {
    (void)kernel, (void)variant, (void)target;
    return {};
  }

  /// Bytes of the first result from which on a launch sends them to another
  /// rank while it computes the others, if the kernel is told to
  /// (kSendsAttrName); 0: never.
  virtual int64_t getLeastSent(KernelOp kernel,
                               const ::hk::Target &target) const {
    (void)kernel, (void)target;
    return 0;
  }

  /// Memory in which the blocks of `kernel` add parts of a sum, one after the
  /// other, so that it has the same bits in every run, and i32 words, zero when
  /// the launch begins, that say whose turn it is. Empty: they need none, or
  /// already have both as the kernel's last outs. `symbols`: the kernel's dim
  /// symbols where it is launched, of which `builder` makes sizes.
  virtual SmallVector<OwnMemory> getOrderedSums(KernelOp kernel,
                                                const ::hk::Target &target,
                                                OpBuilder &builder,
                                                ValueRange symbols) const {
    (void)kernel, (void)target, (void)builder, (void)symbols;
    return {};
  }

  /// Writes the translation unit of `kernel`: one entry point per variant,
  /// named `prefix` + variant name and declared with entryMacro(kernel), after
  /// lines of includes. The text must be a function of the kernel's contents
  /// only (it is the cache key): no addresses, no kernel name.
  virtual LogicalResult emit(KernelOp kernel, const ::hk::Target &target,
                             StringRef prefix, raw_ostream &os) const = 0;

  /// Whether launches of `variant` send what getLeastSent() says.
  virtual bool canSend(KernelOp kernel, VariantOp variant) const {
    (void)kernel, (void)variant;
    return false;
  }
};

/// All families, in the order in which fusion asks them.
ArrayRef<const Family *> allFamilies();
const Family &familyOf(FamilyKind kind);

/// Factories, defined by each family's folder; use allFamilies().
const Family &getRowwiseFamily();
const Family &getGemmFamily();
const Family &getAttentionFamily();
const Family &getConv1dFamily();
const Family &getRoutingFamily();
const Family &getScanFamily();
const Family &getGatedDeltaFamily();
const Family &getAttentionBackwardFamily();
const Family &getJointFamily();
const Family &getCollectiveFamily();

/// Condition and grid of a variant, as values of its region.
struct LaunchDims {
  Value condition; // i1
  Value x, y, z;   // index
};

/// What a variant's region says of a launch.
struct LaunchSize {
  bool applies; // the condition
  int64_t x, y, z;
  int64_t blocks() const { return x * y * z; }
};

/// Evaluates the region of `variant` where the dim symbols are `dims`.
LaunchSize launchSizeOf(VariantOp variant, ArrayRef<int64_t> dims);

/// The first variant of `kernel` that applies where the dim symbols are `dims`.
VariantOp variantFor(KernelOp kernel, ArrayRef<int64_t> dims);

/// The macro of kernels/device/launch.h that declares an entry point of
/// `kernel`, or the function of a problem that shares a launch.
inline StringRef entryMacro(KernelOp kernel) {
  return kernel.getLaunched() == kernel ? "HK_KERNEL" : "HK_PROBLEM";
}

/// Writes entry points where the names of kernels/ are known: in their
/// namespace, or, of a problem, in that of the launch it shares.
void writeAmongKernels(KernelOp kernel, llvm::raw_ostream &os,
                       llvm::function_ref<void()> write);

bool isKnownToSpill(KernelOp kernel, Attribute tile);

/// Appends an hk.variant named v<n> to `kernel`. `fill` builds the condition
/// and the grid from the dim symbols with arith ops.
VariantOp addVariant(
    KernelOp kernel, Attribute tile, int64_t threads, int64_t ldsBytes,
    llvm::function_ref<LaunchDims(OpBuilder &, Location, ValueRange dims)>
        fill);

} // namespace mlir::hk

#endif // HK_FAMILIES_FAMILY_H
