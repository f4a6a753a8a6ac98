"""Normalisations, softmax, gated units, rope and data movement against NumPy."""

import numpy as np
from math import erf

from oracle import Case, check, f32, finish, run, tensor, to

rng = np.random.default_rng(2)


def rms_norm(x, w, eps, offset=0.0):
    y = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)
    return y if w is None else y * (offset + w)


def layer_norm(x, w, b, eps):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + eps) * w + b


for dtype in ["f32", "bf16", "f16"]:
    for n in [1, 7, 64, 1000]:
        # The sum of n positive terms in order is off by about sqrt(n / 3) ulp.
        wide = 24 + 8 * np.sqrt(n) if dtype == "f32" else 2.5
        x, w, b = (to(dtype, rng.normal(size=s)) for s in [(3, n), (n,), (n,)])
        eps = float(np.float32(1e-5))
        case = run("hk.rms_norm %0, %1 epsilon 1.0e-05 : INS -> OUTS", [(x, dtype), (w, dtype)], [(x.shape, dtype)])
        check(f"rms_norm {dtype} {n}", case, to(dtype, rms_norm(x, w, eps)), max_ulps=wide, dtype=dtype)
        case = run("hk.rms_norm %0, %1 epsilon 1.0e-05 weight_offset 1.0 : INS -> OUTS",
                   [(x, dtype), (w, dtype)], [(x.shape, dtype)])
        check("rms_norm 1 + w", case, to(dtype, rms_norm(x, w, eps, 1.0)))
        case = run("hk.rms_norm %0, %1 epsilon 1.0e-05 round_before_weight : INS -> OUTS",
                   [(x, dtype), (w, dtype)], [(x.shape, dtype)])
        check("rms_norm rounds before weight", case, to(dtype, to(dtype, rms_norm(x, None, eps)) * w))
        case = run("hk.layer_norm %0, %1, %2 epsilon 1.0e-05 : INS -> OUTS",
                   [(x, dtype), (w, dtype), (b, dtype)], [(x.shape, dtype)])
        check(f"layer_norm {dtype} {n}", case, to(dtype, layer_norm(x, w, b, eps)))
        case = run("hk.l2_norm %0 epsilon 1.0e-05 : INS -> OUTS", [(x, dtype)], [(x.shape, dtype)])
        check("l2_norm", case, to(dtype, x / np.sqrt((x * x).sum(-1, keepdims=True) + eps)))
        case = run("hk.softmax %0 : INS -> OUTS", [(x, dtype)], [(x.shape, dtype)])
        e = np.exp(x - x.max(-1, keepdims=True))
        check(f"softmax {dtype} {n}", case, to(dtype, e / e.sum(-1, keepdims=True)), max_ulps=wide, dtype=dtype)

with np.errstate(all="ignore"):
    zero = np.zeros((2, 8))
    check("rms_norm of zeros", run("hk.rms_norm %0 epsilon 1.0e-05 : INS -> OUTS", [(zero, "f32")], [(zero.shape, "f32")]),
          zero, exact=True)
    huge = np.full((1, 4), 3e38)
    check("squares overflow in f32", run("hk.rms_norm %0 epsilon 1.0e-05 : INS -> OUTS", [(huge, "f32")],
                                         [(huge.shape, "f32")]), np.zeros((1, 4)))
    odd = np.array([[np.nan, 1, 2], [np.inf, 1, 2], [-np.inf] * 3, [-np.inf, 0, 0]])
    check("softmax of specials", run("hk.softmax %0 : INS -> OUTS", [(odd, "f32")], [(odd.shape, "f32")]),
          [np.array([[np.nan] * 3] * 3 + [[0, 0.5, 0.5]])])
    empty = np.zeros((0, 8))
    check("no rows", run("hk.softmax %0 : INS -> OUTS", [(empty, "f32")], [(empty.shape, "f32")]), empty)


def gate(kind, g, u):
    sig = lambda v: 1 / (1 + np.exp(-v))
    if kind == "swiglu_oai":
        return g * sig(np.float64(np.float32(1.702)) * g) * (u + 1)
    act = {"silu": lambda v: v * sig(v), "relu": lambda v: np.maximum(v, 0),
           "gelu": lambda v: 0.5 * v * (1 + np.vectorize(erf)(v / np.sqrt(2))),
           "gelu_tanh": lambda v: 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))}[kind]
    return act(g) * u


x = to("bf16", rng.normal(size=(5, 34)) * 3)
for kind in ["silu", "gelu", "gelu_tanh", "relu", "swiglu_oai"]:
    case = run(f"hk.gated_activation {kind} %0 : INS -> OUTS", [(x, "bf16")], [((5, 17), "bf16")])
    check(kind, case, to("bf16", gate(kind, x[:, :17], x[:, 17:])))
    case = run(f"hk.gated_activation {kind} %0 limit 2.0 : INS -> OUTS", [(x, "bf16")], [((5, 17), "f32")])
    check(kind + " limit", case, f32(gate(kind, np.minimum(x[:, :17], 2), np.clip(x[:, 17:], -2, 2))))


def rope(x, cos, sin, positions, style, per_element, nope_first, inverse):
    """x [T, H, D], one matrix product per pair."""
    y = x.copy()
    size = cos.shape[1] * (1 if per_element else 2)
    start = x.shape[-1] - size if nope_first else 0
    for t, p in enumerate(positions):
        if not 0 <= p < len(cos):
            continue
        for i in range(size // 2):
            a, b = (i, i + size // 2) if style == "neox" else (2 * i, 2 * i + 1)
            ca, cb = (cos[p, a], cos[p, b]) if per_element else (cos[p, i],) * 2
            sa, sb = (sin[p, a], sin[p, b]) if per_element else (sin[p, i],) * 2
            m = np.array([[ca, -sa], [sb, cb]])
            y[t][:, [start + a, start + b]] = x[t][:, [start + a, start + b]] @ (m if inverse else m.T)
    return y


x = to("bf16", rng.normal(size=(6, 2, 16)))
for style in ["neox", "gptj"]:
    for per_element in [False, True]:
        for rotary in [8, 16]:
            table = rng.normal(size=(2, 5, rotary if per_element else rotary // 2))
            cos, sin = to("f32", table)
            for flags in ["", "inverse", "nope_first"]:
                pos, off = np.array([0, 4, 1, -1, 9, 3]), np.array([0, 0, 1, 2, -9, 5])
                words = " ".join(w for w in ["angle_per_element" * per_element, flags] if w)
                attrs = " " + words if words else ""
                operands = [(x, "bf16"), (cos, "f32"), (sin, "f32")]
                ins = ", ".join(tensor(a, t) for a, t in operands)
                text = (f"hk.rope {style} %0, %1, %2 positions %3 offsets %4{attrs} : {ins} "
                        f"positions tensor<6xi32> offsets tensor<6xi64> -> OUTS")
                case = run(text, operands + [(pos, "i32"), (off, "i64")], [(x.shape, "bf16")])
                want = rope(x, cos, sin, pos + off, style, per_element, flags == "nope_first", flags == "inverse")
                check(f"rope {style} {words} {rotary}", case, to("bf16", want))
            case = run(f"hk.rope {style} %0, %1, %2{' angle_per_element' if per_element else ''} : INS -> OUTS",
                       operands, [(x.shape, "bf16")])
            check("rope without positions", case, to("bf16", rope(x, cos, sin, range(6), style, per_element, False, False)))

# Where positions come from: the second token dim, or sequences laid end to end.
x = to("bf16", rng.normal(size=(3, 5, 2, 8)))
cos, sin = to("f32", rng.normal(size=(2, 4, 4)))
case = run("hk.rope neox %0, %1, %2 position_dim 1 : INS -> OUTS", [(x, "bf16"), (cos, "f32"), (sin, "f32")],
           [(x.shape, "bf16")])
want = [rope(image, cos, sin, range(5), "neox", False, False, False) for image in x]
check("rope by dim 1", case, to("bf16", np.stack(want)))
x = to("bf16", rng.normal(size=(9, 2, 8)))
bounds = np.array([0, 0, 3, 3, 8])
case = run("hk.rope gptj %0, %1, %2 bounds %3 : tensor<9x2x8xbf16>, tensor<4x4xf32>, tensor<4x4xf32> bounds "
           "tensor<5xi32> -> OUTS", [(x, "bf16"), (cos, "f32"), (sin, "f32"), (bounds, "i32")], [(x.shape, "bf16")])
want = rope(x, cos, sin, [0, 1, 2, 0, 1, 2, 3, 4, -1], "gptj", False, False, False)
check("rope of ragged sequences", case, to("bf16", want))

# Data movement is exact.
x = to("bf16", rng.normal(size=(3, 4, 5)))
check("transpose", run("hk.transpose %0 [2, 0, 1] : INS -> OUTS", [(x, "bf16")], [((5, 3, 4), "bf16")]),
      x.transpose(2, 0, 1), exact=True)
y = to("bf16", rng.normal(size=(3, 2, 5)))
check("concat", run("hk.concat 1 (%0, %1, %0) : INS, tensor<3x4x5xbf16> -> OUTS", [(x, "bf16"), (y, "bf16")],
                    [((3, 10, 5), "bf16")]), np.concatenate([x, y, x], 1), exact=True)
check("pad with a number", run("hk.pad %0 value 2.5 : INS -> OUTS", [(x, "bf16")], [((3, 4, 8), "bf16")]),
      np.concatenate([x, np.full((3, 4, 8 - x.shape[-1]), 2.5)], -1), exact=True)
check("pad", run("hk.pad %0 : INS -> OUTS", [(x, "bf16")], [((3, 4, 8), "bf16")]),
      np.pad(x, [(0, 0), (0, 0), (0, 3)]), exact=True)
ids = np.array([[2, 0], [-1, 3]])
want = np.zeros((2, 2, 4, 5))
want[0] = x[[2, 0]]
check("gather_rows", run("hk.gather_rows %0, %1 : INS -> OUTS", [(x, "bf16"), (ids, "i32")], [((2, 2, 4, 5), "bf16")]),
      want, exact=True)
check("has_row", run("hk.has_row %0, %1 : INS -> OUTS", [(x, "bf16"), (ids, "i32")], [((2, 2), "i1")]),
      (ids >= 0) & (ids < len(x)), exact=True)
cache = to("bf16", rng.normal(size=(2, 3, 4, 5)))
slots = np.array([4, -1, 6])
want = cache.copy()
want[1, 1] = x[0]
check("kv_cache_write", run("hk.kv_cache_write %0, %1 into %2 : INS", [(x, "bf16"), (slots, "i32"), (cache, "bf16")],
                            [(cache.shape, "bf16")]), want, exact=True)
# Paged layouts, from the cache [blocks, rows, heads, elements] by NumPy.
A, B, H, D, X = 3, 4, 2, 8, 4
values = to("bf16", rng.normal(size=(5, H, D)))
slots = np.array([7, 0, -1, 12, 5])
plain = to("bf16", rng.normal(size=(A, B, H, D)))
LAYOUTS = {"token_major": lambda c: c, "head_major": lambda c: c.transpose(0, 2, 1, 3),
           "key_chunks": lambda c: c.reshape(A, B, H, D // X, X).transpose(0, 2, 3, 1, 4),
           "transposed": lambda c: c.transpose(0, 2, 3, 1),
           "value_chunks": lambda c: c.reshape(A, B // X, X, H, D).transpose(0, 3, 1, 4, 2)}
want = plain.copy()
for t, s in enumerate(slots):
    if 0 <= s < A * B:
        want[s // B, s % B] = values[t]
for layout, arrange in LAYOUTS.items():
    cache = np.ascontiguousarray(arrange(plain))
    check("kv_cache_write " + layout, run(f"hk.kv_cache_write %0, %1 into %2 layout {layout} : INS",
                                          [(values, "bf16"), (slots, "i32"), (cache, "bf16")],
                                          [(cache.shape, "bf16")]), arrange(want), exact=True)

# Upstream ops, a fusion and a launch of the same body.
text = """
hk.weight @w "w" : tensor<6xf32>
hk.kernel @k rowwise inputs 2 shapes [#hk.shape<[d0, 6]>, #hk.shape<[6]>, #hk.shape<[d0, 6]>] aligns [4, 4, 4] {
  hk.spec {
  ^bb0(%x: tensor<?x6xf32>, %w: tensor<6xf32>, %o: tensor<?x6xf32>):
    %y = hk.mul %x, %w : tensor<?x6xf32>, tensor<6xf32>
    hk.yield %y : tensor<?x6xf32>
  }
}
func.func @main(%x: tensor<?x2x3xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x3xf32>
  %e = tensor.empty(%n) : tensor<?x6xf32>
  %f = tensor.collapse_shape %x [[0], [1, 2]] : tensor<?x2x3xf32> into tensor<?x6xf32>
  %w = hk.weight_ref @w : tensor<6xf32>
  %a = hk.launch @k ins(%f, %w : tensor<?x6xf32>, tensor<6xf32>) outs(%e : tensor<?x6xf32>) reads [false] -> tensor<?x6xf32>
  %b = hk.fused rowwise ins(%f, %w : tensor<?x6xf32>, tensor<6xf32>) outs(%e : tensor<?x6xf32>) {
  ^bb0(%p: tensor<?x6xf32>, %q: tensor<6xf32>, %o: tensor<?x6xf32>):
    %y = hk.mul %p, %q : tensor<?x6xf32>, tensor<6xf32>
    %z = hk.neg %y : tensor<?x6xf32>
    hk.yield %z : tensor<?x6xf32>
  } -> tensor<?x6xf32>
  %m = arith.subi %n, %c1 : index
  %s = tensor.extract_slice %a[1, 2] [%m, 2] [1, 2] : tensor<?x6xf32> to tensor<?x2xf32>
  %i = tensor.insert_slice %s into %b[0, 0] [%m, 2] [1, 1] : tensor<?x2xf32> into tensor<?x6xf32>
  return %a, %i, %s : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x2xf32>
}
"""
x, w = to("f32", rng.normal(size=(4, 2, 3))), to("f32", rng.normal(size=6))
a = f32(x.reshape(4, 6) * w)
i = -a
s = a[1:, [2, 4]]
i[:3, :2] = s
check("upstream", Case(text, [x], {"w": w}), [a, i, s], exact=True)
finish()
