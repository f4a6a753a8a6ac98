# The lit suite: every RUN line finds hk's tools and LLVM's on PATH.
import os
import shutil

import lit.formats

config.name = "hk"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.hk_binary_dir, "test")

tools = os.path.join(config.hk_binary_dir, "bin")
path = [tools, config.llvm_tools_dir, config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
for name in ("HOME", "CCACHE_DIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "HK_TEST_ALL"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# One for all suites: no kernel is compiled twice.
config.environment["HK_CACHE_DIR"] = os.path.join(config.hk_binary_dir, "test", "kernel-cache")

# Under the preset asan only hk is instrumented: LLVM's allocators mark memory in hk's
# code and hand it out in theirs, which does not unmark it.
config.environment.setdefault("ASAN_OPTIONS", "allow_user_poisoning=0")
if config.sanitizers:
    config.available_features.add("sanitizers")

# HK_VERIFY_ROUNDTRIP=1 lit ...: whatever hk-opt reads it also prints, as text and as
# bytecode, and reads again.
if os.environ.get("HK_VERIFY_ROUNDTRIP"):
    config.substitutions.append((r"(?<![\w/-])hk-opt(?![\w-])", "hk-opt --verify-roundtrip"))

# NVIDIA's assembler is no part of the toolchain; what needs it says that it did not run.
ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%llvm_include", config.llvm_include_dir))
config.substitutions.append(("%hk_source", config.hk_source_dir))
config.substitutions.append(("%hk_build", config.hk_binary_dir))
