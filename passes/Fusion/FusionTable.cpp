//===- FusionTable.cpp - Groups of operators on a side table --------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Legality of groups: levels, state, size; what a kernel can do is the family's
// verdict. Scans are bounded, so that fusing is near linear in the graph.
//
//===----------------------------------------------------------------------===//

#include "Fusion/FusionTable.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/State.h"
#include "hk/Dialect/Apart.h"

using namespace mlir;
using namespace mlir::hk;

using GroupId = FusionTable::GroupId;

/// Users looked at before a group is taken to be in the way of another.
static constexpr int kUserBudget = 256;
/// Siblings that a new group is offered to.
static constexpr size_t kMaxSiblings = 8;

FusionTable::FusionTable(Block &block, const FusionContext &context,
                         int64_t maxOps)
    : context(context), maxOps(maxOps) {
  for (auto [reader, writer] : collectStateOrder(block)) {
    readersOf[writer].push_back(reader);
    writersOf[reader].push_back(writer);
  }
  unsigned next = 0;
  for (Operation &op : block) {
    position[&op] = next++;
    for (OpResult result : op.getResults())
      if (OpOperand *state = tiedStateOf(result)) {
        Value root = memoryOf(state->get());
        memory[result] = root;
        written[root] = 1;
      }
  }
}

Value FusionTable::memoryOf(Value value) const {
  value = rootOfViews(value);
  auto it = memory.find(value);
  return it == memory.end() ? value : it->second;
}

std::optional<GroupId> FusionTable::producerOf(Value operand) const {
  Operation *def = rootOfViews(operand).getDefiningOp();
  auto it = def ? groupOf.find(def) : groupOf.end();
  if (it == groupOf.end())
    return std::nullopt;
  return it->second;
}

SmallVector<GroupId> FusionTable::producersOf(Operation *op) const {
  SmallVector<GroupId> result;
  for (Value operand : op->getOperands())
    if (std::optional<GroupId> id = producerOf(operand))
      if (!llvm::is_contained(result, *id))
        result.push_back(*id);
  llvm::sort(result, [&](GroupId a, GroupId b) {
    return groups[a].level != groups[b].level
               ? groups[a].level > groups[b].level
               : a < b;
  });
  return result;
}

static bool isSharedInput(Value root) {
  return !isa_and_nonnull<WeightRefOp, ConstantOp, tensor::EmptyOp>(
      root.getDefiningOp());
}

SmallVector<GroupId> FusionTable::siblingsOf(Operation *op,
                                             const Family &family) const {
  SmallVector<GroupId> result;
  for (Value operand : op->getOperands()) {
    auto it = readersOfValue.find(rootOfViews(operand));
    if (it == readersOfValue.end())
      continue;
    size_t seen = 0;
    for (GroupId id : llvm::reverse(it->second)) {
      if (++seen > kMaxSiblings)
        break;
      if (groups[id].family == &family && !groups[id].ops.empty() &&
          !llvm::is_contained(result, id))
        result.push_back(id);
    }
  }
  return result;
}

void FusionTable::insertInOrder(SmallVectorImpl<Operation *> &ops,
                                Operation *op) const {
  auto before = [&](Operation *a, Operation *b) {
    return position.lookup(a) < position.lookup(b);
  };
  auto it = llvm::upper_bound(ops, op, before);
  if (it == ops.begin() || *std::prev(it) != op)
    ops.insert(it, op);
}

static StringRef nameOf(Operation *op) { return op->getName().getStringRef(); }

std::string FusionTable::describe(GroupId id) const {
  return nameOf(groups[id].ops.front()).str();
}

/// A view whose sizes a kernel cannot compute from those of its source.
static Verdict refuseSizes(Operation *view) {
  return Verdict::refuse(Reason::UnsupportedShape,
                         nameOf(view) + " between them has a size that does "
                                        "not follow from those of its source");
}

int64_t FusionTable::levelNeeded(Operation *op,
                                 ArrayRef<GroupId> except) const {
  int64_t level = 0;
  auto above = [&](std::optional<GroupId> id) {
    if (id && !llvm::is_contained(except, *id))
      level = std::max(level, groups[*id].level + 1);
  };
  for (Value operand : op->getOperands())
    above(producerOf(operand));
  if (auto it = readersOf.find(op); it != readersOf.end())
    for (Operation *reader : it->second)
      if (auto group = groupOf.find(reader); group != groupOf.end())
        above(group->second);
  return level;
}

bool FusionTable::usersAbove(Value value, ArrayRef<GroupId> except,
                             int64_t level, int &budget) const {
  for (Operation *user : value.getUsers()) {
    if (--budget < 0)
      return false;
    if (isView(user)) {
      if (!usersAbove(user->getResult(0), except, level, budget))
        return false;
      continue;
    }
    auto it = groupOf.find(user);
    if (it != groupOf.end() && !llvm::is_contained(except, it->second) &&
        groups[it->second].level <= level)
      return false;
  }
  return true;
}

bool FusionTable::consumersAbove(GroupId id, int64_t level) const {
  int budget = kUserBudget;
  for (Operation *op : groups[id].ops) {
    if (isView(op))
      continue;
    for (Value result : op->getResults())
      if (!usersAbove(result, id, level, budget))
        return false;
    if (auto it = writersOf.find(op); it != writersOf.end())
      for (Operation *writer : it->second) {
        auto group = groupOf.find(writer);
        if (group != groupOf.end() && group->second != id &&
            groups[group->second].level <= level)
          return false;
      }
  }
  return true;
}

void FusionTable::noteState(Operation *op, FusionGroup &group) const {
  auto note = [&](Value value, SmallVectorImpl<Value> &list) {
    Value root = memoryOf(value);
    if (written.count(root) && !llvm::is_contained(list, root))
      list.push_back(root);
  };
  SmallVector<Value> states = writtenInPlace(op);
  for (Value state : states)
    note(state, group.writes);
  for (Value operand : op->getOperands())
    if (!llvm::is_contained(states, operand))
      note(operand, group.reads);
}

Verdict FusionTable::checkState(ArrayRef<GroupId> ids, Operation *op) const {
  if (written.empty())
    return Verdict::accept();
  FusionGroup extra;
  if (op)
    noteState(op, extra);
  SmallVector<const FusionGroup *> parts;
  for (GroupId id : ids)
    parts.push_back(&groups[id]);
  parts.push_back(&extra);
  SmallVector<Value> writes;
  for (const FusionGroup *part : parts)
    for (Value root : part->writes) {
      if (llvm::is_contained(writes, root))
        return Verdict::refuse(Reason::StateReadAndWritten,
                               "a second write into the same state");
      writes.push_back(root);
    }
  for (const FusionGroup *part : parts)
    for (Value root : part->reads)
      if (llvm::is_contained(writes, root))
        return Verdict::refuse(
            Reason::StateReadAndWritten,
            "workgroups that read the state would race with those that "
            "overwrite it");
  return Verdict::accept();
}

void FusionTable::noteInputs(Operation *op, GroupId id) {
  for (Value operand : op->getOperands()) {
    Value root = rootOfViews(operand);
    if (!isSharedInput(root))
      continue;
    SmallVector<GroupId, 4> &list = readersOfValue[root];
    if (list.empty() || list.back() != id)
      list.push_back(id);
  }
}

GroupId FusionTable::start(Operation *op, const Family *family) {
  GroupId id = groups.size();
  FusionGroup group;
  group.family = family;
  group.level = levelNeeded(op, {});
  group.numBaseOps = 1;
  group.ops.push_back(op);
  noteState(op, group);
  groups.push_back(std::move(group));
  groupOf[op] = id;
  noteInputs(op, id);
  return id;
}

/// A view inside a region computes its sizes from its source.
bool FusionTable::isClonable(Operation *view) const {
  ArrayRef<DimName> source = context.dims.shape(viewSource(view));
  for (Value operand : view->getOperands().drop_front()) {
    std::optional<DimName> name = context.dims.name(operand);
    if (!name)
      return false;
    if (*name >= 0 || llvm::is_contained(source, *name))
      continue;
    const SizeExpr &expr = context.dims.definition(-1 - *name);
    if (expr.operands.empty() ||
        !llvm::all_of(expr.operands, [&](DimName operand) {
          return operand >= 0 || llvm::is_contained(source, operand);
        }))
      return false;
  }
  return true;
}

static Verdict refuseApart() {
  return Verdict::refuse(Reason::CostlierFused,
                         "codes that are decoded apart are in memory until "
                         "their product has read them, one matrix at a time");
}

Verdict FusionTable::unite(ArrayRef<GroupId> ids, int64_t minLevel,
                           Operation *joining, Union &result) const {
  int64_t count = joining ? 1 : 0;
  result.level = minLevel;
  for (GroupId id : ids) {
    count += groups[id].numBaseOps;
    result.level = std::max(result.level, groups[id].level);
  }
  if (count > maxOps)
    return Verdict::refuse(Reason::GroupFull, "a kernel holds at most " +
                                                  Twine(maxOps) + " operators");
  bool apart = joining && isApart(joining);
  for (GroupId id : ids)
    apart |= llvm::any_of(groups[id].ops, isApart);
  if (apart)
    return refuseApart();
  for (GroupId id : ids)
    if ((groups[id].level < result.level || ids.size() > 1) &&
        !consumersAbove(id, result.level))
      return Verdict::refuse(Reason::WouldCycle,
                             "a kernel that needs " + Twine(describe(id)) +
                                 " would have to run first");
  result.ops = groups[ids.front()].ops;
  FusionContext with{context.dims, context.target, joining};
  for (GroupId id : ids.drop_front()) {
    const FusionGroup &group = groups[id];
    Verdict verdict =
        groups[ids.front()].family->canMerge(result.ops, group.ops, with);
    if (!verdict.accepted())
      return verdict;
    for (Operation *op : group.ops)
      insertInOrder(result.ops, op);
  }
  return Verdict::accept();
}

void FusionTable::commit(ArrayRef<GroupId> ids, Union united) {
  FusionGroup &into = groups[ids.front()];
  for (GroupId id : ids.drop_front()) {
    FusionGroup &from = groups[id];
    into.numBaseOps += from.numBaseOps;
    into.reads.append(from.reads);
    into.writes.append(from.writes);
    for (Operation *op : from.ops)
      if (!isView(op)) {
        groupOf[op] = ids.front();
        noteInputs(op, ids.front());
      }
    from = FusionGroup();
  }
  into.level = united.level;
  into.ops = std::move(united.ops);
}

Verdict FusionTable::join(ArrayRef<GroupId> ids, Operation *op) {
  const Family *family = groups[ids.front()].family;
  if (!family)
    return Verdict::refuse(Reason::OtherFamily, "a kernel already");
  Verdict state = checkState(ids, op);
  if (!state.accepted())
    return state;
  Union united;
  Verdict verdict = unite(ids, levelNeeded(op, ids), op, united);
  if (!verdict.accepted())
    return verdict;
  FusionContext with{context.dims, context.target, op};
  for (Value operand : op->getOperands()) {
    std::optional<GroupId> producer = producerOf(operand);
    if (!producer || !llvm::is_contained(ids, *producer))
      continue;
    SmallVector<Operation *> views;
    for (Value v = operand; isView(v.getDefiningOp());
         v = viewSource(v.getDefiningOp()))
      views.push_back(v.getDefiningOp());
    for (Operation *view : llvm::reverse(views)) {
      if (llvm::is_contained(united.ops, view))
        continue;
      if (!isClonable(view)) {
        // What no view would change comes first.
        verdict = family->canJoin(united.ops, op, with);
        return verdict.getReason() == Reason::OtherFamily ? verdict
                                                          : refuseSizes(view);
      }
      verdict = family->canJoin(united.ops, view, with);
      // Asked about the view, a family says that it is none of its operators.
      if (verdict.getReason() == Reason::OtherFamily)
        return Verdict::refuse(Reason::NotAnEpilogue,
                               nameOf(op) + " reads a view (" + nameOf(view) +
                                   ") of what the kernel makes");
      if (!verdict.accepted())
        return verdict;
      insertInOrder(united.ops, view);
    }
  }
  verdict = family->canJoin(united.ops, op, context);
  if (!verdict.accepted())
    return verdict;
  insertInOrder(united.ops, op);
  commit(ids, std::move(united));
  groups[ids.front()].numBaseOps += 1;
  noteState(op, groups[ids.front()]);
  groupOf[op] = ids.front();
  noteInputs(op, ids.front());
  return Verdict::accept();
}

Verdict FusionTable::merge(GroupId into, GroupId from) {
  GroupId ids[] = {into, from};
  Verdict state = checkState(ids, nullptr);
  if (!state.accepted())
    return state;
  Union united;
  Verdict verdict = unite(ids, 0, nullptr, united);
  if (verdict.accepted())
    commit(ids, std::move(united));
  return verdict;
}

/// What reads a state may move to its reader, unless another write has a kernel
/// already: that may run before the reader's. Writes that follow will be above
/// the reader. What writes one may, too, where the reader's kernel stores it:
/// only the function returns it then, and what read the state before ran
/// before.
Verdict FusionTable::checkLaterRead(GroupId into, GroupId from) const {
  bool written = false;
  for (Operation *op : groups[from].ops) {
    written |=
        !writtenInPlace(op).empty() && !groups[into].family->storesTakenIn(op);
    if (auto it = writersOf.find(op); it != writersOf.end())
      written |= llvm::any_of(it->second, [&](Operation *writer) {
        return groupOf.contains(writer);
      });
  }
  if (written)
    return Verdict::refuse(Reason::StateReadAndWritten,
                           "it would be read at another time");
  GroupId ids[] = {into, from};
  return checkState(ids, nullptr);
}

/// Whether only `ops`, which are to be in the kernel of `into`, need the
/// results of `op`, or else that kernel can store them in time.
bool FusionTable::staysInside(Operation *op, ArrayRef<Operation *> ops,
                              GroupId into, GroupId from) const {
  bool stores = groups[into].family->storesTakenIn(op);
  bool outside = false;
  for (Operation *user : op->getUsers()) {
    if (llvm::is_contained(ops, user))
      continue;
    if (!stores)
      return false;
    outside |= !user->hasTrait<OpTrait::IsTerminator>();
  }
  if (!outside)
    return true;
  // Of a state only the function may need what is stored.
  if (!writtenInPlace(op).empty())
    return false;
  int budget = kUserBudget;
  return llvm::all_of(op->getResults(), [&](Value result) {
    return usersAbove(result, {into, from}, groups[into].level, budget);
  });
}

Verdict FusionTable::takeIn(GroupId into, GroupId from) {
  const FusionGroup &reader = groups[into], &taken = groups[from];
  if (!taken.family)
    return Verdict::refuse(Reason::OtherFamily, "a kernel already");
  if (llvm::any_of(taken.ops, isApart))
    return refuseApart();
  SmallVector<Operation *> ops(reader.ops), added(taken.ops);
  for (Operation *op : reader.ops)
    for (Value operand : op->getOperands()) {
      if (producerOf(operand) != from)
        continue;
      for (Value v = operand; isView(v.getDefiningOp());
           v = viewSource(v.getDefiningOp()))
        insertInOrder(added, v.getDefiningOp());
    }
  Verdict escaping = Verdict::accept();
  for (Operation *op : llvm::reverse(added)) {
    // First what no other use of the value would change.
    Verdict verdict = reader.family->canTakeIn(ops, op, context);
    if (!verdict.accepted()) {
      bool isRead = llvm::any_of(op->getUsers(), [&](Operation *user) {
        return llvm::is_contained(ops, user);
      });
      if (isRead || verdict.getReason() == Reason::OtherFamily)
        return verdict;
      // It is no operand, so what was said of it as one is not why.
      escaping = Verdict::refuse(Reason::ResultEscapes,
                                 nameOf(op) + " is needed elsewhere as well");
      continue;
    }
    if (isView(op) && !llvm::is_contained(taken.ops, op) && !isClonable(op))
      return refuseSizes(op);
    if (!staysInside(op, ops, into, from))
      return Verdict::refuse(Reason::ResultEscapes,
                             nameOf(op) + " is needed elsewhere as well");
    insertInOrder(ops, op);
  }
  if (!escaping.accepted())
    return escaping;
  if (Verdict state = checkLaterRead(into, from); !state.accepted())
    return state;
  if (reader.numBaseOps + taken.numBaseOps > maxOps)
    return Verdict::refuse(Reason::GroupFull, "a kernel holds at most " +
                                                  Twine(maxOps) + " operators");
  groups[into].ops = std::move(ops);
  groups[into].numBaseOps += taken.numBaseOps;
  groups[into].reads.append(taken.reads);
  groups[into].writes.append(taken.writes);
  for (Operation *op : taken.ops)
    if (!isView(op)) {
      groupOf[op] = into;
      noteInputs(op, into);
    }
  // The level stays: it is above that of all producers of what is taken in.
  groups[from] = FusionGroup();
  return Verdict::accept();
}

SmallVector<GroupId> FusionTable::liveIds() const {
  SmallVector<GroupId> result;
  for (GroupId id = 0; id < groups.size(); ++id)
    if (groups[id].family && !groups[id].ops.empty())
      result.push_back(id);
  llvm::sort(result, [&](GroupId a, GroupId b) {
    return position.lookup(groups[a].ops.front()) <
           position.lookup(groups[b].ops.front());
  });
  return result;
}

SmallVector<const FusionGroup *> FusionTable::liveGroups() const {
  SmallVector<const FusionGroup *> result;
  for (GroupId id : liveIds())
    result.push_back(&groups[id]);
  return result;
}
