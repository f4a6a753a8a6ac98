// HIP's short vectors: their members, make_ functions and operators element by
// element. int2 and int4 convert to and from clang's own vectors, which
// builtins take.
#pragma once

#define HK_VECTOR2(T, V, bytes)                                                \
  struct alignas(bytes) V {                                                    \
    T x, y;                                                                    \
  };                                                                           \
  static inline __device__ __host__ V make_##V(T x, T y) { return V{x, y}; }
#define HK_VECTOR3(T, V)                                                       \
  struct V {                                                                   \
    T x, y, z;                                                                 \
  };                                                                           \
  static inline __device__ __host__ V make_##V(T x, T y, T z) {                \
    return V{x, y, z};                                                         \
  }
#define HK_VECTOR4(T, V, bytes)                                                \
  struct alignas(bytes) V {                                                    \
    T x, y, z, w;                                                              \
  };                                                                           \
  static inline __device__ __host__ V make_##V(T x, T y, T z, T w) {           \
    return V{x, y, z, w};                                                      \
  }

// Comparisons of numbers of 16 bits by their names.
#define HK_EACH_COMPARISON(f)                                                  \
  f(__heq, ==) f(__hne, !=) f(__hlt, <) f(__hle, <=) f(__hgt, >) f(__hge, >=)

// `each` makes a vector of f of each element of a and b.
#define HK_EACH2(V, T, f)                                                      \
  V { f(T, x), f(T, y) }
#define HK_EACH3(V, T, f)                                                      \
  V { f(T, x), f(T, y), f(T, z) }
#define HK_EACH4(V, T, f)                                                      \
  V { f(T, x), f(T, y), f(T, z), f(T, w) }
#define HK_OPERATOR(V, T, op, each, both, right, left)                         \
  static inline __host__ __device__ V operator op(V a, V b) {                  \
    return each(V, T, both);                                                   \
  }                                                                            \
  static inline __host__ __device__ V operator op(V a, T b) {                  \
    return each(V, T, right);                                                  \
  }                                                                            \
  static inline __host__ __device__ V operator op(T a, V b) {                  \
    return each(V, T, left);                                                   \
  }                                                                            \
  static inline __host__ __device__ V &operator op## = (V & a, V b) {          \
    return a = a op b;                                                         \
  }                                                                            \
  static inline __host__ __device__ V &operator op## = (V & a, T b) {          \
    return a = a op b;                                                         \
  }
#define HK_SUM(T, e) static_cast<T>(a.e + b.e)
#define HK_SUM_R(T, e) static_cast<T>(a.e + b)
#define HK_SUM_L(T, e) static_cast<T>(a + b.e)
#define HK_SUB(T, e) static_cast<T>(a.e - b.e)
#define HK_SUB_R(T, e) static_cast<T>(a.e - b)
#define HK_SUB_L(T, e) static_cast<T>(a - b.e)
#define HK_MUL(T, e) static_cast<T>(a.e * b.e)
#define HK_MUL_R(T, e) static_cast<T>(a.e * b)
#define HK_MUL_L(T, e) static_cast<T>(a * b.e)
#define HK_DIV(T, e) static_cast<T>(a.e / b.e)
#define HK_DIV_R(T, e) static_cast<T>(a.e / b)
#define HK_DIV_L(T, e) static_cast<T>(a / b.e)
#define HK_NEGATE(T, e) static_cast<T>(-a.e)
#define HK_OPERATORS(V, T, each)                                               \
  HK_OPERATOR(V, T, +, each, HK_SUM, HK_SUM_R, HK_SUM_L)                       \
  HK_OPERATOR(V, T, -, each, HK_SUB, HK_SUB_R, HK_SUB_L)                       \
  HK_OPERATOR(V, T, *, each, HK_MUL, HK_MUL_R, HK_MUL_L)                       \
  HK_OPERATOR(V, T, /, each, HK_DIV, HK_DIV_R, HK_DIV_L)                       \
  static inline __host__ __device__ V operator-(V a) {                         \
    return each(V, T, HK_NEGATE);                                              \
  }

#define HK_VECTORS(T, name, bytes)                                             \
  struct alignas(bytes) name##1 { T x; };                                      \
  static inline __device__ __host__ name##1 make_##name##1(T x) {              \
    return name##1 {x};                                                        \
  }                                                                            \
  HK_VECTOR2(T, name##2, 2 * bytes)                                            \
  HK_VECTOR3(T, name##3)                                                       \
  HK_VECTOR4(T, name##4, (bytes < 4 ? 4 * bytes : 16))                         \
  HK_OPERATORS(name##2, T, HK_EACH2)                                           \
  HK_OPERATORS(name##3, T, HK_EACH3)                                           \
  HK_OPERATORS(name##4, T, HK_EACH4)

HK_VECTORS(char, char, 1)
HK_VECTORS(unsigned char, uchar, 1)
HK_VECTORS(short, short, 2)
HK_VECTORS(unsigned short, ushort, 2)
HK_VECTORS(unsigned, uint, 4)
HK_VECTORS(float, float, 4)
HK_VECTORS(double, double, 8)
HK_VECTORS(long, long, 8)
HK_VECTORS(unsigned long, ulong, 8)
HK_VECTORS(long long, longlong, 8)
HK_VECTORS(unsigned long long, ulonglong, 8)

namespace hkshim {
typedef int Int2 __attribute__((ext_vector_type(2)));
typedef int Int4 __attribute__((ext_vector_type(4)));
} // namespace hkshim
struct int1 {
  int x;
};
struct alignas(8) int2 {
  int x, y;
  int2() = default;
  constexpr __host__ __device__ int2(int x, int y) : x(x), y(y) {}
  __host__ __device__ int2(hkshim::Int2 v) : x(v[0]), y(v[1]) {}
  __host__ __device__ operator hkshim::Int2() const {
    return hkshim::Int2{x, y};
  }
  __host__ __device__ int &operator[](int i) { return (&x)[i]; }
  __host__ __device__ int operator[](int i) const { return (&x)[i]; }
};
struct alignas(16) int4 {
  int x, y, z, w;
  int4() = default;
  constexpr __host__ __device__ int4(int x, int y, int z, int w)
      : x(x), y(y), z(z), w(w) {}
  __host__ __device__ int4(hkshim::Int4 v)
      : x(v[0]), y(v[1]), z(v[2]), w(v[3]) {}
  __host__ __device__ operator hkshim::Int4() const {
    return hkshim::Int4{x, y, z, w};
  }
  __host__ __device__ int &operator[](int i) { return (&x)[i]; }
  __host__ __device__ int operator[](int i) const { return (&x)[i]; }
};
HK_VECTOR3(int, int3)
HK_OPERATORS(int2, int, HK_EACH2)
HK_OPERATORS(int3, int, HK_EACH3)
HK_OPERATORS(int4, int, HK_EACH4)
static inline __device__ __host__ int2 make_int2(int x, int y) {
  return int2{x, y};
}
static inline __device__ __host__ int4 make_int4(int x, int y, int z, int w) {
  return int4{x, y, z, w};
}
// Of the type of both arguments' sum: as an int a maximum would lose what
// follows the point. Of floats a NaN is not the result.
#define HK_EXTREME(name, op)                                                   \
  template <class A, class B>                                                  \
  static inline __device__ auto name(A a, B b) -> decltype(a + b) {            \
    decltype(a + b) x = a, y = b;                                              \
    return x op y || y != y ? x : y;                                           \
  }
HK_EXTREME(min, <)
HK_EXTREME(max, >)
#undef HK_EXTREME
