//===- AtomicOps.cpp - Read-modify-write operations -----------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row per operation and width.
//
//===----------------------------------------------------------------------===//

#include "AtomicOps.h"
#include "Float.h"

namespace hk::emu {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using Apply = u64 (*)(u64, u64, u64);

float asFloat(u64 v) { return bitsFloat(u32(v)); }
u64 fromFloat(float v) { return floatBits(v); }
double asDouble(u64 v) {
  double d;
  std::memcpy(&d, &v, 8);
  return d;
}
u64 fromDouble(double d) {
  u64 v;
  std::memcpy(&v, &d, 8);
  return v;
}

u64 packedAddHalf(u64 a, u64 b, u64) {
  u32 r = 0;
  for (unsigned k = 0; k < 32; k += 16) {
    uint16_t x = uint16_t(a >> k), y = uint16_t(b >> k);
    _Float16 p, q;
    std::memcpy(&p, &x, 2);
    std::memcpy(&q, &y, 2);
    _Float16 s = _Float16(float(p) + float(q));
    std::memcpy(&x, &s, 2);
    r |= u32(x) << k;
  }
  return r;
}

u64 packedAddBf16(u64 a, u64 b, u64) {
  u32 r = 0;
  for (unsigned k = 0; k < 32; k += 16) {
    float s = bitsFloat(u32(a >> k) << 16) + bitsFloat(u32(b >> k) << 16);
    r |= u32(bf16Bits(s)) << k;
  }
  return r;
}

using Ops = std::vector<AtomicOp>;

void addIntegers(Ops &v) {
  auto integer = [&](const char *name, const char *ds, const char *type,
                     Apply narrow, Apply wide) {
    std::string n = name, d = ds, t = type;
    v.push_back({n, d + "_" + t + "32", d + "_rtn_" + t + "32", 4, false,
                 narrow, !n.empty()});
    v.push_back({n.empty() ? n : n + "_x2", d + "_" + t + "64",
                 d + "_rtn_" + t + "64", 8, false, wide, !n.empty()});
  };
  integer(
      "add", "add", "u", [](u64 a, u64 b, u64) { return u64(u32(a + b)); },
      [](u64 a, u64 b, u64) { return a + b; });
  integer(
      "sub", "sub", "u", [](u64 a, u64 b, u64) { return u64(u32(a - b)); },
      [](u64 a, u64 b, u64) { return a - b; });
  integer(
      "", "rsub", "u", [](u64 a, u64 b, u64) { return u64(u32(b - a)); },
      [](u64 a, u64 b, u64) { return b - a; });
  integer(
      "smin", "min", "i",
      [](u64 a, u64 b, u64) { return int32_t(a) < int32_t(b) ? a : b; },
      [](u64 a, u64 b, u64) { return int64_t(a) < int64_t(b) ? a : b; });
  integer(
      "smax", "max", "i",
      [](u64 a, u64 b, u64) { return int32_t(a) > int32_t(b) ? a : b; },
      [](u64 a, u64 b, u64) { return int64_t(a) > int64_t(b) ? a : b; });
  integer(
      "umin", "min", "u", [](u64 a, u64 b, u64) { return a < b ? a : b; },
      [](u64 a, u64 b, u64) { return a < b ? a : b; });
  integer(
      "umax", "max", "u", [](u64 a, u64 b, u64) { return a > b ? a : b; },
      [](u64 a, u64 b, u64) { return a > b ? a : b; });
  integer(
      "and", "and", "b", [](u64 a, u64 b, u64) { return a & b; },
      [](u64 a, u64 b, u64) { return a & b; });
  integer(
      "or", "or", "b", [](u64 a, u64 b, u64) { return a | b; },
      [](u64 a, u64 b, u64) { return a | b; });
  integer(
      "xor", "xor", "b", [](u64 a, u64 b, u64) { return a ^ b; },
      [](u64 a, u64 b, u64) { return a ^ b; });
  integer(
      "inc", "inc", "u",
      [](u64 a, u64 b, u64) { return u64(a >= b ? 0 : u32(a + 1)); },
      [](u64 a, u64 b, u64) { return a >= b ? 0 : a + 1; });
  integer(
      "dec", "dec", "u",
      [](u64 a, u64 b, u64) { return a == 0 || a > b ? b : u64(u32(a - 1)); },
      [](u64 a, u64 b, u64) { return a == 0 || a > b ? b : a - 1; });
}

void addExchanges(Ops &v) {
  Apply take = [](u64, u64 b, u64) { return b; };
  v.push_back({"swap", "", "wrxchg_rtn_b32", 4, false, take, true});
  v.push_back({"swap_x2", "", "wrxchg_rtn_b64", 8, false, take, true});
  Apply cas = [](u64 a, u64 b, u64 c) { return a == c ? b : a; };
  v.push_back({"cmpswap", "cmpst_b32", "cmpst_rtn_b32", 4, true, cas, true});
  v.push_back({"cmpswap_x2", "cmpst_b64", "cmpst_rtn_b64", 8, true, cas, true});
  // The float forms compare values: zeros are equal, NaN equals nothing.
  v.push_back(
      {"", "cmpst_f32", "cmpst_rtn_f32", 4, true,
       [](u64 a, u64 b, u64 c) { return asFloat(a) == asFloat(c) ? b : a; }});
  v.push_back(
      {"", "cmpst_f64", "cmpst_rtn_f64", 8, true,
       [](u64 a, u64 b, u64 c) { return asDouble(a) == asDouble(c) ? b : a; }});
}

void addFloats(Ops &v) {
  v.push_back(
      {"add_f32", "add_f32", "add_rtn_f32", 4, false,
       [](u64 a, u64 b, u64) { return fromFloat(asFloat(a) + asFloat(b)); }});
  // A number wins over a quiet NaN, a signaling one over all (CDNA4, 9.2.3).
  v.push_back({"", "min_f32", "min_rtn_f32", 4, false, [](u64 a, u64 b, u64) {
                 return fromFloat(minNumIeee(asFloat(a), asFloat(b)));
               }});
  v.push_back({"", "max_f32", "max_rtn_f32", 4, false, [](u64 a, u64 b, u64) {
                 return fromFloat(maxNumIeee(asFloat(a), asFloat(b)));
               }});
  v.push_back(
      {"add_f64", "add_f64", "add_rtn_f64", 8, false, [](u64 a, u64 b, u64) {
         return fromDouble(asDouble(a) + asDouble(b));
       }});
  v.push_back(
      {"min_f64", "min_f64", "min_rtn_f64", 8, false, [](u64 a, u64 b, u64) {
         return fromDouble(minNumIeee(asDouble(a), asDouble(b)));
       }});
  v.push_back(
      {"max_f64", "max_f64", "max_rtn_f64", 8, false, [](u64 a, u64 b, u64) {
         return fromDouble(maxNumIeee(asDouble(a), asDouble(b)));
       }});
  v.push_back(
      {"pk_add_f16", "pk_add_f16", "pk_add_rtn_f16", 4, false, packedAddHalf});
  v.push_back({"pk_add_bf16", "pk_add_bf16", "pk_add_rtn_bf16", 4, false,
               packedAddBf16});
}

} // namespace

const std::vector<AtomicOp> &atomicOps() {
  static const Ops ops = [] {
    Ops v;
    addIntegers(v);
    addExchanges(v);
    addFloats(v);
    return v;
  }();
  return ops;
}

} // namespace hk::emu
