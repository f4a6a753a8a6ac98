"""A product of experts in Triton, as inference servers have it: a peer for moe.py.

Ids sorted into blocks of one expert (-1: an empty place), a program a tile of one block; rows of
A are gathered by the ids and results scattered by them, fp8 takes scales of rows and columns or of
1x128 and 128x128, mxfp4 is multiplied by tl.dot_scaled, which decodes it on sm_90a. `fastest`
times every configuration that fits the number of rows and keeps the best, so that the peer is a
tuned one. How the ids are sorted is not timed.
"""

import triton
import triton.language as tl

# Rows of a block of ids, columns and k of a tile, warps, stages.
FEW = ((16, 32, 256, 4, 4), (16, 64, 128, 4, 4), (16, 64, 256, 4, 3), (16, 128, 128, 4, 4))
MANY = ((64, 128, 64, 4, 4), (64, 256, 64, 8, 4), (128, 128, 64, 8, 4), (128, 256, 64, 8, 3))
MANY8 = ((64, 128, 128, 4, 4), (128, 128, 128, 8, 3), (128, 256, 128, 8, 3))


@triton.jit(do_not_specialize=["top_k", "rows"])
def product(a, b, c, scale_a, scale_b, experts, ids, n, k, top_k, rows, tiles_m, KIND: tl.constexpr,
            BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    # Groups of blocks along m, so that the weights of an expert stay in the L2 cache.
    pid, tiles_n = tl.program_id(0), tl.cdiv(n, BN)
    first = pid // (GROUP * tiles_n) * GROUP
    size = tl.minimum(tiles_m - first, GROUP)
    at = pid % (GROUP * tiles_n)
    pid_m, pid_n = first + at % size, at // size
    expert = tl.load(experts + pid_m).to(tl.int64)
    if expert < 0:
        return
    id = tl.load(ids + pid_m * BM + tl.arange(0, BM)).to(tl.int64)
    there = (id >= 0) & (id < rows)
    row = tl.where(there, id, 0) // top_k
    col = pid_n * BN + tl.arange(0, BN)
    column = (col % n).to(tl.int64)
    along = tl.arange(0, BK)
    pack: tl.constexpr = 2 if KIND == "mxfp4" else 1
    packed = tl.arange(0, BK // pack)
    from_a = a + row[:, None] * k + along[None, :]
    from_b = b + expert * n * (k // pack) + column[None, :] * (k // pack) + packed[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BK)):
        left = k - step * BK
        x = tl.load(from_a, mask=there[:, None] & (along[None, :] < left), other=0.0)
        if KIND == "mxfp4":
            w = tl.load(from_b, mask=packed[:, None] < left // 2, other=0)
            g = tl.arange(0, BK // 32)
            s = tl.load(scale_b + (expert * n + column[:, None]) * (k // 32) + step * (BK // 32) + g[None, :],
                        mask=g[None, :] < left // 32, other=127)
            acc = tl.dot_scaled(x, None, "bf16", w, s, "e2m1", acc)
        else:
            w = tl.load(from_b, mask=along[:, None] < left, other=0.0)
            if KIND == "blocks":
                sa = tl.load(scale_a + row * (k // 128) + step, mask=there, other=0.0)
                sb = tl.load(scale_b + (expert * (n // 128) + column // 128) * (k // 128) + step)
                acc += tl.dot(x, w) * sa[:, None] * sb[None, :]
            else:
                acc = tl.dot(x, w, acc)
        from_a += BK
        from_b += BK // pack
    if KIND == "fp8":
        acc = acc * tl.load(scale_a + row, mask=there, other=0.0)[:, None]
        acc = acc * tl.load(scale_b + expert * n + column)[None, :]
    to = c + tl.where(there, id, 0)[:, None] * n + col[None, :]
    tl.store(to, acc.to(c.dtype.element_ty), mask=there[:, None] & (col[None, :] < n))


def configurations(kind, rows_of_expert):
    if rows_of_expert < 16:
        return [c for c in FEW if kind != "blocks" or c[2] == 128]
    if kind in ("fp8", "blocks"):
        return MANY8 if kind == "fp8" else MANY8[:2]
    return MANY


class Product:
    """A product of moe.py (its operands) in Triton; `sort(order, bounds, e, block)` makes blocks."""

    def __init__(self, torch, of, sort):
        self.torch, self.of, self.sort = torch, of, sort

    def call(self, order, bounds, config, gate=None):
        """A call, and its result before the gate: a row for each id."""
        of, torch = self.of, self.torch
        bm, bn, bk, warps, stages = config
        if not of.up and not of.sorted:  # rows lie as their experts do
            order = torch.arange(len(order), device="cuda", dtype=torch.int32)
        experts, ids = self.sort(torch, order, bounds, of.e, bm)
        y = torch.empty(len(order), of.n, device="cuda", dtype=torch.bfloat16)
        w, scale_b = of.own if of.kind == "mxfp4" else (of.w, of.t if of.scales else y)
        scale_a = of.s if of.scales else y
        tiles = len(experts)
        grid = (tiles * triton.cdiv(of.n, bn),)

        def run():
            product[grid](of.x, w, y, scale_a, scale_b, experts, ids, of.n, of.depth, of.k if of.up else 1, len(order),
                          tiles, KIND=of.kind, BM=bm, BN=bn, BK=bk, GROUP=8, num_warps=warps, num_stages=stages)
            return gate(y) if gate else y
        return run, y

    def fastest(self, mean_us, gate):
        """The best configuration and its time."""
        best = None
        for config in configurations(self.of.kind, self.of.tokens * self.of.k / self.of.e):
            try:
                run, _ = self.call(*self.of.routings[0], config, gate)
                run()
                time = min(mean_us(self.torch, run, 3) for _ in range(2))
            except Exception as refusal:  # of a configuration that does not fit
                print(f"triton: {config}: {str(refusal)[:100]!r}", flush=True)
                continue
            if best is None or time < best[1]:
                best = config, time
        return best
