"""mathematics.py OBJECT CHIP FOLDER: the mathematics of the shim's device library against the host's."""
import math
import random
from array import array

from emu_run import check, put, run

r = random.Random(4)
WIDE = [r.uniform(-30, 30) for _ in range(200)] + [r.uniform(-1e-3, 1e-3) for _ in range(50)] + [0.0, 1.0, -1.0, 0.5, 2, -2]
UNIT = [r.uniform(-1, 1) for _ in range(254)] + [1.0, -1.0]
ABOVE = [abs(x) + 1e-9 for x in WIDE]
NEAR = [r.uniform(-0.9, 5) for _ in range(256)]
ROWS = {}
for name in "sin cos tan atan sinh cosh tanh exp exp2 expm1 cbrt erf floor ceil trunc fabs".split():
    ROWS[name] = WIDE
ROWS.update(asin=UNIT, acos=UNIT, erfc=[x / 6 for x in WIDE], log=ABOVE, log2=ABOVE, log10=ABOVE, log1p=NEAR, sqrt=ABOVE,
            round=WIDE, rint=WIDE, pow=[x / 3 for x in ABOVE], atan2=WIDE, fmod=WIDE[:250] + [7.0] * 6,
            remainder=WIDE[:250] + [7.0] * 6, hypot=WIDE, fmax=WIDE, fmin=WIDE, copysign=WIDE)
HOST = dict(exp2=lambda x: 2.0**x, round=lambda x: math.copysign(math.floor(abs(x) + 0.5), x), rint=round, fmax=max,
            fmin=min, cbrt=lambda x: math.copysign(abs(x)**(1 / 3), x))
TWO = {"pow", "atan2", "fmod", "remainder", "hypot", "fmax", "fmin", "copysign"}


def near(got, want, argument, name, unit):
    """Sixteen last places, and what a last place of the argument makes of an exponent; near a root absolutely."""
    allowed = 16 * unit * max(abs(want), 1.0 if name in ("sin", "cos", "tan", "log", "log2", "log10", "acos", "fmod",
                                                         "remainder", "tan") else 2.0**-20 if unit > 2**-40 else 2.0**-40)
    if name in ("exp", "exp2", "pow", "sinh", "cosh", "expm1", "erfc"):
        allowed *= 1 + abs(argument)
    if name == "pow":
        allowed *= 1 + abs(math.log(abs(want))) if want else 1
    if name == "tan":
        allowed *= 1 + want * want
    return abs(got - want) <= allowed


for name, values in ROWS.items():
    for kind, code, unit in (("f", "f", 2.0**-24), ("d", "d", 2.0**-52)):
        x = list(array(code, values))
        got = run(f"{kind}_{name}", "1", "256", put("x", x, code), "--arg=out:OUT", out=256 * (4 if code == "f" else 8),
                  code=code)
        host = HOST.get(name) or getattr(math, name)
        want = [host(v, x[i ^ 85]) for i, v in enumerate(x)] if name in TWO else [host(v) for v in x]
        bad = [(v, g, w) for v, g, w in zip(x, got, want) if not near(g, w, v, name, unit)]
        if bad:
            print(kind, name, len(bad), bad[:3])
        check(f"{kind}_{name}", not bad)
