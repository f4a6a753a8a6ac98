//===- AttributeChecks.cpp - Attributes that nobody defines ---------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR keeps any attribute on any operation. A misspelt one ({is_causal} on an
// attention) would be ignored and another function compiled, so every attribute
// of an hk op or of the hk dialect must be one that is defined. Also what the
// attributes of arguments and results hold.
//
//===----------------------------------------------------------------------===//

#include "OpUtils.h"
#include "hk/Dialect/Apart.h"
#include "hk/Dialect/WaitingProblems.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::hk;

void mlir::hk::suggestName(InFlightDiagnostic &diag, StringRef name,
                           ArrayRef<StringRef> known, bool listsOthers) {
  name.consume_front("hk.");
  SmallVector<StringRef> best;
  size_t distance = name.size() / 2;
  for (StringRef candidate : known) {
    StringRef rest = candidate;
    rest.consume_front("hk.");
    size_t edits = name.edit_distance_insensitive(rest);
    if (edits < distance)
      best.clear();
    if (edits <= distance)
      best.push_back(candidate);
    distance = std::min(distance, edits);
  }
  if (!best.empty()) {
    diag << "; did you mean '";
    llvm::interleave(best, diag, "' or '");
    diag << "'?";
    return;
  }
  if (!listsOthers)
    return;
  if (known.empty()) {
    diag << "; it has none";
    return;
  }
  diag << "; it has ";
  llvm::interleaveComma(known, diag);
}

LogicalResult mlir::hk::verifyOnlyKnownAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name.contains('.'))
      continue; // another dialect's, or one that verifyOperationAttribute sees
    SmallVector<StringRef> known;
    for (StringAttr inherent : op->getName().getAttributeNames())
      if (!inherent.getValue().ends_with("SegmentSizes"))
        known.push_back(wordOf(inherent));
    InFlightDiagnostic diag = op->emitOpError("has no attribute '")
                              << name << "'";
    suggestName(diag, name, known);
    return diag;
  }
  return success();
}

static LogicalResult unknownAttribute(Operation *op, const Twine &where,
                                      StringRef name,
                                      ArrayRef<StringRef> known) {
  InFlightDiagnostic diag = op->emitError("hk has no attribute '")
                            << name << "' of " << where;
  suggestName(diag, name, known);
  return diag;
}

static LogicalResult verifyMesh(Operation *op, Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  if (!text)
    return op->emitError("expected '")
           << kMeshAttrName << "' to be a string, as \"tp=2\", but got "
           << value;
  ::hk::Mesh mesh;
  std::string wrong = ::hk::Mesh::parse(text.getValue(), mesh);
  if (wrong.empty())
    return success();
  return op->emitError("expected '")
         << kMeshAttrName << "' to be axes with sizes, as \"tp=2,ep=4\", but "
         << "got " << value << ": " << wrong;
}

LogicalResult HKDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (isa<FunctionOpInterface>(op) && name == kVersionAttrName &&
      isa<VersionAttr>(attribute.getValue()))
    return success();
  if (isa<KernelOp>(op) && isa_and_nonnull<KernelOp>(op->getParentOp()) &&
      name == kWaitsAttrName && isa<UnitAttr>(attribute.getValue()))
    return success();
  if (isa<KernelOp>(op) && name == kSendsAttrName &&
      isa<StringAttr>(attribute.getValue()))
    return success();
  if (isa<KernelOp>(op) && name == kAddsAttrName &&
      isa<UnitAttr>(attribute.getValue()))
    return success();
  if (isa<DequantizeOp>(op) && name == kApartAttrName &&
      isa<UnitAttr>(attribute.getValue()))
    return success();
  if (!isa<ModuleOp>(op))
    return unknownAttribute(op, "'" + op->getName().getStringRef() + "'", name,
                            {});
  if (name == kSpillingTilesAttrName)
    return success();
  if (name == kGemmLoopAttrName) {
    auto loop = dyn_cast<StringAttr>(attribute.getValue());
    if (loop && symbolizeGemmLoop(loop.getValue()))
      return success();
    return op->emitError("expected '")
           << kGemmLoopAttrName
           << "' to be \"blocks\", \"warp_specialised\", \"skinny\", "
           << "\"skinny_codes\", \"microscaled\", \"register_cells\", "
           << "\"ping_pong\", \"streamed_codes\" or \"swapped\", but got "
           << attribute.getValue();
  }
  if (name == kExchangeAttrName) {
    auto by = dyn_cast<StringAttr>(attribute.getValue());
    if (by && (by.getValue() == "kernel" || by.getValue() == "product" ||
               by.getValue() == "engine"))
      return success();
    return op->emitError("expected '")
           << kExchangeAttrName
           << "' to be \"kernel\", \"product\" or \"engine\", but got "
           << attribute.getValue();
  }
  if (name == kMeshAttrName)
    return verifyMesh(op, attribute.getValue());
  if (name != kTargetAttrName)
    return unknownAttribute(
        op, "a module", name,
        {kTargetAttrName, kGemmLoopAttrName, kMeshAttrName, kExchangeAttrName});
  if (!isa<TargetAttr>(attribute.getValue()))
    return op->emitError("expected '")
           << kTargetAttrName << "' to be a target, as #hk.target<\"gfx942\">, "
           << "but got " << attribute.getValue();
  return success();
}

/// A public name, which tools use as the name of a file.
static LogicalResult verifyName(Operation *op, const Twine &where,
                                Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  if (!text)
    return op->emitError("expected '") << kNameAttrName << "' of " << where
                                       << " to be a string, but got " << value;
  constexpr size_t kMostBytes = 200;
  StringRef name = text, wrong;
  if (name.empty())
    wrong = "it is empty";
  else if (name == "." || name == "..")
    wrong = "it is the name of a folder";
  else if (name.contains('/'))
    wrong = "it has a '/'";
  else if (name.contains('\0'))
    wrong = "it has a NUL";
  else if (!llvm::json::isUTF8(name))
    wrong = "it is not UTF-8";
  else if (name.size() > kMostBytes)
    wrong = "it has more than 200 bytes";
  else
    return success();
  std::string shown;
  llvm::raw_string_ostream os(shown);
  llvm::printEscapedString(name, os);
  return op->emitError("expected '")
         << kNameAttrName << "' of " << where
         << " to be usable as the name of a file, but got '" << shown
         << "': " << wrong;
}

/// One name per dim of the argument.
static LogicalResult verifyDims(Operation *op, const Twine &where,
                                Attribute value, Type type) {
  auto names = dyn_cast<ArrayAttr>(value);
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return op->emitError("expected '")
           << kDimsAttrName << "' of " << where
           << " to be an array of strings, as [\"T\", \"_\"], but got "
           << value;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && static_cast<int64_t>(names.size()) != tensor.getRank())
    return op->emitError("expected '")
           << kDimsAttrName << "' of " << where << " to have "
           << tensor.getRank() << " names, one per dim of " << type
           << ", but got " << names.size();
  for (StringAttr name : names.getAsRange<StringAttr>())
    if (name.empty())
      return op->emitError("expected '")
             << kDimsAttrName << "' of " << where
             << " to have no empty name; '_' names no dim";
  return success();
}

static LogicalResult verifyUnit(Operation *op, const Twine &where,
                                NamedAttribute attribute) {
  if (isa<UnitAttr>(attribute.getValue()))
    return success();
  return op->emitError("expected '")
         << attribute.getName().getValue() << "' of " << where
         << " to have no value, but got " << attribute.getValue();
}

LogicalResult HKDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  std::string where = "argument #" + std::to_string(index);
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == kStateAttrName || name == kOutputAttrName)
    return verifyUnit(op, where, attribute);
  if (name == kNameAttrName)
    return verifyName(op, where, value);
  if (name == kDimsAttrName) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    return verifyDims(op, where, value,
                      function ? function.getArgumentTypes()[index] : Type());
  }
  return unknownAttribute(
      op, where, name,
      {kStateAttrName, kNameAttrName, kDimsAttrName, kOutputAttrName});
}

LogicalResult HKDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  std::string where = "result #" + std::to_string(index);
  StringRef name = attribute.getName();
  if (name == kNameAttrName)
    return verifyName(op, where, attribute.getValue());
  return unknownAttribute(op, where, name, {kNameAttrName});
}
