//===- CommunicatorTest.cpp - Ranks that meet -----------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads as ranks, over an engine of queues that can lose messages: sums in
// order, views, and what every rank is told when one is late, elsewhere, fails
// or leaves.
//
//===----------------------------------------------------------------------===//

#include "comm/CallLog.h"
#include "comm/Collective.h"
#include "comm/Reduce.h"
#include "comm/Views.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <thread>
#include <unistd.h>

using namespace hk;
using testing::HasSubstr;

// The real one needs processes.
Status hk::createMpiEngine(const EngineOptions &, std::unique_ptr<Engine> &) {
  return makeError(HK_UNAVAILABLE, "no MPI in this test");
}
// As is the one between GPUs; test/EndToEnd/device-ranks.test has both.
Status hk::createNcclEngine(Device &, DeviceEngineOptions,
                            std::unique_ptr<DeviceEngine> &) {
  return makeError(HK_UNAVAILABLE, "no NCCL in this test");
}

namespace {
/// Where messages lie until they are received.
struct Post {
  std::mutex mutex;
  std::map<std::tuple<int64_t, int64_t, Channel>, std::deque<std::string>>
      queues;          // by sender, receiver and channel
  bool broken = false; // sending fails
};

class QueueEngine final : public Engine {
public:
  QueueEngine(Post &post, int64_t own, int64_t count)
      : post(post), own(own), count(count) {}
  int64_t rank() const override { return own; }
  int64_t numRanks() const override { return count; }
  Status send(int64_t to, Channel channel, const void *data, uint64_t bytes,
              Message &message) override {
    std::lock_guard<std::mutex> lock(post.mutex);
    if (post.broken)
      return makeError(HK_RANK_FAILED, "the cable is cut");
    post.queues[{own, to, channel}].emplace_back(
        static_cast<const char *>(data), bytes);
    message = nullptr;
    return {};
  }
  Status receive(int64_t from, Channel channel, void *data, uint64_t bytes,
                 Message &message) override {
    message = new Receive{from, channel, data, bytes};
    return {};
  }
  Status progress(Message &message) override {
    if (!message)
      return {};
    auto *receive = static_cast<Receive *>(message);
    std::lock_guard<std::mutex> lock(post.mutex);
    auto &queue = post.queues[{receive->from, own, receive->channel}];
    if (queue.empty())
      return {};
    std::memcpy(receive->data, queue.front().data(),
                std::min<uint64_t>(receive->bytes, queue.front().size()));
    queue.pop_front();
    delete receive;
    message = nullptr;
    return {};
  }
  void cancel(Message &message) override {
    delete static_cast<Receive *>(message);
    message = nullptr;
  }
  void leave() override {}

private:
  struct Receive {
    int64_t from;
    Channel channel;
    void *data;
    uint64_t bytes;
  };
  Post &post;
  int64_t own, count;
};

/// Runs `body(communicator)` on each rank of a mesh, in threads.
template <typename Body>
void onRanks(const std::string &meshText, const Body &body, Post &post,
             uint32_t timeoutMs = 20000) {
  Mesh mesh;
  ASSERT_EQ(Mesh::parse(meshText, mesh), "");
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    threads.emplace_back([&, rank] {
      Communicator communicator(
          std::make_unique<QueueEngine>(post, rank, mesh.numRanks()), mesh,
          meshText, timeoutMs);
      body(communicator);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// The sum over "tp" of `values`, of one rank.
Status sumOver(Communicator &communicator, std::vector<float> &values,
               const char *where = "a sum") {
  int64_t size = values.size();
  hk_collective_abi abi{"tp",
                        uint8_t(DType::F32),
                        uint8_t(DType::F32),
                        HK_COLLECTIVE_SUM,
                        0,
                        1,
                        -1,
                        -1,
                        -1,
                        &size,
                        0,
                        0,
                        0,
                        0,
                        0,
                        0};
  std::vector<float> result(values.size());
  uint64_t words[] = {reinterpret_cast<uint64_t>(values.data()),
                      reinterpret_cast<uint64_t>(result.data())};
  Status error = runCollective(&communicator, abi, words, 0, where);
  values = result;
  return error;
}
} // namespace

TEST(Reduce, HalvesAreConvertedAsTheCompilerDoes) {
  std::vector<uint16_t> codes(65536), back(65536);
  std::iota(codes.begin(), codes.end(), 0);
  std::vector<float> wide(65536);
  auto bytes = [](auto &v) { return reinterpret_cast<char *>(v.data()); };
  reduceParts(HK_COLLECTIVE_SUM, {bytes(codes)}, DType::F16, bytes(wide),
              DType::F32, 65536);
  reduceParts(HK_COLLECTIVE_SUM, {bytes(wide)}, DType::F32, bytes(back),
              DType::F16, 65536);
  for (int code = 0; code < 65536; ++code) {
    uint16_t bits = code;
    _Float16 half;
    std::memcpy(&half, &bits, 2);
    if (std::isnan(float(half))) {
      EXPECT_TRUE(std::isnan(wide[code])) << code;
      continue;
    }
    EXPECT_EQ(wide[code], float(half)) << code;
    EXPECT_EQ(back[code], code);
  }
}

/// The nearer of the two bf16 around `value`, which is finite; the even one of
/// two that are as near. Overflow begins halfway to 2^128.
static uint16_t nearestBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint16_t low = bits >> 16, high = low + 1;
  auto distance = [&](uint16_t code) {
    double magnitude = 0x1p128;
    if ((code & 0x7fff) != 0x7f80) {
      uint32_t wide = uint32_t(code) << 16;
      float number;
      std::memcpy(&number, &wide, 4);
      magnitude = std::fabs(number);
    }
    return std::fabs(magnitude - std::fabs(double(value)));
  };
  if (distance(low) == distance(high))
    return low % 2 == 0 ? low : high;
  return distance(low) < distance(high) ? low : high;
}

TEST(Reduce, RoundsToNearestEven) {
  // Around every boundary of f16, and all exponents.
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x7f800000u; bits += 0x3ab)
    for (uint32_t sign : {0u, 0x80000000u}) {
      uint32_t all = bits | sign;
      float value;
      std::memcpy(&value, &all, 4);
      values.push_back(value);
    }
  for (uint32_t code = 0; code < 0x7bff; ++code) {
    uint16_t bits = code, next = code + 1;
    _Float16 low, high;
    std::memcpy(&low, &bits, 2);
    std::memcpy(&high, &next, 2);
    values.push_back((float(low) + float(high)) / 2);
  }
  values.insert(values.end(), {65519.996f, 65520.0f, 0x1.fffffep127f});
  std::vector<uint16_t> halves(values.size()), brains(values.size());
  auto *from = reinterpret_cast<const char *>(values.data());
  reduceParts(HK_COLLECTIVE_SUM, {from}, DType::F32,
              reinterpret_cast<char *>(halves.data()), DType::F16,
              values.size());
  reduceParts(HK_COLLECTIVE_SUM, {from}, DType::F32,
              reinterpret_cast<char *>(brains.data()), DType::BF16,
              values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    auto half = static_cast<_Float16>(values[i]);
    uint16_t halfBits;
    std::memcpy(&halfBits, &half, 2);
    ASSERT_EQ(halves[i], halfBits) << values[i];
    ASSERT_EQ(brains[i], nearestBf16(values[i])) << values[i];
  }
}

TEST(Reduce, IntegersWrapAndNanPropagates) {
  std::vector<int8_t> a{100, -100, 5}, b{100, -100, 7}, sum(3);
  auto bytes = [](auto &v) { return reinterpret_cast<char *>(v.data()); };
  reduceParts(HK_COLLECTIVE_SUM, {bytes(a), bytes(b)}, DType::I8, bytes(sum),
              DType::I8, 3);
  EXPECT_EQ(sum, (std::vector<int8_t>{-56, 56, 12}));
  std::vector<float> x{1, NAN, 3}, y{NAN, 2, -4}, most(3);
  reduceParts(HK_COLLECTIVE_MAX, {bytes(x), bytes(y)}, DType::F32, bytes(most),
              DType::F32, 3);
  EXPECT_TRUE(std::isnan(most[0]) && std::isnan(most[1]));
  EXPECT_EQ(most[2], 3);
}

TEST(Views, StridedPartsComeAndGo) {
  // 3 x 4 of bf16 in rows of 10.
  std::vector<uint16_t> memory(40), copy(40, 0);
  std::iota(memory.begin(), memory.end(), 0);
  int64_t stride = 10;
  ByteView view = viewOf(memory.data(), DType::BF16, {3, 4}, &stride);
  std::vector<uint16_t> dense(6);
  ByteView right = view.part(1, 2, 1);
  copyFromView(right, reinterpret_cast<char *>(dense.data()));
  EXPECT_EQ(dense, (std::vector<uint16_t>{2, 3, 12, 13, 22, 23}));
  ByteView last =
      viewOf(copy.data(), DType::BF16, {3, 4}, &stride).part(0, 3, 2);
  copyToView(reinterpret_cast<char *>(dense.data()), last);
  EXPECT_EQ(copy[20], 2);
  EXPECT_EQ(copy[23], 13);
  EXPECT_EQ(copy[24], 0);
}

TEST(Communicator, SumsInTheOrderOfTheRanks) {
  Post post;
  onRanks(
      "dp=2,tp=3",
      [](Communicator &communicator) {
        // (1e8 + 1) - 1e8 is 0 in this order only.
        int64_t place = communicator.rank() % 3;
        std::vector<float> values{place == 0   ? 1e8f
                                  : place == 1 ? 1.0f
                                               : -1e8f,
                                  float(communicator.rank())};
        for (int i = 0; i < 50; ++i) {
          std::vector<float> sum = values;
          ASSERT_FALSE(sumOver(communicator, sum));
          EXPECT_EQ(sum[0], 0);
          EXPECT_EQ(sum[1], communicator.rank() < 3 ? 3 : 12);
        }
      },
      post);
}

TEST(Communicator, OtherSizesAreAnErrorOnEveryRank) {
  Post post;
  onRanks(
      "tp=3",
      [](Communicator &communicator) {
        std::vector<float> values(communicator.rank() == 2 ? 5 : 4);
        Status error = sumOver(communicator, values);
        ASSERT_TRUE(error);
        EXPECT_THAT(error.message(), HasSubstr("ranks do not agree"));
        EXPECT_THAT(error.message(), HasSubstr("4xf32"));
        EXPECT_THAT(error.message(), HasSubstr("5xf32"));
        // It is kept.
        std::string first = error.message();
        Status again = sumOver(communicator, values);
        ASSERT_TRUE(again);
        EXPECT_EQ(again.message(), first);
        EXPECT_TRUE(communicator.check());
      },
      post);
}

TEST(Communicator, ALateRankIsNamedAndThenTold) {
  Post post;
  onRanks(
      "tp=2",
      [](Communicator &communicator) {
        std::vector<float> values(4);
        if (communicator.rank() == 1)
          std::this_thread::sleep_for(std::chrono::milliseconds(600));
        Status error = sumOver(communicator, values, "the sum of @f");
        ASSERT_TRUE(error);
        EXPECT_THAT(error.message(),
                    HasSubstr("rank 1 has not come to the sum of @f with "
                              "4xf32 within 200 ms, where rank 0 waits"));
        if (communicator.rank() == 0) {
          EXPECT_EQ(error.code(), HK_TIMEOUT);
        } else {
          EXPECT_EQ(error.code(), HK_RANK_FAILED);
          EXPECT_THAT(error.message(), HasSubstr("rank 0 failed: "));
        }
      },
      post, /*timeoutMs=*/200);
}

TEST(Communicator, AFailureIsToldToThoseThatWait) {
  Post post;
  onRanks(
      "tp=2",
      [](Communicator &communicator) {
        if (communicator.rank() == 1) {
          communicator.fail(makeError(HK_OUT_OF_MEMORY, "no memory for x"));
          EXPECT_THAT(communicator.check().message(),
                      HasSubstr("no memory for x"));
          return;
        }
        std::vector<float> values(4);
        Status error = sumOver(communicator, values);
        ASSERT_TRUE(error);
        EXPECT_EQ(error.code(), HK_RANK_FAILED);
        EXPECT_STREQ(error.message(), "rank 1 failed: no memory for x");
      },
      post);
}

TEST(Communicator, WhoLeavesIsNotWaitedFor) {
  Post post;
  onRanks(
      "tp=2",
      [](Communicator &communicator) {
        std::vector<float> values(4);
        ASSERT_FALSE(sumOver(communicator, values));
        if (communicator.rank() == 1)
          return;
        Status error = sumOver(communicator, values);
        ASSERT_TRUE(error);
        EXPECT_THAT(error.message(),
                    HasSubstr("rank 1 has closed its communicator"));
      },
      post);
}

TEST(Communicator, AnErrorOfTheEngineIsOne) {
  Post post;
  post.broken = true;
  onRanks(
      "tp=2",
      [](Communicator &communicator) {
        std::vector<float> values(4);
        Status error = sumOver(communicator, values);
        ASSERT_TRUE(error);
        EXPECT_STREQ(error.message(), "the cable is cut");
      },
      post, /*timeoutMs=*/200);
}

TEST(Communicator, AMeshOfOneRankNeedsNoEngine) {
  std::unique_ptr<Communicator> communicator;
  CommunicatorOptions options;
  options.mesh = "tp=1,ep=1";
  options.timeoutMs = 1000;
  ASSERT_FALSE(openCommunicator(options, communicator));
  std::vector<float> values{1, 2};
  ASSERT_FALSE(sumOver(*communicator, values));
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  options.mesh = "tp=two";
  Status error = openCommunicator(options, communicator);
  ASSERT_TRUE(error);
  EXPECT_THAT(error.message(), HasSubstr("'tp=two' has no size"));
  options.mesh = "tp=2";
  options.engine = "nccl";
  error = openCommunicator(options, communicator);
  ASSERT_TRUE(error);
  EXPECT_EQ(error.code(), HK_UNAVAILABLE);
  EXPECT_THAT(error.message(), HasSubstr("unknown engine 'nccl'"));
}

TEST(Communicator, TensorsAreCutAsTheAxisSays) {
  Post post;
  onRanks(
      "tp=2",
      [](Communicator &communicator) {
        hk_collective_abi abi{"tp",
                              uint8_t(DType::I16),
                              uint8_t(DType::I16),
                              HK_COLLECTIVE_SUM,
                              0,
                              1,
                              0,
                              -1,
                              -1,
                              nullptr,
                              0,
                              0,
                              0,
                              0,
                              0,
                              0};
        int64_t size = -1; // the first dim word
        abi.sizes = &size;
        int16_t input[5] = {1, 2, 3, 4, 5}, result[5] = {};
        uint64_t words[] = {reinterpret_cast<uint64_t>(input),
                            reinterpret_cast<uint64_t>(result), 4};
        ASSERT_FALSE(runCollective(&communicator, abi, words, 1, "it"));
        EXPECT_EQ(result[0], communicator.rank() ? 6 : 2);
        EXPECT_EQ(result[2], 0);
        words[2] = 5;
        Status error = runCollective(&communicator, abi, words, 1, "it");
        ASSERT_TRUE(error);
        EXPECT_THAT(error.message(),
                    HasSubstr("it: expected the size of dim 0 of a tensor of "
                              "5xi16 to be a multiple of 2"));
      },
      post);
}

TEST(CallLog, KnowsWhoLags) {
  Post post;
  QueueEngine first(post, 0, 2), second(post, 1, 2);
  CallLog one(first), two(second);
  EXPECT_EQ(one.missedBy(1), nullptr);
  ASSERT_FALSE(one.add("f of 3 rows"));
  ASSERT_FALSE(one.add("g"));
  ASSERT_NE(one.missedBy(1), nullptr);
  EXPECT_EQ(one.missedBy(1)->text, "f of 3 rows");
  EXPECT_EQ(one.missedBy(0), nullptr);
  // The second one is told of calls that it has not made yet.
  ASSERT_FALSE(two.read());
  EXPECT_EQ(two.missedBy(0), nullptr);
  ASSERT_FALSE(two.add("f of 3 rows"));
  ASSERT_FALSE(one.read());
  ASSERT_NE(one.missedBy(1), nullptr);
  EXPECT_EQ(one.missedBy(1)->text, "g");
  ASSERT_FALSE(two.add("g"));
  ASSERT_FALSE(one.read());
  EXPECT_EQ(one.missedBy(1), nullptr);
  one.cancel();
  two.cancel();
}

TEST(CallLog, ComparesCallsByTheirOrder) {
  Post post;
  QueueEngine first(post, 0, 2), second(post, 1, 2);
  CallLog one(first), two(second);
  // Longer than what is sent of it; the difference is behind that.
  std::string same(400, 'x');
  ASSERT_FALSE(one.add(same));
  ASSERT_FALSE(two.add(same));
  ASSERT_FALSE(one.add(same + "3"));
  Status error = two.add(same + "4");
  ASSERT_TRUE(bool(error));
  EXPECT_THAT(error.message(), HasSubstr("ranks do not agree: call 1 with"));
  error = one.read();
  ASSERT_TRUE(bool(error));
  EXPECT_THAT(error.message(), HasSubstr("on rank 0, of xxx"));
  one.cancel();
  two.cancel();
}

TEST(FileEngine, PassesMessagesOfAnySize) {
  std::string file =
      testing::TempDir() + "hk-file-engine-" + std::to_string(getpid());
  std::unique_ptr<Engine> first, second;
  ASSERT_FALSE(createFileEngine({file, 0, 2, 1000}, first));
  ASSERT_FALSE(createFileEngine({file, 1, 2, 1000}, second));
  // Larger than the ring, with a small one of another channel behind it.
  std::string large(1000003, 'a'), got(large.size(), ' '), note(3, ' ');
  std::iota(large.begin(), large.end(), char(0));
  Message sent = nullptr, more = nullptr, received = nullptr, read = nullptr;
  ASSERT_FALSE(first->send(1, Channel::Data, large.data(), large.size(), sent));
  ASSERT_FALSE(first->send(1, Channel::Note, "abc", 3, more));
  ASSERT_FALSE(
      second->receive(0, Channel::Data, got.data(), got.size(), received));
  ASSERT_FALSE(second->receive(0, Channel::Note, note.data(), 3, read));
  for (int i = 0; i < 1000 && (received || read); ++i) {
    ASSERT_FALSE(second->progress(received));
    ASSERT_FALSE(second->progress(read));
    ASSERT_FALSE(first->progress(sent));
  }
  EXPECT_EQ(got, large);
  EXPECT_EQ(note, "abc");
  EXPECT_FALSE(first->checkAlive(1));
  // The name goes when all have come.
  EXPECT_NE(access(file.c_str(), F_OK), 0);
  second.reset();
  Status error = first->checkAlive(1);
  ASSERT_TRUE(bool(error));
  EXPECT_THAT(error.message(), HasSubstr("has ended without closing"));
}

TEST(Views, CollapseWhatIsContiguous) {
  int64_t whole[] = {48, 6}, cut[] = {64, 8};
  std::vector<char> memory(4096);
  ByteView view = viewOf(memory.data(), DType::BF16, {5, 8, 6}, whole);
  EXPECT_TRUE(view.isDense());
  EXPECT_EQ(view.collapsed().rowBytes, 5 * 8 * 6 * 2);
  view = viewOf(memory.data(), DType::BF16, {5, 6, 6}, cut);
  EXPECT_FALSE(view.isDense());
  EXPECT_EQ(view.collapsed().sizes, (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(view.part(0, 5, 2).collapsed().sizes, std::vector<int64_t>{6});
  // Rows that lie one behind the other, and none.
  view = viewOf(memory.data(), DType::BF16, {5, 6, 8}, cut);
  EXPECT_EQ(view.collapsed().sizes, std::vector<int64_t>{5});
  EXPECT_EQ(view.collapsed().rowBytes, 6 * 8 * 2);
  EXPECT_TRUE(viewOf(memory.data(), DType::BF16, {0, 6, 6}, cut).isDense());
}
