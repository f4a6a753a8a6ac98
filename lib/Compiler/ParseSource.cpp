//===- ParseSource.cpp - Reading of model sources -------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR forgets the names of SSA values; its parser can record where they were
// defined, and the source text there is the name.
//
//===----------------------------------------------------------------------===//

#include "hk/Compiler/ParseSource.h"
#include "hk/Passes/Entry.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::hk;

namespace {
/// "%tokens" in the source is "tokens"; numbers are not names.
StringRef nameAt(llvm::SMRange range) {
  if (!range.isValid())
    return "";
  StringRef text(range.Start.getPointer(),
                 range.End.getPointer() - range.Start.getPointer());
  text.consume_front("%");
  return llvm::all_of(text, llvm::isDigit) ? "" : text;
}

StringRef nameOf(Value value, const AsmParserState &state) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const auto *block = state.getBlockDef(argument.getOwner());
    if (!block || argument.getArgNumber() >= block->arguments.size())
      return "";
    return nameAt(block->arguments[argument.getArgNumber()].loc);
  }
  const auto *op = state.getOpDef(value.getDefiningOp());
  if (!op)
    return "";
  // A name of several results (%x:2) is no name of one of them.
  unsigned number = cast<OpResult>(value).getResultNumber();
  for (const auto &group : op->resultGroups)
    if (group.startIndex == number &&
        op->resultGroups.size() == value.getDefiningOp()->getNumResults())
      return nameAt(group.definition.loc);
  return "";
}

void nameSignature(func::FuncOp func, const AsmParserState &state) {
  if (func.isExternal() || !func.isPublic())
    return;
  Builder builder(func.getContext());
  llvm::StringSet<> taken;
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    StringRef name = nameOf(argument, state);
    if (!func.getArgAttr(i, kNameAttrName) && !name.empty())
      func.setArgAttr(i, kNameAttrName, builder.getStringAttr(name));
    taken.insert(argumentName(func, i));
  }
  for (OpOperand &result :
       func.getBody().front().getTerminator()->getOpOperands()) {
    unsigned i = result.getOperandNumber();
    StringRef name = nameOf(result.get(), state);
    if (!func.getResultAttr(i, kNameAttrName) && !name.empty() &&
        taken.insert(name).second)
      func.setResultAttr(i, kNameAttrName, builder.getStringAttr(name));
  }
}
} // namespace

OwningOpRef<ModuleOp> mlir::hk::parseSource(StringRef path,
                                            llvm::SourceMgr &sources,
                                            MLIRContext *context) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!file) {
    emitError(FileLineColLoc::get(context, path, /*line=*/0, /*column=*/0),
              "cannot read '")
        << path << "': " << file.getError().message()
        << "; name a file of MLIR, or - for standard input";
    return nullptr;
  }
  sources.AddNewSourceBuffer(std::move(*file), llvm::SMLoc());
  Block block;
  AsmParserState state;
  if (failed(
          parseAsmSourceFile(sources, &block, ParserConfig(context), &state)))
    return nullptr;
  OwningOpRef<ModuleOp> module =
      mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
          &block, context,
          FileLineColLoc::get(context, path, /*line=*/0, /*column=*/0));
  if (module)
    for (auto func : module->getOps<func::FuncOp>())
      nameSignature(func, state);
  return module;
}
