# MLIR's CMake modules, and hk's helpers over them:
#   hk_mlir_library(name SOURCES ... [LINK libs...] [PRECOMPILE OWN])  a static library
#     linked to the shared libMLIR
#   hk_mlir_tool(name SOURCES ... [LINK libs...])
#   hk_precompile(target [OWN])  MLIR's headers, parsed once for the whole build
#   hk_tablegen(out_target file.td dir generator output [generator output]...)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${LLVM_DEFINITIONS_LIST})
# LLVM's headers are not clean under -Wextra; they are system headers here.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

# libstdc++ 12 deprecates a function its own std::stable_sort calls.
set(HK_MLIR_COMPILE_OPTIONS -fno-rtti -fno-exceptions -Wno-deprecated-declarations)

# MLIR's headers take eight seconds of a processor in every file. HKDialect compiles
# them once, with the template instances they need; the others reuse that, except
# targets with code generation options of their own (OWN), which make theirs.
function(hk_precompile name)
  cmake_parse_arguments(ARG "OWN" "" "" ${ARGN})
  # Programs too: a header compiled with -fPIC does not go with -fPIE.
  target_compile_options(${name} PRIVATE -fPIC "SHELL:-Xclang -fno-pch-timestamp")
  set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${HK_PRECOMPILED_LAUNCHER}")
  if(ARG_OWN OR name STREQUAL HKDialect)
    target_precompile_headers(${name} PRIVATE <hk/Dialect/HK.h> <mlir/Dialect/Func/IR/FuncOps.h>)
  else()
    target_precompile_headers(${name} REUSE_FROM HKDialect)
  endif()
endfunction()

function(hk_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS;PRECOMPILE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${HK_MLIR_COMPILE_OPTIONS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  add_dependencies(${name} hk-tablegen ${ARG_DEPENDS})
  hk_precompile(${name} ${ARG_PRECOMPILE})
endfunction()

function(hk_mlir_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${HK_MLIR_COMPILE_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  add_dependencies(${name} hk-tablegen)
  hk_precompile(${name})
endfunction()

# Generated files land in <build>/include/hk/<dir>, found by #include "hk/<dir>/<output>".
# A generator with options is one quoted list: "-gen-dialect-decls;-dialect=hk".
add_custom_target(hk-tablegen)
function(hk_tablegen target td dir)
  set(LLVM_TARGET_DEFINITIONS ${td})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/hk/${dir})
  # mlir_tablegen wants its output relative to the current build directory.
  file(RELATIVE_PATH out ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_BINARY_DIR}/include/hk/${dir})
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE 3 ${last} 2)
    math(EXPR j "${i} + 1")
    mlir_tablegen(${out}/${ARGV${j}} ${ARGV${i}} EXTRA_INCLUDES ${PROJECT_SOURCE_DIR}/dialect
                  ${PROJECT_SOURCE_DIR}/passes ${MLIR_INCLUDE_DIRS})
  endforeach()
  add_public_tablegen_target(${target})
  add_dependencies(hk-tablegen ${target})
endfunction()
