//===- OpTable.cpp - Table of instructions --------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the entries of every instruction class.
//
//===----------------------------------------------------------------------===//

#include "OpTable.h"

namespace hk::emu {

OpTable::OpTable() {
  addSalu(*this);
  addSaluMask(*this);
  addSaluControl(*this);
  addSaluMoves(*this);
  addSopp(*this);
  addSmem(*this);
  addSmemWrites(*this);
  addValuInt(*this);
  addValuFloat(*this);
  addValu16(*this);
  addValuCarry(*this);
  addValuMedia(*this);
  addTranscendental(*this);
  addVopc(*this);
  addPacked(*this);
  addConversions(*this);
  addScaleConversions(*this);
  addCrossLane(*this);
  addMfma(*this);
  addMfmaSmall(*this);
  addMfmaScaled(*this);
  addSmfmac(*this);
  addDs(*this);
  addDsAtomics(*this);
  addDsSpecial(*this);
  addGlobal(*this);
  addBuffer(*this);
  addBufferFormat(*this);
  addAtomics(*this);
  addDoubts(*this);
}

const OpTable &OpTable::get() {
  static const OpTable table;
  return table;
}

const Op *OpTable::find(const std::string &mnemonic) const {
  auto it = ops.find(mnemonic);
  return it == ops.end() ? nullptr : &it->second;
}

Op &OpTable::add(const std::string &name, const Op &op) {
  Op &entry = ops[name] = op;
  entry.name = name;
  return entry;
}

} // namespace hk::emu
