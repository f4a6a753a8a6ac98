//===- Report.cpp - Findings of the checks --------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text for people, one JSON line per finding for tools.
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include <cinttypes>
#include <cstdio>

namespace hk::emu {

const char *checkName(Check check) {
  static const char *const names[] = {
      "lds-bounds",   "global-bounds",      "undefined-read", "lds-race",
      "missing-wait", "barrier-divergence", "misaligned",     "read-only-write",
      "global-race",  "missing-nop",        "unspecified",    "bad-instruction",
      "timeout"};
  return names[int(check)];
}

std::string jsonString(const std::string &s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20) {
      char buf[8];
      std::snprintf(buf, sizeof buf, "\\u%04x", c);
      out += buf;
    } else
      out += c;
  }
  return out + "\"";
}

std::string Finding::text() const {
  char where[256];
  std::snprintf(where, sizeof where,
                "[%s] %s: pc 0x%" PRIx64 ", workgroup (%u,%u,%u) wave %u",
                checkName(check), kernel.c_str(), pc, workgroup[0],
                workgroup[1], workgroup[2], wave);
  std::string out = where;
  if (lane >= 0)
    out += " lane " + std::to_string(lane);
  char addr[48];
  std::snprintf(addr, sizeof addr, ", address 0x%" PRIx64, address);
  out += addr;
  out += "\n    " + instruction;
  if (!source.empty())
    out += "    (" + source + ")";
  out += "\n    " + detail;
  if (count > 1)
    out += " (" + std::to_string(count) + " times)";
  return out;
}

std::string Finding::json() const {
  char buf[256];
  std::snprintf(buf, sizeof buf,
                ",\"pc\":%" PRIu64 ",\"workgroup\":[%u,%u,%u],\"wave\":%u,"
                "\"lane\":%d,\"address\":%" PRIu64 ",\"count\":%" PRIu64,
                pc, workgroup[0], workgroup[1], workgroup[2], wave, lane,
                address, count);
  return "{\"check\":" + jsonString(checkName(check)) +
         ",\"kernel\":" + jsonString(kernel) + buf +
         ",\"instruction\":" + jsonString(instruction) +
         ",\"source\":" + jsonString(source) +
         ",\"detail\":" + jsonString(detail) + "}";
}

void Report::add(Finding finding) {
  std::lock_guard<std::mutex> lock(mutex);
  auto key = std::make_pair(finding.pc, finding.check);
  auto it = known.find(key);
  if (it != known.end()) {
    ++findings[it->second].count;
    return;
  }
  known[key] = findings.size();
  findings.push_back(std::move(finding));
}

std::vector<Finding> Report::take() {
  std::lock_guard<std::mutex> lock(mutex);
  known.clear();
  return std::move(findings);
}

} // namespace hk::emu
