"""foreign.py OBJECT CHIP FOLDER: runs the kernels of foreign.hip by hk-emu and compares."""
import math
import random
from array import array

from emu_run import check, put, run

r = random.Random(1)
w, h = 100, 70
x = [r.random() for _ in range(w * h)]
x = list(array("f", x))
shape = ("4,3", "32,8", put("x", x, "f"), "--arg=out:OUT", f"--arg=i32:{w}", f"--arg=i32:{h}")
check("transpose", run("transpose", *shape, out=4 * w * h) == [x[j * w + i] for i in range(w) for j in range(h)])

data = [r.randrange(256) for _ in range(20000)]
bins = run("histogram", "8", "256", put("d", data, "B"), "--arg=zero:OUT", "--arg=i32:20000", out=1024, code="I")
check("histogram", bins == [data.count(i) for i in range(256)])

v = [float(r.randrange(-8, 8)) for _ in range(20000)]
arguments = (put("v", v, "f"), "--arg=zero:OUT", "--arg=i32:20000", "--lds=16")
check("sum", run("sum<256>", "8", "256", *arguments, out=4) == [sum(v)])

# f16 of small integers by their bits: the sign, then powers of two.
half = {-2: 0xC000, -1: 0xBC00, 0: 0, 1: 0x3C00, 2: 0x4000}
m, n, k = 20, 30, 24
a, b = ([r.choice(list(half)) for _ in range(c)] for c in (m * k, k * n))
arguments = (put("a", map(half.get, a), "H"), put("b", map(half.get, b), "H"), "--arg=out:OUT")
sizes = [f"--arg=i32:{i}" for i in (m, n, k)]
check("product", run("product", "2,3", "16,8", *arguments, *sizes, out=4 * m * n) ==
      [sum(a[i * k + q] * b[q * n + j] for q in range(k)) for i in range(m) for j in range(n)])

x = list(array("f", [r.gauss(0, 3) for _ in range(4 * 500)]))
y = run("softmax", "4", "64", put("s", x, "f"), "--arg=out:OUT", "--arg=i32:500", out=4 * len(x))
good = True
for row in range(4):
    mine = x[500 * row:500 * row + 500]
    e = [math.exp(i - max(mine)) for i in mine]
    # The difference is rounded, which e^x multiplies; clang's e^x, sums and a division are some ulp off.
    good &= all(abs(got / (i / sum(e)) - 1) < (abs(own - max(mine)) + 16) * 2**-24
                for got, i, own in zip(y[500 * row:], e, mine))
check("softmax", good)

n, ring = 3000, [float(r.randrange(4)) for _ in range(3000)]
want = ring
for _ in range(3):
    want = [want[i - 1] + want[(i + 1) % n] for i in range(n)]
got = run("relax", "7,2", "16,8", put("x", ring, "f"), "--arg=out:OUT", f"--arg=i32:{n}", "--arg=i32:3", out=4 * n)
check("relax", got == want)

count, values = 50, [r.randrange(-20, 20) for _ in range(64)]
want = [0] * 256
for i, v in enumerate(values[:count]):
    same = sum(1 << j for j in range(count) if values[j] == v)
    want[i] = same % 2**32 ^ same >> 32
    want[64 + i] = sum(values[:count]) % 2**32
    want[128 + i] = (min(values[:count]) - 1000 * max(values[:count])) % 2**32
    want[192 + i] = ((v - 3 >> 1) + 100 * (v - 2 >> 1) + (v >> 1 & 3) + 0x100 + (5 % 4 << 9)) % 2**32
got = run("alike", "1", "64", put("v", values, "i"), "--arg=zero:OUT", f"--arg=i32:{count}", out=1024, code="I")
check("alike", got == want)


def clocks(blocks):
    return run("sum", blocks, "256", "--arg=zero:16777216", "--arg=zero:4", "--arg=i32:4194304", "--lds=16",
               options=["--timing"])


# Four blocks have four of some 300 compute units; a quarter of the chip is far from idle memory.
check("time of 4 and 1024 blocks", clocks(4) > 10 * clocks(1024))
