//===- RowLoop.cpp - A loop over the chunks of a row ----------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The spelling of the types of kernels/rowwise/loops.h.
//
//===----------------------------------------------------------------------===//

#include "RowLoop.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir::hk;
using llvm::Twine;

void RowLoop::cutInStrips(int64_t count, int64_t begin,
                          std::optional<int64_t> last) {
  form = RowLoopForm::Strips;
  slots = count;
  unrolled = false;
  first = begin ? std::to_string(begin) + " + thread" : "thread";
  if (last)
    end = std::to_string(*last);
  full = last && (*last - begin) % (slots * step) == 0;
}

/// `<i32, 4, 256` of a type that is filled in with the three.
static std::string parameters(const RowLoop &loop) {
  return ("<" + loop.index + ", " + Twine(loop.slots) + ", " + Twine(loop.step))
      .str();
}

static llvm::StringRef spell(bool flag) { return flag ? "true" : "false"; }

static std::string repeatedPiece(const RowLoop &loop) {
  return "RepeatedPiece" + parameters(loop) + ">{" + loop.piece + ", " +
         loop.first + ", " + loop.end + "}";
}

std::string RowLoop::existsText() const {
  return repeatedPiece(*this) + ".exists(s)";
}

std::string RowLoop::stripsText() const {
  if (!isInStrips())
    return "";
  return ("HK_EACH_STRIP(strip, Strip" + parameters(*this) + ", " +
          spell(full) + ">{" + first + ", " + end + "})")
      .str();
}

std::string RowLoop::chunksText() const {
  switch (form) {
  case RowLoopForm::Chunks:
    return ("HK_EACH_CHUNK(c, Chunks<" + index + ", " + Twine(step) + ">{" +
            first + ", " + end + "})")
        .str();
  case RowLoopForm::RowSlots:
    return "HK_EACH_SLOT(s, c, RowSlots" + parameters(*this) +
           (full ? "" : ", " + end) + ">{" + first + "})";
  case RowLoopForm::LedSlots:
    return ("HK_EACH_SLOT(s, c, LedSlots" + parameters(*this) + ", " +
            Twine(line) + ", " + end + ">{" + first + ", leadOf<" +
            Twine(line) + ">(row, " + end + ")})")
        .str();
  case RowLoopForm::Strips:
    return "HK_EACH_SLOT(s, c, strip)";
  case RowLoopForm::RepeatedPiece:
    return "HK_EACH_SLOT(s, c, " + repeatedPiece(*this) + ")";
  case RowLoopForm::Piece:
    return ("HK_EACH_SLOT(s, c, Piece" + parameters(*this) + ", " +
            spell(full) + ">{" + piece + ", " + first + ", " + end + "})")
        .str();
  }
  llvm_unreachable("every form is listed");
}

std::string RowLoop::lanesText() const {
  if (tailedWidth)
    // In parentheses, as arguments of macros are cut at commas.
    return ("(tailOf<" + Twine(vec) + ", " + Twine(tailedWidth) + ">(c))")
        .str();
  std::string begins = "true", ends = "true";
  if (form == RowLoopForm::RowSlots) {
    // A row may end in the last chunk but one, and the chunk before that has no
    // whole one behind it.
    int64_t last = std::max<int64_t>(0, *chunks - 3) / step;
    begins = "s == 0";
    ends = "s >= " + std::to_string(last);
  }
  return ("lanesOf<" + Twine(vec) + ", " + Twine(shiftedWidth) +
          ">(c, shift, place, " + begins + ", " + ends + ")")
      .str();
}
