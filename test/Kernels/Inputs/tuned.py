"""tuned.py OBJECT CHIP FOLDER: runs the kernels of tuned.hip by hk-emu and compares."""
import itertools
import math
import random
from array import array

from emu_run import check, put, run

r = random.Random(1)
n = 1024
x = list(array("f", [r.gauss(0, 3) for _ in range(4 * n)]))
y = run("block_softmax", "4", "256", put("x", x, "f"), "--arg=out:OUT", f"--arg=i32:{n // 4}", out=16 * n)
good = True
for row in range(4):
    mine = x[n * row:n * row + n]
    e = [math.exp(i - max(mine)) for i in mine]
    # As in foreign.py, with a product for the division.
    good &= all(abs(got / (i / sum(e)) - 1) < (abs(own - max(mine)) + 24) * 2**-24
                for got, i, own in zip(y[n * row:], e, mine))
check("block_softmax", good)

v = [r.randrange(-5, 9) for _ in range(3000)]
y = run("scan", "6", "512", put("v", v, "i"), "--arg=out:OUT", "--arg=zero:64", "--arg=zero:64", "--arg=i32:3000",
        out=12000, code="i")
check("scan", y == list(itertools.accumulate(v)))

rows, columns = 128, 192
t = [r.randrange(65536) for _ in range(rows * columns)]
y = run("transpose_bf16", "3,2", "256", put("t", t, "H"), "--arg=out:OUT", f"--arg=i32:{rows}", f"--arg=i32:{columns}",
        out=2 * rows * columns, code="H")
check("transpose_bf16", y == [t[i * columns + j] for j in range(columns) for i in range(rows)])

# bf16 of small integers by their bits.
bits = {-2: 0xC000, -1: 0xBF80, 0: 0, 1: 0x3F80, 2: 0x4000}
M, N, K = 128, 128, 64
a, b = ([r.choice(list(bits)) for _ in range(c)] for c in (M * K, N * K))
y = run("gemm_bf16", "1,1", "256", put("a", map(bits.get, a), "H"), put("b", map(bits.get, b), "H"), "--arg=out:OUT",
        *[f"--arg=i32:{i}" for i in (M, N, K)], out=4 * M * N)
check("gemm_bf16", y == [sum(a[i * K + k] * b[j * K + k] for k in range(K)) for i in range(M) for j in range(N)])

h = list(array("f", [r.random() for _ in range(5000)]))
y = run("hist_max", "4", "256", put("h", h, "f"), "--arg=zero:OUT", "--arg=zero:4", "--arg=i32:5000", out=256, code="I")
check("hist_max", y == [sum(int(q * 64) == i for q in h) for i in range(64)])

s = [float(r.randrange(-8, 8)) for _ in range(3 * 5 * 1024)]
arguments = (put("s", s, "f"), "--arg=zero:OUT", "--arg=i32:5")
check("stream_sum", run("stream_sum", "3", "256", *arguments, out=4) == [sum(s)])
check("stream_lds", run("stream_lds", "3", "256", *arguments, out=4) == [sum(s[:3 * 5 * 256])])
