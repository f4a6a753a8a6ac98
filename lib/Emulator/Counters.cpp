//===- Counters.cpp - Counters of a kernel --------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums over workgroups, and their JSON form.
//
//===----------------------------------------------------------------------===//

#include "Counters.h"
#include "Report.h"

namespace hk::emu {

uint64_t Counters::total() const {
  uint64_t n = 0;
  for (uint64_t v : instructions)
    n += v;
  return n;
}

void Counters::merge(const Counters &o) {
  for (size_t k = 0; k < instructions.size(); ++k) {
    instructions[k] += o.instructions[k];
    clocks[k] += o.clocks[k];
  }
  ldsBytes += o.ldsBytes;
  ldsClocks += o.ldsClocks;
  ldsConflictClocks += o.ldsConflictClocks;
  globalReadBytes += o.globalReadBytes;
  globalWriteBytes += o.globalWriteBytes;
  transactions64 += o.transactions64;
  transactions128 += o.transactions128;
  compulsoryBytes += o.compulsoryBytes;
  waits += o.waits;
  barriers += o.barriers;
  workgroups += o.workgroups;
  waves += o.waves;
}

std::string Counters::json(const std::string &kernel,
                           const std::string &chip) const {
  std::string out = "{\"kernel\":" + jsonString(kernel) +
                    ",\"chip\":" + jsonString(chip) + ",\"instructions\":{";
  for (size_t k = 0; k < instructions.size(); ++k)
    out += (k ? ",\"" : "\"") + std::string(className(InstClass(k))) +
           "\":" + std::to_string(instructions[k]);
  out += "}";
  auto field = [&](const char *name, uint64_t value) {
    out += ",\"" + std::string(name) + "\":" + std::to_string(value);
  };
  field("instructions_total", total());
  field("valu_clocks", valuClocks());
  field("mfma_clocks", mfmaClocks());
  field("lds_bytes", ldsBytes);
  field("lds_clocks", ldsClocks);
  field("lds_conflict_clocks", ldsConflictClocks);
  field("global_read_bytes", globalReadBytes);
  field("global_write_bytes", globalWriteBytes);
  field("transactions_64", transactions64);
  field("transactions_128", transactions128);
  field("compulsory_bytes", compulsoryBytes);
  field("waits", waits);
  field("barriers", barriers);
  field("workgroups", workgroups);
  field("waves", waves);
  return out + "}";
}

} // namespace hk::emu
