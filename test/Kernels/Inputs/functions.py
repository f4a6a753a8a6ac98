"""functions.py OBJECT CHIP FOLDER: elementary functions of row-wise kernels beside the host's, in ulp of f32."""
import math
import struct

from emu_run import check, run

#: As docs/numerics.md states them.
ULPS = dict(sin=3, cos=3, tanh=3, erf=2, sigmoid=4, silu=4, exp=3, expNegative=3, log=2, log2=2, log1p=3, softplus=6)
HALVES = 65536
X = [struct.unpack("<f", struct.pack("<I", i << 16))[0] for i in range(HALVES)]


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def silu(x):
    return math.nan if x == -math.inf else x * sigmoid(x)


def exp(x):
    return math.exp(x) if x < 700 else math.inf


def of_positive(function, least):
    """`function` where it is defined, from `least` on."""
    def value(x):
        return function(x) if least < x < math.inf else x if x == math.inf else -math.inf if x == least else math.nan
    return value


def softplus(x):
    return x if x > 40 else math.log1p(math.exp(x)) if x > -700 else 0.0


HOST = dict(log=of_positive(math.log, 0), log2=of_positive(math.log2, 0), log1p=of_positive(math.log1p, -1), softplus=softplus,
            sin=math.sin, cos=math.cos, tanh=math.tanh, erf=math.erf, sigmoid=sigmoid, silu=silu, exp=exp, expNegative=exp)


def right(name, x, got, want):
    if name in ("sin", "cos"):
        if math.isinf(x):
            want = math.nan
        elif abs(x) > 2**22:
            return abs(got) <= 1
    if math.isnan(want):
        return math.isnan(got)
    if abs(want) < 2.0**-126:
        return abs(got) <= 2.0**-126
    if abs(want) > 3.4028235e38:
        return got == want or got == math.copysign(math.inf, want)
    unit = 2.0**(math.frexp(want)[1] - 24)
    return abs(got - want) <= ULPS[name] * unit


for name, host in HOST.items():
    got = run(f"f_{name}", "32", "256", "--arg=out:OUT", out=4 * HALVES, code="f")
    bad = []
    for x, y in zip(X, got):
        if name == "expNegative" and x > 0:
            continue
        want = math.nan if math.isnan(x) or (math.isinf(x) and name in ("sin", "cos")) else host(x)
        if not right(name, x, y, want):
            bad.append((x, y, want))
    if bad:
        print(name, len(bad), bad[:3])
    check(f"f_{name}", not bad)
