//===- Launch.cpp - Kernel launches ---------------------------------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Context holds the register files and the LDS of a workgroup, whose waves
// take turns between barriers. Each worker thread runs one workgroup after the
// other; one that waits for others shares the thread with those not yet
// started.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "Environment.h"
#include "Valu.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

namespace hk::emu {
namespace {

constexpr uint16_t kUsesDynamicStack = 1 << 11; ///< of the descriptor
/// The most that a user may ask for: HIP's limit of the stack of a lane is
/// below 128 KiB, and a thread for each workgroup of a chip is more than any
/// host has.
constexpr uint64_t kMostStack = 131072, kMostThreads = 1024;

/// Register files of up to 16 waves, reused from workgroup to workgroup.
class Context {
public:
  explicit Context(Launch &launch) : launch(launch) {
    const uint32_t *b = launch.block;
    threads = b[0] * b[1] * b[2];
    unsigned n = (threads + kLanes - 1) / kLanes;
    for (unsigned i = 0; i < n; ++i) {
      auto wave = std::make_unique<Wave>();
      // Register 256 and up are AGPRs whatever the kernel's accum_offset is.
      registers.emplace_back(new Registers);
      wave->v = registers.back()->v;
      wave->vd = registers.back()->defined;
      group.waves.push_back(wave.get());
      waves.push_back(std::move(wave));
    }
    // Twice: the second half is the definedness of the first.
    group.scratch.resize(2ull * n * kLanes * launch.scratchBytes);
    group.launch = &launch;
  }

  /// Starts a workgroup.
  void begin(uint32_t linear) {
    const uint32_t *g = launch.grid;
    group.linear = linear;
    group.id[0] = linear % g[0];
    group.id[1] = linear / g[0] % g[1];
    group.id[2] = linear / g[0] / g[1];
    group.ended = 0;
    group.after.clear();
    group.open.clear();
    group.released = false;
    group.lds.reset(launch.ldsBytes);
    group.nextEpoch();
    ++group.counters.workgroups;
    if (!group.scratch.empty())
      std::fill(group.scratch.begin(), group.scratch.end(), uint8_t(0));
    turnsWithoutProgress = barriersOfLooks = 0;
    group.asked = 0;
    group.looked = group.worked = false;
    group.trace =
        launch.tracer ? launch.tracer->begin(linear, waves.size()) : nullptr;
    for (size_t i = 0; i < waves.size(); ++i)
      start(*waves[i], unsigned(i));
  }

  bool ended() const { return group.ended == waves.size(); }

  /// Tells the tracer that the workgroup has ended.
  void finish() {
    if (!launch.tracer)
      return;
    uint64_t instructions = 0;
    for (auto &wave : waves)
      instructions += wave->executed;
    launch.tracer->end(group.linear, instructions);
  }

  /// Runs until the workgroup ends, seems to wait for another one or has drawn
  /// its next work.
  void run() {
    group.turnEnds = false;
    while (!ended() && !launch.stop && !turn() && !group.turnEnds)
      ;
  }

  const Counters &counters() const { return group.counters; }

private:
  /// Rounds in which no wave gets anywhere before a loop counts as a wait, or
  /// barriers between which nothing is done in global memory but to look.
  static constexpr unsigned kPatience = 64;

  /// Gives every wave its turn; true if all that run seem to wait: they sleep,
  /// have long reached neither a barrier nor their end, or go from barrier to
  /// barrier with one of them looking at what others write.
  bool turn() {
    bool running = false, awake = false;
    unsigned ended = group.ended;
    for (auto &wave : waves)
      if (wave->state == WaveState::Running) {
        runWave(*wave);
        running |= wave->state == WaveState::Running;
        awake |= !wave->yields;
      }
    bool progress = !running || group.ended != ended;
    turnsWithoutProgress = progress ? 0 : turnsWithoutProgress + 1;
    if (running)
      return !progress && (!awake || turnsWithoutProgress >= kPatience);
    // Everyone waits or has ended: the barrier opens.
    checkDivergence();
    group.reportSuspects();
    group.lds.nextInterval();
    group.nextEpoch();
    for (auto &wave : waves) {
      if (wave->checks && wave->anyPending)
        carryOutstanding(*wave);
      if (wave->state == WaveState::AtBarrier)
        wave->state = WaveState::Running;
    }
    return looksAgain();
  }

  /// At a barrier that opens.
  bool looksAgain() {
    barriersOfLooks = group.worked ? 0 : barriersOfLooks + group.looked;
    if (group.trace)
      group.trace->barrier(group.looked, group.worked);
    group.looked = group.worked = false;
    return barriersOfLooks >= kPatience;
  }

  struct Registers {
    alignas(64) uint32_t v[512][kLanes];
    Defined defined[512];
  };
  Launch &launch;
  unsigned threads = 0;
  unsigned turnsWithoutProgress = 0, barriersOfLooks = 0;
  Workgroup group;
  std::vector<std::unique_ptr<Wave>> waves;
  std::vector<std::unique_ptr<Registers>> registers;

  void start(Wave &w, unsigned index);
  void setUserSgprs(Wave &w);
  /// Waves that ended do not take part in the barrier the others wait at.
  void checkDivergence() {
    if (!launch.options.checks || !group.ended)
      return;
    for (auto &wave : waves)
      if (wave->state == WaveState::AtBarrier) {
        wave->report(*wave->barrier, Check::BarrierDivergence, -1, 0,
                     std::to_string(group.ended) +
                         " wave(s) of the workgroup ended without reaching "
                         "this barrier");
        return;
      }
  }
};

void Context::start(Wave &w, unsigned index) {
  const Kernel &k = *launch.kernel;
  ++group.counters.waves;
  w.wg = &group;
  w.launch = &launch;
  w.object = launch.object;
  w.checks = launch.options.checks;
  w.fp8Ocp = launch.object->chip().fp8Ocp;
  w.index = index;
  w.state = WaveState::Running;
  w.vm.reset();
  w.lgkm.reset();
  w.touches.clear();
  w.freeTouches.clear();
  w.globalTouches.clear();
  std::fill(std::begin(w.pendingV), std::end(w.pendingV), 0);
  std::fill(std::begin(w.pendingS), std::end(w.pendingS), 0);
  w.anyPending = w.undefinedSeen = false;
  w.gprIdxMode = 0;
  w.executed = 0;
  w.trace = group.trace ? &group.trace->waves[index] : nullptr;
  w.observed = launch.options.counters || w.trace;
  w.scc = false;
  w.sccDefined = false;
  w.partialBits.clear();
  w.scratchBytes = launch.scratchBytes;
  w.scratch = group.scratch.data() + 2ull * index * kLanes * w.scratchBytes;
  std::fill(std::begin(w.s), std::end(w.s), 0);
  std::fill(std::begin(w.sd), std::end(w.sd), 0);
  // Registers start undefined; the values are a pattern that looks wrong.
  std::memset(w.vd, 0, sizeof(Defined) * 512);
  if (!w.checks)
    for (unsigned r = 0; r < 512; ++r)
      define(w, r, ~0ull);
  unsigned first = index * kLanes;
  unsigned active = std::min(kLanes, threads - first);
  w.initialExec = active == kLanes ? ~0ull : (1ull << active) - 1;
  w.sd[kExecLo] = w.sd[kExecHi] = ~0u;
  w.setExec(w.initialExec);
  for (unsigned l = 0; l < kLanes; ++l) {
    uint32_t t = first + l, x = t % launch.block[0],
             y = t / launch.block[0] % launch.block[1],
             z = t / launch.block[0] / launch.block[1];
    w.v[0][l] = x | y << 10 | z << 20;
  }
  define(w, 0, ~0ull);
  // MODE: rounding and denormal fields, DX10_CLAMP, IEEE and FP16_OVFL.
  uint32_t mode = k.rsrc1 >> 12 & 0xff;
  mode |= (k.rsrc1 >> 21 & 1) << 8 | (k.rsrc1 >> 23 & 1) << 9;
  mode |= (k.rsrc1 >> 26 & 1) << 23;
  unsigned host = __builtin_ia32_stmxcsr();
  setMode(w, mode);
  __builtin_ia32_ldmxcsr(host);
  setUserSgprs(w);
}

void Context::setUserSgprs(Wave &w) {
  const Kernel &k = *launch.kernel;
  unsigned next = 0;
  auto put64 = [&](uint64_t value) {
    w.setS64(next, value);
    next += 2;
  };
  if (k.properties & 1) { // private segment buffer: unused with flat scratch
    put64(0);
    put64(0);
  }
  if (k.properties & 2)
    put64(launch.dispatchPacket);
  if (k.properties & 4)
    put64(0); // queue
  if (k.properties & 8)
    put64(launch.kernarg);
  if (k.properties & 16)
    put64(0); // dispatch id
  if (k.properties & 32)
    put64(0); // flat scratch init
  if (k.properties & 64)
    w.setS(next++, launch.scratchBytes);
  // Kernel arguments preloaded into SGPRs.
  unsigned preloadLength = k.preload & 0x7f, offset = k.preload >> 7;
  const auto *args = reinterpret_cast<const uint32_t *>(launch.kernarg);
  for (unsigned i = 0; i < preloadLength; ++i)
    w.setS(next++, args[offset + i]);
  next = std::max(next, unsigned(k.rsrc2 >> 1 & 31));
  for (unsigned d = 0; d < 3; ++d)
    if (k.rsrc2 >> (7 + d) & 1)
      w.setS(next++, group.id[d]);
  if (k.rsrc2 >> 10 & 1)
    w.setS(next++, 0); // workgroup info
  if (k.rsrc2 & 1) {   // scratch wave offset, then the flat base
    if (!(k.properties & 32))
      w.setS64(kFlatScratchLo, uint64_t(kPrivateAperture) << 32);
  }
  // Firmware that preloads arguments starts behind the compatibility code.
  uint64_t entry = k.entry + (preloadLength ? 256 : 0);
  const Inst *inst = launch.object->instAt(entry);
  w.pc = inst ? uint32_t(inst - launch.object->program().data()) : ~0u;
}

/// Fills the hidden arguments the metadata names.
void fillHidden(const Kernel &kernel, const LaunchConfig &config,
                uint8_t *kernarg) {
  auto put = [&](const KernelArg &arg, uint64_t value) {
    std::memcpy(kernarg + arg.offset, &value, std::min(arg.size, 8u));
  };
  for (const KernelArg &arg : kernel.args) {
    if (!arg.isHidden())
      continue;
    std::string kind = arg.kind.substr(7);
    int axis = kind.empty() ? -1 : kind.back() - 'x';
    std::string stem = kind.size() > 2 ? kind.substr(0, kind.size() - 2) : kind;
    bool hasAxis = axis >= 0 && axis < 3;
    if (stem == "block_count" && hasAxis)
      put(arg, config.grid[axis]);
    else if (stem == "group_size" && hasAxis)
      put(arg, config.block[axis]);
    else if (kind == "grid_dims")
      put(arg, config.grid[2] > 1 ? 3 : config.grid[1] > 1 ? 2 : 1);
    else if (kind == "private_base")
      put(arg, kPrivateAperture);
    else if (kind == "shared_base")
      put(arg, kSharedAperture);
    else if (kind == "dynamic_lds_size")
      put(arg, config.dynamicLds);
    else
      put(arg, 0); // remainders, global offsets, and services not provided
  }
}

std::string checkConfig(const Kernel &k, const LaunchConfig &c,
                        const Chip &chip) {
  uint64_t threads = uint64_t(c.block[0]) * c.block[1] * c.block[2];
  if (!threads || threads > 1024)
    return "workgroup of " + std::to_string(threads) +
           " work-items; between 1 and 1024 are possible";
  if (threads > k.maxWorkgroupSize)
    return "workgroup of " + std::to_string(threads) +
           " work-items, the kernel was compiled for at most " +
           std::to_string(k.maxWorkgroupSize);
  for (unsigned d = 0; d < 3; ++d)
    if (k.requiredSize[d] && k.requiredSize[d] != c.block[d])
      return "workgroup size " + std::to_string(c.block[d]) + " in dimension " +
             std::to_string(d) + ", the kernel requires " +
             std::to_string(k.requiredSize[d]);
  uint64_t lds = uint64_t(k.ldsBytes) + c.dynamicLds;
  if (lds > chip.ldsBytes)
    return std::to_string(lds) + " bytes of LDS, " + chip.name + " has " +
           std::to_string(chip.ldsBytes);
  if (uint64_t(c.grid[0]) * c.grid[1] * c.grid[2] > 0xffffffffull)
    return "more than 2^32 workgroups";
  if (c.args.size() < k.explicitBytes())
    return std::to_string(c.args.size()) +
           " bytes of arguments, the kernel "
           "expects " +
           std::to_string(k.explicitBytes());
  return "";
}

/// The fields of an AQL dispatch packet that kernels read.
void fillPacket(uint8_t *p, const LaunchConfig &c, const Launch &l) {
  uint16_t dims = c.grid[2] > 1 ? 3 : c.grid[1] > 1 ? 2 : 1;
  std::memcpy(p + 2, &dims, 2);
  for (unsigned d = 0; d < 3; ++d) {
    uint16_t block = uint16_t(c.block[d]);
    uint32_t grid = c.grid[d] * c.block[d];
    std::memcpy(p + 4 + 2 * d, &block, 2);
    std::memcpy(p + 12 + 4 * d, &grid, 4);
  }
  std::memcpy(p + 24, &l.scratchBytes, 4);
  std::memcpy(p + 28, &l.ldsBytes, 4);
  std::memcpy(p + 40, &l.kernarg, 8);
}

double threadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

/// Workgroups that the chip can hold at once, by waves and LDS.
uint64_t residentWorkgroups(const Launch &launch) {
  constexpr uint32_t wavesPerUnit = 32;
  const Chip &chip = launch.object->chip();
  const uint32_t *b = launch.block;
  uint32_t waves = (b[0] * b[1] * b[2] + kLanes - 1) / kLanes;
  uint32_t perUnit = wavesPerUnit / waves;
  if (launch.ldsBytes)
    perUnit = std::min(perUnit, chip.ldsBytes / launch.ldsBytes);
  return uint64_t(chip.computeUnits) * perUnit;
}

/// Workgroups that draw their work, handed to the one thread that runs them:
/// else one that the host lets run for longer would draw what is another's.
struct Drawing {
  std::mutex mutex;
  bool led = false; ///< a thread runs them
  std::vector<std::unique_ptr<Context>> handed;
};

/// One thread's workgroups: one at a time, unless it waits for another one that
/// may not have started (stream-K, barriers of the whole grid), or they draw
/// their work. Then they take turns, as many as the chip would hold.
class Worker {
public:
  Worker(Launch &launch, std::function<bool(uint32_t &)> take,
         std::atomic<uint64_t> &resident, Drawing &drawing)
      : launch(launch), take(std::move(take)), resident(resident),
        drawing(drawing), limit(residentWorkgroups(launch)) {}

  void run() {
    bool more = true;
    while (!launch.stop && (more || !running.empty())) {
      if (launch.draws && !handsOver())
        return;
      // Those that draw do so from the start, all of them.
      do {
        uint32_t linear;
        if (!more || resident >= limit)
          break;
        more = take(linear);
        if (more)
          begin(linear);
      } while (launch.draws);
      turns();
    }
  }
  /// Runs what others handed over when nobody else runs any more.
  void runHanded() {
    for (auto &context : drawing.handed)
      running.push_back(std::move(context));
    drawing.handed.clear();
    while (!launch.stop && !running.empty())
      turns();
  }
  Counters counters() const {
    Counters sum;
    for (const auto *list : {&running, &idle})
      for (const auto &context : *list)
        sum.merge(context->counters());
    return sum;
  }

private:
  Launch &launch;
  std::function<bool(uint32_t &)> take;
  std::atomic<uint64_t> &resident;
  Drawing &drawing;
  const uint64_t limit; ///< of `resident`
  bool leads = false;   ///< runs all that draw
  std::vector<std::unique_ptr<Context>> running, idle;

  void begin(uint32_t linear) {
    if (idle.empty())
      idle.push_back(std::make_unique<Context>(launch));
    ++resident;
    running.push_back(std::move(idle.back()));
    idle.pop_back();
    running.back()->begin(linear);
  }
  /// Takes what others have, or gives what this one has: then it is false.
  bool handsOver() {
    std::lock_guard<std::mutex> lock(drawing.mutex);
    leads |= !drawing.led;
    drawing.led = true;
    auto &from = leads ? drawing.handed : running;
    auto &to = leads ? running : drawing.handed;
    for (auto &context : from)
      to.push_back(std::move(context));
    from.clear();
    return leads;
  }
  /// Runs each workgroup until it ends or waits.
  void turns() {
    for (size_t i = 0; i < running.size() && !launch.stop; ++i) {
      running[i]->run();
      if (!running[i]->ended())
        continue;
      running[i]->finish();
      --resident;
      idle.push_back(std::move(running[i]));
      running.erase(running.begin() + long(i--));
    }
  }
};

std::vector<uint32_t> shuffled(uint64_t count, uint64_t seed) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

void runWorkgroups(Launch &launch, LaunchResult &result) {
  const uint32_t *g = launch.grid;
  uint64_t count = uint64_t(g[0]) * g[1] * g[2];
  std::vector<uint32_t> order;
  Tracer *tracer = launch.tracer;
  bool sampled = tracer && tracer->only();
  if (sampled) {
    order = tracer->plan();
    launch.sampled = order.size() < count;
    count = order.size();
  } else if (launch.options.order) {
    order = shuffled(count, launch.options.order);
  }
  unsigned n = launch.options.threads ? launch.options.threads
                                      : std::thread::hardware_concurrency();
  n = unsigned(std::min<uint64_t>(std::max(n, 1u), count));
  // A thread takes a few neighbours at a time: two that worked side by side
  // would meet in the same pages. Where it may hand over, it keeps none.
  const uint64_t share =
      tracer ? 1 : std::clamp<uint64_t>(count / (16 * n), 1, 8);
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::atomic<uint64_t> resident{0};
  Drawing drawing;
  auto work = [&](bool last) {
    double begin = threadSeconds();
    Worker worker(
        launch,
        [&, i = uint64_t(0), end = uint64_t(0)](uint32_t &linear) mutable {
          if (i == end) {
            i = next.fetch_add(share);
            end = i + share;
          }
          if (i >= count || (sampled && tracer->full()))
            return false;
          linear = order.empty() ? uint32_t(i) : order[i];
          ++i;
          return true;
        },
        resident, drawing);
    if (last)
      worker.runHanded();
    else
      worker.run();
    std::lock_guard<std::mutex> lock(mutex);
    result.counters.merge(worker.counters());
    result.cpuSeconds += threadSeconds() - begin;
  };
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < n; ++i)
    pool.emplace_back(work, false);
  work(false);
  for (std::thread &t : pool)
    t.join();
  if (!drawing.handed.empty())
    work(true);
}

} // namespace

Options optionsFromEnvironment() {
  Options o;
  constexpr auto number = numberFromEnvironment;
  o.checks = number("HK_EMU_CHECKS", 1, 1);
  o.strictAlign = number("HK_EMU_STRICT_ALIGN", 0, 1);
  o.strictRaces = number("HK_EMU_STRICT_RACES", 0, 1);
  o.unspecified = number("HK_EMU_UNSPECIFIED", 0, 1);
  const char *counters = std::getenv("HK_EMU_COUNTERS");
  o.counters = counters && *counters;
  o.stackBytes = uint32_t(number("HK_EMU_STACK", o.stackBytes, kMostStack));
  o.order = number("HK_EMU_ORDER", 0, UINT64_MAX);
  o.threads = unsigned(number("HK_EMU_THREADS", 0, kMostThreads));
  o.maxInsts = number("HK_EMU_MAX_INSTS", 0, UINT64_MAX);
  return o;
}

/// Memory of the arguments and the packet of `launch`, which kernels read and
/// do not write; false: there is none left.
static bool placeArguments(const Kernel &kernel, const LaunchConfig &config,
                           Memory &memory, Launch &launch) {
  // Arguments end on 64 bytes: the compiler may load past the segment's end.
  uint64_t bytes = std::max<uint64_t>(kernel.kernargBytes, config.args.size());
  bytes = (bytes + 63) / 64 * 64 + 64;
  launch.kernarg = memory.allocate(bytes, "kernel arguments");
  launch.dispatchPacket = memory.allocate(64, "dispatch packet");
  if (!launch.kernarg || !launch.dispatchPacket)
    return false;
  auto *args = reinterpret_cast<uint8_t *>(launch.kernarg);
  std::copy(config.args.begin(), config.args.end(), args);
  fillHidden(kernel, config, args);
  fillPacket(reinterpret_cast<uint8_t *>(launch.dispatchPacket), config,
             launch);
  for (uint64_t a : {launch.kernarg, launch.dispatchPacket}) {
    memory.setDefined(a, a == launch.kernarg ? bytes : 64);
    memory.setWritable(a, 0, 0);
  }
  return true;
}

LaunchResult launchKernel(const CodeObject &object, const Kernel &kernel,
                          Memory &memory, const LaunchConfig &config,
                          const Options &options, Tracer *tracer) {
  LaunchResult result;
  result.error = checkConfig(kernel, config, object.chip());
  if (!result.error.empty()) {
    result.error = "kernel '" + kernel.name + "': " + result.error;
    return result;
  }
  Launch launch;
  launch.object = &object;
  launch.kernel = &kernel;
  launch.memory = &memory;
  launch.options = options;
  launch.tracer = tracer;
  if (!launch.options.maxInsts)
    launch.options.maxInsts = 2000000000ull;
  std::copy_n(config.grid, 3, launch.grid);
  std::copy_n(config.block, 3, launch.block);
  launch.ldsBytes = kernel.ldsBytes + config.dynamicLds;
  // Calls whose depth the compiler cannot bound get the stack limit, as from
  // HIP's runtime.
  launch.scratchBytes = kernel.scratchBytes;
  if (kernel.properties & kUsesDynamicStack)
    launch.scratchBytes = std::max(launch.scratchBytes, options.stackBytes);
  launch.tag = memory.nextLaunchTag();
  uint64_t count = uint64_t(config.grid[0]) * config.grid[1] * config.grid[2];
  launch.singleWorkgroup = count == 1;
  if (!count)
    return result; // nothing to do
  if (!placeArguments(kernel, config, memory, launch)) {
    result.error = "no device memory for the kernel arguments";
    return result;
  }
  auto begin = std::chrono::steady_clock::now();
  runWorkgroups(launch, result);
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  result.findings = launch.report.take();
  if (const Inst *asked = launch.asked)
    result.error = "kernel '" + kernel.name + "': " + asked->text +
                   " tells a workgroup what others have done, of which a "
                   "sample runs some; run all of them (hk-emu --full, or "
                   "without HK_EMU_TIMING_SAMPLE)";
  memory.release(launch.kernarg);
  memory.release(launch.dispatchPacket);
  return result;
}

} // namespace hk::emu
