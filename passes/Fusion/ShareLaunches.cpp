//===- ShareLaunches.cpp - Kernels that need nothing of each other --------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two launches that nothing leads between become one of a joint kernel, where
// the model says that it takes no longer. Both kernels have been planned alone
// by then, so that the times compared are those of the variants that would run.
// All blocks of a launch have one number of threads; each number that all
// problems have tiles for is tried, and few rows may take another than many.
//
//===----------------------------------------------------------------------===//

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/DimSymbols.h"
#include "hk/Families/Family.h"
#include "hk/Passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/Format.h"

#include <map>
#include <numeric>

namespace mlir::hk {
#define GEN_PASS_DEF_HKSHARELAUNCHES
#include "hk/Passes/Passes.h.inc"
} // namespace mlir::hk

using namespace mlir;
using namespace mlir::hk;

/// Earlier launches that one is offered to share with, and most problems of a
/// launch: every one adds its code to all.
static constexpr size_t kMaxCandidates = 8, kMaxProblems = 4;
/// Most variants of a joint kernel: products of the numbers of variants of
/// problems whose sizes have nothing in common.
static constexpr size_t kMaxVariants = 8;
/// Sizes of all dynamic dims for which one launch must be as quick as several,
/// and up to which a number of threads is chosen for them.
struct SampleSize {
  int64_t size, most;
};
static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
static constexpr SampleSize kSampleSizes[] = {
    {1, 16}, {64, 512}, {4096, kUnbounded}};

static KernelOp kernelOf(LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch,
                                                        launch.getKernelAttr());
}

/// What a kernel brings into a joint one: itself, or its problems.
static std::vector<KernelOp> problemsOf(KernelOp kernel) {
  std::vector<KernelOp> problems = kernel.getProblems();
  return problems.empty() ? std::vector<KernelOp>{kernel} : problems;
}

namespace {

/// The dim symbols of a joint kernel, named by the sizes of its operands.
class JointDims {
public:
  explicit JointDims(const DimSymbols &dims) : dims(dims) {}

  /// The symbols that stand for those of the kernel of `launch`.
  SmallVector<int64_t> add(LaunchOp launch, KernelOp kernel) {
    SmallVector<int64_t> map(kernel.getNumDims(), 0);
    for (auto [operand, shape] :
         llvm::zip(launch->getOperands(),
                   kernel.getShapes().getAsRange<SymShapeAttr>()))
      for (auto [dim, size] : llvm::enumerate(shape.getSizes())) {
        if (!SymShapeAttr::isSymbol(size))
          continue;
        auto [it, inserted] = symbols.try_emplace(dims.dim(operand, dim),
                                                  int64_t(symbols.size()));
        map[SymShapeAttr::symbolOf(size)] = it->second;
      }
    return map;
  }
  int64_t size() const { return symbols.size(); }

private:
  const DimSymbols &dims;
  llvm::DenseMap<DimName, int64_t> symbols;
};

/// A launch that may share and how its kernel's symbols are called there.
struct Member {
  LaunchOp launch;
  KernelOp kernel;
  SmallVector<int64_t> dims;

  SymShapeAttr renamed(Attribute shape) const {
    SmallVector<int64_t> sizes(cast<SymShapeAttr>(shape).getSizes());
    for (int64_t &size : sizes)
      if (SymShapeAttr::isSymbol(size))
        size = -1 - dims[SymShapeAttr::symbolOf(size)];
    return SymShapeAttr::get(shape.getContext(), sizes);
  }
  /// The values of the kernel's own symbols.
  SmallVector<int64_t> values(ArrayRef<int64_t> joint) const {
    return llvm::map_to_vector(dims, [&](int64_t d) { return joint[d]; });
  }
};

/// Builds the joint kernel of members; its body and problems, no variants.
class JointBuilder {
public:
  JointBuilder(ArrayRef<Member> members, SymbolTable &symbols)
      : members(members), symbols(symbols) {}

  KernelOp build() {
    KernelOp first = members.front().kernel;
    OpBuilder builder(first);
    collectOperands();
    KernelOp joint = KernelOp::create(builder, builder.getFusedLoc(locations),
                                      name(), FamilyKind::joint, numInputs,
                                      builder.getArrayAttr(shapes), aligns,
                                      /*threads=*/builder.getI64IntegerAttr(1));
    builder.createBlock(&joint.getBody());
    buildSpec(builder, joint);
    int64_t index = 0;
    for (const Member &member : members)
      for (KernelOp problem : problemsOf(member.kernel))
        addProblem(builder, member, problem, joint.getSymName(), index++);
    joint->remove();
    symbols.insert(joint, first->getIterator());
    return joint;
  }

private:
  std::string name() {
    return llvm::join(
        llvm::map_range(members,
                        [](const Member &member) {
                          return KernelOp(member.kernel).getSymName();
                        }),
        "_and_");
  }

  void collectOperands() {
    SmallVector<Attribute> outs;
    SmallVector<int64_t> outAligns;
    for (const Member &member : members) {
      KernelOp kernel = member.kernel;
      locations.push_back(kernel.getLoc());
      for (auto [index, shape] : llvm::enumerate(kernel.getShapes())) {
        bool input = index < kernel.getNumInputs();
        (input ? shapes : outs).push_back(member.renamed(shape));
        (input ? aligns : outAligns).push_back(kernel.getAligns()[index]);
      }
    }
    numInputs = shapes.size();
    shapes.append(outs);
    aligns.append(outAligns);
  }

  /// The bodies of all members, one after the other.
  void buildSpec(OpBuilder &builder, KernelOp joint) {
    auto spec = SpecOp::create(builder, joint.getLoc());
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&spec.getBody());
    // Several members may be launches of one kernel.
    SmallVector<IRMapping> maps(members.size());
    for (bool inputs : {true, false})
      for (auto [member, map] : llvm::zip_equal(members, maps))
        for (BlockArgument argument :
             KernelOp(member.kernel).getSpecBlock().getArguments())
          if ((argument.getArgNumber() <
               KernelOp(member.kernel).getNumInputs()) == inputs)
            map.map(argument,
                    body->addArgument(argument.getType(), argument.getLoc()));
    SmallVector<Value> yielded;
    for (auto [member, map] : llvm::zip_equal(members, maps)) {
      Block &own = KernelOp(member.kernel).getSpecBlock();
      for (Operation &op : own.without_terminator())
        builder.clone(op, map);
      for (Value value : own.getTerminator()->getOperands())
        yielded.push_back(map.lookup(value));
    }
    YieldOp::create(builder, joint.getLoc(), yielded);
  }

  static void addProblem(OpBuilder &builder, const Member &member,
                         KernelOp problem, StringRef joint, int64_t index) {
    auto own = cast<KernelOp>(builder.clone(*problem));
    own.setSymName((joint + "_" + Twine(index)).str());
    SmallVector<Attribute> renamed = llvm::map_to_vector(
        problem.getShapes(),
        [&](Attribute shape) -> Attribute { return member.renamed(shape); });
    own.setShapesAttr(builder.getArrayAttr(renamed));
  }

  ArrayRef<Member> members;
  SymbolTable &symbols;
  SmallVector<Location> locations;
  SmallVector<Attribute> shapes;
  SmallVector<int64_t> aligns;
  int64_t numInputs = 0;
};

/// Plans a joint kernel for one number of threads after the other.
class JointPlanner {
public:
  JointPlanner(KernelOp joint, ArrayRef<Member> members,
               const ::hk::Target &target)
      : joint(joint), members(members), target(target),
        family(familyOf(FamilyKind::joint)) {}

  /// Leaves `joint` with the variants of least time, reported to `log`, if
  /// these take no longer than the members' own launches.
  Verdict run(DecisionLog &log) {
    Verdict verdict = Verdict::refuse(Reason::UnsupportedShape,
                                      "no tiles of both have blocks of as many "
                                      "threads");
    SmallVector<int64_t> counts = family.getSharedThreads(joint, target);
    llvm::sort(counts); // of equal times the smaller blocks
    SmallVector<Plan> plans;
    for (int64_t threads : counts) {
      DecisionLog unread;
      clear();
      if (failed(add(threads, kUnbounded, unread)))
        continue;
      if (Verdict own = checkVariants(); !own.accepted())
        verdict = own;
      else
        plans.push_back(timed(threads));
    }
    if (plans.empty())
      return verdict;
    SmallVector<Plan> chosen = choose(plans);
    if (Verdict own = compare(chosen); !own.accepted())
      return own;
    clear();
    for (auto [index, sample] : llvm::enumerate(samples())) {
      bool last = index + 1 == chosen.size();
      if (!last && chosen[index + 1].threads == chosen[index].threads)
        continue;
      if (failed(add(chosen[index].threads,
                     last ? kUnbounded : kSampleSizes[index].most, log)))
        return Verdict::refuse(Reason::UnsupportedShape, "no tile");
    }
    if (chosen.front().threads != chosen.back().threads)
      forget();
    return checkVariants();
  }

private:
  /// A number of threads and the launch's time for each sample.
  struct Plan {
    int64_t threads;
    SmallVector<double> times;
  };

  std::vector<KernelOp> kernels() {
    std::vector<KernelOp> kernels = joint.getProblems();
    kernels.push_back(joint);
    return kernels;
  }
  void clear() {
    for (KernelOp kernel : kernels())
      for (VariantOp variant : kernel.getVariants())
        variant.erase();
  }
  /// Kernels whose variants differ in their threads say no number of their own.
  void forget() {
    for (KernelOp kernel : kernels())
      kernel.removeThreadsAttr();
  }

  /// Adds the variants with blocks of `threads` threads, for sizes up to
  /// `most`.
  LogicalResult add(int64_t threads, int64_t most, DecisionLog &log) {
    for (KernelOp kernel : kernels())
      kernel.setThreads(threads);
    size_t before = joint.getVariants().size();
    if (failed(family.addVariants(joint, target, log)))
      return failure();
    if (most != kUnbounded)
      for (auto [index, variant] : llvm::enumerate(joint.getVariants()))
        if (index >= before)
          restrict(variant, most);
    return success();
  }

  /// All sizes must be at most `most` then.
  static void restrict(VariantOp variant, int64_t most) {
    Block &block = variant.getBody().front();
    auto launch = cast<LaunchDimsOp>(block.getTerminator());
    OpBuilder b(launch);
    Location loc = launch.getLoc();
    Value limit = arith::ConstantIndexOp::create(b, loc, most);
    Value condition = launch.getCondition();
    for (BlockArgument size : block.getArguments()) {
      Value within =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, size, limit);
      condition = b.createOrFold<arith::AndIOp>(loc, condition, within);
    }
    launch.getConditionMutable().assign(condition);
  }

  SmallVector<SmallVector<int64_t>> samples() {
    SmallVector<SmallVector<int64_t>> samples;
    for (SampleSize sample : kSampleSizes)
      samples.emplace_back(joint.getNumDims(), sample.size);
    if (joint.getNumDims() == 0)
      samples.truncate(1);
    return samples;
  }

  double timeOf(KernelOp kernel, ArrayRef<int64_t> dims) {
    return familyOf(kernel.getFamily())
        .getMicroseconds(kernel, variantFor(kernel, dims), target, dims);
  }
  Plan timed(int64_t threads) {
    Plan plan{threads, {}};
    for (ArrayRef<int64_t> dims : samples())
      plan.times.push_back(timeOf(joint, dims));
    return plan;
  }
  double apart(ArrayRef<int64_t> dims) {
    double sum = 0;
    for (const Member &member : members)
      sum += timeOf(member.kernel, member.values(dims));
    return sum;
  }

  /// Whether the variants there are can be those of a launch.
  Verdict checkVariants() {
    for (VariantOp variant : joint.getVariants())
      if (isKnownToSpill(joint, variant.getTile()))
        return Verdict::refuse(Reason::RegistersExceeded,
                               "one launch of both spills registers");
    for (VariantOp variant : joint.getVariants())
      if (size_t maps = family.getTensorMaps(joint, variant).size();
          maps > HK_MAX_TENSOR_MAPS)
        return Verdict::refuse(Reason::GroupFull,
                               "one launch of both would need " + Twine(maps) +
                                   " tensor maps, of at most " +
                                   Twine(HK_MAX_TENSOR_MAPS));
    if (joint.getVariants().size() <= kMaxVariants)
      return Verdict::accept();
    return Verdict::refuse(Reason::UnsupportedShape,
                           "one launch of both would need " +
                               Twine(joint.getVariants().size()) +
                               " variants, because their sizes have nothing "
                               "in common");
  }

  /// A plan for each sample: the same one for all where one is quick enough,
  /// which takes the least code.
  SmallVector<Plan> choose(ArrayRef<Plan> plans) {
    const Plan *best = nullptr;
    auto total = [](const Plan &plan) {
      return std::accumulate(plan.times.begin(), plan.times.end(), 0.0);
    };
    size_t count = samples().size();
    for (const Plan &plan : plans)
      if (compare(SmallVector<Plan>(count, plan)).accepted() &&
          (!best || total(plan) < total(*best)))
        best = &plan;
    if (best)
      return SmallVector<Plan>(count, *best);
    SmallVector<Plan> chosen;
    for (size_t i = 0; i < count; ++i)
      chosen.push_back(*llvm::min_element(
          plans, [&](auto &a, auto &b) { return a.times[i] < b.times[i]; }));
    return chosen;
  }

  /// Whether the plan of each sample is as quick as the members' launches.
  Verdict compare(ArrayRef<Plan> chosen) {
    for (auto [index, dims] : llvm::enumerate(samples())) {
      double one = chosen[index].times[index], several = apart(dims);
      if (one <= several)
        continue;
      std::string text;
      llvm::raw_string_ostream os(text);
      os << llvm::format("one launch of blocks of %lld threads would take %.2f "
                         "us, two take %.2f us",
                         static_cast<long long>(chosen[index].threads), one,
                         several);
      if (!dims.empty())
        os << " where the dynamic sizes are " << dims.front();
      return Verdict::refuse(Reason::CostlierFused, text);
    }
    return Verdict::accept();
  }

  KernelOp joint;
  ArrayRef<Member> members;
  const ::hk::Target &target;
  const Family &family;
};

/// The launches of one block.
class BlockSharing {
public:
  using Report = llvm::function_ref<void(LaunchOp, LaunchOp, const Verdict &)>;
  using Cache = std::map<std::pair<std::string, std::vector<int64_t>>,
                         std::pair<KernelOp, Verdict>>;

  BlockSharing(Block &block, const ::hk::Target &target, SymbolTable &symbols,
               Cache &cache, DecisionLog &log)
      : block(block), target(target), symbols(symbols), cache(cache), log(log),
        dims(block) {}

  void run(Report report) {
    SmallVector<LaunchOp> kept;
    for (LaunchOp launch : SmallVector<LaunchOp>(block.getOps<LaunchOp>())) {
      LaunchOp last = launch;
      noteDepth(launch);
      if (canShare(launch))
        last = offer(launch, kept, report);
      kept.push_back(last);
    }
  }

private:
  bool canShare(LaunchOp launch) {
    KernelOp kernel = kernelOf(launch);
    return !llvm::is_contained(launch.getReadsOut(), true) &&
           !familyOf(kernel.getFamily())
                .getSharedThreads(kernel, target)
                .empty();
  }

  /// Launches on the longest way to `launch`, which is one of them.
  void noteDepth(Operation *launch) {
    int64_t before = 0;
    for (Value operand : launch->getOperands())
      if (auto it = depths.find(rootOfViews(operand).getDefiningOp());
          it != depths.end())
        before = std::max(before, it->second);
    depths[launch] = before + 1;
  }

  /// The latest launches, those first that are as deep as `launch`: one that
  /// waits for a deeper one leaves what needs it without a partner.
  SmallVector<LaunchOp> candidatesFor(LaunchOp launch,
                                      ArrayRef<LaunchOp> kept) {
    SmallVector<LaunchOp> candidates(
        llvm::reverse(kept.take_back(kMaxCandidates)));
    auto apart = [&](LaunchOp other) {
      return std::abs(depths.at(other) - depths.at(launch));
    };
    llvm::stable_sort(candidates, [&](LaunchOp a, LaunchOp b) {
      return apart(a) < apart(b);
    });
    return candidates;
  }

  /// `launch`, or the joint one that it is a part of then.
  LaunchOp offer(LaunchOp launch, SmallVectorImpl<LaunchOp> &kept,
                 Report report) {
    for (LaunchOp other : candidatesFor(launch, kept)) {
      if (!canShare(other)) {
        reportAlone(launch, other, report);
        continue;
      }
      std::optional<SmallVector<Operation *>> later = between(other, launch);
      if (!later)
        continue;
      std::array<LaunchOp, 2> both = longerFirst(other, launch);
      auto [joint, verdict] = jointKernel(both);
      report(launch, other, verdict);
      if (!verdict.accepted())
        continue;
      llvm::erase(kept, other);
      return unite(both, joint, /*before=*/launch, *later);
    }
    return launch;
  }

  /// Says of a kernel of the same family that nothing else keeps apart that it
  /// has a launch of its own.
  void reportAlone(LaunchOp launch, LaunchOp other, Report report) {
    if (kernelOf(launch).getFamily() == kernelOf(other).getFamily() &&
        !llvm::is_contained(other.getReadsOut(), true) &&
        between(other, launch))
      report(launch, other,
             Verdict::refuse(Reason::UnsupportedShape,
                             "its kernel has no tiles for a launch of several "
                             "problems"));
  }

  /// The operators between the two that use the first one's results and run
  /// after both then; none if the second is one of them, or if a state is
  /// written between them, which the first one may have to read before.
  std::optional<SmallVector<Operation *>> between(LaunchOp first,
                                                  LaunchOp second) {
    SmallVector<Operation *> users;
    llvm::SmallPtrSet<Operation *, 16> reached = {first};
    for (Operation *op = first->getNextNode();; op = op->getNextNode()) {
      bool uses = llvm::any_of(op->getOperands(), [&](Value operand) {
        return reached.contains(operand.getDefiningOp());
      });
      if (uses) {
        if (op == second)
          return std::nullopt;
        reached.insert(op);
        users.push_back(op);
      }
      if (op == second)
        return users;
      if (auto launch = dyn_cast<LaunchOp>(op);
          launch && llvm::is_contained(launch.getReadsOut(), true))
        return std::nullopt;
    }
  }

  /// The blocks of the longer problem start first, for the largest of sizes.
  std::array<LaunchOp, 2> longerFirst(LaunchOp first, LaunchOp second) {
    auto time = [&](LaunchOp launch) {
      KernelOp kernel = kernelOf(launch);
      SmallVector<int64_t> sizes(kernel.getNumDims(),
                                 std::rbegin(kSampleSizes)->size);
      return familyOf(kernel.getFamily())
          .getMicroseconds(kernel, variantFor(kernel, sizes), target, sizes);
    };
    if (time(first) < time(second))
      return {second, first};
    return {first, second};
  }

  std::pair<KernelOp, Verdict> jointKernel(ArrayRef<LaunchOp> both) {
    JointDims names(dims);
    SmallVector<Member> members;
    std::string key;
    std::vector<int64_t> dimsKey;
    for (LaunchOp launch : both) {
      KernelOp kernel = kernelOf(launch);
      members.push_back({launch, kernel, names.add(launch, kernel)});
      key += kernel.getSymName().str() + ",";
      dimsKey.insert(dimsKey.end(), members.back().dims.begin(),
                     members.back().dims.end());
    }
    size_t problems = problemsOf(members[0].kernel).size() +
                      problemsOf(members[1].kernel).size();
    if (problems > kMaxProblems)
      return {nullptr, Verdict::refuse(Reason::GroupFull,
                                       "a launch holds at most " +
                                           Twine(kMaxProblems) + " problems")};
    auto known = cache.find({key, dimsKey});
    if (known != cache.end())
      return known->second;
    KernelOp joint = JointBuilder(members, symbols).build();
    Verdict verdict = JointPlanner(joint, members, target).run(log);
    if (!verdict.accepted()) {
      symbols.erase(joint);
      joint = nullptr;
    }
    return cache.emplace(std::pair(key, dimsKey), std::pair(joint, verdict))
        .first->second;
  }

  /// `later` moves behind the launch, which takes the place of `before`.
  LaunchOp unite(ArrayRef<LaunchOp> both, KernelOp joint, LaunchOp before,
                 ArrayRef<Operation *> later) {
    OpBuilder builder(before);
    LaunchOp first = both[0], second = both[1];
    SmallVector<Value> inputs(first.getInputs()), outs(first.getOuts());
    llvm::append_range(inputs, second.getInputs());
    llvm::append_range(outs, second.getOuts());
    SmallVector<Type> types(first.getResultTypes());
    llvm::append_range(types, second.getResultTypes());
    auto launch = LaunchOp::create(
        builder, builder.getFusedLoc({first.getLoc(), second.getLoc()}), types,
        joint.getSymName(), inputs, outs,
        SmallVector<bool>(outs.size(), false));
    depths[launch] = std::max(depths.at(first), depths.at(second));
    size_t next = 0;
    for (LaunchOp old : both)
      for (Value result : old.getResults()) {
        Value now = launch.getResult(next++);
        dims.alias(result, now);
        result.replaceAllUsesWith(now);
      }
    for (LaunchOp old : both) {
      depths.erase(old);
      old.erase();
    }
    Operation *last = launch;
    for (Operation *op : later) {
      op->moveAfter(last);
      last = op;
      if (isa<LaunchOp>(op))
        noteDepth(op);
    }
    return launch;
  }

  Block &block;
  const ::hk::Target &target;
  SymbolTable &symbols;
  Cache &cache;
  DecisionLog &log;
  DimSymbols dims;
  llvm::DenseMap<Operation *, int64_t> depths;
};

struct HKShareLaunches
    : ::mlir::hk::impl::HKShareLaunchesBase<HKShareLaunches> {
  HKShareLaunches() = default;
  explicit HKShareLaunches(DecisionLog &log) : log(&log) {}
  HKShareLaunches(const HKShareLaunches &other)
      : HKShareLaunchesBase(other), log(other.log) {}

  void runOnOperation() override {
    const ::hk::Target *target = ::mlir::hk::targetOf(getOperation());
    if (!target) {
      getOperation().emitError("module has no target; run hk-assign-target");
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    BlockSharing::Cache cache;
    DecisionLog own;
    DecisionLog &decisions = log ? *log : own;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        BlockSharing(block, *target, symbols, cache, decisions)
            .run([&](LaunchOp launch, LaunchOp other, const Verdict &verdict) {
              report(launch, other, verdict, decisions);
            });
    eraseUnused(symbols);
  }

private:
  void report(LaunchOp launch, LaunchOp other, const Verdict &verdict,
              DecisionLog &decisions) {
    auto name = [](LaunchOp op) {
      return "hk." +
             kernelOf(op).getSpecBlock().front().getName().stripDialect().str();
    };
    Candidate candidate{"share a launch with " + name(other), verdict, 0, 0,
                        "neither needs the other"};
    candidate.partner = other.getLoc();
    Decision decision{DecisionKind::Fuse,
                      launch.getLoc(),
                      name(launch),
                      {candidate},
                      verdict.accepted() ? 0 : -1};
    decisions.add(std::move(decision));
    if (verdict.accepted()) {
      ++numShared;
      return;
    }
    remark::missed(
        launch.getLoc(),
        remark::RemarkOpts::name("NotShared").category("hk-share-launches"))
        << remark::reason("{0}: {1}", stringify(verdict.getReason()).str(),
                          verdict.getDetail().str());
  }

  void eraseUnused(SymbolTable &symbols) {
    llvm::DenseSet<StringAttr> used;
    getOperation().walk([&](LaunchOp launch) {
      used.insert(launch.getKernelAttr().getAttr());
    });
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (!used.contains(kernel.getSymNameAttr()))
        symbols.erase(kernel);
  }

  DecisionLog *log = nullptr;
};
} // namespace

std::unique_ptr<Pass> mlir::hk::createHKShareLaunches(DecisionLog &log) {
  return std::make_unique<HKShareLaunches>(log);
}
