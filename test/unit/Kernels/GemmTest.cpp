//===- GemmTest.cpp - Matrix products on the host ---------------*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every orientation, dtype and epilogue kind of the host product against a sum
// in double, on shapes that are no multiple of anything, with padded rows. The
// bound is that of an f32 sum of k products.
//
//===----------------------------------------------------------------------===//

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/or_zeros.h"
#include "gtest/gtest.h"

#include <cmath>
#include <memory>
#include <random>
#include <vector>

using namespace hk;

namespace {

/// Stores acc, acc * pair, or both quantised to fp8 with a scale per 128
/// columns.
template <DType Out, int Vec_, bool Pair, int Group> struct TestEpilogue {
  static constexpr int kVec = Vec_, kGroup = Group;
  Storage<Out> *y;
  i64 stride, batchStride;
  float *scale;
  i64 scaleStride;

  template <int V, class In> Vec<float, V> value(const In &in) const {
    auto a = convertTo<float, V>(in.acc);
    if constexpr (Pair)
      a *= convertTo<float, V>(in.pair);
    return a;
  }
  template <int V, class In> float stat(i64, i64, i64, const In &in) const {
    auto v = value<V>(in);
    float most = 0;
    for (int e = 0; e < V; ++e)
      most = std::fmax(most, std::fabs(v[e]));
    return most;
  }
  template <int V, class In>
  void apply(i64 batch, i64 row, i64 col, const In &in) const {
    auto v = value<V>(in);
    if constexpr (Group != 0) {
      float s = in.stat / 448.f;
      v /= s;
      if (col % 128 == 0)
        scale[row * scaleStride + col / 128] = s;
    }
    store<Out, V, int(sizeof(Storage<Out>))>(
        y, batch * batchStride + row * stride + col, v);
  }
};

template <DType D>
std::vector<Storage<D>> randomData(std::mt19937 &rng, i64 n) {
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<Storage<D>> v(n);
  for (auto &x : v)
    if constexpr (D == DType::I8)
      x = i8(value(rng) * 127);
    else
      x = pack<D, 1>(Vec<float, 1>(value(rng)))[0];
  return v;
}
template <DType D> double valueOf(Storage<D> s) {
  return double(unpack<D, 1>(Packed<D, 1>(s))[0]);
}

struct Shape {
  i64 m, n, k;
};

template <DType DA, DType DB, bool KA, bool KB, bool Pair, KScale Scale, int BM,
          int BN, int BK, int V, int Group>
void check(Shape shape, i64 batches = 1) {
  SCOPED_TRACE(testing::Message()
               << info(DA).name << " x " << info(DB).name << " " << shape.m
               << "x" << shape.n << "x" << shape.k);
  constexpr DType Out = Group ? DType::F8E4M3FN : DType::F32;
  using P = GemmProblem<Operand<DA, KA, 1>, Operand<DB, KB, 1>, Pair, Scale, BM,
                        BN, BK, 1, 1, 1, 1>;
  using G = Gemm<P>;
  std::mt19937 rng(7);
  const i64 m = shape.m, n = shape.n, k = shape.k, rowsB = Pair ? 2 * n : n;
  const i64 lda = (KA ? k : m) + 3, ldb = (KB ? k : rowsB) + 5;
  const i64 sizeA = lda * (KA ? m : k), sizeB = ldb * (KB ? rowsB : k);
  auto a = randomData<DA>(rng, sizeA * batches);
  auto b = randomData<DB>(rng, sizeB * batches);
  const i64 kBlocks = (k + 127) / 128, nBlocks = (n + 127) / 128;
  std::vector<float> scaleA(m * kBlocks), scaleB(nBlocks * kBlocks);
  for (float &x : scaleA)
    x = 0.5f + float(rng() % 100) / 100.f;
  for (float &x : scaleB)
    x = 0.5f + float(rng() % 100) / 100.f;
  std::vector<Storage<Out>> y(batches * m * n);
  std::vector<float> yScale(m * nBlocks);

  GemmArgs args = {};
  args.m = m, args.n = n, args.k = k, args.batches = batches;
  args.a.stride = lda, args.b.stride = ldb;
  args.a.fold = {u64(scaleA.data()), kBlocks, 1};
  args.b.fold = {u64(scaleB.data()), kBlocks, 1};
  TestEpilogue<Out, V, Pair, Group> epilogue{y.data(), n, m * n, yScale.data(),
                                             nBlocks};
  auto shared = std::make_unique<typename G::Shared>();
  for (u32 z = 0; z < batches; ++z) {
    args.a.data = u64(a.data() + z * sizeA);
    args.b.data = u64(b.data() + z * sizeB);
    for (u32 i = 0; i < (m + BM - 1) / BM; ++i)
      for (u32 j = 0; j < (n + P::kCols - 1) / P::kCols; ++j)
        G::run(args, BlockId{j, i, z}, *shared, epilogue);
  }

  auto elementA = [&](i64 z, i64 i, i64 x) {
    return valueOf<DA>(a[z * sizeA + (KA ? i * lda + x : x * lda + i)]);
  };
  auto elementB = [&](i64 z, i64 j, i64 x) {
    return valueOf<DB>(b[z * sizeB + (KB ? j * ldb + x : x * ldb + j)]);
  };
  for (i64 z = 0; z < batches; ++z)
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) {
        double sum = 0, partner = 0, magnitude = 1e-6;
        for (i64 x = 0; x < k; ++x) {
          double factor = 1;
          if (P::kScaleA)
            factor *= scaleA[i * kBlocks + x / 128];
          if (P::kScaleB)
            factor *= scaleB[j / 128 * kBlocks + x / 128];
          double product = elementA(z, i, x) * elementB(z, j, x) * factor;
          sum += product;
          magnitude += std::fabs(product);
          if (Pair)
            partner += elementA(z, i, x) * elementB(z, j + n, x);
        }
        double want = Pair ? sum * partner : sum;
        double got = valueOf<Out>(y[(z * m + i) * n + j]);
        double bound = 2e-6 * (Pair ? magnitude * magnitude : magnitude);
        if (Group) {
          // Half a step of e4m3: 2^-4 of the value, 2^-10 of the scale.
          double s = yScale[i * nBlocks + j / 128];
          got *= s;
          bound = std::fabs(want) / 15.9 + s * 0.002;
        }
        ASSERT_NEAR(got, want, bound) << "at " << z << ", " << i << ", " << j;
      }
}

constexpr DType kBf16 = DType::BF16, kF32 = DType::F32, kF16 = DType::F16;
constexpr DType kFn = DType::F8E4M3FN, kFnuz = DType::F8E4M3FNUZ;
constexpr KScale kNone = KScale::None;
const Shape kShapes[] = {{1, 128, 64},  {129, 136, 72}, {1, 200, 328},
                         {37, 50, 13},  {5, 77, 40},    {200, 384, 600},
                         {3, 64, 2100}, {8, 33, 17}};

TEST(Gemm, PackedOrientations) {
  for (Shape s : kShapes) {
    check<kBf16, kBf16, true, true, false, kNone, 96, 64, 256, 16, 0>(s);
    check<kBf16, kBf16, true, false, false, kNone, 96, 64, 256, 1, 0>(s);
    check<kBf16, kBf16, false, false, false, kNone, 96, 64, 256, 8, 0>(s);
    check<kF32, kF32, false, true, false, kNone, 96, 64, 256, 16, 0>(s);
  }
}

TEST(Gemm, SkinnyOrientations) {
  for (Shape s : kShapes) {
    check<kBf16, kBf16, true, true, false, kNone, 8, 64, 2048, 16, 0>(s);
    check<kBf16, kBf16, true, false, false, kNone, 8, 64, 2048, 4, 0>(s);
    check<kF32, kF32, false, true, false, kNone, 8, 32, 1024, 8, 0>(s);
  }
}

TEST(Gemm, PairedColumns) {
  for (Shape s : kShapes) {
    check<kBf16, kBf16, true, true, true, kNone, 96, 128, 256, 16, 0>(s);
    check<kBf16, kBf16, true, true, true, kNone, 8, 64, 2048, 16, 0>(s);
    check<kBf16, kBf16, true, false, true, kNone, 96, 128, 256, 4, 0>(s);
  }
}

TEST(Gemm, OperandTypes) {
  for (Shape s : kShapes) {
    check<DType::I8, DType::I8, true, true, false, kNone, 96, 64, 256, 16, 0>(
        s);
    check<DType::I8, DType::I8, true, true, false, kNone, 8, 64, 512, 16, 0>(s);
    check<kFn, kFn, true, true, false, kNone, 96, 64, 256, 16, 0>(s);
    check<kF16, kFnuz, true, true, false, kNone, 8, 64, 512, 16, 0>(s);
  }
}

TEST(Gemm, ScalesAlongK) {
  constexpr DType kI8 = DType::I8;
  for (Shape s : kShapes) {
    check<kFn, kFn, true, true, false, KScale::Both, 96, 64, 128, 16, 0>(s);
    check<kI8, kI8, true, true, false, KScale::A, 96, 64, 128, 16, 0>(s);
    check<kBf16, kFn, true, false, false, KScale::B, 96, 64, 128, 16, 0>(s);
  }
}

TEST(Gemm, QuantisedInGroups) {
  for (Shape s : kShapes) {
    check<kBf16, kBf16, true, true, false, kNone, 96, 128, 256, 16, 128>(s);
    check<kBf16, kBf16, true, true, true, kNone, 8, 256, 256, 8, 128>(s);
  }
}

TEST(Gemm, Batches) {
  check<kBf16, kBf16, true, true, false, kNone, 96, 64, 256, 16, 0>(
      {33, 50, 70}, 3);
}

TEST(Gemm, LdsOfAbsurdTilesSaturates) {
  GemmTile absurd = {INT32_MAX, INT32_MAX, INT32_MAX, 1, 1, INT32_MAX, 1};
  EXPECT_EQ(gemmLds(targetOf(Arch::Gfx942), absurd, kBf16), kLdsOverflow);
}

} // namespace

namespace {
/// Tells which one is called, with which vector.
template <int Tag> struct TaggedEpilogue {
  static constexpr int kVec = 4;
  const u64 *words;
  template <int V, class In>
  void apply(i64 batch, i64 row, i64 col, const In &in) const {
    *in = int(words[0]) + Tag * 1000 + V * 100 + int(batch + row + col);
  }
  template <int V, class In>
  float stat(i64 batch, i64 row, i64 col, const In &) const {
    return float(Tag * 1000 + V * 100 + int(batch + row + col));
  }
  template <class In> int two(i64 batch, i64 row, i64 col, const In &) const {
    return Tag * 1000 + int(batch + row + col);
  }
};
} // namespace

TEST(OrZeros, RowsWithoutAMatrixAreThoseOfZeros) {
  const u64 words[] = {50000};
  OrZeros<TaggedEpilogue<1>, TaggedEpilogue<2>> epilogue = {{words}};
  static_assert(epilogue.kVec == 4);
  int made = 0;
  epilogue.apply<4>(0, 3, 8, &made);
  EXPECT_EQ(made, 51411);
  epilogue.apply<1>(-1, 3, 8, &made);
  EXPECT_EQ(made, 52110);
  EXPECT_EQ(epilogue.stat<4>(7, 0, 0, &made), 1407);
  EXPECT_EQ(epilogue.stat<4>(-1, 1, 0, &made), 2400);
  EXPECT_EQ(epilogue.two(2, 0, 0, &made), 1002);
  EXPECT_EQ(epilogue.two(-1, 1, 1, &made), 2001);
}
