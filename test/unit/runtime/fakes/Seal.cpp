//===- Seal.cpp - Seals a module written by hand -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `hk-seal FILE` writes the seal that hk-compile writes behind its modules. A
// file that has one already stays as it is.
//
//===----------------------------------------------------------------------===//

#include "hk/Runtime/Seal.h"

#include <cstdio>
#include <fstream>
#include <iterator>

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: hk-seal FILE\n");
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  std::string contents{std::istreambuf_iterator<char>(in), {}};
  if (!in || hk::checkSeal(contents) == hk::SealState::Whole)
    return in ? 0 : 1;
  std::ofstream out(argv[1], std::ios::binary | std::ios::app);
  out << hk::sealFor(contents);
  out.close();
  return out ? 0 : 1;
}
