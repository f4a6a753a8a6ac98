//===- Raise.cpp - Decomposed forms into hk's operators -------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries the rules of all families on every operator, from the first to the
// last, so that a form sees its parts raised already. Every rewrite and every
// near miss is a decision of the log and a remark.
//
//===----------------------------------------------------------------------===//

#include "Fusion/PrepareBlock.h"
#include "LoggedPass.h"
#include "Raise/CheckRaise.h"
#include "Raise/Rules.h"
#include "hk/Passes/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::hk {
#define GEN_PASS_DEF_HKRAISE
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

namespace {
struct HKRaise : LoggedPass<::mlir::hk::impl::HKRaiseBase<HKRaise>> {
  using LoggedPass::LoggedPass;

  void runOnOperation() override;

private:
  void run(Block &block, DecisionLog &decisions);
  /// One rule on one operator; whether it was replaced.
  bool apply(const raise::Rule &rule, raise::Raiser &raiser, Operation *op,
             DecisionLog &decisions);
};
} // namespace

/// Rounds over a block: forms made of what a later operator became.
static constexpr int kMostRounds = 8;

static void remarkOf(const Decision &decision) {
  const Candidate &candidate = decision.candidates.front();
  bool raised = candidate.verdict.accepted();
  auto options = remark::RemarkOpts::name(raised ? "Raised" : "NotRaised")
                     .category("hk-raise");
  std::string reason = stringify(candidate.verdict.getReason()).str();
  if (raised)
    remark::passed(decision.location, options)
        << remark::metric("Became", candidate.what);
  else
    remark::missed(decision.location, options)
        << remark::reason("{0}: {1}", reason,
                          candidate.verdict.getDetail().str())
        << remark::metric("As", candidate.what);
}

bool HKRaise::apply(const raise::Rule &rule, raise::Raiser &raiser,
                    Operation *op, DecisionLog &decisions) {
  raiser.b.setInsertionPoint(op);
  raise::Outcome outcome = rule.apply(raiser, op);
  if (!outcome.made && !outcome.refused)
    return false;
  std::string what = rule.makes;
  if (Operation *made = outcome.made ? outcome.made.getDefiningOp() : nullptr;
      made && isa<RowwiseOpInterface>(made) && !isa<TransposeOp>(made))
    what = made->getName().getStringRef().str();
  Candidate candidate{"become " + what,
                      outcome.made ? Verdict::accept() : *outcome.refused};
  candidate.why = outcome.made ? "it computes the same formula" : "";
  // Views that move out of the way are no news.
  if (*rule.makes)
    decisions.add({DecisionKind::Raise,
                   op->getLoc(),
                   op->getName().getStringRef().str(),
                   {candidate},
                   outcome.made ? 0 : -1});
  if (!outcome.made)
    return false;
  // A rule may also change its root.
  if (outcome.made != op->getResult(0))
    op->getResult(0).replaceAllUsesWith(outcome.made);
  raiser.invalidate();
  return true;
}

void HKRaise::run(Block &block, DecisionLog &decisions) {
  SmallVector<ArrayRef<raise::Rule>> families = {
      raise::viewRules(),         raise::normRules(),
      raise::activationRules(),   raise::rotaryRules(),
      raise::quantisationRules(), raise::routingRules(),
      raise::softmaxRules(),      raise::attentionRules(),
      raise::maskRules()};
  // A miss is told once: in the last round, when nothing changes any more.
  for (int round = 0; round < kMostRounds; ++round) {
    DecisionLog found;
    raise::Raiser raiser(block, dropRoundings);
    bool changed = false;
    SmallVector<Operation *> work;
    for (Operation &op : block)
      if (op.getNumResults() == 1)
        work.push_back(&op);
    for (Operation *op : work) {
      if (op->use_empty())
        continue;
      bool replaced = false;
      for (ArrayRef<raise::Rule> rules : families)
        for (const raise::Rule &rule : rules)
          if (!replaced && (rule.isExact || !exact))
            replaced = apply(rule, raiser, op, found);
      changed |= replaced;
    }
    eraseUnused(block);
    for (const Decision &decision : found.get()) {
      if (decision.chosen != 0 && changed)
        continue;
      (decision.chosen == 0 ? numRaised : numMissed) += 1;
      remarkOf(decision);
      decisions.add(decision);
    }
    if (!changed)
      return;
  }
}

void HKRaise::runOnOperation() {
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
    // Functions of other forms are an error of hk-fuse.
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    raise::RaiseCheck interpreted(function);
    if (check && failed(interpreted.before()))
      return signalPassFailure();
    run(function.getBody().front(), log());
    if (check && failed(interpreted.after()))
      return signalPassFailure();
  }
}

std::unique_ptr<Pass> mlir::hk::createHKRaise(const HKRaiseOptions &options,
                                              DecisionLog &log) {
  return std::make_unique<HKRaise>(log, options);
}
