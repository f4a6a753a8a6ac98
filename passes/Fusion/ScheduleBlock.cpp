//===- ScheduleBlock.cpp - Order of a block with state --------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// List scheduling by original position: n log n, and the identity on a block
// that is in order already.
//
//===----------------------------------------------------------------------===//

#include "Fusion/ScheduleBlock.h"

#include "hk/Analysis/Alignment.h"
#include "hk/Analysis/State.h"
#include "hk/Dialect/HK.h"

#include <queue>
#include <vector>

using namespace mlir;
using namespace mlir::hk;

SmallVector<Value> mlir::hk::writtenInPlace(Operation *op) {
  SmallVector<Value> written;
  for (OpResult result : op->getResults())
    if (OpOperand *state = tiedStateOf(result))
      written.push_back(state->get());
  return written;
}

/// Users of `value` and of views of it.
static void collectUsers(Value value, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : value.getUsers()) {
    if (isView(user))
      collectUsers(user->getResult(0), users);
    else
      users.push_back(user);
  }
}

StateOrder mlir::hk::collectStateOrder(Block &block) {
  StateOrder order;
  for (Operation &writer : block) {
    for (Value state : writtenInPlace(&writer)) {
      SmallVector<Operation *> users;
      collectUsers(state, users);
      for (Operation *user : users)
        if (user != &writer && user->getBlock() == &block &&
            !user->hasTrait<OpTrait::IsTerminator>() &&
            !isa<tensor::DimOp>(user))
          order.push_back({user, &writer});
    }
  }
  return order;
}

void mlir::hk::scheduleBlock(Block &block) {
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> index;
  for (Operation &op : block.without_terminator()) {
    index[&op] = ops.size();
    ops.push_back(&op);
  }
  struct Node {
    SmallVector<unsigned, 4> next;      // by operands
    SmallVector<unsigned, 1> nextState; // by state
    unsigned waits = 0, waitsState = 0;
    bool done = false;
  };
  std::vector<Node> nodes(ops.size());
  for (auto [i, op] : llvm::enumerate(ops))
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp()) {
        auto it = index.find(def);
        if (it == index.end())
          continue;
        nodes[it->second].next.push_back(i);
        ++nodes[i].waits;
      }
  for (auto [reader, writer] : collectStateOrder(block)) {
    nodes[index[reader]].nextState.push_back(index[writer]);
    ++nodes[index[writer]].waitsState;
  }
  using Heap =
      std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>>;
  Heap ready, held; // held: only state keeps it back
  for (unsigned i = 0; i < ops.size(); ++i)
    if (nodes[i].waits == 0)
      (nodes[i].waitsState == 0 ? ready : held).push(i);
  Operation *terminator = block.getTerminator();
  for (size_t placed = 0; placed < ops.size();) {
    Heap &from = ready.empty() ? held : ready;
    unsigned i = from.top();
    from.pop();
    if (nodes[i].done)
      continue;
    nodes[i].done = true;
    ++placed;
    ops[i]->moveBefore(terminator);
    for (unsigned n : nodes[i].next)
      if (--nodes[n].waits == 0)
        (nodes[n].waitsState == 0 ? ready : held).push(n);
    for (unsigned n : nodes[i].nextState)
      if (--nodes[n].waitsState == 0 && nodes[n].waits == 0 && !nodes[n].done)
        ready.push(n);
  }
}
