//===- Collective.cpp - Collectives on the host ---------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them are one exchange of parts. A reduction is made by every rank from
// all parts, in the order of the ranks, so that all have the same bits.
//
//===----------------------------------------------------------------------===//

#include "comm/Collective.h"

#include "comm/Reduce.h"

#include <cstring>

using namespace hk;

std::string CollectiveProblem::sizesText() const {
  std::string text;
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + info(dtype).name;
}

ByteView CollectiveProblem::inputPart(int64_t place) const {
  return abi.split < 0 ? input : input.part(abi.split, ranks, place);
}

bool hk::isPlaceOnly(const hk_collective_abi &abi) {
  return abi.rank == 0 && abi.reduction == HK_COLLECTIVE_COPY &&
         abi.concat < 0 && abi.root < 0;
}

/// What the result has of the input's sizes.
static Status findResultSizes(const CollectiveProblem &problem,
                              std::vector<int64_t> &sizes) {
  const hk_collective_abi &abi = problem.abi;
  sizes = problem.sizes;
  if (abi.split >= 0) {
    if (sizes[abi.split] % problem.ranks != 0)
      return makeError(HK_INVALID_ARGUMENT,
                       "expected the size of dim %d of a tensor of %s to be a "
                       "multiple of %lld, the ranks of axis '%s'",
                       abi.split, problem.sizesText().c_str(),
                       static_cast<long long>(problem.ranks), abi.axis);
    sizes[abi.split] /= problem.ranks;
  }
  if (abi.concat >= 0)
    sizes[abi.concat] *= problem.ranks;
  return {};
}

static Traffic trafficOf(const CollectiveProblem &problem) {
  Traffic traffic;
  traffic.bytes = problem.partBytes;
  int32_t root = problem.abi.root;
  for (int64_t place = 0; place < problem.ranks; ++place) {
    bool sends = root < 0 || root == problem.place;
    bool receives = root < 0 || root == place;
    traffic.sendFrom.push_back(!sends                  ? -1
                               : problem.abi.split < 0 ? 0
                                                       : place * traffic.bytes);
    traffic.receiveAt.push_back(receives ? place * traffic.bytes : -1);
  }
  return traffic;
}

/// Puts what is sent in `sent`, and this rank's own part in `received`.
static void fillParts(const CollectiveProblem &problem, char *sent,
                      char *received) {
  int64_t bytes = problem.partBytes, own = problem.place;
  copyFromView(problem.inputPart(own), received + own * bytes);
  if (problem.abi.split < 0)
    return copyFromView(problem.input, sent);
  for (int64_t place = 0; place < problem.ranks; ++place)
    copyFromView(problem.inputPart(place), sent + place * bytes);
}

/// Makes the result of the parts of all ranks.
static void useParts(const CollectiveProblem &problem, const char *received) {
  const hk_collective_abi &abi = problem.abi;
  int64_t bytes = problem.partBytes;
  if (abi.reduction != HK_COLLECTIVE_COPY) {
    std::vector<const char *> parts(problem.ranks);
    for (int64_t place = 0; place < problem.ranks; ++place)
      parts[place] = received + place * bytes;
    std::vector<char> reduced(problem.result.numBytes());
    reduceParts(hk_collective_reduction(abi.reduction), parts, problem.dtype,
                reduced.data(), problem.resultDType,
                bytes * 8 / info(problem.dtype).bits);
    return copyToView(reduced.data(), problem.result);
  }
  if (abi.root >= 0)
    return copyToView(received + abi.root * bytes, problem.result);
  for (int64_t place = 0; place < problem.ranks; ++place)
    copyToView(received + place * bytes,
               problem.result.part(abi.concat, problem.ranks, place));
}

void hk::readInput(const RankLine &line, const uint64_t *words,
                   uint32_t numPointers, uint32_t numDims,
                   CollectiveProblem &problem) {
  const hk_collective_abi &abi = problem.abi;
  const uint64_t *dims = words + numPointers;
  problem.ranks = line.ranks.size();
  problem.place = line.place;
  problem.dtype = DType(abi.dtype);
  problem.resultDType = DType(abi.result_dtype);
  for (uint8_t d = 0; d < abi.rank; ++d)
    problem.sizes.push_back(
        abi.sizes[d] >= 0 ? abi.sizes[d] : int64_t(dims[-1 - abi.sizes[d]]));
  auto *strides = reinterpret_cast<const int64_t *>(dims + numDims);
  problem.input =
      viewOf(reinterpret_cast<void *>(words[abi.input]), problem.dtype,
             problem.sizes, strides + abi.input_stride);
}

Status hk::readProblem(const RankLine &line, const uint64_t *words,
                       uint32_t numDims, CollectiveProblem &problem) {
  constexpr uint32_t kPointers = 2;
  readInput(line, words, kPointers, numDims, problem);
  std::vector<int64_t> resultSizes;
  if (Status error = findResultSizes(problem, resultSizes))
    return error;
  auto *strides =
      reinterpret_cast<const int64_t *>(words + kPointers + numDims);
  size_t inputStrides = problem.sizes.empty() ? 0 : problem.sizes.size() - 1;
  problem.result =
      viewOf(reinterpret_cast<void *>(words[1]), problem.resultDType,
             resultSizes, strides + inputStrides);
  problem.partBytes = problem.inputPart(0).numBytes();
  return {};
}

Status hk::runCollective(Communicator *communicator,
                         const hk_collective_abi &abi, const uint64_t *words,
                         uint32_t numDims, const std::string &where) {
  RankLine line = communicator ? communicator->lineOf(abi.axis) : RankLine{{0}};
  if (isPlaceOnly(abi)) {
    auto place = static_cast<int32_t>(line.place);
    std::memcpy(reinterpret_cast<void *>(words[0]), &place, sizeof(place));
    return {};
  }
  CollectiveProblem problem(abi);
  if (Status error = readProblem(line, words, numDims, problem))
    return addContext(std::move(error), where);
  uint64_t received = problem.ranks * problem.partBytes;
  if (!communicator) {
    std::vector<char> sent(received), parts(received);
    fillParts(problem, sent.data(), parts.data());
    useParts(problem, parts.data());
    return {};
  }
  MeetingPoint point{0, where + " with " + problem.sizesText()};
  return communicator->exchange(
      line, point, trafficOf(problem), received, received,
      [&](char *sent, char *parts) { fillParts(problem, sent, parts); },
      [&](const char *parts) { useParts(problem, parts); });
}
