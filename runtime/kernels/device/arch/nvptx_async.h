//===- nvptx_async.h - Asynchronous work of sm_90a -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers in LDS that count arrivals and bytes (mbarrier), barriers of some of
// a block's warps, clusters, and the distribution of registers over
// warpgroups. Addresses in LDS are the 32-bit ones of PTX (ldsAddress).
//
//===----------------------------------------------------------------------===//

#ifndef HK_KERNELS_DEVICE_ARCH_NVPTX_ASYNC_H
#define HK_KERNELS_DEVICE_ARCH_NVPTX_ASYNC_H

#include "hk/Contract/Lds.h"
#include "kernels/device/mma/view.h"

namespace hk {

inline constexpr int kWarpgroup = 128;

/// Where the part of a block's LDS begins that the copy engine fills and
/// warpgroups multiply: `lds`, or at most kBulkAlignment - 1 bytes behind it.
HK_DEV u32 bulkBase(const void *lds) {
  return (ldsAddress(lds) + kBulkAlignment - 1) & ~u32(kBulkAlignment - 1);
}

/// A number in LDS that some threads raise and others wait for.
struct LdsCount {
  u32 at;

  HK_MEM void init() const {
    asm volatile("st.shared::cta.u32 [%0], 0;" ::"r"(at) : "memory");
  }
  HK_MEM void add(u32 n) const {
    asm volatile("red.release.cta.shared::cta.add.u32 [%0], %1;" ::"r"(at),
                 "r"(n)
                 : "memory");
  }
  HK_MEM void await(u32 n) const {
    for (u32 now;;) {
      asm volatile("ld.acquire.cta.shared::cta.u32 %0, [%1];"
                   : "=r"(now)
                   : "r"(at)
                   : "memory");
      if (now >= n)
        return;
      asm volatile("nanosleep.u32 200;");
    }
  }
};

/// A barrier in LDS at `at`, 8 bytes. It has phases 0, 1, 0, ...; one ends when
/// `count` arrivals and all announced bytes have come. A wait for the phase
/// before the first returns at once.
struct LdsBarrier {
  u32 at;

  HK_MEM void init(u32 count) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count)
                 : "memory");
  }
  /// Before it may be init()ed once more.
  HK_MEM void end() const {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at) : "memory");
  }
  HK_MEM void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at)
                 : "memory");
  }
  /// Arrives, and announces `bytes` that copies will bring.
  HK_MEM void expect(u32 bytes) const {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at),
        "r"(bytes)
        : "memory");
  }
  /// Arrives at the barrier of block `rank` of the cluster that lies at the
  /// same place. Relaxed: it orders no access. For a stage that was only read,
  /// and by instructions that have ended, that is enough; a release to another
  /// block would be a fence of the whole chip.
  HK_MEM void arriveAt(u32 rank) const {
    asm volatile("{\n.reg .b32 other;\n"
                 "mapa.shared::cluster.u32 other, %0, %1;\n"
                 "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, "
                 "[other];\n}" ::"r"(at),
                 "r"(rank)
                 : "memory");
  }
  /// By a whole warp, of which one lane arrives at the barrier of each block of
  /// the cluster: of a block alone, at its own.
  template <int Cluster> HK_MEM void arriveEverywhere() const {
    if constexpr (Cluster > 1) {
      if (laneId() < Cluster)
        arriveAt(u32(laneId()));
    } else if (laneId() == 0) {
      arrive();
    }
  }
  HK_MEM void wait(u32 phase) const {
    while (!hasEnded(phase)) {
    }
  }

  /// The same for a whole warp. The loop is part of the statement: behind a
  /// loop of the program the assembler takes lanes for diverged and what they
  /// have in common, as stages and addresses, for different.
  HK_MEM void waitTogether(u32 phase) const {
    asm volatile("{\n.reg .pred ended;\nAGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
                 "@!ended bra AGAIN;\n}" ::"r"(at),
                 "r"(phase)
                 : "memory");
  }

private:
  HK_MEM bool hasEnded(u32 phase) const {
    u32 ended;
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(ended)
                 : "r"(at), "r"(phase)
                 : "memory");
    return ended;
  }
};

/// The i-th use of a ring of N stages: which of them, and the phase of its
/// barriers.
template <u32 N> struct RingPlace {
  u32 stage, phase;
  HK_MEM explicit RingPlace(u32 use) : stage(use % N), phase(use / N & 1) {}
};

/// Makes initialised barriers visible to the copy engine and the cluster.
HK_DEV void publishBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Makes LDS writes of this thread visible to the copy engine.
HK_DEV void publishToCopies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Waits for THREADS threads of the block, whole warps, which all come here;
/// LDS writes before it are visible after.
template <int ID, int THREADS> HK_DEV void barrierOfSome() {
  static_assert(ID > 0 && ID < 16 && THREADS % 32 == 0);
  asm volatile("bar.sync %0, %1;" ::"n"(ID), "n"(THREADS) : "memory");
}

/// Counts as having come to barrierOfSome(), without waiting for the others.
template <int ID, int THREADS> HK_DEV void arriveAtBarrierOfSome() {
  asm volatile("bar.arrive %0, %1;" ::"n"(ID), "n"(THREADS) : "memory");
}

/// The same two with a barrier whose number is known at run time.
template <int THREADS> HK_DEV void barrierOfSome(u32 id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(THREADS) : "memory");
}
template <int THREADS> HK_DEV void arriveAtBarrierOfSome(u32 id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(THREADS) : "memory");
}

/// v, which all lanes of the warp hold, as a value that the assembler knows to
/// be the same in all of them and keeps in a uniform register: addresses and
/// descriptors of products computed from others take an instruction per step.
HK_DEV int sameInWarp(int v) { return __nvvm_shfl_sync_idx_i32(~0u, v, 0, 31); }

/// True in one lane of the warp, all of which come here. Of a branch of its
/// own making the assembler knows that one lane takes it; behind any other it
/// asks the copy engine in a loop over the lanes.
HK_DEV bool isElected() {
  u32 elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p; }"
               : "=r"(elected));
  return elected != 0;
}

/// Begins a copy of 16 bytes to LDS, of zeros unless `valid`.
HK_DEV void copyToLds16(u32 to, Global<const u8> from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(from), "r"(valid ? 16 : 0)
               : "memory");
}

/// Has `bar` count one arrival of this thread when all copies to LDS that it
/// has begun are done.
HK_DEV void arriveAfterCopies(LdsBarrier bar) {
  asm volatile(
      "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar.at)
      : "memory");
}

/// Writes 16 zero bytes to LDS.
HK_DEV void clearLds16(u32 at) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(0)
               : "memory");
}

/// Copies 4 bytes to LDS; zeros unless valid. Waited for as copyToLds16.
HK_DEV void copyToLds4(u32 to, Global<const u8> from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to),
               "l"(from), "r"(valid ? 4 : 0)
               : "memory");
}

/// Waits for all copies to LDS that this thread has begun.
HK_DEV void waitAllCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

/// v is computed here: it is neither kept from before nor moved behind.
template <class T> HK_DEV void settleWord(T &v) {
  static_assert(sizeof(T) == 4);
  asm volatile("" : "+r"(v));
}

/// Four floats of LDS. Volatile: not moved to where they are needed.
HK_DEV f32x4 loadLdsHere(u32 at) {
  float a, b, c, d;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "r"(at));
  return {a, b, c, d};
}
/// 16 bytes of LDS.
HK_DEV u32x4 loadLds16(u32 at) {
  return *(const __attribute__((address_space(3))) u32x4 *)u64(at);
}
/// A byte of LDS.
HK_DEV u32 loadLdsByte(u32 at) {
  return *(const __attribute__((address_space(3))) u8 *)u64(at);
}
HK_DEV void storeLdsByte(u32 to, u32 byte) {
  asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(byte) : "memory");
}
/// A word of LDS.
HK_DEV u32 loadLds4(u32 at) {
  u32 word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(at) : "memory");
  return word;
}
HK_DEV void storeLds4(u32 to, u32 word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
}
/// Four floats to LDS at `to`.
HK_DEV void storeLds16(u32 to, f32x4 v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(v[0]),
               "f"(v[1]), "f"(v[2]), "f"(v[3])
               : "memory");
}
/// Two floats of LDS.
HK_DEV f32x2 loadLds8(u32 at) {
  return *(const __attribute__((address_space(3))) f32x2 *)u64(at);
}
/// Two words to LDS at `to`.
HK_DEV void storeLds8(u32 to, u32 first, u32 second) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(first),
               "r"(second)
               : "memory");
}
/// The same to any block of the cluster; `done` there is told of the 8 bytes.
/// Both are clusterAddress()es.
HK_DEV void sendLds8(u32 to, u32 first, u32 second, u32 done) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::"
               "bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(to),
               "r"(first), "r"(second), "r"(done)
               : "memory");
}
/// Four 8x8 matrices of 16 bits, of which each lane of the warp holds two
/// elements; lane l has the LDS address of row l % 8 of matrix l / 8.
HK_DEV void storeMatrices(u32 to, const u32 (&v)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], "
               "{%1, %2, %3, %4};" ::"r"(to),
               "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
               : "memory");
}
/// What storeMatrices() has stored at `from`.
HK_DEV void loadMatrices(u32 from, u32 (&v)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
               "{%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(from)
               : "memory");
}
/// storeMatrices() transposed: a lane holds two elements of a column.
HK_DEV void storeColumns(u32 to, const u32 (&v)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], "
               "{%1, %2, %3, %4};" ::"r"(to),
               "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
               : "memory");
}
/// What storeColumns() has stored at `from`.
HK_DEV void loadColumns(u32 from, u32 (&v)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
               "{%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(from)
               : "memory");
}

/// blockCountX(), read where it stands: no register is kept for it.
HK_DEV u32 freshBlockCountX() {
  u32 count;
  asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(count));
  return count;
}
HK_DEV u32 clusterRank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// barrier() of all blocks of a cluster of CLUSTER.
template <int CLUSTER> HK_DEV void meetCluster() {
  if constexpr (CLUSTER > 1) {
    clusterArrive();
    clusterWait();
  } else {
    barrier();
  }
}

/// Says that this block has begun; orders nothing (see clusterArrive).
HK_DEV void clusterArriveRelaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
/// The LDS address of what lies at `at` in block `rank` of the cluster.
HK_DEV u32 clusterAddress(u32 at, u32 rank) {
  u32 other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(other)
               : "r"(at), "r"(rank));
  return other;
}

/// Four floats at a clusterAddress().
HK_DEV f32x4 readLds16From(u32 at) {
  float a, b, c, d;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "r"(at)
               : "memory");
  return {a, b, c, d};
}

/// 16 bytes of memory that are read once, or zeros. Volatile: loads are asked
/// for where they are written, ahead of the products.
HK_DEV u32x4 loadOnceOrZeros(u64 from, bool valid) {
  u32 a = 0, b = 0, c = 0, d = 0;
  asm volatile("{\n.reg .pred valid;\nsetp.ne.u32 valid, %5, 0;\n"
               "@valid ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, "
               "[%4];\n}"
               : "+r"(a), "+r"(b), "+r"(c), "+r"(d)
               : "l"(from), "r"(u32(valid)));
  return {a, b, c, d};
}

/// Whether v holds in any thread of the block, all of which call: a barrier().
HK_DEV bool anyOfBlock(bool v) {
  u32 any;
  asm volatile("{\n.reg .pred v, any;\nsetp.ne.u32 v, %1, 0;\n"
               "barrier.cta.red.or.pred any, 0, v;\n"
               "selp.u32 %0, 1, 0, any;\n}"
               : "=r"(any)
               : "r"(u32(v))
               : "memory");
  return any != 0;
}

/// The two halves of beginAfterLast().
HK_DEV void letNextBegin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
HK_DEV void waitForLast() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// A word that the kernel before may still be writing: what it was or is. Not
/// kept in the L1 cache, so that a load behind waitForLast() does not find it.
HK_DEV int loadEarly(Global<const i32> from) {
  int value;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}

/// Registers per thread of the calling warpgroup from now on. The kernel must
/// be launched with a known number of threads and blocks per compute unit.
template <int COUNT> HK_DEV void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> HK_DEV void giveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
/// What each of `groups` warpgroups may take where `others` more keep `own`
/// together, of a block that has a unit to itself. More would be waited for for
/// ever.
constexpr int registersBeside(int own, int groups, int others = 1) {
  constexpr int all = 65536, step = 8, threadsOfGroup = 128;
  int each = all / ((groups + others) * threadsOfGroup) / step * step;
  return ((groups + others) * each - own) / groups / step * step;
}

} // namespace hk

#endif // HK_KERNELS_DEVICE_ARCH_NVPTX_ASYNC_H
