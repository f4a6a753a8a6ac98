//===- Decision.h - Verdicts, reason codes and the decision log -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every choice the compiler makes is recorded with a code, so that --explain,
// remarks and tests read the same record. A refusal without a code cannot be
// written: Verdict has no constructor from bool.
//
//===----------------------------------------------------------------------===//

#ifndef HK_FAMILIES_DECISION_H
#define HK_FAMILIES_DECISION_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir::hk {

/// Why operators do or do not share a kernel, or a tile is or is not legal.
/// X(enumerator, printed code)
#define HK_REASONS(X)                                                          \
  X(Accepted, "accepted")                                                      \
  X(OtherFamily, "other-family")                                               \
  X(UnsupportedDType, "unsupported-dtype")                                     \
  X(UnsupportedShape, "unsupported-shape")                                     \
  X(RowDimsDiffer, "row-dims-differ")                                          \
  X(CrossesRows, "crosses-rows")                                               \
  X(StateReadAndWritten, "state-read-and-written")                             \
  X(WouldCycle, "would-cycle")                                                 \
  X(GroupFull, "group-full")                                                   \
  X(NotAnEpilogue, "not-an-epilogue")                                          \
  X(NeedsWholeRow, "needs-whole-row")                                          \
  X(ResultEscapes, "result-escapes")                                           \
  X(LdsExceeded, "lds-exceeded")                                               \
  X(RegistersExceeded, "registers-exceeded")                                   \
  X(CostlierFused, "costlier-fused")                                           \
  X(Unaligned, "unaligned")                                                    \
  X(SizeUnknown, "size-unknown")                                               \
  X(Disabled, "disabled")                                                      \
  X(OtherFormula, "other-formula")                                             \
  X(OtherAxis, "other-axis")                                                   \
  X(RoundsBetween, "rounds-between")                                           \
  X(UnknownMask, "unknown-mask")

enum class Reason : int32_t {
#define HK_REASON_ENUMERATOR(name, code) name,
  HK_REASONS(HK_REASON_ENUMERATOR)
#undef HK_REASON_ENUMERATOR
};

inline llvm::StringRef stringify(Reason reason) {
  switch (reason) {
#define HK_REASON_CASE(name, code)                                             \
  case Reason::name:                                                           \
    return code;
    HK_REASONS(HK_REASON_CASE)
#undef HK_REASON_CASE
  }
  return "";
}

/// What a user can do about a refusal; empty where there is nothing to say.
llvm::StringRef adviceFor(Reason reason);

/// Accepted, or refused with a reason and a sentence for people.
class Verdict {
public:
  static Verdict accept() { return Verdict(Reason::Accepted, ""); }
  static Verdict refuse(Reason reason, const llvm::Twine &detail) {
    return Verdict(reason, detail.str());
  }
  /// `why` behind the operator's name.
  static Verdict refuse(Operation *op, Reason reason, const llvm::Twine &why);
  bool accepted() const { return reason == Reason::Accepted; }
  Reason getReason() const { return reason; }
  llvm::StringRef getDetail() const { return detail; }

private:
  Verdict(Reason reason, std::string detail)
      : reason(reason), detail(std::move(detail)) {}
  Reason reason;
  std::string detail;
};

struct Candidate {
  std::string what;
  Verdict verdict;
  double microseconds = 0; // modelled cost; 0: none
  int64_t ldsBytes = 0;
  llvm::StringRef why = ""; // a literal: what an accepted fusion rests on
  /// The operator or kernel that the subject was to share a kernel with.
  std::optional<Location> partner = std::nullopt;
  /// Bytes that an accepted fusion neither writes nor reads; with `perSize`,
  /// times the dynamic sizes of the tensors.
  int64_t savedBytes = 0;
  bool perSize = false;
};

enum class DecisionKind : int32_t { Fuse, Tile, Plan, Raise, Shard };

struct Decision {
  DecisionKind kind;
  Location location;
  std::string subject;
  llvm::SmallVector<Candidate> candidates;
  int64_t chosen = -1; // index into candidates
};

/// Decisions in the order they were taken; deterministic.
class DecisionLog {
public:
  void add(Decision decision) { decisions.push_back(std::move(decision)); }
  void append(DecisionLog &&other) {
    decisions.insert(decisions.end(),
                     std::make_move_iterator(other.decisions.begin()),
                     std::make_move_iterator(other.decisions.end()));
  }
  llvm::ArrayRef<Decision> get() const { return decisions; }

private:
  std::vector<Decision> decisions;
};

} // namespace mlir::hk

#endif // HK_FAMILIES_DECISION_H
