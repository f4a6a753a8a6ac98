//===- AsmCase.cpp - One instruction as a kernel --------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text around the body.
//
//===----------------------------------------------------------------------===//

#include "AsmCase.h"

namespace hk::emu::test {

static void moveRegs(std::string &text, const char *op, const char *pointer,
                     unsigned first, unsigned count, bool store) {
  for (unsigned r = 0; r < count; ++r) {
    if (r % 16 == 0)
      text += "  v_add_u32_e32 v126, 0x" +
              std::string(r / 16 == 0   ? "0"
                          : r / 16 == 1 ? "1000"
                          : r / 16 == 2 ? "2000"
                                        : "3000") +
              ", v127\n";
    std::string reg = "v" + std::to_string(first + r);
    std::string offset = " offset:" + std::to_string(r % 16 * 256);
    text += std::string("  ") + op + " " +
            (store ? "v126, " + reg : reg + ", v126") + ", " + pointer +
            offset + "\n";
  }
}

std::string asmModule(const std::vector<AsmCase> &cases) {
  std::string text;
  for (const AsmCase &c : cases) {
    text += ".text\n.globl " + c.name + "\n.p2align 8\n.type " + c.name +
            ",@function\n" + c.name + ":\n";
    text += "  s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
            "  s_load_dwordx2 s[8:9], s[0:1], 0x10\n"
            "  v_lshlrev_b32_e32 v127, 2, v0\n"
            "  v_mov_b32_e32 v125, v0\n"
            "  s_waitcnt lgkmcnt(0)\n"
            "  s_load_dwordx16 s[16:31], s[8:9], 0x0\n";
    moveRegs(text, "global_load_dword", "s[4:5]", 0, c.in, false);
    text += "  s_waitcnt vmcnt(0) lgkmcnt(0)\n" + c.body +
            "\n  s_nop 15\n  s_nop 7\n";
    text += "  s_waitcnt vmcnt(0) lgkmcnt(0)\n";
    moveRegs(text, "global_store_dword", "s[6:7]", 64, c.out, true);
    text += "  s_endpgm\n.size " + c.name + ", .-" + c.name +
            "\n.rodata\n.p2align 6\n.amdhsa_kernel " + c.name +
            "\n  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
            "  .amdhsa_kernarg_size 24\n  .amdhsa_next_free_vgpr 256\n"
            "  .amdhsa_next_free_sgpr 64\n  .amdhsa_accum_offset 128\n"
            "  .amdhsa_group_segment_fixed_size " +
            std::to_string(c.lds) + "\n.end_amdhsa_kernel\n";
  }
  return text;
}

std::vector<uint32_t> runAsm(TestDevice &device, const AsmCase &c,
                             const std::vector<uint32_t> &in,
                             const std::vector<uint32_t> &scalars) {
  std::vector<uint32_t> s = scalars, padded = in;
  s.resize(16);
  padded.resize(std::max<size_t>(c.in, 1) * kLanes);
  uint64_t pin = device.upload(padded), ps = device.upload(s);
  uint64_t pout = device.alloc(std::max(c.out, 1u) * kLanes * 4);
  LaunchResult result = device.run(c.name, 1, 64, pin, pout, ps);
  EXPECT_TRUE(result.ok()) << c.name << ": " << describe(result);
  auto out = device.download<uint32_t>(pout, c.out * kLanes);
  for (uint64_t p : {pin, ps, pout})
    device.memory.release(p);
  return out;
}

std::string spaced(std::string body) {
  if (body.find("getpc") != std::string::npos)
    return body;
  for (size_t at = 0; (at = body.find('\n', at)) != std::string::npos;)
    at = body.insert(at, "\n s_nop 4").find('\n', at + 1) + 1;
  return body;
}

void checkRows(const std::vector<IsaRow> &all, const std::string &chip) {
  std::vector<AsmCase> cases;
  std::vector<const IsaRow *> rows;
  for (const IsaRow &row : all) {
    if (*row.chip && row.chip != chip)
      continue;
    AsmCase c;
    c.name = "row" + std::to_string(cases.size());
    c.body = spaced(row.text);
    c.in = unsigned(row.in.size());
    c.out = unsigned(row.want.size());
    c.lds = row.lds;
    cases.push_back(c);
    rows.push_back(&row);
  }
  TestDevice device(chip);
  ASSERT_TRUE(device.load(assemble(asmModule(cases), chip)))
      << device.loadError;
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(rows[i]->text);
    std::vector<uint32_t> in;
    for (uint32_t word : rows[i]->in)
      in.insert(in.end(), kLanes, word);
    auto out = runAsm(device, cases[i], in, {0xffffffff, 1, 3, 0xfffffff0});
    for (size_t r = 0; r < rows[i]->want.size(); ++r)
      for (unsigned l : {0u, 17u, 63u})
        EXPECT_EQ(out[r * 64 + l], rows[i]->want[r])
            << std::hex << "register " << r << " lane " << l << ": got 0x"
            << out[r * 64 + l] << ", want 0x" << rows[i]->want[r];
  }
}

} // namespace hk::emu::test
