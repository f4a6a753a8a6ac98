//===- hk.h - Public C interface of the hk runtime -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Load a compiled module (model.so), put it on a device, and call its functions
// on DLPack tensors.
//
//   hk_device_open -> hk_module_open -> hk_program_create ->
//   hk_program_function
//   -> hk_function_plan (result sizes, workspace bytes) -> hk_function_call
//
// Rules that hold for every function:
//  * It returns NULL on success or a status with a code and a text that names
//    the thing, the expected and the actual value; free it with hk_status_free.
//    Nothing is written to outputs on failure. No exception crosses.
//  * Tensors are the caller's: dense row-major, 16-byte aligned data, on the
//    program's device. Outputs and workspace too: a call allocates nothing,
//    never synchronises a GPU, and is safe to capture in a graph. What is
//    written (outputs, states, workspace) overlaps no other argument.
//  * Handles may be used by many threads at once; a state argument (KV cache)
//    is written in place, so calls that share one must be ordered by the
//    caller.
//  * Inputs whose sizes make a zero-row launch are a no-op for that launch.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_HK_H
#define HK_RUNTIME_HK_H

#include <dlpack/dlpack.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HK_API __attribute__((visibility("default")))
#define HK_MUST_USE __attribute__((warn_unused_result))
#else
#define HK_API
#define HK_MUST_USE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* DLPack type codes newer than the installed header (DLPack 1.1 values). */
#define HK_DL_BOOL 6
#define HK_DL_FLOAT8_E4M3FN 10
#define HK_DL_FLOAT8_E4M3FNUZ 11
#define HK_DL_FLOAT8_E5M2 12
#define HK_DL_FLOAT8_E5M2FNUZ 13
#define HK_DL_FLOAT8_E8M0FNU 14
#define HK_DL_FLOAT4_E2M1FN 17 /* bits 4: two elements per byte */
/* i4 and ui4 are kDLInt and kDLUInt of 4 bits, packed as fp4: the element of
 * even index in the low half of a byte; sizes and strides count elements. */

typedef enum hk_status_code {
  HK_OK = 0,
  HK_INVALID_ARGUMENT = 1, /* wrong name, shape, dtype, stride, alignment */
  HK_NOT_FOUND = 2,        /* file, function, weight */
  HK_UNAVAILABLE = 3,      /* no such device, driver or section here */
  HK_INCOMPATIBLE = 4, /* ABI version, contract, CPU features, foreign file */
  HK_OUT_OF_MEMORY = 5,
  HK_DEVICE_ERROR = 6, /* an error reported by HIP or the CUDA driver */
  HK_INTERNAL = 7,
  HK_RANK_FAILED = 8, /* another rank, or the library that reaches it */
  HK_TIMEOUT = 9      /* another rank did not come in time */
} hk_status_code;

typedef struct hk_status hk_status;
typedef struct hk_device hk_device;
typedef struct hk_module hk_module;
typedef struct hk_program hk_program;
typedef struct hk_function hk_function;
typedef struct hk_profile hk_profile;
typedef struct hk_comm hk_comm;

/* ---- status ------------------------------------------------------------- */
HK_API hk_status_code
hk_status_get_code(const hk_status *status); /* NULL: HK_OK */
HK_API const char *
hk_status_get_message(const hk_status *status); /* NULL: "" */
HK_API void hk_status_free(hk_status *status);

/* "0.1.0" */
HK_API const char *hk_runtime_version(void);

/* ---- device ------------------------------------------------------------- */
typedef struct hk_device_options {
  uint32_t struct_bytes; /* sizeof(hk_device_options) */
  uint32_t num_threads;  /* host: 0 = all cores */
  uint64_t
      shuffle_seed; /* host: 0 = blocks in order; else random block order */
  uint32_t debug_memory; /* 1: poison and fence allocations; default from
                            HK_DEBUG_MEMORY */
} hk_device_options;

/* spec: "host", "hip:N" or "cuda:N". HIP is loaded from libamdhip64.so (or the
   file named by HK_HIP_LIBRARY, for example the emulator's), CUDA from
   libcuda.so.1 (or the file named by HK_CUDA_LIBRARY). options may be NULL. */
HK_API HK_MUST_USE hk_status *hk_device_open(const char *spec,
                                             const hk_device_options *options,
                                             hk_device **device);
HK_API void hk_device_close(hk_device *device);
/* Chip as the contract names it ("host", "gfx942", "sm_90a"). */
HK_API const char *hk_device_target(const hk_device *device);
/* Human-readable name of the device. */
HK_API const char *hk_device_description(const hk_device *device);
HK_API DLDevice hk_device_dldevice(const hk_device *device);
/* Memory is 256-byte aligned. */
HK_API HK_MUST_USE hk_status *hk_device_alloc(hk_device *device, uint64_t bytes,
                                              void **data);
HK_API void hk_device_free(hk_device *device, void *data);
/* Synchronous copies between caller's host memory and device memory. */
HK_API HK_MUST_USE hk_status *
hk_device_upload(hk_device *device, void *to, const void *from, uint64_t bytes);
HK_API HK_MUST_USE hk_status *hk_device_download(hk_device *device, void *to,
                                                 const void *from,
                                                 uint64_t bytes);
HK_API HK_MUST_USE hk_status *hk_device_synchronize(hk_device *device);

/* ---- module: the file ---------------------------------------------------- */
HK_API HK_MUST_USE hk_status *hk_module_open(const char *path,
                                             hk_module **module);
HK_API void hk_module_close(hk_module *module);
/* Self-description as JSON: functions, arguments, dtypes, sizes, targets,
   kernels, weights. Owned by the module. */
HK_API const char *hk_module_json(const hk_module *module);

/* ---- program: the module on a device --------------------------------------
 */
/* Picks the section for the device, loads its kernels and the weights.
   weights_path NULL: the file the module names, beside the module. The module
   and the device must outlive the program. */
HK_API HK_MUST_USE hk_status *hk_program_create(hk_module *module,
                                                hk_device *device,
                                                const char *weights_path,
                                                hk_program **program);
HK_API void hk_program_destroy(hk_program *program);

/* ---- several ranks --------------------------------------------------------
   A module with a mesh ("mesh" of hk_module_json) is run by several processes
   together, one rank each: every rank opens a communicator, makes its program
   with it, and all make the same calls in one order, with tensors of the same
   sizes. What ranks do not agree on, a rank that fails and one that does not
   come in time are an error on every rank; the communicator keeps it, and every
   later call of its programs returns it. */
typedef struct hk_comm_options {
  uint32_t struct_bytes; /* sizeof(hk_comm_options) */
  uint32_t rank, world;  /* compared with the engine's unless world is 0 */
  uint32_t timeout_ms;   /* for every wait for other ranks; 0: 30 s */
  const char *mesh;      /* "tp=2,ep=2", last axis fastest; as the module's */
  const char *engine;    /* NULL: by device; "mpi": OpenMPI, on the host;
                            "nccl", "rccl": between GPUs */
  /* How ranks find and watch each other. NULL: by MPI. Or, for ranks on one
     machine, a file that does not exist yet, which rank 0 makes (rank and world
     must be given then); /dev/shm is a good place. Of GPUs only the words that
     ranks say to each other go this way. */
  const char *id_file;
  /* The caller's communicators, not owned: on the host one MPI_Comm of all
     ranks, in their order, or NULL: all processes of the launcher. On GPUs an
     ncclComm_t for each axis of the mesh, or NULL: hk makes them. hk does not
     end the caller's when something is wrong, so streams that wait stay busy
     until the caller does. */
  void *const *native;
  uint32_t num_native;
  /* On GPUs of one machine: bytes of device memory of each rank that the
     kernels of the others write, so that a sum over ranks and what follows are
     one launch. An axis has an equal share; with w ranks a tensor of 1 / (2 w)
     of that fits, larger ones go by the library. 0: all do. The same on all
     ranks. */
  uint64_t shared_bytes;
} hk_comm_options;

/* Waits for all ranks, which open with the same mesh, each with a device of its
   own. The device outlives it. MPI is loaded from libmpi.so.40 (or the file
   named by HK_MPI_LIBRARY), and started unless the caller has; NCCL from
   libnccl.so.2 (HK_NCCL_LIBRARY), RCCL from librccl.so.1 (HK_RCCL_LIBRARY). */
HK_API HK_MUST_USE hk_status *
hk_comm_open(hk_device *device, const hk_comm_options *options, hk_comm **comm);
/* After its programs are destroyed. Waits for the other ranks to close theirs,
   at most two seconds. */
HK_API void hk_comm_close(hk_comm *comm);
/* Number of this rank and how many there are. */
HK_API uint32_t hk_comm_rank(const hk_comm *comm);
HK_API uint32_t hk_comm_world(const hk_comm *comm);
/* The error that the communicator keeps, or that another rank has told of; does
   not wait. */
HK_API HK_MUST_USE hk_status *hk_comm_check(hk_comm *comm);
/* Waits until the stream of the device has done its work and all ranks have
   made this one's calls; an error of any rank ends the wait. After timeout_ms
   the work is ended, as after every error, and what it wrote is undefined. To
   be used in place of the driver's own wait, which ends only when the work
   does; after a graph with exchanges has been launched nothing else looks at
   the clock. */
HK_API HK_MUST_USE hk_status *hk_comm_wait(hk_comm *comm, hk_device *device,
                                           void *stream, uint32_t timeout_ms);
/* hk_program_create on one of several ranks; waits for all of them. comm may be
   NULL for a module without mesh. The communicator outlives the program. */
HK_API HK_MUST_USE hk_status *
hk_program_create_on(hk_module *module, hk_device *device, hk_comm *comm,
                     const char *weights_path, hk_program **program);
HK_API HK_MUST_USE hk_status *hk_program_function(hk_program *program,
                                                  const char *name,
                                                  const hk_function **function);

typedef enum hk_role { HK_INPUT = 0, HK_STATE = 1, HK_OUTPUT = 2 } hk_role;

typedef struct hk_argument_info {
  const char *name;
  hk_role role;
  DLDataType dtype;
  int32_t rank;
  const int64_t *sizes; /* -1: dynamic */
} hk_argument_info;

/* Arguments in call order: inputs and states, then outputs. */
HK_API uint32_t hk_function_num_arguments(const hk_function *function);
HK_API hk_argument_info hk_function_argument(const hk_function *function,
                                             uint32_t index);

/* Check the inputs and states (arguments that are not outputs, in order) and
   report the sizes of every output (concatenated in order; output_sizes has
   room for the sum of their ranks) and the bytes of workspace a call needs. */
HK_API HK_MUST_USE hk_status *hk_function_plan(const hk_function *function,
                                               const DLTensor *const *inputs,
                                               uint32_t num_inputs,
                                               int64_t *output_sizes,
                                               uint64_t *workspace_bytes);

typedef struct hk_call {
  uint32_t struct_bytes; /* sizeof(hk_call) */
  uint32_t num_arguments;
  const DLTensor *const *arguments; /* all of them, in order */
  void *workspace;                  /* on the device, 256-byte aligned */
  uint64_t workspace_bytes;
  void *stream;        /* hipStream_t / CUstream; NULL: the default stream */
  hk_profile *profile; /* NULL, or collects a time per launch (synchronises) */
} hk_call;

HK_API HK_MUST_USE hk_status *hk_function_call(const hk_function *function,
                                               const hk_call *call);

/* ---- profile ---------------------------------------------------------------
 */
typedef struct hk_profile_entry {
  const char *kernel, *variant, *ops;
  uint64_t launches;
  double total_us, min_us;
} hk_profile_entry;

HK_API HK_MUST_USE hk_status *hk_profile_create(hk_profile **profile);
HK_API void hk_profile_destroy(hk_profile *profile);
HK_API uint32_t hk_profile_num_entries(const hk_profile *profile);
HK_API hk_profile_entry hk_profile_get(const hk_profile *profile,
                                       uint32_t index);

/* One launch. `begin_us` counts from when the profile was made: the first
   launch of a call begins when the host made it, the others as much later as
   the device's clock says. `call` counts the calls that were given the profile,
   from 0. Strings live as long as the profile. */
typedef struct hk_profile_launch {
  const char *function, *kernel, *variant, *ops;
  uint64_t call;
  double begin_us, duration_us;
} hk_profile_launch;

/* From now on the profile keeps launches, too, until it has `most` of them. */
HK_API HK_MUST_USE hk_status *hk_profile_keep_launches(hk_profile *profile,
                                                       uint64_t most);
HK_API uint64_t hk_profile_num_launches(const hk_profile *profile);
/* In the order in which they were made; NULL strings beyond the last. */
HK_API hk_profile_launch hk_profile_get_launch(const hk_profile *profile,
                                               uint64_t index);

#ifdef __cplusplus
}
#endif

#endif /* HK_RUNTIME_HK_H */
