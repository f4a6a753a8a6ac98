// The mathematics behind the names that clang's own HIP headers declare, which
// AMD's device library has: usual reductions and polynomials (Cephes, fdlibm),
// right to a few last places. What is missing fails to link by its name.
#pragma once

namespace hkshim {
template <class T> struct Real;
template <> struct Real<float> {
  // Parts of pi/2 and of log 2.
  static constexpr float p1 = 1.5707962513f, p2 = 7.5497894159e-8f,
                         p3 = 5.3903025300e-15f;
  static __device__ float sinOf(float r) {
    float z = r * r;
    float p = __builtin_fmaf(z, -1.9515295891e-4f, 8.3321608736e-3f);
    p = __builtin_fmaf(z, p, -1.6666654611e-1f);
    return __builtin_fmaf(r * z, p, r);
  }
  static __device__ float cosOf(float r) {
    float z = r * r;
    float p = __builtin_fmaf(z, 2.443315711809948e-5f, -1.388731625493765e-3f);
    p = __builtin_fmaf(z, p, 4.166664568298827e-2f);
    return __builtin_fmaf(z * z, p, __builtin_fmaf(z, -0.5f, 1.f));
  }
  static __device__ float atanOf(float x) {
    float z = x * x;
    float p = __builtin_fmaf(z, 8.05374449538e-2f, -1.38776856032e-1f);
    p = __builtin_fmaf(z, p, 1.99777106478e-1f);
    p = __builtin_fmaf(z, p, -3.33329491539e-1f);
    return __builtin_fmaf(x * z, p, x);
  }
  static constexpr float atanTop = 2.414213562f, atanMiddle = 0.4142135624f;
};
template <> struct Real<double> {
  static constexpr double p1 = 1.57079632679489655800,
                          p2 = 6.12323399573676603587e-17, p3 = 0;
  static __device__ double sinOf(double r) {
    double z = r * r, p = 1.58969099521155010221e-10;
    p = __builtin_fma(z, p, -2.50507602534068634195e-08);
    p = __builtin_fma(z, p, 2.75573137070700676789e-06);
    p = __builtin_fma(z, p, -1.98412698298579493134e-04);
    p = __builtin_fma(z, p, 8.33333333332248946124e-03);
    p = __builtin_fma(z, p, -1.66666666666666324348e-01);
    return __builtin_fma(r * z, p, r);
  }
  static __device__ double cosOf(double r) {
    double z = r * r, p = -1.13596475577881948265e-11;
    p = __builtin_fma(z, p, 2.08757232129817482790e-09);
    p = __builtin_fma(z, p, -2.75573143513906633035e-07);
    p = __builtin_fma(z, p, 2.48015872894767294178e-05);
    p = __builtin_fma(z, p, -1.38888888888741095749e-03);
    p = __builtin_fma(z, p, 4.16666666666666019037e-02);
    return __builtin_fma(z * z, p, __builtin_fma(z, -0.5, 1.0));
  }
  static __device__ double atanOf(double x) {
    double z = x * x;
    double p = -8.750608600031904122785e-1, q = z + 2.485846490142306297962e1;
    p = p * z - 1.615753718733365076637e1;
    p = p * z - 7.500855792314704667340e1;
    p = p * z - 1.228866684490136173410e2;
    p = p * z - 6.485021904942025371773e1;
    q = q * z + 1.650270098316988542046e2;
    q = q * z + 4.328810604912902668951e2;
    q = q * z + 4.853903996359136964868e2;
    q = q * z + 1.945506571482613964425e2;
    return __builtin_fma(x * z, p / q, x);
  }
  static constexpr double atanTop = 2.41421356237309504880, atanMiddle = 0.66;
};

static __device__ inline float fmaOf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
static __device__ inline double fmaOf(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
template <class T> static __device__ inline T absOf(T x) {
  return __builtin_elementwise_abs(x);
}

/// sin(x + quarters * pi/2).
template <class T> static __device__ inline T sine(T x, int quarters) {
  T k = __builtin_elementwise_rint(x * T(0.63661977236758134308));
  T r = fmaOf(-k, Real<T>::p1, x);
  r = fmaOf(-k, Real<T>::p2, r);
  r = fmaOf(-k, Real<T>::p3, r);
  int q = int(k) + quarters;
  T v = q & 1 ? Real<T>::cosOf(r) : Real<T>::sinOf(r);
  return q & 2 ? -v : v;
}
template <class T> static __device__ inline T arctan(T x) {
  T a = absOf(x), base = 0, r = a;
  if (a > Real<T>::atanTop) {
    base = T(1.57079632679489661923);
    r = T(-1) / a;
  } else if (a > Real<T>::atanMiddle) {
    base = T(0.78539816339744830962);
    r = (a - 1) / (a + 1);
  }
  return __builtin_elementwise_copysign(base + Real<T>::atanOf(r), x);
}
template <class T> static __device__ inline T arctan2(T y, T x) {
  const T pi = T(3.14159265358979323846);
  T r = x == 0 && y == 0 ? T(0) : arctan(absOf(y) / absOf(x));
  if (__builtin_signbit(x))
    r = pi - r;
  return __builtin_elementwise_copysign(r, y);
}
static __device__ inline double exponential(double x) {
  double k = __builtin_rint(x * 1.44269504088896338700);
  double r = __builtin_fma(-k, 6.93147180369123816490e-01, x);
  r = __builtin_fma(-k, 1.90821492927058770002e-10, r);
  double p = 1.0 / 6227020800.0;
  constexpr double inverse[] = {
      479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0,
      120.0,       24.0,       6.0,       2.0,      1.0,     1.0};
#pragma unroll
  for (int i = 0; i < 13; ++i)
    p = __builtin_fma(p, r, 1.0 / inverse[i]);
  if (x > 710.0)
    return __builtin_inf();
  return x < -746.0 ? 0.0 : __builtin_ldexp(p, int(k));
}
static __device__ inline float exponential(float x) {
  return __builtin_expf(x);
}
static __device__ inline double logarithm(double x) {
  if (!(x > 0))
    return x == 0 ? -__builtin_inf() : __builtin_nan("");
  if (x == __builtin_inf())
    return x;
  int k;
  double m = __builtin_frexp(x, &k);
  if (m < 0.70710678118654752440) {
    m *= 2;
    --k;
  }
  double s = (m - 1) / (m + 1), z = s * s, p = 1.0 / 23;
#pragma unroll
  for (int i = 21; i >= 3; i -= 2)
    p = __builtin_fma(p, z, 1.0 / i);
  double two = 2 * s;
  return __builtin_fma(
      double(k), 6.93147180369123816490e-01,
      __builtin_fma(two * z, p, two + k * 1.90821492927058770002e-10));
}
static __device__ inline float logarithm(float x) { return __builtin_logf(x); }

template <class T> static __device__ inline T expMinus1(T x) {
  if (absOf(x) > T(0.3))
    return exponential(x) - 1;
  T p = T(1.0 / 6227020800.0);
  constexpr double inverse[] = {479001600.0, 39916800.0, 3628800.0, 362880.0,
                                40320.0,     5040.0,     720.0,     120.0,
                                24.0,        6.0,        2.0,       1.0};
#pragma unroll
  for (int i = 0; i < 12; ++i)
    p = fmaOf(p, x, T(1.0 / inverse[i]));
  return p * x;
}
template <class T> static __device__ inline T logPlus1(T x) {
  T u = 1 + x, d = u - 1; // Kahan's correction of the rounded sum
  return d == 0 ? x : logarithm(u) * (x / d);
}
template <class T> static __device__ inline T hyperTangent(T x) {
  T a = absOf(x), e = expMinus1(T(-2) * a);
  return __builtin_elementwise_copysign(a > T(22) ? T(1) : -e / (2 + e), x);
}
template <class T> static __device__ inline T arcsine(T x) {
  return arctan2(x, __builtin_elementwise_sqrt((1 - x) * (1 + x)));
}
template <class T> static __device__ inline T arccosine(T x) {
  return arctan2(__builtin_elementwise_sqrt((1 - x) * (1 + x)), x);
}
template <class T> static __device__ inline T cubeRoot(T x) {
  T a = absOf(x);
  if (a == 0 || !(a < T(__builtin_inf())))
    return x;
  T r = exponential(logarithm(a) * T(0.33333333333333333333));
  r -= (r * r * r - a) / (3 * r * r);
  return __builtin_elementwise_copysign(r, x);
}
template <class T> static __device__ inline T remainderOf(T x, T y, bool even) {
  T a = absOf(x), b = absOf(y);
  if (!(b > 0) || !(a < T(__builtin_inf())))
    return T(__builtin_nan(""));
  T r = a;
  bool odd = false;
  while (r >= b) { // exact: what is taken away is b times a power of two
    int kr, kb;
    if constexpr (sizeof(T) == 4) {
      __builtin_frexpf(r, &kr);
      __builtin_frexpf(b, &kb);
    } else {
      __builtin_frexp(r, &kr);
      __builtin_frexp(b, &kb);
    }
    T part = __builtin_elementwise_ldexp(b, kr - kb);
    int power = kr - kb;
    if (part > r) {
      part = part / 2;
      --power;
    }
    odd = power == 0;
    r -= part;
  }
  if (even && (2 * r > b || (2 * r == b && odd)))
    r -= b;
  return __builtin_signbit(x) ? -r : r;
}
template <class T> static __device__ inline T power(T x, T y) {
  T whole = __builtin_elementwise_trunc(y), a = absOf(x);
  bool integer = whole == y, odd = integer && absOf(y) < T(9e15) &&
                                   __builtin_elementwise_trunc(y / 2) * 2 != y;
  if (y == 0 || x == 1)
    return 1;
  T r;
  if constexpr (sizeof(T) == 4)
    r = a == 0 ? (y > 0 ? T(0) : T(__builtin_inff()))
               : __builtin_exp2f(y * __builtin_log2f(a));
  else
    r = a == 0 ? (y > 0 ? T(0) : T(__builtin_inf()))
               : exponential(y * logarithm(a));
  if (x < 0)
    r = integer ? (odd ? -r : r) : T(__builtin_nan(""));
  return r;
}
template <class T> static __device__ inline T powerOfInt(T x, int n) {
  unsigned m = n < 0 ? -unsigned(n) : unsigned(n);
  T r = 1;
  for (T p = x; m; m >>= 1, p *= p)
    if (m & 1)
      r *= p;
  return n < 0 ? 1 / r : r;
}
/// erf of small x by its series, erfc of x from 1 on by a continued fraction.
template <class T> static __device__ inline T errorSeries(T x) {
  T z = x * x, term = x, sum = x;
  const int terms = sizeof(T) == 4 ? 28 : 60;
  for (int n = 1; n < terms; ++n) {
    term *= -z / n;
    sum += term / (2 * n + 1);
  }
  return sum * T(1.12837916709551257390);
}
template <class T> static __device__ inline T errorFraction(T x) {
  T f = x; // what is left of n terms is about e^(-x sqrt(8 n))
  const int terms = sizeof(T) == 4 ? 64 : 200;
  for (int n = terms; n > 0; --n)
    f = x + T(0.5) * n / f;
  return exponential(-x * x) * T(0.56418958354775628695) / f;
}
template <class T> static __device__ inline T error(T x) {
  T a = absOf(x);
  T r = a < T(2) ? errorSeries(a) : 1 - errorFraction(a);
  return __builtin_elementwise_copysign(a > T(6) ? T(1) : r, x);
}
template <class T> static __device__ inline T errorRest(T x) {
  return x < T(1) ? 1 - error(x) : errorFraction(x);
}
} // namespace hkshim

#define HK_OCML1(name, expression)                                             \
  static inline __device__ float hk_##name(float x) {                          \
    using T = float;                                                           \
    return expression;                                                         \
  }                                                                            \
  static inline __device__ double hk_##name(double x) {                        \
    using T = double;                                                          \
    return expression;                                                         \
  }                                                                            \
  extern "C" inline __device__ float __ocml_##name##_f32(float x) {            \
    return hk_##name(x);                                                       \
  }                                                                            \
  extern "C" inline __device__ double __ocml_##name##_f64(double x) {          \
    return hk_##name(x);                                                       \
  }
#define HK_OCML2(name, expression)                                             \
  extern "C" inline __device__ float __ocml_##name##_f32(float x, float y) {   \
    using T = float;                                                           \
    return expression;                                                         \
  }                                                                            \
  extern "C" inline __device__ double __ocml_##name##_f64(double x,            \
                                                          double y) {          \
    using T = double;                                                          \
    return expression;                                                         \
  }
HK_OCML1(sin, hkshim::sine<T>(x, 0))
HK_OCML1(cos, hkshim::sine<T>(x, 1))
HK_OCML1(tan, hkshim::sine<T>(x, 0) / hkshim::sine<T>(x, 1))
HK_OCML1(sinpi, hkshim::sine<T>(T(3.14159265358979323846) *
                                    (x - 2 * __builtin_elementwise_rint(x / 2)),
                                0))
HK_OCML1(cospi, hkshim::sine<T>(T(3.14159265358979323846) *
                                    (x - 2 * __builtin_elementwise_rint(x / 2)),
                                1))
HK_OCML1(asin, hkshim::arcsine<T>(x))
HK_OCML1(acos, hkshim::arccosine<T>(x))
HK_OCML1(atan, hkshim::arctan<T>(x))
HK_OCML1(exp, hkshim::exponential(x))
HK_OCML1(exp2, hkshim::exponential(x *T(0.69314718055994530942)))
HK_OCML1(exp10, hkshim::exponential(x *T(2.30258509299404568402)))
HK_OCML1(expm1, hkshim::expMinus1<T>(x))
HK_OCML1(log, hkshim::logarithm(x))
HK_OCML1(log2, hkshim::logarithm(x) * T(1.44269504088896340736))
HK_OCML1(log10, hkshim::logarithm(x) * T(0.43429448190325182765))
HK_OCML1(log1p, hkshim::logPlus1<T>(x))
HK_OCML1(sinh, T(0.5) * (hkshim::expMinus1<T>(x) - hkshim::expMinus1<T>(-x)))
HK_OCML1(cosh, T(0.5) * (hkshim::exponential(x) + hkshim::exponential(-x)))
HK_OCML1(tanh, hkshim::hyperTangent<T>(x))
HK_OCML1(asinh,
         __builtin_elementwise_copysign(
             hkshim::logarithm(hkshim::absOf(x) +
                               __builtin_elementwise_sqrt(hkshim::fmaOf(x, x,
                                                                        T(1)))),
             x))
HK_OCML1(acosh,
         hkshim::logarithm(x + __builtin_elementwise_sqrt((x - 1) * (x + 1))))
HK_OCML1(atanh, T(0.5) * hkshim::logPlus1<T>(2 * x / (1 - x)))
HK_OCML1(cbrt, hkshim::cubeRoot<T>(x))
HK_OCML1(rcbrt, 1 / hkshim::cubeRoot<T>(x))
HK_OCML1(rsqrt, 1 / __builtin_elementwise_sqrt(x))
HK_OCML1(erf, hkshim::error<T>(x))
HK_OCML1(erfc, hkshim::errorRest<T>(x))
HK_OCML1(erfcx, hkshim::exponential(x *x) * hkshim::errorRest<T>(x))
HK_OCML1(ncdf, T(0.5) * hkshim::errorRest<T>(x * T(-0.70710678118654752440)))
HK_OCML2(atan2, hkshim::arctan2<T>(x, y))
HK_OCML2(fmod, hkshim::remainderOf<T>(x, y, false))
HK_OCML2(remainder, hkshim::remainderOf<T>(x, y, true))
HK_OCML2(pow, hkshim::power<T>(x, y))
HK_OCML2(hypot, __builtin_elementwise_sqrt(hkshim::fmaOf(x, x, T(y *y))))
HK_OCML2(rhypot, 1 / __builtin_elementwise_sqrt(hkshim::fmaOf(x, x, T(y *y))))
HK_OCML2(fdim, x > y ? x - y : T(0))
#undef HK_OCML1
#undef HK_OCML2
extern "C" {
inline __device__ float __ocml_pown_f32(float x, int n) {
  return hkshim::powerOfInt(x, n);
}
inline __device__ double __ocml_pown_f64(double x, int n) {
  return hkshim::powerOfInt(x, n);
}
inline __device__ float
__ocml_sincos_f32(float x, __attribute__((opencl_private)) float *c) {
  *c = hkshim::sine(x, 1);
  return hkshim::sine(x, 0);
}
inline __device__ double
__ocml_sincos_f64(double x, __attribute__((opencl_private)) double *c) {
  *c = hkshim::sine(x, 1);
  return hkshim::sine(x, 0);
}
inline __device__ float
__ocml_modf_f32(float x, __attribute__((opencl_private)) float *whole) {
  *whole = __builtin_truncf(x);
  return __builtin_copysignf(x - *whole, x);
}
inline __device__ double
__ocml_modf_f64(double x, __attribute__((opencl_private)) double *whole) {
  *whole = __builtin_trunc(x);
  return __builtin_copysign(x - *whole, x);
}
#define HK_NATIVE(name, expression)                                            \
  inline __device__ float __ocml_native_##name##_f32(float x) {                \
    return expression;                                                         \
  }
HK_NATIVE(sin, __builtin_amdgcn_sinf(x * 0.15915494f))
HK_NATIVE(cos, __builtin_amdgcn_cosf(x * 0.15915494f))
HK_NATIVE(exp, __builtin_amdgcn_exp2f(x * 1.44269504f))
HK_NATIVE(exp10, __builtin_amdgcn_exp2f(x * 3.32192809f))
HK_NATIVE(log, __builtin_amdgcn_logf(x) * 0.69314718f)
HK_NATIVE(log2, __builtin_amdgcn_logf(x))
HK_NATIVE(log10, __builtin_amdgcn_logf(x) * 0.30103f)
HK_NATIVE(sqrt, __builtin_amdgcn_sqrtf(x))
#undef HK_NATIVE
}
