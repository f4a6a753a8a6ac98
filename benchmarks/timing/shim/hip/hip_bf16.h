// bf16, of the shim (hip_runtime.h).
#pragma once
#include "hip_runtime.h"

static inline __device__ float __bfloat162float(__hip_bfloat16 x) {
  return float(x);
}
