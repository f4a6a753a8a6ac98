//===- SectionBuilder.cpp - Reads a section off the IR --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that turns hk ops into records of the module ABI.
//
//===----------------------------------------------------------------------===//

#include "SectionBuilder.h"
#include "KernelCompiler.h"
#include "hk/Analysis/IntegerArguments.h"
#include "hk/Contract/Exchange.h"
#include "hk/Dialect/HK.h"
#include "hk/Families/Family.h"
#include "hk/Families/KernelExchange.h"
#include "hk/Passes/Entry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::hk;

static_assert(uint32_t(GuardRelation::eq) == HK_GUARD_EQUAL &&
              uint32_t(GuardRelation::le) == HK_GUARD_AT_MOST &&
              uint32_t(GuardRelation::ge) == HK_GUARD_AT_LEAST);

namespace {
std::string printed(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  attribute.print(os);
  return text;
}

/// What a kernel is launched on.
void recordOperands(KernelOp kernel, KernelRecord &record) {
  for (auto [index, argument] :
       llvm::enumerate(kernel.getSpecBlock().getArguments())) {
    auto shape = cast<SymShapeAttr>(kernel.getShapes()[index]);
    OperandRecord operand{*dtypeOf(getElementTypeOrSelf(argument.getType())),
                          shape.getSizes().vec()};
    bool isInput = int64_t(index) < int64_t(kernel.getNumInputs());
    (isInput ? record.inputs : record.outputs).push_back(std::move(operand));
  }
}

static_assert(uint32_t(ReduceKind::sum) + 1 == HK_COLLECTIVE_SUM &&
              uint32_t(ReduceKind::max) + 1 == HK_COLLECTIVE_MAX &&
              uint32_t(ReduceKind::min) + 1 == HK_COLLECTIVE_MIN);

/// Operand `input` of `kernel` as what is exchanged.
void setInput(CollectiveRecord &record, KernelOp kernel, uint32_t input) {
  auto sizesOf = [&](unsigned operand) {
    return cast<SymShapeAttr>(kernel.getShapes()[operand]).getSizes();
  };
  record.dtype = *dtypeOf(
      getElementTypeOrSelf(kernel.getSpecBlock().getArgument(input).getType()));
  record.input = input;
  record.sizes = sizesOf(input).vec();
  for (uint32_t i = 0; i < input; ++i)
    record.inputStride += std::max<int64_t>(sizesOf(i).size(), 1) - 1;
}

/// Of a kernel with the exchange `op`, which is alone in its body or, of a
/// row-wise kernel, what its rows begin with.
CollectiveRecord collectiveOf(KernelOp kernel, CollectiveOpInterface op,
                              const ::hk::Target &target) {
  Exchange exchange = op.getExchange();
  CollectiveRecord record;
  record.axis = op.getAxis().str();
  record.resultDType = *dtypeOf(getElementTypeOrSelf(op->getResult(0)));
  record.dtype = record.resultDType;
  if (op->getNumOperands() != 0)
    setInput(record, kernel,
             cast<BlockArgument>(op->getOperand(0)).getArgNumber());
  if (exchange.reduction)
    record.reduction = uint32_t(*exchange.reduction) + 1;
  record.anyOrder = exchange.transport == Transport::any_order;
  record.split = exchange.split.value_or(-1);
  record.concat = exchange.concat.value_or(-1);
  record.root = exchange.root.value_or(-1);
  if (kernel.getFamily() == FamilyKind::collective)
    return record;
  record.extraWords = ::hk::exchangeWords(ranksOf(op));
  record.mostPushed =
      ::hk::mostPushedBytes(target, ranksOf(op), mayHaveOwners(op));
  return record;
}

/// Of a kernel that sends its result over `axis`, for a sum behind it.
CollectiveRecord sendingOf(KernelOp kernel, StringRef axis,
                           const ::hk::Target &target) {
  CollectiveRecord record;
  setInput(record, kernel, uint32_t(kernel.getNumInputs()));
  record.axis = axis.str();
  record.resultDType = record.dtype;
  record.reduction = HK_COLLECTIVE_SUM;
  record.extraWords = ::hk::kSendWords;
  const Family &family = familyOf(kernel.getFamily());
  record.leastSent = family.getLeastSent(kernel, target);
  for (auto [index, variant] : llvm::enumerate(kernel.getVariants()))
    if (family.canSend(kernel, variant))
      record.sending |= uint64_t(1) << index;
  return record;
}

FailureOr<KernelRecord> recordOf(KernelOp kernel, const ::hk::Target &target,
                                 StringRef prefix) {
  KernelRecord record;
  record.name = kernel.getSymName().str();
  record.family = stringifyFamilyKind(kernel.getFamily()).str();
  SmallVector<StringRef> ops;
  for (Operation &op : kernel.getSpecBlock().without_terminator())
    if (!isa<ConstantOp>(op)) {
      ops.push_back(op.getName().stripDialect());
      if (isa<HKDialect>(op.getDialect()))
        record.sources.emplace_back(op.getName().getStringRef().str(),
                                    op.getLoc());
    }
  record.ops = llvm::join(ops, ",");
  recordOperands(kernel, record);
  record.planSymbol = (prefix + kernel.getSymName() + "_plan").str();
  record.numPointers = kernel.getNumOperands();
  record.numDims = kernel.getNumDims();
  for (auto shape : kernel.getShapes().getAsRange<SymShapeAttr>())
    record.numStrides += std::max<int64_t>(shape.getSizes().size(), 1) - 1;

  if (CollectiveOpInterface op = exchangeOf(kernel))
    record.collective = collectiveOf(kernel, op, target);
  else if (auto axis = kernel->getAttrOfType<StringAttr>(kSendsAttrName))
    record.collective = sendingOf(kernel, axis, target);

  // The text is named after itself, so equal kernels of different models share
  // one entry of the cache.
  const Family &family = familyOf(kernel.getFamily());
  std::string probe;
  llvm::raw_string_ostream probeStream(probe);
  if (failed(family.emit(kernel, target, "hk_", probeStream)))
    return failure();
  // Where there is no code, it is a name for profiles only.
  std::string symbolPrefix =
      record.isOfEngine() ? record.ops + "_" : KernelCompiler::prefixFor(probe);
  llvm::raw_string_ostream text(record.text);
  if (failed(family.emit(kernel, target, symbolPrefix, text)))
    return failure();

  for (VariantOp variant : kernel.getVariants()) {
    VariantRecord v;
    v.symbol = symbolPrefix + variant.getSymName().str();
    v.tile = printed(variant.getTile());
    v.threads = variant.getThreads();
    v.ldsBytes = variant.getLdsBytes();
    auto maps = family.getTensorMaps(kernel, variant);
    v.maps.assign(maps.begin(), maps.end());
    v.isLast = isKnownToSpill(kernel, variant.getTile());
    record.variants.push_back(std::move(v));
  }
  return record;
}

ArgumentRecord argumentOf(func::FuncOp func, unsigned index) {
  auto type = cast<ShapedType>(func.getArgumentTypes()[index]);
  ArgumentRecord record;
  record.name = argumentName(func, index);
  record.dtype = *dtypeOf(type.getElementType());
  record.role = func.getArgAttr(index, kOutputAttrName)  ? HK_ARG_OUTPUT
                : func.getArgAttr(index, kStateAttrName) ? HK_ARG_STATE
                                                         : HK_ARG_INPUT;
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    bool dynamic = ShapedType::isDynamic(size);
    record.sizes.push_back(dynamic ? -1 : size);
    record.dimNames.push_back(dynamic ? (record.name + "." + Twine(d)).str()
                                      : "");
  }
  return record;
}
std::vector<std::string> launchesOf(func::FuncOp func) {
  std::vector<std::string> order;
  func.walk(
      [&](LaunchOp launch) { order.push_back(launch.getKernel().str()); });
  return order;
}

std::vector<FunctionRecord::Guard> guardsOf(func::FuncOp func) {
  auto shape = func->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(
      (func.getSymName() + kShapeFunctionSuffix).str());
  std::vector<FunctionRecord::Guard> guards;
  shape.walk([&](GuardOp guard) {
    auto name = [&](unsigned i) {
      return cast<StringAttr>(guard.getNames()[i]).str();
    };
    guards.push_back(
        {name(0), name(1), static_cast<uint32_t>(guard.getRelation())});
  });
  return guards;
}

FunctionRecord recordOf(func::FuncOp func, StringRef prefix) {
  FunctionRecord record;
  record.name = func.getSymName().str();
  record.runSymbol = (prefix + record.name + "_run").str();
  record.shapeSymbol = (prefix + record.name + "_shape").str();
  // The last argument is the workspace.
  for (unsigned i = 0; i + 1 < func.getNumArguments(); ++i)
    record.arguments.push_back(argumentOf(func, i));
  record.order = launchesOf(func);
  record.numLaunches = static_cast<uint32_t>(record.order.size());
  func.walk([&](LaunchOp launch) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
        launch, launch.getKernelAttr());
    record.numCollectives += exchangeOf(kernel) != nullptr;
  });
  record.guards = guardsOf(func);
  return record;
}

/// A version reports a failed guard by its number in the function's table.
LogicalResult checkSameGuards(func::FuncOp version,
                              const FunctionRecord &whole) {
  auto same = [](const FunctionRecord::Guard &a,
                 const FunctionRecord::Guard &b) {
    return a.lhs == b.lhs && a.rhs == b.rhs && a.relation == b.relation;
  };
  std::vector<FunctionRecord::Guard> guards = guardsOf(version);
  if (llvm::equal(guards, whole.guards, same))
    return success();
  return version.emitOpError("has other guards than the function that it is a "
                             "version of; please report this");
}
} // namespace

std::vector<std::string> mlir::hk::argumentValues(func::FuncOp source) {
  static constexpr const char *kKinds[] = {"uniform", "distinct", "bounds",
                                           "lengths"};
  std::vector<std::string> texts;
  for (const std::optional<IntegerDomain> &domain : integerArguments(source)) {
    llvm::raw_string_ostream os(texts.emplace_back());
    if (!domain)
      continue;
    llvm::json::Array ends;
    for (const SizeSum &end : domain->ends) {
      llvm::json::Array sum;
      for (const SizeSum::Product &product : end.products) {
        llvm::json::Array factors{product.factor};
        for (auto [argument, dim] : product.dims)
          factors.push_back(
              (argumentName(source, argument) + "." + Twine(dim)).str());
        sum.push_back(std::move(factors));
      }
      ends.push_back(std::move(sum));
    }
    os << llvm::json::Value(
        llvm::json::Object{{"kind", kKinds[int(domain->kind)]},
                           {"low", domain->low},
                           {"ends", std::move(ends)}});
  }
  return texts;
}

FailureOr<Section> mlir::hk::buildSection(ModuleOp module, StringRef prefix) {
  Section section;
  section.target = targetOf(module);
  if (!section.target)
    return module.emitOpError("has no target; run hk-assign-target before");
  if (auto mesh = module->getAttrOfType<StringAttr>(kMeshAttrName))
    section.mesh = mesh.str();
  for (auto kernel : module.getOps<KernelOp>()) {
    FailureOr<KernelRecord> record = recordOf(kernel, *section.target, prefix);
    if (failed(record))
      return failure();
    section.kernels.push_back(std::move(*record));
  }
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal() && !versionOf(func))
      section.functions.push_back(recordOf(func, prefix));
  for (auto func : module.getOps<func::FuncOp>())
    if (VersionAttr version = versionOf(func)) {
      auto whole = llvm::find_if(section.functions, [&](auto &record) {
        return record.name == version.getOf().getValue();
      });
      if (failed(checkSameGuards(func, *whole)))
        return failure();
      whole->versions.push_back({(argumentName(func, version.getArgument()) +
                                  "." + Twine(version.getDim()))
                                     .str(),
                                 version.getAtMost(), launchesOf(func)});
    }
  return section;
}

LogicalResult mlir::hk::checkSameSignatures(Location loc,
                                            ArrayRef<Section> sections) {
  const Section &first = sections.front();
  for (const Section &section : sections.drop_front()) {
    bool same = section.functions.size() == first.functions.size();
    for (size_t f = 0; same && f < first.functions.size(); ++f) {
      const auto &a = first.functions[f], &b = section.functions[f];
      same = a.name == b.name && a.arguments.size() == b.arguments.size();
      for (size_t i = 0; same && i < a.arguments.size(); ++i)
        same = a.arguments[i].name == b.arguments[i].name &&
               a.arguments[i].dtype == b.arguments[i].dtype &&
               a.arguments[i].role == b.arguments[i].role &&
               a.arguments[i].sizes == b.arguments[i].sizes;
    }
    if (!same)
      return emitError(loc, "public signatures differ between the sections of ")
             << first.target->name << " and " << section.target->name;
  }
  return success();
}
