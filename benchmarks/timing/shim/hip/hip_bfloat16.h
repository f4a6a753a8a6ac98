// The older header of bf16, of the shim (hip_runtime.h).
#pragma once
#include "hip_bf16.h"

typedef __hip_bfloat16 hip_bfloat16;
