//===- JointKernels.cpp - Several kernels become problems of one ----------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All blocks of a launch have one number of threads; each number that all
// problems have tiles for is tried, and few rows may take another than many.
//
//===----------------------------------------------------------------------===//

#include "JointKernels.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Contract/Cost.h"
#include "hk/Contract/Order.h"
#include "hk/Dialect/Apart.h"
#include "hk/Dialect/WaitingProblems.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/Format.h"

#include <numeric>

using namespace mlir;
using namespace mlir::hk;

/// Most problems of a launch: every one adds its code to all.
static constexpr size_t kMaxProblems = 4;
/// Most variants of a joint kernel: products of the numbers of variants of
/// problems whose sizes have nothing in common.
static constexpr size_t kMaxVariants = 8;
/// Sizes of all dynamic dims for which one launch must be as quick as several,
/// and up to which a number of threads is chosen for them. `other`: a further
/// size of that range, where blocks that wait must pay as well: of many rows
/// one of few blocks, in which these are slowest.
struct SampleSize {
  int64_t size, most, other;
};
static constexpr SampleSize kSampleSizes[] = {
    {1, 16, 16}, {64, 512, 512}, {kManySize, kUnboundedSize, 1024}};

KernelOp mlir::hk::kernelOf(LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch,
                                                        launch.getKernelAttr());
}

std::vector<KernelOp> mlir::hk::problemsOf(KernelOp kernel) {
  std::vector<KernelOp> problems = kernel.getProblems();
  return problems.empty() ? std::vector<KernelOp>{kernel} : problems;
}

void mlir::hk::forEachSymbol(
    KernelOp kernel, ArrayRef<Value> operands,
    llvm::function_ref<void(int64_t, Value, int64_t)> f) {
  for (auto [operand, shape] :
       llvm::zip(operands, kernel.getShapes().getAsRange<SymShapeAttr>()))
    for (auto [dim, size] : llvm::enumerate(shape.getSizes()))
      if (SymShapeAttr::isSymbol(size))
        f(SymShapeAttr::symbolOf(size), operand, int64_t(dim));
}

bool mlir::hk::mayShareLaunch(KernelOp kernel, const ::hk::Target &target,
                              bool ordered) {
  for (KernelOp problem : problemsOf(kernel))
    if (llvm::any_of(llvm::make_pointer_range(
                         problem.getSpecBlock().without_terminator()),
                     isApart))
      return false;
  const Family &family = familyOf(kernel.getFamily());
  return !(ordered ? family.getOrderedThreads(kernel, target)
                   : family.getSharedThreads(kernel, target))
              .empty();
}

SymShapeAttr JointMember::renamed(Attribute shape) const {
  SmallVector<int64_t> sizes(cast<SymShapeAttr>(shape).getSizes());
  for (int64_t &size : sizes)
    if (SymShapeAttr::isSymbol(size))
      size = -1 - dims[SymShapeAttr::symbolOf(size)];
  return SymShapeAttr::get(shape.getContext(), sizes);
}

SmallVector<int64_t> JointMember::values(ArrayRef<int64_t> joint) const {
  return llvm::map_to_vector(dims, [&](int64_t d) { return joint[d]; });
}

int64_t JointMember::getNumOwnOperands() const {
  KernelOp own = kernel;
  return own.getNumOperands() - (isOrdered(own) ? 1 : 0);
}

namespace {

/// Builds the joint kernel of members; its body and problems, no variants.
class JointBuilder {
public:
  JointBuilder(ArrayRef<JointMember> members, SymbolTable &symbols,
               bool ordered)
      : members(members), symbols(symbols), ordered(ordered) {}

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
    for (const JointMember &member : members)
      for (KernelOp problem : problemsOf(member.kernel))
        addProblem(builder, member, problem, joint.getSymName(), index++,
                   ordered && &member == &members.back());
    joint->remove();
    symbols.insert(joint, first->getIterator());
    return joint;
  }

private:
  std::string name() {
    return llvm::join(
        llvm::map_range(members,
                        [](const JointMember &member) {
                          return KernelOp(member.kernel).getSymName();
                        }),
        ordered ? "_then_" : "_and_");
  }

  void collectOperands() {
    SmallVector<Attribute> outs;
    SmallVector<int64_t> outAligns;
    for (const JointMember &member : members) {
      KernelOp kernel = member.kernel;
      locations.push_back(kernel.getLoc());
      for (auto [index, shape] :
           llvm::enumerate(kernel.getShapes().getValue().take_front(
               member.getNumOwnOperands()))) {
        bool input = index < kernel.getNumInputs();
        (input ? shapes : outs).push_back(member.renamed(shape));
        (input ? aligns : outAligns).push_back(kernel.getAligns()[index]);
      }
    }
    numInputs = shapes.size();
    shapes.append(outs);
    aligns.append(outAligns);
    if (!ordered)
      return;
    shapes.push_back(
        SymShapeAttr::get(shapes[0].getContext(), {::hk::kOrderWords}));
    aligns.push_back(4);
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
             KernelOp(member.kernel)
                 .getSpecBlock()
                 .getArguments()
                 .take_front(member.getNumOwnOperands()))
          if ((argument.getArgNumber() <
               KernelOp(member.kernel).getNumInputs()) == inputs)
            map.map(argument,
                    body->addArgument(argument.getType(), argument.getLoc()));
    SmallVector<Value> yielded;
    for (auto [member, map] : llvm::zip_equal(members, maps)) {
      Block &own = KernelOp(member.kernel).getSpecBlock();
      for (Operation &op : own.without_terminator())
        builder.clone(op, map);
      KernelOp kernel = member.kernel;
      for (Value value : own.getTerminator()->getOperands().take_front(
               member.getNumOwnOperands() - int64_t(kernel.getNumInputs())))
        yielded.push_back(map.lookup(value));
    }
    if (ordered) // Of no meaning to anybody behind the launch.
      yielded.push_back(body->addArgument(
          RankedTensorType::get({::hk::kOrderWords}, builder.getI32Type()),
          joint.getLoc()));
    YieldOp::create(builder, joint.getLoc(), yielded);
  }

  static void addProblem(OpBuilder &builder, const JointMember &member,
                         KernelOp problem, StringRef joint, int64_t index,
                         bool waits) {
    auto own = cast<KernelOp>(builder.clone(*problem));
    own.setSymName((joint + "_" + Twine(index)).str());
    SmallVector<Attribute> renamed = llvm::map_to_vector(
        problem.getShapes(),
        [&](Attribute shape) -> Attribute { return member.renamed(shape); });
    own.setShapesAttr(builder.getArrayAttr(renamed));
    if (waits)
      own->setAttr(kWaitsAttrName, builder.getUnitAttr());
  }

  ArrayRef<JointMember> members;
  SymbolTable &symbols;
  bool ordered;
  SmallVector<Location> locations;
  SmallVector<Attribute> shapes;
  SmallVector<int64_t> aligns;
  int64_t numInputs = 0;
};

/// Plans a joint kernel for one number of threads after the other.
class JointPlanner {
public:
  JointPlanner(KernelOp joint, ArrayRef<JointMember> members,
               const ::hk::Target &target, int64_t mostSize)
      : joint(joint), members(members), target(target), mostSize(mostSize),
        family(familyOf(FamilyKind::joint)) {}

  /// Leaves `joint` with the variants of least time, reported to `log`, if
  /// these take no longer than the members' own launches, or in an ordered
  /// kernel less by kOrderMarginMicroseconds.
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
      if (failed(add(threads, kUnboundedSize, unread)))
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
    for (auto [index, plan] : llvm::enumerate(chosen))
      saved.push_back(savedBy(plan, index));
    clear();
    for (auto [index, sample] : llvm::enumerate(samples())) {
      bool last = index + 1 == chosen.size();
      if (!last && chosen[index + 1].threads == chosen[index].threads)
        continue;
      if (failed(add(chosen[index].threads,
                     last ? kUnboundedSize : kSampleSizes[index].most, log)))
        return Verdict::refuse(Reason::UnsupportedShape, "no tile");
    }
    // Few and many rows may want the same, and those between something else.
    if (llvm::any_of(chosen, [&](const Plan &plan) {
          return plan.threads != chosen.front().threads;
        }))
      forget();
    return checkVariants();
  }

  /// What one launch takes less than the members' own, of each sample.
  SmallVector<double> saved;

private:
  /// A number of threads and the launch's time for each size of each sample.
  struct Plan {
    int64_t threads;
    SmallVector<SmallVector<double>> times;

    double total(size_t sample) const {
      return std::accumulate(times[sample].begin(), times[sample].end(), 0.0);
    }
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
    if (most != kUnboundedSize)
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

  /// For each sample the values of all dims at which times are compared.
  SmallVector<SmallVector<SmallVector<int64_t>>> samples() {
    SmallVector<SmallVector<SmallVector<int64_t>>> samples;
    for (SampleSize sample : kSampleSizes) {
      samples.emplace_back();
      for (int64_t size : {sample.size, sample.other})
        if (size == sample.size || isOrdered(joint))
          samples.back().emplace_back(joint.getNumDims(),
                                      std::min(size, mostSize));
    }
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
    for (const auto &sample : samples()) {
      plan.times.emplace_back();
      for (ArrayRef<int64_t> dims : sample)
        plan.times.back().push_back(timeOf(joint, dims));
    }
    return plan;
  }
  double apart(ArrayRef<int64_t> dims) {
    double sum = 0;
    for (const JointMember &member : members)
      sum += timeOf(member.kernel, member.values(dims));
    return sum;
  }
  /// The least over the sizes of a sample.
  double savedBy(const Plan &plan, size_t sample) {
    double least = std::numeric_limits<double>::max();
    SmallVector<SmallVector<int64_t>> sizes = samples()[sample];
    for (auto [dims, one] : llvm::zip(sizes, plan.times[sample]))
      least = std::min(least, apart(dims) - one);
    return least;
  }

  /// Whether the variants there are can be those of a launch.
  Verdict checkVariants() {
    if (isOrdered(joint))
      for (VariantOp variant : joint.getVariants())
        if (!family.getTensorMaps(joint, variant).empty())
          return Verdict::refuse(Reason::UnsupportedShape,
                                 "blocks that fill their unit take no others "
                                 "that wait for them");
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
    size_t count = samples().size();
    auto total = [&](const Plan &plan) {
      double sum = 0;
      for (size_t i = 0; i < count; ++i)
        sum += plan.total(i);
      return sum;
    };
    for (const Plan &plan : plans)
      if (compare(SmallVector<Plan>(count, plan)).accepted() &&
          (!best || total(plan) < total(*best)))
        best = &plan;
    if (best)
      return SmallVector<Plan>(count, *best);
    SmallVector<Plan> chosen;
    for (size_t i = 0; i < count; ++i)
      chosen.push_back(*llvm::min_element(
          plans, [&](auto &a, auto &b) { return a.total(i) < b.total(i); }));
    return chosen;
  }

  /// Whether the plan of each sample is as quick as the members' launches, or
  /// quicker by what ordered ones must save.
  Verdict compare(ArrayRef<Plan> chosen) {
    double margin = isOrdered(joint) ? ::hk::kOrderMarginMicroseconds : 0;
    for (auto [index, sample] : llvm::enumerate(samples()))
      for (auto [dims, one] : llvm::zip(sample, chosen[index].times[index]))
        if (double several = apart(dims); one + margin > several)
          return refuse(chosen[index].threads, dims, one, several);
    return Verdict::accept();
  }
  static Verdict refuse(int64_t threads, ArrayRef<int64_t> dims, double one,
                        double several) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << llvm::format("one launch of blocks of %lld threads would take %.2f "
                       "us, two take %.2f us",
                       static_cast<long long>(threads), one, several);
    if (!dims.empty())
      os << " where the dynamic sizes are " << dims.front();
    if (one <= several)
      os << llvm::format(", and less than %.1f us is nothing sure",
                         ::hk::kOrderMarginMicroseconds);
    return Verdict::refuse(Reason::CostlierFused, text);
  }

  KernelOp joint;
  ArrayRef<JointMember> members;
  const ::hk::Target &target;
  int64_t mostSize;
  const Family &family;
};

} // namespace

JointChoice JointKernels::get(ArrayRef<JointMember> members, int64_t mostSize) {
  std::string names;
  std::vector<int64_t> sizes = {mostSize};
  size_t problems = 0;
  for (const JointMember &member : members) {
    names += KernelOp(member.kernel).getSymName().str() + ",";
    llvm::append_range(sizes, member.dims);
    problems += problemsOf(member.kernel).size();
  }
  if (problems > kMaxProblems)
    return {nullptr,
            Verdict::refuse(Reason::GroupFull, "a launch holds at most " +
                                                   Twine(kMaxProblems) +
                                                   " problems"),
            {}};
  std::pair key(std::move(names), std::move(sizes));
  if (auto it = known.find(key); it != known.end())
    return it->second;
  KernelOp joint = JointBuilder(members, symbols, ordered).build();
  JointPlanner planner(joint, members, target, mostSize);
  Verdict verdict = planner.run(log);
  if (!verdict.accepted()) {
    symbols.erase(joint);
    joint = nullptr;
  }
  return known
      .emplace(std::move(key),
               JointChoice{joint, std::move(verdict), std::move(planner.saved)})
      .first->second;
}

void mlir::hk::reportJoint(const JointPass &pass, LaunchOp launch,
                           LaunchOp other, const Verdict &verdict,
                           DecisionLog &log) {
  auto name = [](LaunchOp op) {
    return "hk." +
           kernelOf(op).getSpecBlock().front().getName().stripDialect().str();
  };
  Candidate candidate{(pass.what + " " + name(other)).str(), verdict, 0, 0,
                      pass.why};
  candidate.partner = other.getLoc();
  log.add(Decision{DecisionKind::Fuse,
                   launch.getLoc(),
                   name(launch),
                   {candidate},
                   verdict.accepted() ? 0 : -1});
  if (!verdict.accepted())
    remark::missed(launch.getLoc(),
                   remark::RemarkOpts::name(pass.missed).category(pass.name))
        << remark::reason("{0}: {1}", stringify(verdict.getReason()).str(),
                          verdict.getDetail().str());
}

/// Zeros of `type`, of one dim; `like`: of that size, if it is dynamic.
static Value zeros(RankedTensorType type, Value like, OpBuilder &builder,
                   Location loc) {
  auto constant = [&](RankedTensorType of) -> Value {
    return ConstantOp::create(
        builder, loc, of,
        DenseElementsAttr::get(of, builder.getI32IntegerAttr(0)));
  };
  if (type.hasStaticShape() && type.getNumElements() * 4 <= kMaxConstantBytes)
    return CopyOp::create(builder, loc, type, constant(type));
  // Constants are small: a product with zero is as large as needed.
  Value numbers = IotaOp::create(builder, loc, type, like);
  return MulOp::create(
      builder, loc, type, numbers,
      constant(RankedTensorType::get({}, type.getElementType())));
}

FailureOr<KernelOp> mlir::hk::zeroKernel(int64_t count, StringRef words,
                                         const ::hk::Target &target,
                                         SymbolTable &symbols, Location loc,
                                         DecisionLog &log) {
  bool known = !ShapedType::isDynamic(count);
  std::string name =
      ("zero_" + (known ? Twine(count) + "_" : Twine()) + words).str();
  if (auto made = symbols.lookup<KernelOp>(name))
    return made;
  OpBuilder builder(loc.getContext());
  auto type = RankedTensorType::get({count}, builder.getI32Type());
  int64_t inputs = known ? 0 : 1;
  SmallVector<Attribute> shapes(
      inputs + 1,
      SymShapeAttr::get(builder.getContext(), {known ? count : -1}));
  auto kernel =
      KernelOp::create(builder, loc, name, FamilyKind::rowwise, inputs,
                       builder.getArrayAttr(shapes),
                       SmallVector<int64_t>(shapes.size(), kMaxAlignment),
                       /*threads=*/IntegerAttr());
  builder.createBlock(&kernel.getBody());
  auto spec = SpecOp::create(builder, loc);
  Block *body = builder.createBlock(&spec.getBody());
  Value like = known ? Value() : body->addArgument(type, loc);
  body->addArgument(type, loc);
  YieldOp::create(builder, loc, ValueRange{zeros(type, like, builder, loc)});
  symbols.insert(kernel);
  if (failed(familyOf(FamilyKind::rowwise).addVariants(kernel, target, log)))
    return failure();
  return kernel;
}

void mlir::hk::eraseUnlaunched(ModuleOp module, SymbolTable &symbols) {
  llvm::DenseSet<StringAttr> launched;
  module.walk([&](LaunchOp launch) {
    launched.insert(launch.getKernelAttr().getAttr());
  });
  for (KernelOp kernel : llvm::make_early_inc_range(module.getOps<KernelOp>()))
    if (!launched.contains(kernel.getSymNameAttr()))
      symbols.erase(kernel);
}
