//===- types.h - Element and vector types of kernel code -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fixed-width names, vectors and the storage type of every hk::DType, for
// every target: GPU device code without any vendor header, and host C++.
//
// Values travel in registers as a *carrier*: f32 for every float dtype (already
// rounded to that dtype), i64 for i64, i32 for the other integers. Only loads
// and stores see the storage type.
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_TYPES_H
#define HK_KERNELS_DEVICE_TYPES_H

#include "hk/Contract/DType.h"
#include "hk/Contract/Target.h"

#if defined(__AMDGCN__) || defined(__NVPTX__)
#define HK_GPU 1
#define HK_DEV                                                                 \
  __attribute__((device)) static inline __attribute__((always_inline))
#define HK_MEM __attribute__((device)) inline __attribute__((always_inline))
/// Memory that kernel arguments point to. Spelled out so that accesses become
/// global_*/ld.global and never flat ones.
#define HK_GLOBAL __attribute__((address_space(1)))
#else
#define HK_GPU 0
#define HK_DEV static inline __attribute__((always_inline))
#define HK_MEM inline __attribute__((always_inline))
#define HK_GLOBAL
#endif
#define HK_UNROLL _Pragma("unroll")
#define HK_NO_UNROLL _Pragma("clang loop unroll(disable)")
#define HK_UNROLL_BY_8 _Pragma("unroll 8")

namespace hk {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using bf16 = __bf16;
using f16 = _Float16;

template <class T, int N> struct VecOf {
  typedef T type __attribute__((ext_vector_type(N)));
};
/// N elements in registers; N is a power of two, 1 included.
template <class T, int N> using Vec = typename VecOf<T, N>::type;

using f32x2 = Vec<float, 2>;
using f32x4 = Vec<float, 4>;
using f32x8 = Vec<float, 8>;
using f32x16 = Vec<float, 16>;
using bf16x4 = Vec<bf16, 4>;
using bf16x8 = Vec<bf16, 8>;
using u32x2 = Vec<u32, 2>;
using u32x4 = Vec<u32, 4>;

template <class To, class From> HK_DEV To bitCast(From v) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, v);
}

/// How a dtype lies in memory and what carries it in registers.
template <DType D> struct Traits;
template <class StorageT, class CarrierT> struct TraitsBase {
  using Storage = StorageT;
  using Carrier = CarrierT;
};
template <> struct Traits<DType::F32> : TraitsBase<float, float> {};
template <> struct Traits<DType::BF16> : TraitsBase<u16, float> {};
template <> struct Traits<DType::F16> : TraitsBase<f16, float> {};
template <> struct Traits<DType::F8E4M3FN> : TraitsBase<u8, float> {};
template <> struct Traits<DType::F8E4M3FNUZ> : TraitsBase<u8, float> {};
template <> struct Traits<DType::F8E5M2> : TraitsBase<u8, float> {};
template <> struct Traits<DType::F8E5M2FNUZ> : TraitsBase<u8, float> {};
template <> struct Traits<DType::F4E2M1FN> : TraitsBase<u8, float> {};
template <> struct Traits<DType::F8E8M0FNU> : TraitsBase<u8, float> {};
template <> struct Traits<DType::I1> : TraitsBase<u8, i32> {};
template <> struct Traits<DType::I8> : TraitsBase<i8, i32> {};
template <> struct Traits<DType::I16> : TraitsBase<i16, i32> {};
template <> struct Traits<DType::I32> : TraitsBase<i32, i32> {};
template <> struct Traits<DType::I64> : TraitsBase<i64, i64> {};
template <> struct Traits<DType::I4> : TraitsBase<u8, i32> {};
template <> struct Traits<DType::UI4> : TraitsBase<u8, i32> {};

template <DType D> using Storage = typename Traits<D>::Storage;
/// V carriers of D.
template <DType D, int V> using Carrier = Vec<typename Traits<D>::Carrier, V>;

/// Storage units that V elements take.
template <DType D, int V> inline constexpr int kUnits = isPacked(D) ? V / 2 : V;
/// V elements as they lie in memory.
template <DType D, int V> using Packed = Vec<Storage<D>, kUnits<D, V>>;

/// One of two types.
template <bool, class Yes, class> struct Choice {
  using Type = Yes;
};
template <class Yes, class No> struct Choice<false, Yes, No> {
  using Type = No;
};

/// A pointer into global memory.
template <class T> using Global = HK_GLOBAL T *;

/// The same number of lanes with another element type.
template <class To, int V, class FromVec>
HK_DEV Vec<To, V> convertTo(FromVec v) {
  return __builtin_convertvector(v, Vec<To, V>);
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_TYPES_H
