//===- DeviceCollective.cpp - Collectives between devices -----------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An engine exchanges dense tensors. What is not dense, or comes in another
// order than the result has it, goes through memory of the communicator, by
// copies on the same stream. Reductions that no engine has, such as sums in
// order, were made of others by the compiler (hk-expand-exchanges).
//
//===----------------------------------------------------------------------===//

#include "comm/Collective.h"
#include "hk/Contract/Exchange.h"

#include <algorithm>

using namespace hk;

using Kind = DeviceExchange::Kind;

namespace {
/// One exchange on its way to the stream.
class Run {
public:
  Run(Device &device, Communicator &communicator,
      const CollectiveProblem &problem, void *stream)
      : device(device), communicator(communicator), problem(problem),
        stream(stream) {}

  Status operator()();

private:
  Kind kind() const;
  bool sendsParts() const { return problem.abi.split >= 0; }
  bool getsParts() const { return problem.abi.concat >= 0; }
  Status stage(bool stagesInput, bool stagesResult);
  Status packInput();
  Status unpackResult();

  Device &device;
  Communicator &communicator;
  const CollectiveProblem &problem;
  void *stream;
  char *from = nullptr, *to = nullptr; // what the engine reads and writes
};
} // namespace

/// Rows of a view that lie apart by one pitch are one copy.
static Status copyRows(Device &device, const ByteView &view, char *dense,
                       bool toView, void *stream) {
  ByteView rows = view.collapsed();
  if (rows.numBytes() == 0)
    return {};
  if (rows.sizes.empty()) {
    rows.sizes = {1};
    rows.strides = {rows.rowBytes};
  }
  std::vector<int64_t> index(rows.sizes.size(), 0);
  int64_t count = rows.sizes.back(), pitch = rows.strides.back();
  char *at = rows.data;
  for (int64_t done = 0, bytes = rows.numBytes(); done < bytes;
       done += count * rows.rowBytes) {
    RowCopy copy;
    copy.rowBytes = rows.rowBytes;
    copy.rows = count;
    copy.to = toView ? at : dense + done;
    copy.from = toView ? dense + done : at;
    copy.toPitch = toView ? pitch : rows.rowBytes;
    copy.fromPitch = toView ? rows.rowBytes : pitch;
    if (Status error = device.copyRows(copy, stream))
      return error;
    for (size_t d = rows.sizes.size() - 1; d-- > 0;) {
      at += rows.strides[d];
      if (++index[d] < rows.sizes[d])
        break;
      at -= rows.strides[d] * rows.sizes[d];
      index[d] = 0;
    }
  }
  return {};
}

Kind Run::kind() const {
  if (problem.abi.reduction != HK_COLLECTIVE_COPY)
    return sendsParts() ? Kind::ReduceScatter : Kind::AllReduce;
  if (problem.abi.root >= 0)
    return Kind::Broadcast;
  return sendsParts() ? Kind::AllToAll : Kind::AllGather;
}

/// Memory for what cannot be exchanged where it is.
Status Run::stage(bool stagesInput, bool stagesResult) {
  constexpr uint64_t kAlign = 256;
  auto rounded = [](uint64_t bytes) {
    return (bytes + kAlign - 1) / kAlign * kAlign;
  };
  uint64_t input = stagesInput ? rounded(problem.input.numBytes()) : 0;
  uint64_t result = stagesResult ? rounded(problem.result.numBytes()) : 0;
  from = problem.input.data;
  to = problem.result.data;
  if (input + result == 0)
    return {};
  StreamState state = StreamState::Idle;
  if (Status error = device.query(stream, state))
    return error;
  void *memory = nullptr;
  if (Status error = communicator.deviceMemory(
          input + result, state == StreamState::Capturing, &memory))
    return error;
  if (stagesInput)
    from = static_cast<char *>(memory);
  if (stagesResult)
    to = static_cast<char *>(memory) + input;
  return {};
}

Status Run::packInput() {
  if (from == problem.input.data)
    return {};
  if (!sendsParts())
    return copyRows(device, problem.input, from, /*toView=*/false, stream);
  for (int64_t place = 0; place < problem.ranks; ++place)
    if (Status error = copyRows(device, problem.inputPart(place),
                                from + place * problem.partBytes,
                                /*toView=*/false, stream))
      return error;
  return {};
}

Status Run::unpackResult() {
  if (to == problem.result.data)
    return {};
  if (!getsParts())
    return copyRows(device, problem.result, to, /*toView=*/true, stream);
  for (int64_t place = 0; place < problem.ranks; ++place)
    if (Status error = copyRows(
            device,
            problem.result.part(problem.abi.concat, problem.ranks, place),
            to + place * problem.partBytes, /*toView=*/true, stream))
      return error;
  return {};
}

Status Run::operator()() {
  // Parts of the outermost dim lie one behind the other.
  bool stagesInput = !problem.input.isDense() || problem.abi.split > 0;
  bool stagesResult = !problem.result.isDense() || problem.abi.concat > 0;
  if (Status error = stage(stagesInput, stagesResult))
    return error;
  if (Status error = packInput())
    return error;
  DeviceExchange exchange;
  exchange.kind = kind();
  exchange.from = from;
  exchange.to = to;
  bool reduces = problem.abi.reduction != HK_COLLECTIVE_COPY;
  exchange.dtype = reduces ? problem.dtype : DType::I8;
  exchange.count = problem.partBytes * 8 / info(exchange.dtype).bits;
  exchange.reduction = hk_collective_reduction(problem.abi.reduction);
  exchange.root = problem.abi.root;
  if (Status error = communicator.deviceEngine()->enqueue(
          communicator.axisOf(problem.abi.axis), exchange, stream))
    return error;
  return unpackResult();
}

/// With one rank all of them are copies.
static Status copyToItself(Device &device, const CollectiveProblem &problem,
                           void *stream) {
  if (problem.input.isDense())
    return copyRows(device, problem.result, problem.input.data,
                    /*toView=*/true, stream);
  if (problem.result.isDense())
    return copyRows(device, problem.input, problem.result.data,
                    /*toView=*/false, stream);
  // Views of equal sizes, row by row.
  ByteView from = problem.input, to = problem.result;
  if (from.sizes.empty())
    return {};
  int64_t count = from.sizes.front();
  int64_t fromStride = from.strides.front(), toStride = to.strides.front();
  for (ByteView *view : {&from, &to}) {
    view->sizes.erase(view->sizes.begin());
    view->strides.erase(view->strides.begin());
  }
  for (int64_t i = 0; i < count; ++i) {
    CollectiveProblem part = problem;
    part.input = from;
    part.result = to;
    part.input.data += i * fromStride;
    part.result.data += i * toStride;
    if (Status error = copyToItself(device, part, stream))
      return error;
  }
  return {};
}

Status hk::runDeviceCollective(Device &device, Communicator *communicator,
                               const hk_collective_abi &abi,
                               const uint64_t *words, uint32_t numDims,
                               void *stream) {
  RankLine line = communicator ? communicator->lineOf(abi.axis) : RankLine{{0}};
  if (isPlaceOnly(abi))
    return device.storeWords(reinterpret_cast<void *>(words[0]),
                             uint32_t(line.place), 1, stream);
  CollectiveProblem problem(abi);
  if (Status error = readProblem(line, words, numDims, problem))
    return error;
  if (abi.reduction != HK_COLLECTIVE_COPY &&
      problem.dtype != problem.resultDType)
    return makeError(HK_INTERNAL,
                     "a reduction between devices has results of %s for inputs "
                     "of %s",
                     info(problem.resultDType).name, info(problem.dtype).name);
  if (problem.partBytes == 0)
    return {};
  if (problem.ranks == 1)
    return copyToItself(device, problem, stream);
  return Run(device, *communicator, problem, stream)();
}

/// The parts for a kernel that adds them itself, or their sum, in memory of the
/// communicator: where, and how far apart.
static Status bringParts(Device &device, Communicator &communicator,
                         const CollectiveProblem &problem, void *stream,
                         uint64_t *extra) {
  const hk_collective_abi &abi = problem.abi;
  constexpr uint64_t kAlign = 256;
  uint64_t bytes = problem.input.numBytes();
  uint64_t room = (bytes + kAlign - 1) / kAlign * kAlign;
  // The library has sums in any order.
  uint64_t parts = abi.any_order ? 1 : problem.ranks;
  StreamState state = StreamState::Idle;
  if (Status error = device.query(stream, state))
    return error;
  void *memory = nullptr;
  bool isDense = problem.input.isDense();
  if (Status error = communicator.deviceMemory(
          parts * bytes + kAlign + (isDense ? 0 : room),
          state == StreamState::Capturing, &memory))
    return error;
  char *from = problem.input.data;
  auto *to = static_cast<char *>(memory);
  if (!isDense) {
    from = to;
    to += room;
    if (Status error =
            copyRows(device, problem.input, from, /*toView=*/false, stream))
      return error;
  }
  DeviceExchange exchange;
  exchange.kind = abi.any_order ? Kind::AllReduce : Kind::AllGather;
  exchange.from = from;
  exchange.to = to;
  exchange.dtype = abi.any_order ? problem.dtype : DType::I8;
  exchange.count = bytes * 8 / info(exchange.dtype).bits;
  extra[kExchangeOwn] = reinterpret_cast<uintptr_t>(to);
  extra[kExchangePartBytes] = bytes;
  return communicator.deviceEngine()->enqueue(communicator.axisOf(abi.axis),
                                              exchange, stream);
}

Status hk::beginKernelExchange(Device &device, Communicator &communicator,
                               const hk_kernel_abi &kernel,
                               const uint64_t *words, uint32_t blocks,
                               void *stream, uint64_t sent, uint64_t *extra) {
  const hk_collective_abi &abi = *kernel.collective;
  RankLine line = communicator.lineOf(abi.axis);
  CollectiveProblem problem(abi);
  readInput(line, words, kernel.num_pointers, kernel.num_dims, problem);
  int64_t bytes = problem.input.numBytes(),
          axis = communicator.axisOf(abi.axis);
  const Window *window = communicator.window();
  bool pushes = window && bytes <= abi.most_pushed && blocks <= kExchangeTurn &&
                uint64_t(bytes) <= window->partBytes(axis);
  if (sent && (!pushes || sent != words[abi.input]))
    return makeError(HK_INTERNAL,
                     "the kernel before has sent what this one does not read");
  if (pushes) {
    window->fillWords(axis, extra);
    if (sent)
      window->fillSentWords(axis, problem.sizes.front(), problem.sizes.back(),
                            extra);
    return {};
  }
  std::fill_n(extra, abi.extra_words, 0);
  return bringParts(device, communicator, problem, stream, extra);
}

uint64_t hk::beginSending(const Device &device,
                          const Communicator &communicator,
                          const hk_kernel_abi &kernel,
                          const hk_launch_plan &plan, const uint64_t *words,
                          uint64_t *extra) {
  const hk_collective_abi &abi = *kernel.collective;
  CollectiveProblem problem(abi);
  readInput(communicator.lineOf(abi.axis), words, kernel.num_pointers,
            kernel.num_dims, problem);
  int64_t bytes = problem.input.numBytes(),
          axis = communicator.axisOf(abi.axis);
  const Window *window = communicator.window();
  // Its blocks wait for the other rank's, so all must be under way. And what
  // the sum behind it asks: a block for each row.
  if (window && plan.grid[0] <= device.computeUnits() &&
      abi.sending >> plan.variant & 1 && bytes >= abi.least_sent &&
      problem.sizes.front() <= kExchangeTurn &&
      summedColumns(device.computeUnits(), problem.sizes.front(),
                    problem.sizes.back()) > 0 &&
      uint64_t(bytes) <= window->partBytes(axis)) {
    window->fillSendWords(axis, problem.sizes.front(), problem.sizes.back(),
                          extra);
    return words[abi.input];
  }
  std::fill_n(extra, abi.extra_words, 0);
  return 0;
}
