//===- Explain.cpp - The decision log for people --------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches with equal layers once, one line per kernel, then one per kind of
// decision: what nearly fused, what fused, what could not.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "Repeats.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::hk;

std::string mlir::hk::locationText(Location loc) {
  std::string text;
  llvm::raw_string_ostream os(text);
  loc.print(os);
  return StringRef(text).consume_front("loc(") ? text.substr(4, text.size() - 5)
                                               : text;
}

/// "4:8" where `loc` is in the file of `beside`, else all of it.
static std::string placeText(Location loc, Location beside) {
  auto place = dyn_cast<FileLineColLoc>(loc);
  auto other = dyn_cast<FileLineColLoc>(beside);
  if (!place || !other || place.getFilename() != other.getFilename())
    return locationText(loc);
  return (Twine(place.getLine()) + ":" + Twine(place.getColumn())).str();
}

namespace {
/// What a line says, in the order in which people want to read it: what a
/// change of the model may improve, what was done, what cannot be helped.
enum class Part { NearMiss, Done, NeverCould };

/// Bytes that are neither written nor read, times dynamic sizes or not, in all
/// places of a line.
struct Saved {
  int64_t least = 0, most = 0;
  bool perSize = false;
};

/// Lines that differ in their place, as those of equal layers, and in what they
/// save are printed once, and so are those of no near miss that differ in one
/// of the two operators only: `subjects` and `what` are the parts of a line
/// that then become lists.
class Lines {
public:
  void add(Part part, std::string before, std::string subject, std::string what,
           std::string after, Location loc, std::optional<Location> partner,
           Saved saved = {}) {
    // Near misses are for each operator to mend.
    std::string key = before + subject + "\n" + after +
                      (saved.perSize ? "*" : "") +
                      (part == Part::NearMiss ? what : verbOf(what).str());
    auto [it, inserted] = index.try_emplace(key, lines.size());
    if (inserted)
      lines.push_back({part,
                       std::move(before),
                       {std::move(subject)},
                       {},
                       std::move(after),
                       loc,
                       partner,
                       saved,
                       0});
    Line &line = lines[it->second];
    if (!llvm::is_contained(line.what, what))
      line.what.push_back(std::move(what));
    line.saved.least = std::min(line.saved.least, saved.least);
    line.saved.most = std::max(line.saved.most, saved.most);
    line.more += !inserted;
  }

  /// Near misses of most places first; the others as they were decided.
  void print(llvm::raw_ostream &os) {
    joinSubjects();
    llvm::stable_sort(lines, [](const Line &a, const Line &b) {
      if (a.part != b.part || a.part != Part::NearMiss)
        return a.part < b.part;
      return a.more > b.more;
    });
    for (const Line &line : lines)
      printLine(line, os);
  }

private:
  struct Line {
    Part part;
    std::string before;
    std::vector<std::string> subjects;
    std::vector<std::string> what;
    std::string after;
    Location loc;
    std::optional<Location> partner;
    Saved saved;
    size_t more;
  };

  /// "hk.div, hk.topk / join hk.softmax" of two lines.
  void joinSubjects() {
    std::vector<Line> joined;
    llvm::StringMap<size_t> places;
    for (Line &line : lines) {
      std::string key = line.before + llvm::join(line.what, ",") + "\n" +
                        line.after + (line.saved.perSize ? "*" : "");
      if (line.part == Part::NearMiss)
        key += "\n" + line.subjects.front();
      auto [it, inserted] = places.try_emplace(key, joined.size());
      if (inserted) {
        joined.push_back(std::move(line));
        continue;
      }
      Line &first = joined[it->second];
      first.subjects.push_back(std::move(line.subjects.front()));
      first.saved.least = std::min(first.saved.least, line.saved.least);
      first.saved.most = std::max(first.saved.most, line.saved.most);
      first.more += line.more + 1;
    }
    lines = std::move(joined);
  }

  static void printSaved(const Saved &saved, llvm::raw_ostream &os) {
    if (saved.most == 0)
      return;
    os << ", saves ";
    if (saved.least != saved.most)
      os << saved.least << " to ";
    os << saved.most << " bytes"
       << (saved.perSize ? " times its dynamic sizes" : "");
  }

  /// "join " of "join hk.add".
  static StringRef verbOf(StringRef what) {
    return what.take_front(what.rfind(' ') + 1);
  }

  /// "join hk.add, hk.mul": the verb once.
  static void printWhat(const Line &line, llvm::raw_ostream &os) {
    StringRef first = line.what.front();
    StringRef verb = verbOf(first);
    os << first;
    for (StringRef other : ArrayRef(line.what).drop_front()) {
      other.consume_front(verb);
      os << ", " << other;
    }
  }

  static void printLine(const Line &line, llvm::raw_ostream &os) {
    os << line.before;
    llvm::interleaveComma(line.subjects, os);
    os << (line.what.front().empty() ? "" : " / ");
    printWhat(line, os);
    os << line.after;
    printSaved(line.saved, os);
    os << " at " << locationText(line.loc);
    if (line.partner)
      os << ", the other at " << placeText(*line.partner, line.loc);
    if (line.more > 0)
      os << ", and at " << line.more << " more place"
         << (line.more > 1 ? "s" : "");
    os << "\n";
  }

  std::vector<Line> lines;
  llvm::StringMap<size_t> index;
};
} // namespace

static void addRefusal(const Decision &decision, const Candidate &candidate,
                       Lines &lines) {
  std::string before, after;
  llvm::raw_string_ostream(before)
      << "  not " << (decision.kind == DecisionKind::Fuse ? "fused" : "used")
      << " (" << stringify(candidate.verdict.getReason()) << "): ";
  if (!candidate.verdict.getDetail().empty())
    after = ": " + candidate.verdict.getDetail().str();
  bool near = !adviceFor(candidate.verdict.getReason()).empty();
  lines.add(near ? Part::NearMiss : Part::NeverCould, std::move(before),
            decision.subject, candidate.what, std::move(after),
            decision.location, candidate.partner);
}

static void addFused(const Decision &decision, const Candidate &candidate,
                     Lines &lines) {
  if (!candidate.why.empty())
    lines.add(Part::Done, "  fused: ", decision.subject, candidate.what,
              ": " + candidate.why.str(), decision.location, candidate.partner,
              {candidate.savedBytes, candidate.savedBytes, candidate.perSize});
}

static void addExchange(const Decision &decision, Lines &lines) {
  const Candidate &candidate = decision.candidates.front();
  std::string text = "  exchanged: " + decision.subject + ": " + candidate.what;
  for (const Candidate &other : ArrayRef(decision.candidates).drop_front())
    text += "; not " + other.what + " (" +
            stringify(other.verdict.getReason()).str() +
            "): " + other.verdict.getDetail().str();
  lines.add(Part::Done, text, "", "", "", decision.location, candidate.partner);
}

static void addSplit(const Decision &decision, Lines &lines) {
  if (decision.kind != DecisionKind::Plan || decision.chosen <= 0)
    return;
  const Candidate &chosen = decision.candidates[decision.chosen];
  std::string text;
  llvm::raw_string_ostream(text)
      << "  split: " << decision.subject << " in " << chosen.what
      << llvm::format(", %.1f us instead of %.1f", chosen.microseconds,
                      decision.candidates.front().microseconds);
  lines.add(Part::Done, std::move(text), "", "", "", decision.location,
            std::nullopt);
}

static void explainDecisions(const DecisionLog &log, llvm::raw_ostream &os) {
  Lines lines;
  llvm::SmallSetVector<Reason, 8> refused;
  for (const Decision &decision : log.get()) {
    if (decision.kind == DecisionKind::Shard) {
      addExchange(decision, lines);
      continue;
    }
    addSplit(decision, lines);
    for (const Candidate &candidate : decision.candidates) {
      if (candidate.verdict.accepted()) {
        addFused(decision, candidate, lines);
        continue;
      }
      refused.insert(candidate.verdict.getReason());
      addRefusal(decision, candidate, lines);
    }
  }
  lines.print(os);
  for (Reason reason : refused)
    if (StringRef advice = adviceFor(reason); !advice.empty())
      os << "  advice (" << stringify(reason) << "): " << advice << "\n";
}

/// Why operators of `kernel` are not in the kernels whose results they read,
/// each reason once.
static void explainLaunch(const KernelRecord &kernel, const DecisionLog &log,
                          llvm::raw_ostream &os) {
  llvm::SmallSetVector<Location, 8> places;
  for (const auto &[op, location] : kernel.sources)
    places.insert(location);
  llvm::StringMap<bool> said;
  for (const Decision &decision : log.get()) {
    if (decision.kind != DecisionKind::Fuse ||
        !places.contains(decision.location))
      continue;
    for (const Candidate &candidate : decision.candidates) {
      StringRef what = candidate.what;
      if (candidate.verdict.accepted() || !what.consume_front("join ") ||
          (candidate.partner && places.contains(*candidate.partner)))
        continue;
      std::string text = (decision.subject + " is not in that of " + what +
                          " (" + stringify(candidate.verdict.getReason()) + ")")
                             .str();
      if (said.try_emplace(text, true).second)
        os << (said.size() == 1 ? "    its own launch: " : ", ") << text;
    }
  }
  if (!said.empty())
    os << "\n";
}

/// A kernel's line without its name, and why it is a launch of its own behind
/// a line break.
static std::string describeKernel(const KernelRecord &kernel,
                                  const DecisionLog &log,
                                  const ::hk::Target &target) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << " " << kernel.family << ": " << kernel.ops;
  for (const VariantRecord &variant : kernel.variants)
    os << "; " << variant.tile << ", LDS " << variant.ldsBytes << " of "
       << target.ldsBytes << " bytes, " << variant.threads << " threads";
  os << "\n";
  explainLaunch(kernel, log, os);
  return text;
}

/// Kernels of which the same is to be said stand in one line.
static void explainKernels(const Section &section, const DecisionLog &log,
                           llvm::raw_ostream &os) {
  struct Alike {
    std::string text;
    SmallVector<StringRef> names;
  };
  SmallVector<Alike> kinds;
  llvm::StringMap<size_t> places;
  for (const KernelRecord &kernel : section.kernels) {
    std::string text = describeKernel(kernel, log, *section.target);
    auto [place, isNew] = places.try_emplace(text, kinds.size());
    if (isNew)
      kinds.push_back({std::move(text), {}});
    kinds[place->second].names.push_back(kernel.name);
  }
  for (const Alike &kind : kinds) {
    auto [line, why] = StringRef(kind.text).split('\n');
    os << "  @" << kind.names.front() << line;
    for (StringRef name : ArrayRef(kind.names).drop_front())
      os << (name == kind.names[1] ? "; also @" : ", @") << name;
    os << "\n" << why;
  }
}

void mlir::hk::explainText(const Section &section, const DecisionLog &log,
                           unsigned opsBefore, llvm::raw_ostream &os) {
  os << "target " << section.target->name << ": " << opsBefore
     << " base operators";
  for (const FunctionRecord &function : section.functions)
    os << ", " << function.numLaunches << " launches in @" << function.name;
  os << ", " << section.kernels.size() << " distinct kernels\n";
  for (const FunctionRecord &function : section.functions) {
    os << "  launches of @" << function.name << ": ";
    printSteps(foldRepeats(function.order), os);
    os << "\n";
    for (const FunctionRecord::Version &version : function.versions) {
      os << "  with " << version.dim << " at most " << version.atMost << ", "
         << version.order.size() << " launches: ";
      printSteps(foldRepeats(version.order), os);
      os << "\n";
    }
  }
  explainKernels(section, log, os);
  explainDecisions(log, os);
}
