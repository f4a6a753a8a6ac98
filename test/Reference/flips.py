"""Rare flips: a kernel whose elementary functions are off by their ulps now and then
rounds an intermediate value to its other neighbour. The bound of what follows must
allow that, also where one flip in thousands of elements is all the noise there is."""

import numpy as np

from oracle import Case, check, finish, to

rng = np.random.default_rng(11)
N = 1_000_000


def kernel(x, w, r):
    """silu, off by up to 4 ulps of f32 either way, a product, a sum and a product; all
    but the last are rounded to bf16."""
    y = x / (1 + np.exp(-x))
    y = to("bf16", y * (1 + rng.uniform(-4, 4, N) * 2.0**-24))
    y = to("bf16", y * w)
    return to("f32", np.float64(to("bf16", y + r)) * w)


x = to("f32", rng.normal(size=N))
w, r = (to("bf16", rng.normal(size=N) * s) for s in (3.0, 1.0))
b, f = f"tensor<{N}xbf16>", f"tensor<{N}xf32>"
text = f"""func.func @main(%x: {f}, %w: {b}, %r: {b}) -> {f} {{
  %0 = hk.silu %x : {f} -> {b}
  %1 = hk.mul %0, %w : {b}, {b} -> {b}
  %2 = hk.add %1, %r : {b}, {b} -> {b}
  %3 = hk.mul %2, %w : {b}, {b} -> {f}
  return %3 : {f}
}}
"""
case = Case(text, [x, w, r])
got = kernel(x, w, r)
flips = int((got != case.values[0]).sum())
if not 3 <= flips <= N // 100:
    print(f"FAIL {flips} flips: the test shows nothing")
    raise SystemExit(1)
check(f"{flips} flips of {N}", case, got)
finish()
