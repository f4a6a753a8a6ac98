//===- LowerToLLVM.cpp - Functions to the module ABI ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites every public function and its shape function to the C signatures of
// hk/Runtime/ModuleAbi.h, every hk.launch to one call of ctx->launch and the
// variants of every kernel to a plan function. What it makes is upstream
// memref, arith and LLVM ops; upstream conversions do the rest. There is no
// code per operator: a launch is addresses, dims and strides, whatever its
// kernel means.
//
//===----------------------------------------------------------------------===//

#include "hk/Contract/Capability.h"
#include "hk/Families/Family.h"
#include "hk/Passes/Entry.h"
#include "hk/Passes/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKLOWERTOLLVM
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
/// Byte offsets in the structs of ModuleAbi.h; pinned by test/unit.
constexpr int64_t kCtxLaunch = 0, kCtxGuard = 8, kCtxWeights = 16;
constexpr int64_t kTensorBytes = 16, kTensorSizes = 8;
constexpr int64_t kPlanVariant = 0, kPlanGrid = 4;

/// Short names for the LLVM ops that talk to C structs.
struct CBuilder {
  OpBuilder &b;
  Location loc;
  Type ptr = LLVM::LLVMPointerType::get(b.getContext());

  Value i64(int64_t value) {
    return LLVM::ConstantOp::create(b, loc, b.getI64Type(),
                                    b.getI64IntegerAttr(value));
  }
  Value at(Value base, int64_t bytes) {
    if (bytes == 0)
      return base;
    return LLVM::GEPOp::create(
        b, loc, ptr, b.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  Value load(Type type, Value base, int64_t bytes) {
    return LLVM::LoadOp::create(b, loc, type, at(base, bytes));
  }
  void store(Value value, Value base, int64_t bytes) {
    LLVM::StoreOp::create(b, loc, value, at(base, bytes));
  }
  Value fromIndex(Value index, Type type) {
    return arith::IndexCastOp::create(b, loc, type, index);
  }
  void call(Value callee, ValueRange operands) {
    SmallVector<Type> types(operands.getTypes());
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()), types);
    SmallVector<Value> all{callee};
    llvm::append_range(all, operands);
    LLVM::CallOp::create(b, loc, type, all);
  }
};

/// A version of a function for few rows.
struct Version {
  std::string name;
  VersionAttr attr;
};

/// Ends the name of a function that has versions.
constexpr llvm::StringLiteral kAnyRowsSuffix = "__any";

struct LowerToLLVMPass : mlir::hk::impl::HKLowerToLLVMBase<LowerToLLVMPass> {
  using HKLowerToLLVMBase::HKLowerToLLVMBase;

  void runOnOperation() override;

private:
  std::string symbol(StringRef name, StringRef suffix) {
    return (Twine(prefix) + name + suffix).str();
  }
  Value buildMemRef(CBuilder &c, MemRefType type, Value data, Value sizes);
  void makePlan(KernelOp kernel);
  Value isOutOfReach(CBuilder &c, VariantOp variant, Value dims);
  void makeDispatch(StringRef name, ArrayRef<Version> versions,
                    StringRef suffix, unsigned numPointers);
  void lowerRun(func::FuncOp func);
  void lowerShape(func::FuncOp func, StringRef publicName);
  void lowerArguments(func::FuncOp func, Block *entry, unsigned count,
                      Value tensors, OpBuilder &builder);
  void lowerLaunch(LaunchOp launch, Value ctx);
  void lowerExpandShape(memref::ExpandShapeOp expand);
  void lowerWeights(func::FuncOp func, Value ctx);

  /// What a function is called beside its versions, for which its public name
  /// stands.
  std::string withVersions(StringRef name) const {
    return (versions.contains(name) ? name + kAnyRowsSuffix : Twine(name))
        .str();
  }

  llvm::StringMap<int64_t> kernelIndex, weightIndex;
  /// By the name of their function, that for the fewest rows first.
  llvm::StringMap<SmallVector<Version>> versions;
  /// Valid while the pass runs.
  const LLVMTypeConverter *converter = nullptr;
};
} // namespace

/// A size by which a function divides may be 0 in a call: the quotient, which
/// no guard has checked yet, is then that by 1.
static void guardDivisors(func::FuncOp func) {
  func.walk([](Operation *op) {
    if (!isa<arith::DivUIOp, arith::DivSIOp, arith::CeilDivUIOp,
             arith::CeilDivSIOp, arith::FloorDivSIOp, arith::RemUIOp,
             arith::RemSIOp>(op))
      return;
    Value divisor = op->getOperand(1);
    if (isa_and_nonnull<arith::ConstantOp>(divisor.getDefiningOp()))
      return;
    OpBuilder b(op);
    Location loc = op->getLoc();
    Type type = divisor.getType();
    Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 0));
    Value one = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 1));
    Value isZero =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, divisor, zero);
    op->setOperand(1, arith::SelectOp::create(b, loc, isZero, one, divisor));
  });
}

/// A function that the graph pipeline left has its outputs and its workspace as
/// arguments, in memory, and a shape function.
static LogicalResult requirePlanned(ModuleOp module, func::FuncOp func) {
  bool inMemory = llvm::all_of(func.getArgumentTypes(),
                               [](Type type) { return isa<MemRefType>(type); });
  if (inMemory && func.getNumArguments() != 0 &&
      module.lookupSymbol((func.getSymName() + kShapeFunctionSuffix).str()))
    return success();
  return func.emitOpError("expected outputs and a workspace among arguments "
                          "in memory; run hk-graph before");
}

void LowerToLLVMPass::runOnOperation() {
  ModuleOp module = getOperation();
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal() &&
        failed(requirePlanned(module, func)))
      return signalPassFailure();
  LLVMTypeConverter typeConverter(&getContext());
  converter = &typeConverter;
  kernelIndex.clear();
  weightIndex.clear();
  for (auto kernel : module.getOps<KernelOp>())
    kernelIndex.try_emplace(kernel.getSymName(), kernelIndex.size());
  for (auto weight : module.getOps<WeightOp>())
    weightIndex.try_emplace(weight.getSymName(), weightIndex.size());

  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (auto kernel : module.getOps<KernelOp>())
    makePlan(kernel);
  versions.clear();
  for (func::FuncOp func : functions)
    if (VersionAttr version = versionOf(func))
      versions[version.getOf().getValue()].push_back(
          {func.getSymName().str(), version});
  for (func::FuncOp func : functions) {
    guardDivisors(func);
    StringRef name = func.getSymName();
    if (func.isPublic())
      lowerRun(func);
    else if (name.consume_back(kShapeFunctionSuffix))
      lowerShape(func, name);
  }
  for (auto &entry : versions) {
    llvm::sort(entry.second, [](const Version &a, const Version &b) {
      return a.attr.getAtMost() < b.attr.getAtMost();
    });
    makeDispatch(entry.first(), entry.second, "_run", 3);
    makeDispatch(entry.first(), entry.second, "_shape", 4);
  }
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<KernelOp, WeightOp>(op))
      op.erase();
  module->removeAttr(kTargetAttrName);
}

/// A dense row-major memref descriptor over `data`, its dynamic sizes read from
/// the i64 array `sizes`.
Value LowerToLLVMPass::buildMemRef(CBuilder &c, MemRefType type, Value data,
                                   Value sizes) {
  SmallVector<Value> extents, strides(type.getRank());
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    extents.push_back(ShapedType::isDynamic(size)
                          ? c.load(c.b.getI64Type(), sizes, 8 * d)
                          : c.i64(size));
  Value stride = c.i64(1);
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    strides[d] = stride;
    if (d > 0)
      stride = LLVM::MulOp::create(c.b, c.loc, stride, extents[d]);
  }
  SmallVector<Value> fields{data, data, c.i64(0)};
  llvm::append_range(fields, extents);
  llvm::append_range(fields, strides);
  Value descriptor =
      MemRefDescriptor::pack(c.b, c.loc, *converter, type, fields);
  return UnrealizedConversionCastOp::create(c.b, c.loc, type, descriptor)
      .getResult(0);
}

/// Whether rows of a tile of `variant` span more than its offsets reach; null:
/// it has none of 32 bits. The words of a launch go on at `dims`.
Value LowerToLLVMPass::isOutOfReach(CBuilder &c, VariantOp variant,
                                    Value dims) {
  auto kernel = cast<KernelOp>(variant->getParentOp());
  auto valueOf = [&](hk_number_abi number) -> Value {
    if (number.word == HK_NO_WORD)
      return c.i64(number.constant);
    return c.load(c.b.getI64Type(), dims,
                  8 * (int64_t(number.word) - kernel.getNumOperands()));
  };
  Value any;
  for (const Reach &reach :
       familyOf(kernel.getFamily())
           .getReaches(kernel, variant, *targetOf(kernel))) {
    Value rows = arith::MinSIOp::create(c.b, c.loc, valueOf(reach.rows),
                                        c.i64(reach.most));
    Value span = arith::MulIOp::create(c.b, c.loc, rows, valueOf(reach.stride));
    Value beyond =
        arith::CmpIOp::create(c.b, c.loc, arith::CmpIPredicate::sgt, span,
                              c.i64(::hk::kReachBytes * 8 / reach.bits));
    any = any ? arith::OrIOp::create(c.b, c.loc, any, beyond) : beyond;
  }
  return any;
}

/// void plan(const int64_t *dims, hk_launch_plan *plan)
void LowerToLLVMPass::makePlan(KernelOp kernel) {
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  Location loc = kernel.getLoc();
  Type ptr = LLVM::LLVMPointerType::get(&getContext());
  auto func =
      func::FuncOp::create(builder, loc, symbol(kernel.getSymName(), "_plan"),
                           FunctionType::get(&getContext(), {ptr, ptr}, {}));
  Block *entry = func.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  CBuilder c{builder, loc};

  SmallVector<Value> dims;
  for (int64_t i = 0; i < kernel.getNumDims(); ++i)
    dims.push_back(arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(),
        c.load(builder.getI64Type(), entry->getArgument(0), 8 * i)));

  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  auto variants = kernel.getVariants();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value chosen = constant(HK_PLAN_NOTHING);
  std::array<Value, 3> grid{zero, zero, zero};
  // The first variant whose condition holds wins: build the chain from the
  // last.
  for (int64_t v = static_cast<int64_t>(variants.size()) - 1; v >= 0; --v) {
    Block &block = variants[v].getBody().front();
    IRMapping map;
    map.map(block.getArguments(), dims);
    for (Operation &op : block.without_terminator())
      builder.clone(op, map);
    auto terminator = cast<LaunchDimsOp>(block.getTerminator());
    Value condition = map.lookupOrDefault(terminator.getCondition());
    auto select = [&](Value yes, Value no) -> Value {
      return arith::SelectOp::create(builder, loc, condition, yes, no);
    };
    Value number = constant(v);
    if (Value beyond = isOutOfReach(c, variants[v], entry->getArgument(0)))
      number = arith::SelectOp::create(builder, loc, beyond,
                                       constant(HK_PLAN_TOO_FAR), number);
    chosen = select(number, chosen);
    Value sizes[] = {terminator.getX(), terminator.getY(), terminator.getZ()};
    for (int i = 0; i < 3; ++i)
      grid[i] = select(map.lookupOrDefault(sizes[i]), grid[i]);
  }
  for (int i = 0; i < 3; ++i) {
    Value empty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        grid[i], zero);
    chosen = arith::SelectOp::create(builder, loc, empty,
                                     constant(HK_PLAN_NOTHING), chosen);
    c.store(c.fromIndex(grid[i], builder.getI32Type()), entry->getArgument(1),
            kPlanGrid + 4 * i);
  }
  c.store(chosen, entry->getArgument(1), kPlanVariant);
  func::ReturnOp::create(builder, loc);
}

/// Replaces the first `count` block arguments (memrefs) by descriptors built
/// from the hk_abi_tensor array `tensors`.
void LowerToLLVMPass::lowerArguments(func::FuncOp func, Block *entry,
                                     unsigned count, Value tensors,
                                     OpBuilder &builder) {
  CBuilder c{builder, func.getLoc()};
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = entry->getArgument(i);
    auto type = cast<MemRefType>(argument.getType());
    Value data = c.load(c.ptr, tensors, kTensorBytes * i);
    Value sizes;
    if (!type.hasStaticShape())
      sizes = c.load(c.ptr, tensors, kTensorBytes * i + kTensorSizes);
    argument.replaceAllUsesWith(buildMemRef(c, type, data, sizes));
  }
}

/// The C function `name``suffix` of `numPointers` pointers, the second of which
/// is the arguments: calls that of the first version whose size is small
/// enough, else that of the function itself.
void LowerToLLVMPass::makeDispatch(StringRef name, ArrayRef<Version> versions,
                                   StringRef suffix, unsigned numPointers) {
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  Location loc = getOperation().getLoc();
  SmallVector<Type> pointers(numPointers,
                             LLVM::LLVMPointerType::get(&getContext()));
  auto func =
      func::FuncOp::create(builder, loc, symbol(name, suffix),
                           FunctionType::get(&getContext(), pointers, {}));
  Block *block = func.addEntryBlock();
  ValueRange arguments = func.getArguments();
  auto callAndReturn = [&](const std::string &callee) {
    func::CallOp::create(builder, loc, callee, TypeRange(), arguments);
    func::ReturnOp::create(builder, loc);
  };
  for (const Version &version : versions) {
    builder.setInsertionPointToEnd(block);
    CBuilder c{builder, loc};
    VersionAttr attr = version.attr;
    Value sizes = c.load(c.ptr, arguments[1],
                         kTensorBytes * attr.getArgument() + kTensorSizes);
    Value size = c.load(builder.getI64Type(), sizes, 8 * attr.getDim());
    Value holds = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sle,
                                       size, c.i64(attr.getAtMost()));
    Block *yes = func.addBlock(), *no = func.addBlock();
    LLVM::CondBrOp::create(builder, loc, holds, yes, no);
    builder.setInsertionPointToEnd(yes);
    callAndReturn(symbol(version.name, suffix));
    block = no;
  }
  builder.setInsertionPointToEnd(block);
  callAndReturn(symbol((name + kAnyRowsSuffix).str(), suffix));
}

/// void run(hk_call_ctx *ctx, const hk_abi_tensor *args, void *workspace)
void LowerToLLVMPass::lowerRun(func::FuncOp func) {
  Block *entry = &func.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(entry);
  Location loc = func.getLoc();
  CBuilder c{builder, loc};
  unsigned count = func.getNumArguments() - 1; // the last is the workspace
  Value ctx = entry->addArgument(c.ptr, loc);
  Value tensors = entry->addArgument(c.ptr, loc);
  Value workspace = entry->addArgument(c.ptr, loc);
  lowerArguments(func, entry, count, tensors, builder);

  // The runtime has checked the size of the workspace: nothing reads this one.
  auto bytes = cast<MemRefType>(entry->getArgument(count).getType());
  Value sizes = LLVM::AllocaOp::create(builder, loc, c.ptr,
                                       builder.getI64Type(), c.i64(1));
  c.store(c.i64(0), sizes, 0);
  entry->getArgument(count).replaceAllUsesWith(
      buildMemRef(c, bytes, workspace, sizes));
  entry->eraseArguments(0, count + 1);

  lowerWeights(func, ctx);
  for (auto expand : llvm::make_early_inc_range(
           func.getBody().getOps<memref::ExpandShapeOp>()))
    lowerExpandShape(expand);
  for (LaunchOp launch :
       llvm::make_early_inc_range(func.getBody().getOps<LaunchOp>()))
    lowerLaunch(launch, ctx);
  cast<func::ReturnOp>(entry->getTerminator())->setOperands({});

  func.setName(symbol(withVersions(func.getSymName()), "_run"));
  func.setFunctionType(
      FunctionType::get(&getContext(), {c.ptr, c.ptr, c.ptr}, {}));
  func.removeArgAttrsAttr();
  func.removeResAttrsAttr();
}

/// void shape(hk_call_ctx *, const hk_abi_tensor *, int64_t *sizes, int64_t
/// *bytes)
void LowerToLLVMPass::lowerShape(func::FuncOp func, StringRef publicName) {
  Block *entry = &func.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(entry);
  Location loc = func.getLoc();
  CBuilder c{builder, loc};
  unsigned count = func.getNumArguments();
  SmallVector<Value> arguments;
  for (int i = 0; i < 4; ++i)
    arguments.push_back(entry->addArgument(c.ptr, loc));
  lowerArguments(func, entry, count, arguments[1], builder);
  entry->eraseArguments(0, count);

  int64_t index = 0;
  for (GuardOp guard :
       llvm::make_early_inc_range(func.getBody().getOps<GuardOp>())) {
    builder.setInsertionPoint(guard);
    Value number = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                            builder.getI32IntegerAttr(index++));
    c.call(c.load(c.ptr, arguments[0], kCtxGuard),
           {arguments[0], number,
            c.fromIndex(guard.getLhs(), builder.getI64Type()),
            c.fromIndex(guard.getRhs(), builder.getI64Type())});
    guard.erase();
  }

  auto ret = cast<func::ReturnOp>(entry->getTerminator());
  builder.setInsertionPoint(ret);
  unsigned results = ret.getNumOperands();
  for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
    Value word = c.fromIndex(value, builder.getI64Type());
    if (i + 1 == results)
      c.store(word, arguments[3], 0);
    else
      c.store(word, arguments[2], 8 * i);
  }
  ret->setOperands({});
  func.setName(symbol(withVersions(publicName), "_shape"));
  func.setPublic();
  func.setFunctionType(FunctionType::get(
      &getContext(), SmallVector<Type>(4, c.ptr), TypeRange()));
  func.removeArgAttrsAttr();
  func.removeResAttrsAttr();
}

/// A view with the strides that follow from the sizes. Upstream's expansion of
/// strided metadata does not know two dynamic sizes in a group.
void LowerToLLVMPass::lowerExpandShape(memref::ExpandShapeOp expand) {
  OpBuilder builder(expand);
  Location loc = expand.getLoc();
  auto source =
      memref::ExtractStridedMetadataOp::create(builder, loc, expand.getSrc());
  SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
  auto [known, knownOffset] = expand.getResultType().getStridesAndOffset();
  // A scalar expanded to dims of size 1 has no group.
  SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    Value stride = source.getStrides()[dim];
    for (int64_t inner : llvm::reverse(group)) {
      strides[inner] = ShapedType::isDynamic(known[inner])
                           ? OpFoldResult(stride)
                           : builder.getIndexAttr(known[inner]);
      stride = builder.createOrFold<arith::MulIOp>(
          loc, stride,
          getValueOrCreateConstantIndexOp(builder, loc, sizes[inner]));
    }
  }
  OpFoldResult offset = ShapedType::isDynamic(knownOffset)
                            ? OpFoldResult(source.getOffset())
                            : builder.getIndexAttr(knownOffset);
  expand.replaceAllUsesWith(memref::ReinterpretCastOp::create(
                                builder, loc, expand.getResultType(),
                                source.getBaseBuffer(), offset, sizes, strides)
                                .getResult());
  expand.erase();
}

void LowerToLLVMPass::lowerWeights(func::FuncOp func, Value ctx) {
  for (WeightRefOp ref :
       llvm::make_early_inc_range(func.getBody().getOps<WeightRefOp>())) {
    OpBuilder builder(ref);
    CBuilder c{builder, ref.getLoc()};
    Value table = c.load(c.ptr, ctx, kCtxWeights);
    Value data = c.load(c.ptr, table, 8 * weightIndex.lookup(ref.getWeight()));
    ref.replaceAllUsesWith(
        buildMemRef(c, cast<MemRefType>(ref.getType()), data, Value()));
    ref.erase();
  }
}

/// ctx->launch(ctx, kernel, words): addresses, then dims, then outer strides.
void LowerToLLVMPass::lowerLaunch(LaunchOp launch, Value ctx) {
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  CBuilder c{builder, loc};
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
      launch, launch.getKernelAttr());

  SmallVector<Value> addresses, strides;
  SmallVector<Value> dims(kernel.getNumDims());
  for (auto [operand, shape] :
       llvm::zip(launch->getOperands(),
                 kernel.getShapes().getAsRange<SymShapeAttr>())) {
    auto type = cast<MemRefType>(operand.getType());
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, operand);
    Value base =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, operand);
    int64_t bits = ::hk::info(*dtypeOf(type.getElementType())).bits;
    Value offset = metadata.getOffset();
    if (bits < 8)
      offset = arith::DivUIOp::create(
          builder, loc, offset,
          arith::ConstantIndexOp::create(builder, loc, 8 / bits));
    else if (bits > 8)
      offset = arith::MulIOp::create(
          builder, loc, offset,
          arith::ConstantIndexOp::create(builder, loc, bits / 8));
    addresses.push_back(arith::AddIOp::create(builder, loc, base, offset));
    for (auto [d, size] : llvm::enumerate(shape.getSizes())) {
      if (SymShapeAttr::isSymbol(size)) {
        Value &dim = dims[SymShapeAttr::symbolOf(size)];
        if (!dim)
          dim = metadata.getSizes()[d];
      }
      if (static_cast<int64_t>(d) + 1 < type.getRank())
        strides.push_back(metadata.getStrides()[d]);
    }
  }

  SmallVector<Value> words(addresses);
  llvm::append_range(words, dims);
  llvm::append_range(words, strides);
  Value array;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(launch->getBlock());
    array = LLVM::AllocaOp::create(builder, loc, c.ptr, builder.getI64Type(),
                                   c.i64(words.size()));
  }
  for (auto [i, word] : llvm::enumerate(words))
    c.store(c.fromIndex(word, builder.getI64Type()), array, 8 * i);
  Value number = LLVM::ConstantOp::create(
      builder, loc, builder.getI32Type(),
      builder.getI32IntegerAttr(kernelIndex.lookup(kernel.getSymName())));
  c.call(c.load(c.ptr, ctx, kCtxLaunch), {ctx, number, array});
  launch.erase();
}
