// See hip_runtime.h.
#pragma once
#include <hip/hip_fp8.h>
typedef uint8_t __amd_fp8_storage_t;
