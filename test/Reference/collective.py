"""Operators over several ranks against NumPy: the interpreter evaluates all ranks."""

import subprocess
import tempfile

import numpy as np

import oracle
from oracle import f32, finish, tensor, to

rng = np.random.default_rng(11)


class Ranks:
    """Evaluates `body` (results %0 to return) with inputs[rank][i]; results by rank."""

    def __init__(self, mesh, body, inputs, types, outs):
        arguments = ", ".join(f"%x{i}: {tensor(x, t)}" for i, (x, t) in enumerate(zip(inputs[0], types)))
        names = ", ".join(f"%{i}" for i in range(len(outs)))
        result = ", ".join(outs)
        text = (f'module attributes {{hk.mesh = "{mesh}"}} {{\nfunc.func @main({arguments}) -> ({result}) {{\n{body}\n'
                f"return {names} : {result}\n}}\n}}\n")
        with tempfile.TemporaryDirectory() as folder:
            open(f"{folder}/m.mlir", "w").write(text)
            command = ["hk-interp", f"{folder}/m.mlir", f"--output={folder}/out"]
            for r, tensors in enumerate(inputs):
                for i, x in enumerate(tensors):
                    np.save(f"{folder}/in{r}.{i}.npy", np.asarray(x, order="C"))
                    command.append(f"--input={folder}/in{r}.{i}.npy")
            subprocess.run(command, check=True)
            load = lambda name: [[np.load(f"{folder}/out.rank{r}.{i}{name}.npy") for i in range(len(outs))]
                                 for r in range(len(inputs))]
            self.values, self.bounds = load(""), load(".bound")


def check(name, got, bounds, want, exact=True, most=None):
    want = np.asarray(want, np.float64)
    with np.errstate(all="ignore"):
        ok = got.shape == want.shape and np.all(
            (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= bounds))
    if exact and bounds.any():
        ok = False
    if most is not None and np.any(bounds > most):
        ok = False
    if not ok:
        oracle.failures += 1
        print(f"FAIL {name}: expected {want!r}, got {got!r}, bounds {bounds!r}")


def in_order(parts, dtype):
    total = f32(parts[0])
    for part in parts[1:]:
        total = f32(total + f32(part))
    return to(dtype, total)


WRAP = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
for w in [1, 2, 4, 8]:
    mesh = f"tp={w}"
    for dtype, result in [("f32", "f32"), ("bf16", "bf16"), ("f16", "f16"), ("bf16", "f32"), ("f32", "f16")]:
        x = [to(dtype, rng.normal(size=(3, 8)) * 10.0 ** rng.integers(-3, 3, size=(3, 8))) for _ in range(w)]
        t, u = tensor(x[0], dtype), tensor(x[0], result)
        arrow = f"{t} -> {u}"
        case = Ranks(mesh, f'%0 = hk.all_reduce sum %x0 axis "tp" : {arrow}\n'
                           f'%1 = hk.all_reduce max %x0 axis "tp" : {arrow}\n'
                           f'%2 = hk.all_reduce min %x0 axis "tp" : {arrow}\n'
                           f'%3 = hk.reduce_scatter sum %x0 axis "tp" dim 1 : {t} -> {tensor(x[0][:, :8 // w], result)}',
                     [[a] for a in x], [dtype], [u, u, u, tensor(x[0][:, :8 // w], result)])
        total = in_order(x, result)
        for r in range(w):
            wants = [total, to(result, np.max(x, 0)), to(result, np.min(x, 0)), np.split(total, w, 1)[r]]
            for i, want in enumerate(wants):
                check(f"{dtype} {result} {w} ranks, {i}, rank {r}", case.values[r][i], case.bounds[r][i], want)
    for dtype, number in WRAP.items():
        if dtype == "i64":  # numbers that a double holds
            x = [rng.integers(-2**40, 2**40, size=(2, 8)) for _ in range(w)]
        else:
            limits = np.iinfo(number)
            x = [rng.integers(limits.min, limits.max, size=(2, 8), endpoint=True) for _ in range(w)]
        t = tensor(x[0], dtype)
        case = Ranks(mesh, f'%0 = hk.all_reduce sum %x0 axis "tp" : {t}\n%1 = hk.all_reduce max %x0 axis "tp" : {t}',
                     [[a] for a in x], [dtype], [t, t])
        with np.errstate(over="ignore"):
            total = np.sum([a.astype(number) for a in x], 0, dtype=number)
        for r in range(w):
            check(f"{dtype} sum of {w}", case.values[r][0], case.bounds[r][0], total)
            check(f"{dtype} max of {w}", case.values[r][1], case.bounds[r][1], np.max(x, 0))

    # Any order: within the bound for every order in which partial sums are rounded to
    # bf16, at most w - 2 roundings wide; with two ranks about one.
    x = [to("bf16", rng.normal(size=(64, 8))) for _ in range(w)]
    t = tensor(x[0], "bf16")
    case = Ranks(mesh, f'%0 = hk.all_reduce sum %x0 axis "tp" transport any_order : {t}', [[a] for a in x], ["bf16"], [t])
    biggest = np.maximum(np.sum(np.maximum(x, 0), 0), np.sum(np.maximum(-np.asarray(x), 0), 0))
    spacing = 2.0 ** (np.floor(np.log2(np.maximum(biggest, 1e-30))) - 7)
    for _ in range(20):
        order = rng.permutation(w)
        total = x[order[0]]
        for k in order[1:]:
            total = to("bf16", total + x[k])
        check(f"any order of {w}", case.values[0][0], case.bounds[0][0], total, exact=w == 1,
              most=spacing * (2.1 if w <= 2 else 8 * np.sqrt((w - 2) / 12 + 1) + 4))

    # Bits that are copied.
    x = [rng.integers(-2**31, 2**31, size=(4, w, 6)) for _ in range(w)]
    t = tensor(x[0], "i32")
    gathered, exchanged = np.concatenate(x, 0), [np.concatenate([a[:, r:r + 1] for a in x], 2) for r in range(w)]
    case = Ranks(mesh, f'%0 = hk.all_gather %x0 axis "tp" dim 0 : {t} -> {tensor(gathered, "i32")}\n'
                       f'%1 = hk.all_to_all %x0 axis "tp" split 1 concat 2 : {t} -> {tensor(exchanged[0], "i32")}\n'
                       f'%2 = hk.broadcast_rank %x0 axis "tp" root {w - 1} : {t}\n'
                       f'%3 = hk.rank axis "tp" : tensor<i32>',
                 [[a] for a in x], ["i32"], [tensor(gathered, "i32"), tensor(exchanged[0], "i32"), t, "tensor<i32>"])
    for r in range(w):
        for i, want in enumerate([gathered, exchanged[r], x[w - 1], np.array(r)]):
            check(f"copies {i} of {w}", case.values[r][i], case.bounds[r][i], want)

    # Rows by counts: more than there are, less than none, more than the capacity.
    x = [rng.integers(-99, 99, size=(7, 3)) for _ in range(w)]
    counts = [rng.integers(-1, 6, size=w) for _ in range(w)]
    for most, capacity in [(7, ""), (2, " capacity 2"), (0, " capacity 0")]:
        rows, received = [], []
        for r in range(w):
            rows.append(np.zeros((w, most, 3), np.int64))
            received.append(np.array([counts[s][r] for s in range(w)]))
            for s in range(w):
                start = np.sum(np.maximum(counts[s][:r], 0), dtype=int)
                come = x[s][start:start + max(0, min(most, counts[s][r]))]
                rows[r][s, :len(come)] = come
        types = [tensor(x[0], "i32"), tensor(counts[0], "i32")]
        outs = [tensor(rows[0], "i32"), tensor(received[0], "i32")]
        case = Ranks(mesh, f'%0, %1 = hk.all_to_all_rows %x0, %x1 axis "tp"{capacity} : {", ".join(types)} -> {", ".join(outs)}',
                     [[a, c] for a, c in zip(x, counts)], ["i32", "i32"], outs)
        for r in range(w):
            check(f"rows{capacity} of {w}", case.values[r][0], case.bounds[r][0], rows[r])
            check(f"counts{capacity} of {w}", case.values[r][1], case.bounds[r][1], received[r])

# The last axis is fastest; an exchange along one axis leaves the others alone.
x = [to("f32", rng.normal(size=3)) for _ in range(6)]
case = Ranks("dp=2,tp=3", '%0 = hk.all_reduce sum %x0 axis "dp" : tensor<3xf32>\n'
                          '%1 = hk.all_reduce sum %x0 axis "tp" : tensor<3xf32>\n'
                          '%2 = hk.rank axis "dp" : tensor<i32>\n%3 = hk.rank axis "tp" : tensor<i32>',
             [[a] for a in x], ["f32"], ["tensor<3xf32>"] * 2 + ["tensor<i32>"] * 2)
for r in range(6):
    dp, tp = divmod(r, 3)
    check("over dp", case.values[r][0], case.bounds[r][0], in_order([x[tp], x[3 + tp]], "f32"))
    check("over tp", case.values[r][1], case.bounds[r][1], in_order(x[3 * dp:3 * dp + 3], "f32"))
    check("place in dp", case.values[r][2], case.bounds[r][2], np.array(dp))
    check("place in tp", case.values[r][3], case.bounds[r][3], np.array(tp))

# NaN and infinity; no elements.
x = [np.array([np.nan, np.inf, np.inf, -np.inf, 1]), np.array([1, 1, -np.inf, -np.inf, 2])]
case = Ranks("tp=2", "\n".join(f'%{i} = hk.all_reduce {k} %x0 axis "tp" : tensor<5xf32>'
                               for i, k in enumerate(["sum", "max", "min"])),
             [[a] for a in x], ["f32"], ["tensor<5xf32>"] * 3)
for r in range(2):
    check("sum of specials", case.values[r][0], case.bounds[r][0], [np.nan, np.inf, np.nan, -np.inf, 3])
    check("max of specials", case.values[r][1], case.bounds[r][1], [np.nan, np.inf, np.inf, -np.inf, 2])
    check("min of specials", case.values[r][2], case.bounds[r][2], [np.nan, 1, -np.inf, -np.inf, 1])
case = Ranks("tp=2", '%0 = hk.all_gather %x0 axis "tp" dim 0 : tensor<0x4xf32> -> tensor<0x4xf32>',
             [[np.zeros((0, 4))]] * 2, ["f32"], ["tensor<0x4xf32>"])
check("nothing", case.values[1][0], case.bounds[1][0], np.zeros((0, 4)))

# Noise of the operands is in the bound of the sum: a product's roundings, on each rank.
a, b = [to("bf16", rng.normal(size=(4, 32))) for _ in range(4)], [to("bf16", rng.normal(size=(32, 8))) for _ in range(4)]
case = Ranks("tp=4", "%p = hk.matmul %x0, %x1 : tensor<4x32xbf16>, tensor<32x8xbf16> -> tensor<4x8xbf16>\n"
                     '%0 = hk.all_reduce sum %p axis "tp" : tensor<4x8xbf16> -> tensor<4x8xf32>',
             [[p, q] for p, q in zip(a, b)], ["bf16", "bf16"], ["tensor<4x8xf32>"])
want = sum(to("bf16", p @ q) for p, q in zip(a, b))
check("sum of products", case.values[2][0], case.bounds[2][0], want, exact=False, most=1.0)
if not case.bounds[2][0].all():
    oracle.failures += 1
    print("FAIL: sums of rounded products are not exact")


def refused(mesh, body, inputs, text):
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/m.mlir", "w").write(
            f'module attributes {{hk.mesh = "{mesh}"}} {{\nfunc.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {{\n'
            f"{body}\nreturn %0 : tensor<?x4xf32>\n}}\n}}\n")
        command = ["hk-interp", f"{folder}/m.mlir"]
        for i, x in enumerate(inputs):
            np.save(f"{folder}/{i}.npy", x)
            command.append(f"--input={folder}/{i}.npy")
        result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0 or text not in result.stderr:
        oracle.failures += 1
        print(f"FAIL: expected '{text}' in: {result.stderr}")


sum_body = '%0 = hk.all_reduce sum %x axis "tp" : tensor<?x4xf32>'
refused("tp=2", sum_body, [np.zeros((2, 4)), np.zeros((3, 4))],
        'size of dim 0 of input at place 1 of axis "tp", as at place 0, to be 2 at run time, but got 3')
refused("tp=2", sum_body, [np.zeros((2, 4))], "expected 2 inputs, but got 1")
refused("tp=2", '%0 = hk.reduce_scatter sum %x axis "tp" dim 0 : tensor<?x4xf32> -> tensor<?x4xf32>',
        [np.zeros((3, 4))] * 2, "expected size of dim 0 of input to be a multiple of 2 at run time, but got 3")
finish()
