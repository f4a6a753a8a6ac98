//===- HKStructureOps.cpp - Verifiers and helpers of fusions, kernels and
// launches -===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ties the parts of a fusion together: block arguments and operands,
// kernels and their launches, states and their only writer, weights and their
// uses.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "hk/Contract/Order.h"
#include "hk/Dialect/WaitingProblems.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::hk;

/// Whether values of the two types can be the same tensor at run time.
static bool sameTensor(ShapedType a, ShapedType b) {
  return a.getElementType() == b.getElementType() &&
         succeeded(verifyCompatibleShape(a.getShape(), b.getShape()));
}

/// Block arguments stand for operands: same element type, compatible shape.
static LogicalResult verifyArgument(Operation *op, BlockArgument argument,
                                    Value operand, StringRef whose) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  if (type && sameTensor(type, cast<ShapedType>(operand.getType())))
    return success();
  return op->emitOpError("expected type of block argument ")
         << argument.getArgNumber() << whose << " to be that of its operand, "
         << operand.getType() << ", but got " << argument.getType();
}

/// The terminator yields one value per out, of the out's type.
static LogicalResult verifyYield(Operation *op, Block &block,
                                 int64_t numInputs) {
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return op->emitOpError("expected terminator of the body to be hk.yield, "
                           "but got ")
           << block.getTerminator()->getName();
  int64_t numOuts = block.getNumArguments() - numInputs;
  if (static_cast<int64_t>(yield.getValues().size()) != numOuts)
    return yield.emitOpError("expected number of values to be ")
           << numOuts << ", the number of outs, but got "
           << yield.getValues().size();
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    auto out = cast<ShapedType>(block.getArgument(numInputs + i).getType());
    if (!sameTensor(cast<ShapedType>(value.getType()), out))
      return yield.emitOpError("expected type of value ")
             << i << " to be that of its out, " << out << ", but got "
             << value.getType();
  }
  return success();
}

/// The result of the op that writes `use` in place; null for a reader.
static Value writtenState(OpOperand &use) {
  if (auto state = dyn_cast<StateOpInterface>(use.getOwner())) {
    for (OpResult result : use.getOwner()->getResults())
      if (state.getTiedState(result) == &use)
        return result;
    return {};
  }
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(use.getOwner()))
    return dps.isDpsInit(&use) ? dps.getTiedOpResult(&use) : Value();
  auto insert = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
  return insert && &use == &insert.getDestMutable() ? insert.getResult()
                                                    : Value();
}

/// A state, an out that is read, is used by one chain of writes that ends in
/// the value yielded for it. Any other use would see the state before or after
/// the write depending on the schedule.
static LogicalResult verifyState(Operation *op, BlockArgument out,
                                 Value yielded) {
  Value state = out;
  while (state != yielded) {
    if (!state.hasOneUse()) {
      InFlightDiagnostic diag = op->emitOpError("expected number of uses of "
                                                "the state, block argument ");
      diag << out.getArgNumber() << ", to be 1 until it is yielded, but got "
           << llvm::range_size(state.getUses());
      for (OpOperand &use : state.getUses())
        diag.attachNote(use.getOwner()->getLoc()) << "used here";
      return diag;
    }
    OpOperand &use = *state.use_begin();
    state = writtenState(use);
    if (state)
      continue;
    InFlightDiagnostic diag = op->emitOpError("expected use of the state, "
                                              "block argument ");
    diag << out.getArgNumber() << ", to be a destination, but it is read by "
         << use.getOwner()->getName();
    diag.attachNote(use.getOwner()->getLoc()) << "read here";
    return diag;
  }
  return success();
}

static LogicalResult verifyStates(Operation *op, Block &block,
                                  int64_t numInputs) {
  auto yield = cast<YieldOp>(block.getTerminator());
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    BlockArgument out = block.getArgument(numInputs + i);
    if (!out.use_empty() && failed(verifyState(op, out, value)))
      return failure();
  }
  return success();
}

/// Inputs are read, outs written, and read where `reads` says so. Tensors have
/// no effects, so that CSE and DCE see values.
static void
addEffects(DestinationStyleOpInterface op, function_ref<bool(unsigned)> reads,
           SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<BaseMemRefType>(input->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), input);
  for (auto [i, out] : llvm::enumerate(op.getDpsInitsMutable())) {
    if (!isa<BaseMemRefType>(out.get().getType()))
      continue;
    if (reads(i))
      effects.emplace_back(MemoryEffects::Read::get(), &out);
    effects.emplace_back(MemoryEffects::Write::get(), &out);
  }
}

//===----------------------------------------------------------------------===//
// hk.fused
//===----------------------------------------------------------------------===//

bool FusedOp::readsOut(unsigned index) {
  Block &block = getBody().front();
  return !block.getArgument(getInputs().size() + index).use_empty();
}

LogicalResult FusedOp::verifyRegions() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getNumOperands())
    return emitOpError("expected number of block arguments to be ")
           << getNumOperands() << ", one per operand, but got "
           << block.getNumArguments();
  for (auto [argument, operand] :
       llvm::zip_equal(block.getArguments(), getOperands()))
    if (failed(verifyArgument(*this, argument, operand, "")))
      return failure();
  if (failed(verifyYield(*this, block, getInputs().size())))
    return failure();
  return verifyStates(*this, block, getInputs().size());
}

LogicalResult FusedOp::reifyResultShapes(OpBuilder &b,
                                         ReifiedRankedShapedTypeDims &r) {
  for (auto [result, out] : llvm::zip_equal(getResults(), getOuts()))
    addShapeOf(b, getLoc(), result, out, r);
  return success();
}

void FusedOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, [&](unsigned i) { return readsOut(i); }, effects);
}

//===----------------------------------------------------------------------===//
// hk.kernel, hk.spec
//===----------------------------------------------------------------------===//

Block &KernelOp::getSpecBlock() {
  return (*getBody().getOps<SpecOp>().begin()).getBody().front();
}

int64_t KernelOp::getNumDims() {
  int64_t dims = 0;
  for (auto shape : getShapes().getAsRange<SymShapeAttr>())
    for (int64_t size : shape.getSizes())
      if (SymShapeAttr::isSymbol(size))
        dims = std::max(dims, SymShapeAttr::symbolOf(size) + 1);
  return dims;
}

int64_t KernelOp::getNumOperands() { return getShapes().size(); }

std::vector<VariantOp> KernelOp::getVariants() {
  auto variants = getBody().getOps<VariantOp>();
  return {variants.begin(), variants.end()};
}

std::vector<KernelOp> KernelOp::getProblems() {
  auto problems = getBody().getOps<KernelOp>();
  return {problems.begin(), problems.end()};
}

KernelOp KernelOp::getLaunched() {
  auto joint = (*this)->getParentOfType<KernelOp>();
  return joint ? joint : *this;
}

int64_t KernelOp::getLaunchedOperand(int64_t operand) {
  KernelOp launched = getLaunched();
  if (launched == *this)
    return operand;
  auto inputs = static_cast<int64_t>(getNumInputs());
  bool isInput = operand < inputs;
  int64_t index = isInput ? operand : operand - inputs;
  if (!isInput)
    index += static_cast<int64_t>(launched.getNumInputs());
  for (KernelOp problem : launched.getProblems()) {
    if (problem == *this)
      break;
    auto before = static_cast<int64_t>(problem.getNumInputs());
    index += isInput ? before : problem.getNumOperands() - before;
  }
  return index;
}

/// num_inputs and aligns against the number of shapes.
static LogicalResult verifyOperandLists(KernelOp kernel) {
  int64_t operands = kernel.getNumOperands();
  int64_t inputs = kernel.getNumInputs();
  if (inputs < 0 || inputs > operands)
    return kernel.emitOpError("expected number of inputs to be in [0, ")
           << operands << "], but got " << inputs;
  if (static_cast<int64_t>(kernel.getAligns().size()) != operands)
    return kernel.emitOpError("expected number of aligns to be ")
           << operands << ", the number of shapes, but got "
           << kernel.getAligns().size();
  for (int64_t align : kernel.getAligns())
    if (align < 1 || !llvm::isPowerOf2_64(align))
      return kernel.emitOpError("expected aligns to be powers of two, but got ")
             << align;
  return success();
}

/// Block arguments of hk.spec have the shapes of the kernel.
static LogicalResult verifySpecArguments(KernelOp kernel, Block &spec) {
  if (spec.getNumArguments() != kernel.getNumOperands())
    return kernel.emitOpError("expected number of block arguments of hk.spec "
                              "to be ")
           << kernel.getNumOperands() << ", the number of shapes, but got "
           << spec.getNumArguments();
  for (auto [argument, shape] :
       llvm::zip_equal(spec.getArguments(),
                       kernel.getShapes().getAsRange<SymShapeAttr>())) {
    SmallVector<int64_t> sizes =
        llvm::map_to_vector(shape.getSizes(), [](int64_t size) {
          return SymShapeAttr::isSymbol(size) ? ShapedType::kDynamic : size;
        });
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getShape() != ArrayRef<int64_t>(sizes))
      return kernel.emitOpError("expected type of block argument ")
             << argument.getArgNumber() << " of hk.spec to have the shape "
             << shape << ", but got " << argument.getType();
  }
  return success();
}

/// Where blocks wait for others they are counted in an out of its own.
static LogicalResult verifyOrder(KernelOp joint) {
  if (waits(joint.getProblems().front()))
    return joint.emitOpError("expected its first problem not to wait");
  auto words = dyn_cast<RankedTensorType>(
      joint.getSpecBlock().getArguments().back().getType());
  if (words && words.getElementType().isInteger(32) &&
      words.getShape() == ArrayRef<int64_t>{::hk::kOrderWords})
    return success();
  return joint.emitOpError("expected its last out to be of ")
         << int64_t(::hk::kOrderWords)
         << " i32, in which blocks are counted that others wait for";
}

/// A joint kernel holds two problems or more, whose operands are its own;
/// another kernel holds none.
static LogicalResult verifyProblems(KernelOp kernel) {
  std::vector<KernelOp> problems = kernel.getProblems();
  bool joint = kernel.getFamily() == FamilyKind::joint;
  if (joint ? problems.size() < 2 : !problems.empty())
    return kernel.emitOpError("expected number of problems of a ")
           << stringifyFamilyKind(kernel.getFamily()) << " kernel to be "
           << (joint ? "at least 2" : "0") << ", but got " << problems.size();
  int64_t inputs = 0, operands = 0;
  for (KernelOp problem : problems) {
    if (problem.getFamily() == FamilyKind::joint)
      return problem.emitOpError("expected a problem of a joint kernel to be "
                                 "of another family");
    inputs += static_cast<int64_t>(problem.getNumInputs());
    operands += problem.getNumOperands();
  }
  if (!joint)
    return success();
  bool ordered = isOrdered(kernel);
  if (ordered)
    ++operands;
  if (operands != kernel.getNumOperands() ||
      inputs != static_cast<int64_t>(kernel.getNumInputs()))
    return kernel.emitOpError("expected its problems to have its ")
           << kernel.getNumInputs() << " inputs of " << kernel.getNumOperands()
           << " operands, but got " << inputs << " of " << operands;
  if (ordered && failed(verifyOrder(kernel)))
    return failure();
  for (KernelOp problem : problems)
    for (int64_t i = 0; i < problem.getNumOperands(); ++i) {
      Attribute shape = kernel.getShapes()[problem.getLaunchedOperand(i)];
      if (problem.getShapes()[i] != shape)
        return problem.emitOpError("expected shape of operand ")
               << i << " to be that of the joint kernel, " << shape
               << ", but got " << problem.getShapes()[i];
    }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  int64_t specs = 0;
  for (Operation &op : getBody().front()) {
    if (!isa<SpecOp, VariantOp, KernelOp>(op))
      return emitOpError("expected ops of the body to be hk.spec, hk.variant "
                         "or hk.kernel, but got ")
             << op.getName();
    specs += isa<SpecOp>(op);
  }
  if (specs != 1)
    return emitOpError("expected number of hk.spec to be 1, but got ") << specs;
  Block &spec = getSpecBlock();
  if (failed(verifyOperandLists(*this)) ||
      failed(verifySpecArguments(*this, spec)) ||
      failed(verifyYield(*this, spec, getNumInputs())) ||
      failed(verifyProblems(*this)))
    return failure();
  return verifyStates(*this, spec, getNumInputs());
}

//===----------------------------------------------------------------------===//
// hk.variant
//===----------------------------------------------------------------------===//

/// The tile attribute that kernels of a family take.
static StringRef tileNameOf(FamilyKind family) {
  switch (family) {
  case FamilyKind::rowwise:
    return RowTileAttr::getMnemonic();
  case FamilyKind::gemm:
    return GemmTileAttr::getMnemonic();
  case FamilyKind::attention:
    return AttentionTileAttr::getMnemonic();
  case FamilyKind::conv1d:
    return Conv1dTileAttr::getMnemonic();
  case FamilyKind::scan:
    return ScanTileAttr::getMnemonic();
  case FamilyKind::routing:
    return RoutingTileAttr::getMnemonic();
  case FamilyKind::gated_delta:
    return GatedDeltaTileAttr::getMnemonic();
  case FamilyKind::attention_backward:
    return AttentionBackwardTileAttr::getMnemonic();
  case FamilyKind::joint:
    return JointTileAttr::getMnemonic();
  case FamilyKind::collective:
    return CollectiveTileAttr::getMnemonic();
  }
  llvm_unreachable("every family has a case");
}

static StringRef nameOfTile(Attribute tile) {
  return llvm::TypeSwitch<Attribute, StringRef>(tile)
      .Case<RowTileAttr, GemmTileAttr, AttentionTileAttr, Conv1dTileAttr,
            ScanTileAttr, RoutingTileAttr, GatedDeltaTileAttr,
            AttentionBackwardTileAttr, JointTileAttr, CollectiveTileAttr>(
          [](auto attr) { return attr.getMnemonic(); });
}

LogicalResult VariantOp::verifyRegions() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  Block &block = getBody().front();
  int64_t dims = kernel.getNumDims();
  if (block.getNumArguments() != dims)
    return emitOpError("expected number of block arguments to be ")
           << dims << ", the dim symbols of the kernel, but got "
           << block.getNumArguments();
  for (BlockArgument argument : block.getArguments())
    if (!argument.getType().isIndex())
      return emitOpError("expected type of block argument ")
             << argument.getArgNumber() << " to be index, but got "
             << argument.getType();
  if (!isa<LaunchDimsOp>(block.getTerminator()))
    return emitOpError("expected terminator of the body to be "
                       "hk.launch_dims, but got ")
           << block.getTerminator()->getName();
  auto threads = static_cast<int64_t>(getThreads());
  auto lds = static_cast<int64_t>(getLdsBytes());
  if (threads < 1)
    return emitOpError("expected threads to be at least 1, but got ")
           << threads;
  if (lds < 0)
    return emitOpError("expected lds to be at least 0, but got ") << lds;
  if (kernel.getThreads() && *kernel.getThreads() != getThreads())
    return emitOpError("expected threads to be ")
           << *kernel.getThreads() << ", those of the kernel, but got "
           << threads;
  StringRef wanted = tileNameOf(kernel.getFamily());
  if (nameOfTile(getTile()) != wanted)
    return emitOpError("expected tile of a ")
           << stringifyFamilyKind(kernel.getFamily()) << " kernel to be #hk."
           << wanted << ", but got " << getTile();
  return success();
}

//===----------------------------------------------------------------------===//
// hk.launch
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (getReadsOut().size() != getOuts().size())
    return emitOpError("expected length of reads to be ")
           << getOuts().size() << ", the number of outs, but got "
           << getReadsOut().size();
  for (auto [i, type] : llvm::enumerate(getOperandTypes()))
    if (!cast<ShapedType>(type).hasRank())
      return emitOpError("expected type of operand ")
             << i << " to be ranked, but got " << type;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("expected kernel ")
           << getKernelAttr() << " to be an hk.kernel of the module";
  if (!llvm::hasSingleElement(kernel.getBody().getOps<SpecOp>()))
    return success(); // The kernel's own verifier reports it.
  Block &spec = kernel.getSpecBlock();
  int64_t inputs = getInputs().size(), outs = getOuts().size();
  int64_t kernelInputs = kernel.getNumInputs();
  int64_t kernelOuts = spec.getNumArguments() - kernelInputs;
  if (inputs != kernelInputs)
    return emitOpError("expected number of inputs to be ")
           << kernelInputs << ", that of " << getKernelAttr() << ", but got "
           << inputs;
  if (outs != kernelOuts)
    return emitOpError("expected number of outs to be ")
           << kernelOuts << ", that of " << getKernelAttr() << ", but got "
           << outs;
  for (auto [argument, operand] :
       llvm::zip_equal(spec.getArguments(), getOperands()))
    if (failed(verifyArgument(*this, argument, operand, " of the kernel")))
      return failure();
  for (auto [i, reads] : llvm::enumerate(getReadsOut()))
    if (reads == spec.getArgument(inputs + i).use_empty())
      return emitOpError("expected reads of out ")
             << i << " to be " << (reads ? "false" : "true")
             << ", as the body of " << getKernelAttr() << " has it, but got "
             << (reads ? "true" : "false");
  return success();
}

LogicalResult LaunchOp::reifyResultShapes(OpBuilder &b,
                                          ReifiedRankedShapedTypeDims &r) {
  if (getNumResults() == 0)
    return failure();
  for (auto [result, out] : llvm::zip_equal(getResults(), getOuts()))
    addShapeOf(b, getLoc(), result, out, r);
  return success();
}

void LaunchOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addEffects(*this, [&](unsigned i) { return getReadsOut()[i]; }, effects);
}

//===----------------------------------------------------------------------===//
// hk.weight, hk.weight_ref
//===----------------------------------------------------------------------===//

RankedTensorType WeightOp::getWholeType() {
  auto type = cast<RankedTensorType>(getType());
  SmallVector<int64_t> sizes(type.getShape());
  std::vector<::hk::WeightSlice> cuts = getCuts();
  for (const ::hk::WeightSlice &slice : llvm::reverse(cuts))
    if (slice.dim >= 0 && slice.dim < type.getRank())
      sizes[slice.dim] = slice.wholeSize();
  return type.clone(sizes);
}

std::vector<::hk::WeightSlice> WeightOp::getCuts() {
  std::vector<::hk::WeightSlice> cuts;
  if (!getSlices())
    return cuts;
  for (auto slice : getSlices()->getAsRange<WeightSliceAttr>()) {
    cuts.push_back({slice.getAxis().str(), slice.getDim(), {}});
    for (auto [size, parts] : llvm::zip(slice.getSizes(), slice.getParts()))
      cuts.back().segments.push_back({size, parts});
  }
  return cuts;
}

static LogicalResult verifySlices(WeightOp op) {
  if (!op.getSlices())
    return success();
  std::optional<::hk::Mesh> mesh = meshOf(op);
  std::vector<int64_t> sizes(op.getWholeType().getShape());
  for (auto slice : op.getSlices()->getAsRange<WeightSliceAttr>()) {
    int axis = mesh ? mesh->find(slice.getAxis().str()) : -1;
    if (axis < 0)
      return op.emitOpError("expected axis of a slice to be one of the mesh of "
                            "its module, but got \"")
             << slice.getAxis() << "\"";
    if (slice.getSizes().size() != slice.getParts().size())
      return op.emitOpError("expected as many parts as sizes in a slice, but "
                            "got ")
             << slice.getParts().size() << " and " << slice.getSizes().size();
  }
  for (const ::hk::WeightSlice &slice : op.getCuts()) {
    int64_t ranks = mesh->axes()[mesh->find(slice.axis)].size;
    std::string problem = slice.problem(sizes, ranks);
    if (!problem.empty())
      return op.emitOpError("expected a slice that fits the weight, but got ")
             << problem;
    sizes[slice.dim] = slice.partSize();
  }
  auto type = cast<RankedTensorType>(op.getType());
  if (type.getShape() == ArrayRef<int64_t>(sizes))
    return success();
  return op.emitOpError("expected type to be that of a part, ")
         << type.clone(sizes) << ", but got " << type;
}

LogicalResult WeightOp::verify() {
  if (!cast<RankedTensorType>(getType()).hasStaticShape())
    return emitOpError("expected shape of the weight to be static, but got ")
           << getType();
  if (failed(
          expectPacked(*this, "the weight", cast<RankedTensorType>(getType()))))
    return failure();
  if (getSource().empty())
    return emitOpError("expected source to be the name of a tensor, but got "
                       "an empty string");
  return verifySlices(*this);
}

LogicalResult WeightOp::verifyRegions() {
  if (!getInputs()) {
    if (getRecipe().empty())
      return success();
    return emitOpError("expected no recipe without inputs, but got one");
  }
  if (getRecipe().empty())
    return emitOpError("expected a recipe for its inputs, but got none");
  Block &recipe = getRecipe().front();
  if (recipe.getNumArguments() != getInputs()->size())
    return emitOpError("expected number of recipe arguments to be ")
           << getInputs()->size() << ", one for each input, but got "
           << recipe.getNumArguments();
  for (BlockArgument argument : recipe.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape() || !dtypeOf(type.getElementType()))
      return emitOpError("expected type of recipe argument ")
             << argument.getArgNumber()
             << " to be a static tensor of an hk element type, but got "
             << argument.getType();
  }
  auto yield = dyn_cast<YieldOp>(recipe.back());
  if (!yield || yield.getNumOperands() != 1 ||
      yield.getOperand(0).getType() != getWholeType())
    return emitOpError("expected the recipe to end in hk.yield of one ")
           << getWholeType();
  return success();
}

void WeightOp::build(OpBuilder &, OperationState &state, StringRef name,
                     StringRef source, Type type, ArrayAttr inputs) {
  Builder b(type.getContext());
  state.addAttribute(getSymNameAttrName(state.name), b.getStringAttr(name));
  state.addAttribute(getSourceAttrName(state.name), b.getStringAttr(source));
  state.addAttribute(getTypeAttrName(state.name), TypeAttr::get(type));
  if (inputs)
    state.addAttribute(getInputsAttrName(state.name), inputs);
  state.addRegion();
}

LogicalResult WeightRefOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight =
      symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return emitOpError("expected weight ")
           << getWeightAttr() << " to be an hk.weight of the module";
  auto type = cast<RankedTensorType>(weight.getType());
  auto result = cast<ShapedType>(getResult().getType());
  if (result.hasRank() && result.getElementType() == type.getElementType() &&
      result.getShape() == type.getShape())
    return success();
  return emitOpError("expected type of result to be that of ")
         << getWeightAttr() << ", " << type << ", but got " << result;
}
