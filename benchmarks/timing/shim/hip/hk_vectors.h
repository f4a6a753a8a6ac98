// HIP's short vectors: their members, make_ functions and operators element by
// element. int2 and int4 are clang's own vectors, whose elements have no
// address.
#pragma once

#define HK_EACH_OPERATOR(V, X, ...)                                            \
  X(V, +, __VA_ARGS__)                                                         \
  X(V, -, __VA_ARGS__) X(V, *, __VA_ARGS__) X(V, /, __VA_ARGS__)

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

#define HK_OPERATOR2(V, op, T)                                                 \
  static inline __device__ V operator op(V a, V b) {                           \
    return V{static_cast<T>(a.x op b.x), static_cast<T>(a.y op b.y)};          \
  }                                                                            \
  static inline __device__ V operator op(V a, T b) {                           \
    return V{static_cast<T>(a.x op b), static_cast<T>(a.y op b)};              \
  }
#define HK_OPERATOR4(V, op, T)                                                 \
  static inline __device__ V operator op(V a, V b) {                           \
    return V{static_cast<T>(a.x op b.x), static_cast<T>(a.y op b.y),           \
             static_cast<T>(a.z op b.z), static_cast<T>(a.w op b.w)};          \
  }                                                                            \
  static inline __device__ V operator op(V a, T b) {                           \
    return V{static_cast<T>(a.x op b), static_cast<T>(a.y op b),               \
             static_cast<T>(a.z op b), static_cast<T>(a.w op b)};              \
  }

#define HK_COMPOUND(V, op, T)                                                  \
  static inline __device__ V &operator op## = (V & a, V b) {                   \
    return a = a op b;                                                         \
  }                                                                            \
  static inline __device__ V &operator op## = (V & a, T b) {                   \
    return a = a op b;                                                         \
  }

#define HK_VECTORS(T, name, bytes)                                             \
  HK_VECTOR2(T, name##2, 2 * bytes)                                            \
  HK_VECTOR3(T, name##3)                                                       \
  HK_VECTOR4(T, name##4, (bytes < 4 ? 4 * bytes : 16))                         \
  HK_EACH_OPERATOR(name##2, HK_OPERATOR2, T)                                   \
  HK_EACH_OPERATOR(name##4, HK_OPERATOR4, T)                                   \
  HK_EACH_OPERATOR(name##2, HK_COMPOUND, T)                                    \
  HK_EACH_OPERATOR(name##4, HK_COMPOUND, T)

HK_VECTORS(char, char, 1)
HK_VECTORS(unsigned char, uchar, 1)
HK_VECTORS(short, short, 2)
HK_VECTORS(unsigned short, ushort, 2)
HK_VECTORS(unsigned, uint, 4)
HK_VECTORS(float, float, 4)
HK_VECTORS(double, double, 8)
HK_VECTORS(long long, longlong, 8)
HK_VECTOR3(int, int3)

#undef HK_EACH_OPERATOR
#undef HK_OPERATOR2
#undef HK_OPERATOR4
#undef HK_COMPOUND

typedef int int4 __attribute__((ext_vector_type(4)));
typedef int int2 __attribute__((ext_vector_type(2)));
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
