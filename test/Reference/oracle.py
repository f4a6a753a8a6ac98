"""Runs hk-interp on one op at a time and compares with NumPy formulas.

Every case is a module text, its inputs and the expected values, computed here in
float64 from the ops' definitions (not from the C++). A result must be within its
own bound of the formula, and the bounds must be of the size that the definition
of the op suggests, so that a bound that is far too wide fails as well.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np


def f32(x):
    return np.asarray(x, np.float64).astype(np.float32).astype(np.float64)


def round_to(x, mantissa, min_exponent, largest, saturate):
    """Nearest-even rounding to a binary format."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.abs(np.where(x == 0, 1, x))))
        exponent = np.where(np.isfinite(exponent), exponent, 0)
        exponent = np.maximum(exponent, min_exponent)
        step = 2.0 ** (exponent - mantissa)
        y = np.rint(x / step) * step
        over = np.abs(y) > largest
        y = np.where(over, np.sign(x) * (largest if saturate else np.inf), y)
    return np.where(np.isnan(x), np.nan, y)


FORMATS = {
    "f32": (23, -126, 3.4028234663852886e38, False),
    "bf16": (7, -126, 3.3895313892515355e38, False),
    "f16": (10, -14, 65504.0, False),
    "f8E4M3FN": (3, -6, 448.0, True),
    "f8E4M3FNUZ": (3, -7, 240.0, True),
    "f8E5M2": (2, -14, 57344.0, True),
    "f8E5M2FNUZ": (2, -15, 57344.0, True),
    "f4E2M1FN": (1, 0, 6.0, True),
}


def to(dtype, x):
    if dtype == "f4E2M1FN":
        return np.nan_to_num(round_to(x, *FORMATS[dtype]), nan=0.0)
    return round_to(x, *FORMATS[dtype])


def tensor(x, dtype):
    return "tensor<" + "".join(f"{n}x" for n in np.shape(x)) + dtype + ">"


class Case:
    """Evaluates @main of `text` on `inputs`; the results and their bounds."""

    def __init__(self, text, inputs, weights=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.mlir")
            with open(path, "w") as f:
                f.write(text)
            command = ["hk-interp", path, f"--output={folder}/out"]
            for i, x in enumerate(inputs):
                np.save(f"{folder}/in{i}.npy", np.asarray(x, order="C"))
                command.append(f"--input={folder}/in{i}.npy")
            for name, x in (weights or {}).items():
                np.save(f"{folder}/w_{name}.npy", np.asarray(x, order="C"))
                command.append(f"--weight={name}={folder}/w_{name}.npy")
            subprocess.run(command, check=True)
            self.values, self.bounds = [], []
            while os.path.exists(f"{folder}/out.{len(self.values)}.npy"):
                prefix = f"{folder}/out.{len(self.values)}"
                self.values.append(np.load(prefix + ".npy"))
                self.bounds.append(np.load(prefix + ".bound.npy"))


def op(line, operands, results):
    """A module whose @main is one op; operands and results are (array, dtype)."""
    args = ", ".join(f"%{i}: {tensor(x, t)}" for i, (x, t) in enumerate(operands))
    types = ", ".join(tensor(np.empty(s), t) for s, t in results)
    names = ", ".join(f"%r{i}" for i in range(len(results)))
    ins = ", ".join(tensor(x, t) for x, t in operands)
    line = line.replace("INS", ins).replace("OUTS", types)
    return (f"func.func @main({args}) -> ({types}) {{\n  {names} = {line}\n"
            f"  return {names} : {types}\n}}\n")


def run(line, operands, results):
    return Case(op(line, operands, results), [x for x, _ in operands])


failures = 0


def check(name, case, expected, exact=False, max_ulps=None, dtype="f32"):
    """Each result within its bound of `expected` (zero where `exact`); bounds at
    most `max_ulps` of the result type."""
    global failures
    for i, want in enumerate(expected if isinstance(expected, (list, tuple)) else [expected]):
        got, bound = case.values[i], case.bounds[i]
        want = np.asarray(want, np.float64)
        with np.errstate(invalid="ignore"):
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            ok = same | (np.abs(got - want) <= (0 if exact else bound))
        wide = False
        if max_ulps is not None:
            mantissa, low = FORMATS[dtype][:2]
            with np.errstate(all="ignore"):
                exponent = np.maximum(np.floor(np.log2(np.abs(got))), low)
                ulp = 2.0 ** (exponent - mantissa)
                # Results near the smallest normal number may be flushed to zero.
                normal = np.isfinite(got) & (np.abs(got) > 2.0**-100)
                wide = np.any((bound > max_ulps * ulp) & normal)
        if got.shape != want.shape or not ok.all() or (exact and bound.any()) or wide:
            failures += 1
            print(f"FAIL {name} result {i}: {np.sum(~ok) if got.shape == want.shape else got.shape}"
                  f" elements differ, bound too wide: {wide}, inexact: {exact and bound.any()}")
            if got.shape == want.shape and not ok.all():
                where = tuple(np.argwhere(~ok)[0])
                print(f"  at {where}: expected {want[where]!r}, got {got[where]!r}, bound {bound[where]!r}")


def finish():
    print("FAILED" if failures else "all agree")
    sys.exit(failures != 0)
