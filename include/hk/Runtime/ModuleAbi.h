//===- ModuleAbi.h - What a compiled model.so exports -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The binary contract between a compiled module and the runtime. A module is a
// shared library with no undefined symbol that exports one function,
// hk_module_query; behind it in the file is a seal (Seal.h). Everything below
// is plain C data with a version in front; a change of any layout raises
// HK_MODULE_ABI_VERSION. Generated code calls back through the function
// pointers of hk_call_ctx only.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_MODULEABI_H
#define HK_RUNTIME_MODULEABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HK_MODULE_ABI_VERSION 10u
#define HK_MODULE_QUERY_SYMBOL "hk_module_query"

/// A tensor as generated code sees it: dense, row-major, 16-byte aligned. The
/// runtime has checked dtype, rank, static sizes, strides and alignment.
typedef struct hk_abi_tensor {
  void *data;
  const int64_t *sizes;
} hk_abi_tensor;

/// Passed to the generated functions. The runtime embeds it in its own state.
typedef struct hk_call_ctx hk_call_ctx;
struct hk_call_ctx {
  /// Launch kernel `kernel` of the section. words = num_pointers addresses,
  /// then num_dims dimension values, then num_strides strides in elements.
  /// Errors are recorded in the context and sticky: after one, launch and guard
  /// do nothing, so generated code is straight-line.
  void (*launch)(hk_call_ctx *ctx, uint32_t kernel, const uint64_t *words);
  /// Two sizes that must be to each other as the guard says; records an error
  /// if they are not. `guard` indexes hk_function_impl_abi.guards.
  void (*guard)(hk_call_ctx *ctx, uint32_t guard, int64_t lhs, int64_t rhs);
  /// Device addresses of hk_module_abi.weights, in that order.
  void *const *weights;
};

/// How to launch: which variant, over how many blocks. variant < 0: nothing to
/// do (zero rows), or a refusal.
#define HK_PLAN_NOTHING (-1)
/// Rows of a tile span more than offsets of 32 bits reach.
#define HK_PLAN_TOO_FAR (-2)
typedef struct hk_launch_plan {
  int32_t variant;
  uint32_t grid[3];
} hk_launch_plan;

/// Host function outlined from the hk.variant regions of a kernel. Behind
/// the dims lie the strides, as in the words of a launch.
typedef void (*hk_plan_fn)(const int64_t *dims, hk_launch_plan *plan);

/// A kernel compiled for the host: one call runs one block. `lds` has lds_bytes
/// bytes, 64-byte aligned, contents undefined.
typedef void (*hk_host_kernel_fn)(const uint64_t *words, const uint32_t *block,
                                  const uint32_t *grid, void *lds);

/// A number known at a launch: words[word], or `constant` where word is
/// HK_NO_WORD.
#define HK_NO_WORD UINT32_MAX
typedef struct hk_number_abi {
  int64_t constant;
  uint32_t word;
} hk_number_abi;

/// What the copy engine of sm_90a must know of an operand: matrices of rows of
/// consecutive columns, perhaps batches of them, and the box of rows and
/// columns that one copy moves. Boxes lie in LDS as rows of 128 bytes whose
/// 16-byte chunks are permuted by the engine's 128-byte swizzle; what is
/// outside of a matrix reads as zero and is not written. Address and strides
/// are multiples of 16 bytes.
typedef struct hk_tensor_map_abi {
  uint32_t pointer; // the word that is the address
  uint8_t dtype;    // hk::DType
  hk_number_abi columns, rows, matrices;
  hk_number_abi row_stride, matrix_stride; // in elements
  /// The constant 0: the map has no dim of batches.
  hk_number_abi batches, batch_stride;
  uint32_t box_columns, box_rows;
} hk_tensor_map_abi;

/// Most maps of a variant.
#define HK_MAX_TENSOR_MAPS 8

typedef struct hk_variant_abi {
  const char *symbol;     // entry point in `code`, and name in profiles
  const char *tile;       // printed tile attribute
  hk_host_kernel_fn host; // host sections; else NULL
  const void *code;       // ELF code object or PTX text; NULL on the host
  uint64_t code_bytes;
  uint32_t threads;
  uint32_t lds_static; // bytes the code object declares
  uint32_t
      lds_dynamic; // bytes to request at launch (sm_90a); host: buffer size
  /// sm_90a: encoded at each launch and passed as one more parameter, an array
  /// of 128-byte maps.
  uint32_t num_maps;
  const hk_tensor_map_abi *maps;
} hk_variant_abi;

/// What a collective computes of the parts that a rank gets.
typedef enum hk_collective_reduction {
  HK_COLLECTIVE_COPY = 0, /* concatenates them, or there is one */
  HK_COLLECTIVE_SUM = 1,
  HK_COLLECTIVE_MAX = 2,
  HK_COLLECTIVE_MIN = 3
} hk_collective_reduction;

/// A kernel that exchanges tensors with other ranks: the runtime's engine runs
/// it, its variant has no code. Its pointers are the input, unless there is
/// none, and the result. A rank sends part r of the input along dim `split` to
/// the rank at place r of `axis`, or all of it to every rank, or nothing unless
/// it is at place `root`; of the parts it gets, in the order of the ranks, it
/// makes the result. Without an input the result is its place.
///
/// A kernel with extra_words has code, which begins with the exchange, a sum of
/// all of the input over all ranks. Its launches get so many words more, see
/// hk/Contract/Exchange.h. The sum is not among its pointers.
///
/// A kernel with least_sent has code that only sends: its result, which is
/// `input` here, goes to the other rank of an axis of two, for the kernel
/// behind that adds it.
typedef struct hk_collective_abi {
  const char *axis;     // of hk_module_abi.mesh
  uint8_t dtype;        // of the input; hk::DType
  uint8_t result_dtype; // hk::DType
  uint8_t reduction;    // hk_collective_reduction
  uint8_t any_order;    // partial sums may be rounded, in any order
  uint8_t rank;         // dims of the input
  /// -1: none. `concat`: the dim along which parts are concatenated.
  int32_t split, concat, root;
  /// Of the input: a size, or -1 - d for dim word d of the launch.
  const int64_t *sizes;
  /// Which of the pointers the input is, and which stride is its first.
  uint32_t input, input_stride;
  uint32_t extra_words;
  /// Bytes of the input up to which the kernel writes its rows into the other
  /// ranks' memory, if that is there and has room for them; beyond, the engine
  /// brings the parts.
  int64_t most_pushed;
  /// Bytes from which on the kernel sends, and which of its variants do, a bit
  /// each. 0: it begins with the exchange.
  int64_t least_sent;
  uint64_t sending;
} hk_collective_abi;

typedef struct hk_kernel_abi {
  const char *name;   // symbol of hk.kernel
  const char *family; // "rowwise", "gemm", ...
  const char *ops;    // base ops of the body, comma separated, for people
  uint32_t num_pointers, num_dims, num_strides;
  hk_plan_fn plan;
  uint32_t num_variants;
  const hk_variant_abi *variants;
  const hk_collective_abi *collective; // NULL: a launch on this rank's device
} hk_kernel_abi;

typedef enum hk_arg_role {
  HK_ARG_INPUT = 0,
  HK_ARG_STATE = 1, // read and written in place
  HK_ARG_OUTPUT = 2
} hk_arg_role;

typedef struct hk_arg_abi {
  const char *name;
  uint8_t dtype; // hk::DType
  uint8_t role;  // hk_arg_role
  uint8_t rank;
  const int64_t *sizes;         // -1: dynamic
  const char *const *dim_names; // "d0" for a dynamic dimension, NULL if static
  /// What an integer argument may hold, for whoever makes inputs to test or to
  /// time a function: JSON, see docs/abi.md. NULL: a float, or not known.
  const char *values;
} hk_arg_abi;

/// What a guard demands of its first size.
typedef enum hk_guard_relation {
  HK_GUARD_EQUAL = 0,
  HK_GUARD_AT_MOST = 1,
  HK_GUARD_AT_LEAST = 2
} hk_guard_relation;

typedef struct hk_guard_abi {
  const char *lhs, *rhs; // for example "x dim 0", "positions dim 0"
  uint32_t relation;     // hk_guard_relation
} hk_guard_abi;

/// Public signature; the same for every section. Arguments come in the order
/// inputs and states as in the source function, then outputs.
typedef struct hk_function_abi {
  const char *name;
  uint32_t num_args; // all roles
  const hk_arg_abi *args;
} hk_function_abi;

/// Sizes of all outputs (concatenated, in order) and bytes of workspace, from
/// the arguments that are not outputs. Checks the guards: look at the context's
/// error before the results.
typedef void (*hk_shape_fn)(hk_call_ctx *ctx, const hk_abi_tensor *args,
                            int64_t *output_sizes, int64_t *workspace_bytes);
/// Enqueue the launches. args: all arguments, outputs included.
typedef void (*hk_run_fn)(hk_call_ctx *ctx, const hk_abi_tensor *args,
                          void *workspace);

typedef struct hk_function_impl_abi {
  hk_shape_fn shape;
  hk_run_fn run;
  uint32_t num_launches; // launches in the body, for people
  uint32_t num_guards;
  const hk_guard_abi *guards;
  uint32_t num_collectives; // launches that the runtime's engine runs
} hk_function_impl_abi;

typedef struct hk_section_abi {
  const char *target;       // name in the contract's target table
  const char *cpu_features; // host: comma separated features the code needs
  uint32_t num_kernels;
  const hk_kernel_abi *kernels;
  const hk_function_impl_abi *functions; // parallel to hk_module_abi.functions
} hk_section_abi;

/// Dim `dim` of a weight is segments of `sizes`, in order, and segment i is cut
/// into parts[i] equal parts. The rank at place p of the w ranks of `axis` has
/// part p / (w / parts[i]) of every segment, one behind the other.
typedef struct hk_weight_slice_abi {
  const char *axis; // of hk_module_abi.mesh
  uint32_t dim, num_segments;
  const int64_t *sizes, *parts;
} hk_weight_slice_abi;

typedef struct hk_weight_abi {
  const char *name; // of the tensor in its safetensors file
  uint8_t dtype;
  uint8_t rank;
  const int64_t *sizes; // of the tensor in its file
  uint64_t bytes;       // of the tensor in its file
  /// xxh3 of the bytes; of a weight with slices one for each combination of
  /// places along their axes, the last slice's fastest. None: not recorded.
  uint32_t num_checksums;
  const uint64_t *checksums;
  /// The file, from the module's folder; NULL: weights_file of the module.
  const char *file;
  /// What a rank has of it: cut in this order, a later one cuts what an earlier
  /// one left.
  uint32_t num_slices;
  const hk_weight_slice_abi *slices;
} hk_weight_abi;

typedef struct hk_module_abi {
  uint32_t abi_version; // first for ever
  uint32_t struct_bytes;
  const char *producer;      // "hk 0.1.0"
  const char *contract_hash; // of targets, dtypes and tiles
  const char *weights_file;  // name beside the module, or NULL: none was made
  uint32_t num_functions;
  const hk_function_abi *functions;
  uint32_t num_weights;
  const hk_weight_abi *weights;
  uint32_t num_sections;
  const hk_section_abi *sections;
  /// Axes and sizes of the ranks that run it together, "tp=2"; NULL: one rank.
  const char *mesh;
} hk_module_abi;

/// NULL when the module cannot serve `max_version`.
typedef const hk_module_abi *(*hk_module_query_fn)(uint32_t max_version);

#ifdef __cplusplus
}
#endif

#endif /* HK_RUNTIME_MODULEABI_H */
