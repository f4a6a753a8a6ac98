//===- Compiler.h - From a module of base operators to a shared library ---===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver behind hk-compile: runs the pipeline once per target on a clone of
// the module, compiles the kernels with clang (in parallel, cached by content),
// and links one shared library with a section per target.
//
//===----------------------------------------------------------------------===//

#ifndef HK_COMPILER_COMPILER_H
#define HK_COMPILER_COMPILER_H

#include "hk/Families/Decision.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

#include <string>
#include <vector>

namespace mlir::hk {

enum class EmitKind { Mlir, Kernels, Llvm, Shared };
enum class ExplainKind { None, Text, Json };

struct CompileOptions {
  /// Rows of the contract's target table; at least one.
  std::vector<std::string> targets{"host"};
  /// Output file; "-" is standard output (not for Shared).
  std::string output = "-";
  /// Safetensors file that holds the tensors hk.weight names, or the
  /// model.safetensors.index.json of several; "" if none.
  std::string weights;
  /// Copies weights that are used as they are into the module's own file; else
  /// they are read where they are.
  bool packWeights = false;
  /// The ranks that the module is cut between, "tp=2,ep=4"; "": one.
  std::string mesh;
  bool fuse = true;
  /// Compute with weights at compile time; needs the weights file.
  bool foldWeights = true;
  /// Also where the result takes more bytes than the weights it is made of.
  bool expandWeights = false;
  /// Slices of the k of products and of the keys of attentions, segments of
  /// walks over chunks: 0 by cost, 1 none, else that many wherever possible.
  int64_t splitK = 0, splitKeys = 0, splitSegments = 0;
  /// Whether kernels may wait for each other in one launch.
  bool orderLaunches = true;
  EmitKind emit = EmitKind::Shared;
  ExplainKind explain = ExplainKind::None;
  /// "native", "x86-64-v2", "x86-64-v3", "x86-64-v4", "icelake-server",
  /// "icelake-server+bf16" or "icelake-server+amx".
  std::string hostCpu = "native";
  /// Where compiled kernels are kept; "" turns the cache off.
  std::string cacheDirectory;
  /// The clang to run; found on PATH when it has no slash.
  std::string clang = "clang++-22";
  /// Folder of the kernel headers (runtime/kernels), and the one hk/Contract is
  /// in.
  std::string kernelDirectory, includeDirectory;
  unsigned jobs = 0; // 0: all cores
};

/// Registers every dialect and model the pipeline needs.
void registerCompilerDialects(DialectRegistry &registry);

/// Defaults that depend on the installation and the environment: kernel and
/// include folders (../share/hk of the program's folder), cache folder
/// (HK_CACHE_DIR, else XDG_CACHE_HOME/hk, else
/// ~/.cache/hk).
CompileOptions defaultCompileOptions();

/// Compiles `module` as `options` say. Errors are emitted on the module's
/// context; on failure no output file is left behind.
LogicalResult compile(ModuleOp module, const CompileOptions &options);

} // namespace mlir::hk

#endif // HK_COMPILER_COMPILER_H
