//===- reference.h - Attention in double precision -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A problem with awkward lengths, its tensors in memory, and what hk.attention
// says of it, written as plainly as possible. Shares no code with the kernels
// but their argument structs.
//
//===----------------------------------------------------------------------===//

#ifndef HK_TEST_KERNELS_ATTENTION_REFERENCE_H
#define HK_TEST_KERNELS_ATTENTION_REFERENCE_H

#include "kernels/attention/block.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace hktest {

using hk::AttentionSpec;
using hk::DType;
using hk::i64;
using hk::KeyLayout;
using hk::Normalizer;
using hk::ScoreCap;
using hk::SequenceLayout;
using hk::ValueScale;

struct Random {
  uint64_t state;
  double next() { // uniform in [-1, 1)
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return double(int64_t(state >> 11) - (int64_t(1) << 52)) /
           double(1ull << 52);
  }
};

/// Integers stand for numbers of at most about 1 in magnitude times this; see
/// Problem::keyScale.
inline constexpr double kIntegerUnit = 1.0 / 40;

template <DType D> double readSmall(const std::vector<char> &bytes, i64 i) {
  return double(hk::loadScalar<D>((const hk::Storage<D> *)bytes.data(), i));
}

inline double readElement(DType type, const std::vector<char> &bytes, i64 i) {
  switch (type) {
  case DType::I8:
    return readSmall<DType::I8>(bytes, i);
  case DType::F8E4M3FN:
    return readSmall<DType::F8E4M3FN>(bytes, i);
  case DType::F8E4M3FNUZ:
    return readSmall<DType::F8E4M3FNUZ>(bytes, i);
  case DType::F8E5M2:
    return readSmall<DType::F8E5M2>(bytes, i);
  default:
    break;
  }
  if (type == DType::F32) {
    float v;
    std::memcpy(&v, &bytes[i * 4], 4);
    return v;
  }
  uint16_t h;
  std::memcpy(&h, &bytes[i * 2], 2);
  if (type == DType::BF16) {
    uint32_t u = uint32_t(h) << 16;
    float v;
    std::memcpy(&v, &u, 4);
    return v;
  }
  _Float16 v;
  std::memcpy(&v, &h, 2);
  return double(v);
}

inline void writeElement(DType type, std::vector<char> &bytes, i64 i,
                         double x) {
  float v = float(x);
  if (type == DType::I8) {
    bytes[i] = char(std::lrint(x / kIntegerUnit));
  } else if (type == DType::F8E4M3FN) {
    bytes[i] = char(hk::pack<DType::F8E4M3FN, 1>(hk::Vec<float, 1>(v))[0]);
  } else if (type == DType::F8E4M3FNUZ) {
    bytes[i] = char(hk::pack<DType::F8E4M3FNUZ, 1>(hk::Vec<float, 1>(v))[0]);
  } else if (type == DType::F8E5M2) {
    bytes[i] = char(hk::pack<DType::F8E5M2, 1>(hk::Vec<float, 1>(v))[0]);
  } else if (type == DType::F32) {
    std::memcpy(&bytes[i * 4], &v, 4);
  } else if (type == DType::BF16) {
    uint32_t u;
    std::memcpy(&u, &v, 4);
    uint16_t h = uint16_t((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
    std::memcpy(&bytes[i * 2], &h, 2);
  } else {
    _Float16 h = _Float16(v);
    std::memcpy(&bytes[i * 2], &h, 2);
  }
}

struct Lengths {
  std::vector<int> queries, keys;
};

/// The tensors of one problem. `heads` counts key heads.
struct Problem {
  AttentionSpec spec;
  Lengths lengths;
  int heads, blockSize;
  float scale = 0.125f, softcap = 3.f;
  i64 batch, maxQueries, maxKeys, totalQueries = 0, totalKeys = 0;
  std::vector<char> q, k, v, out;
  std::vector<float> lse, sink;
  /// Of every (key, head): what its elements, and those of its value, are
  /// times.
  std::vector<float> keyScale, valueScale;
  std::vector<int> qOffsets, kvOffsets, kvLens, blockTable;
  /// Expected, and the largest error allowed, per element of out.
  std::vector<double> expected, expectedLse;
  i64 blocksPerSequence = 0;

  i64 queryHeads() const { return i64(heads) * spec.group; }
  i64 queryRow(i64 b, i64 i) const {
    return spec.queries == SequenceLayout::Dense ? b * maxQueries + i
                                                 : qOffsets[b] + i;
  }
  i64 keyRow(i64 b, i64 j) const {
    if (spec.keys.isPaged())
      return i64(blockTable[b * blocksPerSequence + j / blockSize]) *
                 blockSize +
             j % blockSize;
    return spec.keys.layout == KeyLayout::Dense ? b * maxKeys + j
                                                : kvOffsets[b] + j;
  }
};

inline Problem makeProblem(const AttentionSpec &spec, const Lengths &lengths,
                           int heads, int blockSize) {
  Problem p;
  p.spec = spec;
  p.lengths = lengths;
  p.heads = heads;
  p.blockSize = blockSize;
  p.batch = i64(lengths.queries.size());
  p.maxQueries = p.maxKeys = 0;
  p.qOffsets = p.kvOffsets = {0};
  for (i64 b = 0; b < p.batch; ++b) {
    p.maxQueries = std::max<i64>(p.maxQueries, lengths.queries[b]);
    p.maxKeys = std::max<i64>(p.maxKeys, lengths.keys[b]);
    p.qOffsets.push_back(p.qOffsets.back() + lengths.queries[b]);
    p.kvOffsets.push_back(p.kvOffsets.back() + lengths.keys[b]);
    p.kvLens.push_back(lengths.keys[b]);
  }
  if (spec.keys.hasCount() && spec.keys.layout == KeyLayout::Dense)
    p.maxKeys += 3; // rows behind the last key hold NaN
  p.totalQueries = spec.queries == SequenceLayout::Dense
                       ? p.batch * p.maxQueries
                       : p.qOffsets.back();
  p.totalKeys = spec.keys.layout == KeyLayout::Dense ? p.batch * p.maxKeys
                                                     : p.kvOffsets.back();
  if (spec.keys.isPaged()) {
    p.blocksPerSequence = (p.maxKeys + blockSize - 1) / blockSize;
    i64 n = p.batch * p.blocksPerSequence;
    for (i64 i = 0; i < n; ++i) // a permutation, one spare block in front
      p.blockTable.push_back(int(1 + (i * 7 + 3) % std::max<i64>(n, 1)));
    if (n % 7 == 0)
      for (i64 i = 0; i < n; ++i)
        p.blockTable[i] = int(n - i);
    p.totalKeys = (n + 1) * blockSize;
    p.maxKeys = p.blocksPerSequence * blockSize;
  }
  Random random{uint64_t(12345 + spec.headDim * 7 + p.totalQueries)};
  auto bytesOf = [](DType type) { return i64(hk::info(type).bits / 8); };
  i64 outBytes = hk::info(spec.outType).bits / 8;
  i64 hq = p.queryHeads();
  p.q.assign(p.totalQueries * hq * spec.headDim * bytesOf(spec.qType), 0);
  p.k.assign(p.totalKeys * heads * spec.headDim * bytesOf(spec.kType),
             char(0xFF));
  p.v.assign(p.totalKeys * heads * spec.valueDim * bytesOf(spec.vType),
             char(0xFF));
  p.out.assign(p.totalQueries * hq * spec.valueDim * outBytes, char(0xFF));
  p.lse.assign(p.totalQueries * hq, std::nanf(""));
  for (i64 i = 0; i < p.totalQueries * hq * spec.headDim; ++i)
    writeElement(spec.qType, p.q, i, 2 * random.next());
  for (i64 b = 0; b < p.batch; ++b)
    for (i64 j = 0; j < lengths.keys[b]; ++j) {
      i64 row = p.keyRow(b, j) * heads;
      for (i64 i = 0; i < i64(heads) * spec.headDim; ++i)
        writeElement(spec.kType, p.k, row * spec.headDim + i,
                     2 * random.next());
      for (i64 i = 0; i < i64(heads) * spec.valueDim; ++i)
        writeElement(spec.vType, p.v, row * spec.valueDim + i, random.next());
    }
  auto scales = [&](bool each, DType type) {
    std::vector<float> made;
    for (i64 i = 0; i < p.totalKeys * heads; ++i)
      made.push_back(float((each ? 0.75 + random.next() / 4 : 1.0) *
                           (each && type == DType::I8 ? kIntegerUnit : 1.0)));
    return made;
  };
  p.keyScale = scales(spec.kScale.exists(), spec.kType);
  p.valueScale = scales(spec.vScale != ValueScale::None, spec.vType);
  for (i64 h = 0; h < hq; ++h)
    p.sink.push_back(float(3 * random.next()));
  return p;
}

inline void evaluate(Problem &p) {
  const AttentionSpec &s = p.spec;
  i64 hq = p.queryHeads();
  p.expected.assign(p.totalQueries * hq * s.valueDim, 0);
  p.expectedLse.assign(p.totalQueries * hq,
                       -std::numeric_limits<double>::infinity());
  for (i64 b = 0; b < p.batch; ++b) {
    i64 queries = p.lengths.queries[b], keys = p.lengths.keys[b];
    for (i64 i = 0; i < queries; ++i)
      for (i64 h = 0; h < hq; ++h) {
        i64 own = i + keys - queries, head = h / s.group;
        std::vector<double> logits, weights;
        std::vector<i64> rows;
        double top = s.normalizer == Normalizer::SoftmaxWithSink
                         ? double(p.sink[h])
                         : -std::numeric_limits<double>::infinity();
        i64 row = p.queryRow(b, i) * hq + h;
        for (i64 j = 0; j < keys; ++j) {
          if ((s.window.left >= 0 && j < own - s.window.left) ||
              (s.window.right >= 0 && j > own + s.window.right))
            continue;
          i64 key = p.keyRow(b, j) * p.heads + head;
          double dot = 0;
          for (i64 d = 0; d < s.headDim; ++d)
            dot += readElement(s.qType, p.q, row * s.headDim + d) *
                   readElement(s.kType, p.k, key * s.headDim + d);
          dot *= double(p.scale) * double(p.keyScale[key]);
          if (s.cap == ScoreCap::Soft)
            dot = p.softcap * std::tanh(dot / p.softcap);
          logits.push_back(dot);
          rows.push_back(key);
          top = std::max(top, dot);
        }
        double sum = s.normalizer == Normalizer::SoftmaxWithSink
                         ? std::exp(double(p.sink[h]) - top)
                         : 0;
        for (double logit : logits)
          sum += std::exp(logit - top);
        if (sum > 0)
          p.expectedLse[row] = top + std::log(sum);
        for (i64 d = 0; d < s.valueDim; ++d) {
          double o = 0;
          for (size_t j = 0; j < rows.size(); ++j)
            o += std::exp(logits[j] - top) / sum *
                 (s.sharesValues()
                      ? readElement(s.kType, p.k, rows[j] * s.headDim + d)
                      : readElement(s.vType, p.v, rows[j] * s.valueDim + d)) *
                 double(p.valueScale[rows[j]]);
          p.expected[row * s.valueDim + d] = o;
        }
      }
  }
}

/// The first elements that are wrong, one a line; empty when all are right.
/// `slack` is what the kernel may add to the rounding of the result, absolute
/// The results from those of the slices, in double.
inline void combineSlices(Problem &p, const std::vector<float> &partials,
                          const std::vector<float> &lse) {
  const AttentionSpec &s = p.spec;
  i64 heads = p.queryHeads(), rows = p.totalQueries * heads;
  i64 slices = i64(lse.size()) / rows;
  for (i64 row = 0; row < rows; ++row) {
    double sum = s.normalizer == Normalizer::SoftmaxWithSink
                     ? std::exp(double(p.sink[row % heads]))
                     : 0;
    for (i64 i = 0; i < slices; ++i)
      sum += std::exp(double(lse[i * rows + row]));
    p.lse[row] = float(std::log(sum));
    for (i64 d = 0; d < s.valueDim; ++d) {
      double o = 0;
      for (i64 i = 0; i < slices; ++i)
        if (sum > 0)
          o += std::exp(double(lse[i * rows + row])) / sum *
               double(partials[(i * rows + row) * s.valueDim + d]);
      writeElement(s.outType, p.out, row * s.valueDim + d, o);
    }
  }
}

/// (values are at most 1).
inline std::string compare(const Problem &p, double slack) {
  const AttentionSpec &s = p.spec;
  double unit = std::ldexp(1.0, -hk::info(s.outType).mantissaBits - 1);
  int wrong = 0;
  std::string text;
  auto report = [&](const char *what, i64 i, double got, double want) {
    char line[120];
    std::snprintf(line, sizeof line, "%s[%lld] is %.9g, expected %.9g\n", what,
                  (long long)i, got, want);
    if (wrong++ < 4)
      text += line;
  };
  for (i64 b = 0; b < p.batch; ++b)
    for (i64 i = 0; i < p.lengths.queries[b]; ++i)
      for (i64 h = 0; h < p.queryHeads(); ++h) {
        i64 row = p.queryRow(b, i) * p.queryHeads() + h;
        for (i64 d = 0; d < s.valueDim; ++d) {
          i64 at = row * s.valueDim + d;
          double got = readElement(s.outType, p.out, at), want = p.expected[at];
          if (!(std::fabs(got - want) <= unit * std::fabs(want) * 1.01 + slack))
            report("out", at, got, want);
        }
        if (!s.storesLse())
          continue;
        double got = p.lse[row], want = p.expectedLse[row];
        if (!(got == want ||
              std::fabs(got - want) <= 2e-6 * (1 + std::fabs(want))))
          report("lse", row, got, want);
      }
  return text;
}

} // namespace hktest

#endif // HK_TEST_KERNELS_ATTENTION_REFERENCE_H
