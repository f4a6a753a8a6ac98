//===- FuzzTest.cpp - Random functions on the chip and on the host --------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes random C functions, compiles the same text for the host and for the
// chip and compares every result bit for bit (NaN payloads apart, which differ
// by definition). HK_EMU_FUZZ=N tries N seeds instead of one; 50 seeds compare
// over two million values.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace hk::emu;
using namespace hk::emu::test;

namespace {

constexpr unsigned kFunctions = 40, kInputs = 512;

/// Types of variables; each statement defines one variable of some type.
enum Ty { U32, I32, U64, F32, F64, U16, F16, kTypes };
const char *const kTypeNames[] = {"u32", "i32", "u64", "f32",
                                  "f64", "u16", "f16"};

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::string function(unsigned index) {
    body = "FN u64 fun" + std::to_string(index) +
           "(u32 in0, u32 in1, u32 in2, u32 in3) {\n";
    count = 0;
    for (auto &v : variables)
      v.clear();
    for (unsigned k = 0; k < 4; ++k) {
      std::string in = "in" + std::to_string(k);
      define(U32, in);
      define(F32, "asF32(" + in + ")");
    }
    define(I32, "(i32)in0");
    define(U64, "((u64)in1 << 32 | in2)");
    define(U16, "(u16)in3");
    define(F64, "(f64)asF32(in2) * 0.5");
    define(F16, "asF16((u16)in0)");
    unsigned statements = 12 + pick(14);
    for (unsigned k = 0; k < statements; ++k)
      statement();
    body += "  u64 r = 0;\n";
    for (unsigned t = 0; t < kTypes; ++t)
      for (unsigned k = 0; k < 2; ++k)
        body += "  r = r * 0x9e3779b97f4a7c15ull + bits_" +
                std::string(kTypeNames[t]) + "(" + var(Ty(t)) + ");\n";
    return body + "  return r;\n}\n";
  }

private:
  std::mt19937 random;
  std::string body;
  std::vector<std::string> variables[kTypes];
  unsigned count = 0;

  unsigned pick(unsigned n) { return unsigned(random() % n); }
  std::string var(Ty t) {
    return variables[t][pick(unsigned(variables[t].size()))];
  }
  void define(Ty t, const std::string &expr) {
    std::string name = "v" + std::to_string(count++);
    body +=
        std::string("  ") + kTypeNames[t] + " " + name + " = " + expr + ";\n";
    variables[t].push_back(name);
  }

  std::string integer(Ty t) {
    std::string a = var(t), b = var(t), c = var(t);
    std::string type = kTypeNames[t], s = std::to_string(pick(t == U64   ? 63
                                                              : t == U16 ? 15
                                                                         : 31) +
                                                         1);
    bool wide = t == U64;
    std::string bits = wide ? "63" : t == U16 ? "15" : "31";
    switch (pick(14)) {
    case 0:
      return "(" + type + ")(" + a + " + " + b + ")";
    case 1:
      return "(" + type + ")(" + a + " - " + b + ")";
    case 2:
      return "(" + type + ")((u64)" + a + " * (u64)" + b + ")";
    case 3:
      return "(" + type + ")(" + a + " & " + b + " | " + c + ")";
    case 4:
      return "(" + type + ")(" + a + " ^ ~" + b + ")";
    case 5:
      return "(" + type + ")((u64)" + a + " << (" + b + " & " + bits + "))";
    case 6:
      return "(" + type + ")(" + a + " >> (" + b + " & " + bits + "))";
    case 7:
      return a + " < " + b + " ? " + c + " : " + b;
    case 8:
      return "(" + type + ")(" + a + " / (" + type + ")((" + b +
             " & 0x7fff) | 1))";
    case 9:
      return "(" + type + ")(" + a + " % (" + type + ")((" + b +
             " & 0xfff) + 3))";
    case 10:
      return "(" + type + ")((" + a + " >> " + s + ") + (" + b + " & 255))";
    case 11:
      return "(" + type + ")(" + a + " * 3u + " + s + "u)";
    case 12:
      return "(" + type + ")__builtin_popcount((u32)" + a + ")";
    default:
      return "(" + type + ")(__builtin_bitreverse32((u32)" + a +
             ") ^ (u32)__builtin_clz((u32)" + b + " | 1))";
    }
  }

  std::string real(Ty t) {
    std::string a = var(t), b = var(t), c = var(t);
    std::string suffix = t == F64 ? "" : "f";
    unsigned kind = pick(t == F16 ? 5 : 12);
    switch (kind) {
    case 0:
      return a + " + " + b;
    case 1:
      return a + " - " + b;
    case 2:
      return a + " * " + b;
    case 3:
      return a + " < " + b + " ? " + c + " : " + b;
    case 4:
      return "-" + a;
    case 5:
      return a + " / " + b;
    case 6:
      return "__builtin_fma" + suffix + "(" + a + ", " + b + ", " + c + ")";
    case 7:
      return "__builtin_floor" + suffix + "(" + a + ")";
    case 8:
      return "__builtin_trunc" + suffix + "(" + a + ")";
    case 9:
      return "__builtin_fabs" + suffix + "(" + a + ")";
    case 10:
      return "__builtin_rint" + suffix + "(" + a + ")";
    default:
      return "__builtin_sqrt" + suffix + "(" + a + ")";
    }
  }

  std::string conversion(Ty t) {
    switch (t) {
    case U32:
      return pick(2) ? "(u32)(" + var(U64) + " >> 7)"
                     : "bits_f32(" + var(F32) + ")";
    case I32:
      return pick(2) ? "(i32)clampI32(" + var(F32) + ")"
                     : "(i32)(signed char)" + var(U32);
    case U64:
      return "(u64)" + var(U32) + " * " + var(U32);
    case F32:
      return pick(3) == 0   ? "(f32)" + var(I32)
             : pick(2) == 0 ? "(f32)" + var(F64)
                            : "(f32)" + var(F16);
    case F64:
      return pick(2) ? "(f64)" + var(I32) : "(f64)" + var(F32);
    case U16:
      return "(u16)" + var(U32);
    default:
      // The compiler may fuse a product with its conversion and add +0, which
      // loses the sign of a zero; toF16 drops it on both sides.
      return "toF16(" + var(F32) + ")";
    }
  }

  std::string expression(Ty t) {
    if (pick(4) == 0)
      return conversion(t);
    return t == F32 || t == F64 || t == F16 ? real(t) : integer(t);
  }

  void statement() {
    Ty t = Ty(pick(kTypes));
    switch (pick(6)) {
    case 0: { // a divergent branch
      define(t, var(t));
      std::string v = variables[t].back();
      body += "  if (" + var(I32) + " > " + var(I32) + ") " + v + " = " +
              expression(t) + "; else " + v + " = " + expression(t) + ";\n";
      break;
    }
    case 1: { // a loop whose count differs from lane to lane
      define(t, var(t));
      std::string v = variables[t].back(), i = "loop" + std::to_string(count);
      body += "  for (u32 " + i + " = 0; " + i + " < (" + var(U32) +
              " & 7); ++" + i + ") " + v + " = " + expression(t) + ";\n";
      break;
    }
    default:
      define(t, expression(t));
    }
  }
};

const char kPrelude[] = R"(
typedef unsigned int u32; typedef int i32; typedef unsigned long long u64;
typedef float f32; typedef double f64; typedef unsigned short u16;
typedef _Float16 f16;
FN f32 asF32(u32 v) { return __builtin_bit_cast(f32, v); }
FN f16 asF16(u16 v) { return __builtin_bit_cast(f16, v); }
FN u32 bits_u32(u32 v) { return v; }
FN u32 bits_i32(i32 v) { return (u32)v; }
FN u64 bits_u64(u64 v) { return v; }
FN u32 bits_u16(u16 v) { return v; }
FN u32 bits_f32(f32 v) { return v != v ? 0x7fc00000u : __builtin_bit_cast(u32, v); }
FN u64 bits_f64(f64 v) { return v != v ? 1ull : __builtin_bit_cast(u64, v); }
FN u32 bits_f16(f16 v) { return v != v ? 1u : (u32)__builtin_bit_cast(u16, v); }
FN f16 toF16(f32 v) { f16 h = (f16)v; return h == (f16)0 ? (f16)0 : h; }
FN f32 clampI32(f32 v) { return v >= -1e9f ? (v <= 1e9f ? v : 1e9f) : -1e9f; }
)";

using HostFunction = uint64_t (*)(uint32_t, uint32_t, uint32_t, uint32_t);

/// The functions as a loaded shared library.
class HostLibrary {
public:
  explicit HostLibrary(const std::string &source) {
    char name[] = "/tmp/hk-emu-fuzz-XXXXXX";
    int fd = mkstemp(name);
    close(fd);
    path = name;
    std::ofstream(path + ".cpp") << source;
    std::string command =
        std::string(HK_TEST_CLANG) +
        " -O1 -shared -fPIC -ffp-contract=off "
        "-fwrapv -Xclang -ffloat16-excess-precision=none -w " +
        path + ".cpp -o " + path + ".so";
    if (std::system(command.c_str()) == 0)
      handle = dlopen((path + ".so").c_str(), RTLD_NOW);
  }
  ~HostLibrary() {
    if (handle)
      dlclose(handle);
    for (const char *suffix : {"", ".cpp", ".so"})
      std::remove((path + suffix).c_str());
  }
  HostFunction find(unsigned index) const {
    return handle ? reinterpret_cast<HostFunction>(
                        dlsym(handle, ("fun" + std::to_string(index)).c_str()))
                  : nullptr;
  }

private:
  std::string path;
  void *handle = nullptr;
};

std::vector<uint32_t> makeInputs(std::mt19937 &random) {
  static const uint32_t special[] = {
      0,          1,          0x7f800000, 0xff800000, 0x7fc00000, 0x80000000,
      0x7fffffff, 0xffffffff, 0x00000001, 0x007fffff, 0x3f800000, 0xbf800000,
      0x4f000000, 0x33800000, 0x00800000, 0x7f7fffff};
  std::vector<uint32_t> in(4 * kInputs);
  for (uint32_t &v : in) {
    switch (random() % 4) {
    case 0:
      v = special[random() % 16];
      break;
    case 1:
      v = uint32_t(random() % 200);
      break;
    case 2: { // an ordinary float
      float f = float(int(random() % 20001) - 10000) / 64;
      std::memcpy(&v, &f, 4);
      break;
    }
    default:
      v = uint32_t(random());
    }
  }
  return in;
}

class FuzzTest : public testing::TestWithParam<const char *> {};

void runSeed(const std::string &chip, unsigned seed) {
  Generator generator(seed);
  std::string functions = kPrelude, kernels;
  std::vector<std::string> texts;
  for (unsigned k = 0; k < kFunctions; ++k) {
    texts.push_back(generator.function(k));
    functions += texts.back();
    std::string n = std::to_string(k);
    kernels += "KERNEL void k" + n +
               "(u64 *out, const u32 *in) {\n"
               "  int i = wg() * 64 + tid();\n"
               "  out[i] = fun" +
               n +
               "(in[4 * i], in[4 * i + 1], in[4 * i + 2], "
               "in[4 * i + 3]);\n}\n";
  }
  HostLibrary host("#define FN extern \"C\"\n" + functions);
  ASSERT_NE(host.find(0), nullptr) << "the host compiler refused seed " << seed;
  TestDevice device(chip);
  ASSERT_TRUE(device.load(compileHip(
      "#include \"device.h\"\n#define FN DEVICE inline\n" + functions + kernels,
      chip, "-fwrapv -ffp-contract=off -w")))
      << device.loadError;
  std::mt19937 random(seed * 7919 + 1);
  for (unsigned k = 0; k < kFunctions; ++k) {
    auto in = makeInputs(random);
    uint64_t pin = device.upload(in), pout = device.alloc(8 * kInputs);
    LaunchResult result =
        device.run("k" + std::to_string(k), kInputs / 64, 64, pout, pin);
    ASSERT_TRUE(result.ok()) << "seed " << seed << " function " << k << "\n"
                             << describe(result);
    auto out = device.download<uint64_t>(pout, kInputs);
    for (unsigned i = 0; i < kInputs; ++i) {
      uint64_t want =
          host.find(k)(in[4 * i], in[4 * i + 1], in[4 * i + 2], in[4 * i + 3]);
      ASSERT_EQ(out[i], want)
          << "seed " << seed << " function fun" << k << std::hex << "(0x"
          << in[4 * i] << ", 0x" << in[4 * i + 1] << ", 0x" << in[4 * i + 2]
          << ", 0x" << in[4 * i + 3] << ")\n"
          << texts[k];
    }
    device.memory.release(pin);
    device.memory.release(pout);
  }
}

TEST_P(FuzzTest, SameFunctionSameBits) {
  const char *text = std::getenv("HK_EMU_FUZZ");
  unsigned seeds = text ? unsigned(std::strtoul(text, nullptr, 0)) : 1;
  const char *first = std::getenv("HK_EMU_FUZZ_SEED");
  unsigned base = first ? unsigned(std::strtoul(first, nullptr, 0)) : 1;
  for (unsigned seed = base; seed < base + seeds; ++seed) {
    runSeed(GetParam(), seed);
    if (HasFatalFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, FuzzTest, testing::ValuesIn(kChips));

} // namespace
