// Every function of one or two arguments that public kernels call by HIP's or
// the standard library's name: one launch each, 256 arguments.
#include <algorithm>
#include <cmath>
#include <hip/hip_runtime.h>

#define ONE(name)                                                              \
  extern "C" __global__ void f_##name(const float *x, float *y) {              \
    y[threadIdx.x] = name##f(x[threadIdx.x]);                                  \
  }                                                                            \
  extern "C" __global__ void d_##name(const double *x, double *y) {            \
    y[threadIdx.x] = std::name(x[threadIdx.x]);                                \
  }
#define TWO(name)                                                              \
  extern "C" __global__ void f_##name(const float *x, float *y) {              \
    y[threadIdx.x] = name##f(x[threadIdx.x], x[threadIdx.x ^ 85]);             \
  }                                                                            \
  extern "C" __global__ void d_##name(const double *x, double *y) {            \
    y[threadIdx.x] = std::name(x[threadIdx.x], x[threadIdx.x ^ 85]);           \
  }
ONE(sin)
ONE(cos)
ONE(tan)
ONE(asin)
ONE(acos)
ONE(atan)
ONE(sinh)
ONE(cosh)
ONE(tanh)
ONE(exp)
ONE(exp2)
ONE(expm1)
ONE(log)
ONE(log2)
ONE(log10)
ONE(log1p)
ONE(sqrt)
ONE(cbrt)
ONE(erf)
ONE(erfc)
ONE(floor)
ONE(ceil)
ONE(trunc)
ONE(round)
ONE(rint)
ONE(fabs)
TWO(pow)
TWO(atan2)
TWO(fmod)
TWO(remainder)
TWO(hypot)
TWO(fmax)
TWO(fmin)
TWO(copysign)
