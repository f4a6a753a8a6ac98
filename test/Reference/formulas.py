"""Formulas of what modules compute, from the descriptions of the modules, and the
comparison of whole graphs of test/Modules with them. Every graph of a module must have
the operators of one that is compared; sizes and element types may be others."""

import os
import re
from math import erf

import numpy as np

import oracle
from oracle import Case, check, f32, to

rng = np.random.default_rng(23)
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Modules")
compared = set()


def functions(module):
    """Name and text of every function of test/Modules/<module>.mlir."""
    with open(f"{FOLDER}/{module}.mlir") as file:
        return {m[1]: m[0] for m in re.finditer(r"func\.func @(\w+)\(.*?\n}\n", file.read(), re.S)}


def compare(module, function, inputs, expected, exact=False):
    """A graph on these inputs against the expected results. Most elements must have a
    bound at all: where noise decides, a result may be anything."""
    compared.add((module, function))
    case = Case(functions(module)[function].replace(f"@{function}(", "@main(", 1), inputs)
    check(f"{module} {function}", case, expected, exact=exact)
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    if len(case.values) != len(expected):
        oracle.failures += 1
        print(f"FAIL {module} {function}: {len(expected)} results expected, {len(case.values)} returned")
    for i, bound in enumerate(case.bounds):
        if 2 * np.isinf(bound).sum() > bound.size:
            oracle.failures += 1
            print(f"FAIL {module} {function} result {i}: {np.isinf(bound).sum()} of {bound.size} are unspecified")


def family(text):
    """A function without names, types and numbers; a type that is that of another operand
    is not written."""
    text = re.sub(r"@\w+|tensor<[^>]*>|%\w+|//.*", "", text)
    text = re.sub(r"-?\b\d[\w.]*(e[-+]\d+)?", "n", text)
    return re.sub(r"[ ,:]|->", "", text)


def finish(*modules):
    """Ends the test; fails where a function of these modules has operators that no
    compared one has, here or in variants.py."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "variants.py")) as file:
        elsewhere = set(re.findall(r'"(\w+)",\s+"(\w+)"', file.read()))
    for module in modules:
        found = functions(module)
        known = {family(text) for name, text in found.items() if (module, name) in compared | elsewhere}
        for name, text in found.items():
            if family(text) not in known:
                oracle.failures += 1
                print(f"FAIL {module} {name}: nothing of its family is compared")
    oracle.finish()


def normal(dtype, *shape, scale=1.0):
    return to(dtype, rng.normal(size=shape) * scale)


def positive(*shape):
    """Scales: f32, around 1."""
    return f32(np.exp(rng.normal(size=shape)))


# Activations.
def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def gelu(x):
    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def swiglu_oai(g, u):
    """GPT-OSS: limited to 7, a sigmoid of 1.702 g and a unit more than u."""
    g, u = np.minimum(g, 7), np.clip(u, -7, 7)
    return g * sigmoid(1.702 * g) * (u + 1)


def halves(x):
    return np.split(x, 2, -1)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# Norms.
def rms(x, w, epsilon=1e-6):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * w


def padded(x, width, value=0.0):
    return np.concatenate([x, np.full(x.shape[:-1] + (width - x.shape[-1],), value)], -1)


# Quantisation.
LARGEST = {"i8": 127, "f8E4M3FN": 448, "f8E4M3FNUZ": 240, "f8E5M2": 57344, "f8E5M2FNUZ": 57344, "f4E2M1FN": 6}


def codes(x, s, kind, largest=None):
    largest = largest or LARGEST[kind]
    ratio = np.clip(f32(x / s), -largest, largest)
    return np.rint(ratio) if kind == "i8" else to(kind, ratio)


def quantised(x, kind, group=None, floor=0.0, largest=None, power_of_two=False):
    """Codes, and a scale per row or group: amax / largest, 1 for zeros."""
    n = x.shape[-1]
    q, scales = np.empty(x.shape), []
    for begin in range(0, n, group or n):
        part = x[..., begin:begin + (group or n)]
        amax = np.maximum(np.abs(part).max(-1, keepdims=True), f32(floor))
        s = f32(amax / (largest or LARGEST[kind]))
        s[s == 0] = 1
        if power_of_two:
            s = 2.0 ** np.ceil(np.log2(s))
        q[..., begin:begin + (group or n)] = codes(part, s, kind, largest)
        scales.append(s)
    return [q, np.concatenate(scales, -1)]


def mx(x, dtype, exponent):
    """Blocks of 32; exponent(amax) is that of the scale."""
    n = x.shape[-1]
    blocks = padded(x, n + -n % 32).reshape(x.shape[:-1] + (-1, 32))
    amax = np.abs(blocks).max(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        e = np.where(amax == 0, -127, np.clip(exponent(amax), -127, 127))
    q = to(dtype, blocks * 2.0 ** -e[..., None])
    return [q.reshape(x.shape[:-1] + (-1,))[..., :n], 2.0**e]


# Of the element's largest number, the exponent and the first mantissa that rounds up.
BINADE = {"f4E2M1FN": (2, 1.75), "f8E4M3FN": (8, 1.9375), "f8E5M2": (15, 1.875)}


def even(dtype):
    """The power of two of amax, the next one from where the elements would round up to it."""
    def exponent(amax):
        e = np.floor(np.log2(amax))
        return e + (amax / 2.0**e >= BINADE[dtype][1]) - BINADE[dtype][0]
    return exponent


def up(dtype):
    """amax / largest to the next power of two."""
    return lambda amax: np.ceil(np.log2(f32(amax / LARGEST[dtype])))


def down(dtype):
    return lambda amax: np.floor(np.log2(f32(amax / LARGEST[dtype])))


def ocp(dtype):
    """The OCP specification: exponents of amax and of the largest number."""
    return lambda amax: np.floor(np.log2(amax)) - BINADE[dtype][0]


def mxfp4(x):
    return mx(x, "f4E2M1FN", even("f4E2M1FN"))


def shuffled(scales):
    """[rows, columns], multiples of 32 and 8, in the order of the scaled instructions of
    gfx950: 32 rows after each other, of them 8 columns."""
    rows, columns = scales.shape
    out = np.empty(rows * columns)
    for r in range(rows):
        for c in range(columns):
            place = r // 32 * 32 * columns + c // 8 * 256 + c % 4 * 64 + r % 16 * 4 + c % 8 // 4 * 2 + r % 32 // 16
            out[place] = scales[r, c]
    return out


# Heads, rotated, and caches.
def angles(table, positions):
    """Rows of cosines or sines; None, for a token that is not rotated, outside the table."""
    rows = np.full(np.shape(positions) + table.shape[1:], np.nan)
    inside = (positions >= 0) & (positions < len(table))
    rows[inside] = table[positions[inside]]
    return rows


def rotated(x, cos, sin, neox=True, own=False, nope_first=False, inverse=False):
    """x cos + rot(x) sin of [tokens ..., heads, D], of rows of angles per token (NaN: none),
    one for each element (`own`) or pair."""
    cos, sin = cos[..., None, :], sin[..., None, :]
    if not own:
        cos, sin = (np.concatenate([a, a], -1) if neox else np.repeat(a, 2, -1) for a in (cos, sin))
    size = cos.shape[-1]
    begin = x.shape[-1] - size if nope_first else 0

    def turned(z):
        if neox:
            return np.concatenate([-z[..., size // 2:], z[..., :size // 2]], -1)
        return np.stack([-z[..., 1::2], z[..., 0::2]], -1).reshape(z.shape)

    y, part = x.copy(), x[..., begin:begin + size]
    new = part * cos - turned(part * sin) if inverse else part * cos + turned(part) * sin
    y[..., begin:begin + size] = np.where(np.isnan(cos), part, new)
    return y


def written(cache, rows, slots):
    """Rows in a cache [blocks, block, heads, D]; a negative slot is none."""
    flat = cache.reshape((-1,) + cache.shape[2:]).copy()
    for row, slot in zip(rows, slots):
        if slot >= 0:
            flat[slot] = row
    return flat.reshape(cache.shape)


# Convolutions.
def convolve(x, w, before, bias=0.0):
    """[L, C] after the inputs `before` [S, C]: w[:, -1] is the current token's. Returns
    the sums and the last S inputs."""
    width, inputs = w.shape[1], np.concatenate([before, x])
    y = np.zeros(x.shape) + bias
    for j in range(width):
        begin = len(before) - (width - 1) + j
        y += w[:, j] * inputs[begin:begin + len(x)]
    return y, inputs[len(inputs) - len(before):]


# Selection and sorting.
def best(scores, k, highest=False):
    """The k best of each row; of equal ones the lowest, or highest, places."""
    places = np.arange(scores.shape[-1]) * (-1 if highest else 1)
    rows = scores.reshape(-1, scores.shape[-1])
    return np.array([np.lexsort((places, -row))[:k] for row in rows]).reshape(scores.shape[:-1] + (k,))


def by_id(scores, k):
    """AITER's router: of equal scores the last ones, in the order of their places."""
    return np.sort(best(scores, k, highest=True), -1)


def at(x, ids):
    return np.take_along_axis(x, ids, -1)


def placed(keys, bins, block=1):
    """moe_align_block_size: order with the number of keys as padding, places, experts of
    the blocks and how many places are in use."""
    size = len(keys) + bins * (block - 1)
    order, position, experts = [], np.full(len(keys), -1), []
    for e in range(bins):
        own = [i for i, key in enumerate(keys) if key == e]
        for rank, i in enumerate(own):
            position[i] = len(order) + rank
        blocks = -(-len(own) // block)
        order += own + [len(keys)] * (blocks * block - len(own))
        experts += [e] * blocks
    used = len(order)
    order += [len(keys)] * (size - used)
    experts += [-1] * (-(-size // block) - len(experts))
    return np.array(order), position, np.array(experts), used


def bits_of(ids, experts):
    """One bit per row and expert, the words of 32 experts before the rows."""
    words = np.zeros((-(-experts // 32), len(ids)), np.uint32)
    for row, own in enumerate(ids):
        for c in own:
            if 0 <= c < experts:
                words[c // 32, row] |= np.uint32(1) << np.uint32(c % 32)
    return words.view(np.int32)
