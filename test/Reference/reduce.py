"""Reductions and causal convolutions against NumPy."""

import numpy as np

from oracle import Case, check, f32, finish, run, tensor, to

rng = np.random.default_rng(5)

REDUCE = {"sum": np.sum, "max": np.max, "min": np.min, "absmax": lambda x, **k: np.max(np.abs(x), **k)}
for dtype in ["f32", "bf16", "f16"]:
    x = to(dtype, rng.normal(size=(3, 5, 40)))
    for kind, function in REDUCE.items():
        for dims in [1, 2, 3]:
            want = function(x, axis=tuple(range(3 - dims, 3)), keepdims=True)
            case = run(f"hk.reduce {kind} %0 dims {dims} : INS -> OUTS", [(x, dtype)], [(want.shape, "f32")])
            check(f"reduce {kind} {dims}", case, f32(want), exact=kind != "sum")
            case = run(f"hk.reduce {kind} %0 dims {dims} : INS -> OUTS", [(x, dtype)], [(want.shape, "bf16")])
            check(f"reduce {kind} to bf16", case, to("bf16", want), exact=kind != "sum")
for kind, empty in [("sum", 0), ("absmax", 0), ("max", -np.inf), ("min", np.inf)]:
    case = run(f"hk.reduce {kind} %0 : INS -> OUTS", [(np.zeros((2, 0)), "f32")], [((2, 1), "f32")])
    check(f"{kind} of nothing", case, np.full((2, 1), empty), exact=True)
    special = np.array([[1, np.nan, 2], [np.inf, 0, 1], [-np.inf, 3, 1]])
    case = run(f"hk.reduce {kind} %0 : INS -> OUTS", [(special, "f32")], [((3, 1), "f32")])
    want = {"sum": [np.inf, -np.inf], "max": [np.inf, 3], "min": [0, -np.inf], "absmax": [np.inf, np.inf]}[kind]
    check(f"{kind} of specials", case, np.array([[np.nan], [want[0]], [want[1]]]), exact=True)

# What depends on a sum whose order decides between infinities and NaN is unspecified,
# also behind a second sum that is infinite in any case.
text = """func.func @main(%x: tensor<1x4xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %s = hk.reduce sum %x : tensor<1x4xf32> -> tensor<1x1xf32>
  %d = hk.sub %x, %s : tensor<1x4xf32>, tensor<1x1xf32>
  %q = hk.mul %d, %d : tensor<1x4xf32>
  %t = hk.reduce sum %q : tensor<1x4xf32> -> tensor<1x1xf32>
  %r = hk.rsqrt %t : tensor<1x1xf32>
  return %t, %r : tensor<1x1xf32>, tensor<1x1xf32>
}"""
unknown = Case(text, [np.array([[3e38, 3e38, -3e38, -3e38]])])
assert np.isinf(unknown.bounds[0]).all() and np.isinf(unknown.bounds[1]).all(), unknown.bounds



def convolve(x, w, bias, before):
    """x [L, C]; before [S, C], what came before it. Returns y and the last S inputs."""
    width, state = w.shape[1], len(before)
    both = np.concatenate([before, x])
    y = np.zeros(x.shape)
    for t in range(len(x)):
        for c in range(x.shape[1]):
            window = [both[state + t - (width - 1) + j, c] for j in range(width)]
            y[t, c] = bias[c] + np.dot(w[c], window)
    return y, both[len(both) - state:]


for width in [2, 3, 4]:
    for first in [False, True]:
        layout = "channel_first" if first else "channel_last"
        turn = (lambda a: a.swapaxes(1, 2)) if first else (lambda a: a)
        x, w = to("bf16", rng.normal(size=(2, 7, 5))), to("f32", rng.normal(size=(5, width)))
        bias = to("bf16", rng.normal(size=5))
        want = np.stack([convolve(s, w, bias, np.zeros((3, 5)))[0] for s in x])
        operands = [(turn(x), "bf16"), (w, "f32")]
        ins = ", ".join(tensor(a, t) for a, t in operands)
        case = run(f"hk.causal_conv1d {layout} %0, %1 bias %2 : {ins} bias {tensor(bias, 'bf16')} -> OUTS",
                   operands + [(bias, "bf16")], [(turn(x).shape, "f32")])
        check(f"causal_conv1d {layout} {width}", case, f32(turn(want)))
        case = run(f"hk.causal_conv1d {layout} %0, %1 : INS -> OUTS", operands, [(turn(x).shape, "bf16")])
        want = np.stack([convolve(s, w, np.zeros(5), np.zeros((3, 5)))[0] for s in x])
        check("causal_conv1d without bias", case, to("bf16", turn(want)))

# Ragged sequences (empty, shorter than the filter, longer) with states: a padding
# slot, a line past the end, lines without contents yet.
offsets, lines = np.array([0, 0, 5, 6, 8, 17, 19]), np.array([3, 0, -1, 1, 4, 6])
initial = np.array([0, 1, 1, 1, 0, 1])
for length in [3, 5]:
    for state_first in [False, True]:
        turn = (lambda a: a.swapaxes(1, 2)) if state_first else (lambda a: a)
        x, w = to("bf16", rng.normal(size=(19, 4))), to("bf16", rng.normal(size=(4, 4)))
        state = to("bf16", rng.normal(size=(6, length, 4)))
        y, new = np.zeros(x.shape), state.copy()
        for s in range(6):
            if not 0 <= lines[s] < 6:
                continue
            begin, end = offsets[s], offsets[s + 1]
            y[begin:end], new[lines[s]] = convolve(x[begin:end], w, np.zeros(4), state[lines[s]] * initial[s])
        operands = [(x, "bf16"), (w, "bf16"), (offsets, "i32"), (turn(state), "bf16"), (lines, "i64"), (initial, "i1")]
        t = [tensor(a, e) for a, e in operands]
        suffix = " state_layout channel_first" if state_first else ""
        case = run(f"hk.causal_conv1d channel_last %0, %1 offsets %2 state %3 indices %4 has_initial %5{suffix} :"
                   f" {t[0]}, {t[1]} offsets {t[2]} state {t[3]} indices {t[4]} has_initial {t[5]} -> OUTS",
                   operands, [(x.shape, "f32"), (turn(state).shape, "bf16")])
        check(f"causal_conv1d states {length}", case, [f32(y), turn(new)])
        assert not case.bounds[1].any(), "a state is copied"

# Several tokens for lines of which a draft was taken only in part, and rings; one
# line is named as padding, one is past the end.
for length, tokens in [(3, 1), (6, 4), (5, 4), (4, 6), (9, 2)]:
    x, w = to("bf16", rng.normal(size=(5, tokens, 3))), to("bf16", rng.normal(size=(3, 4)))
    state = to("bf16", rng.normal(size=(5, length, 3)))
    lines, counts = np.array([4, 0, 2, 7, 1]), np.array([1, 0, 2, 1, 9])
    padding = (2, 7)
    y, new = np.zeros(x.shape), state.copy()
    for s, line in enumerate(lines):
        if line in padding:
            continue
        n = min(max(counts[s], 1), length - 2)
        window = state[line, n - 1:n + 2]
        y[s] = convolve(x[s], w, np.zeros(3), window)[0]
        kept = max(length - tokens, 0)
        old = np.concatenate([state[line, n:], np.zeros((length, 3))])[:kept]
        new[line] = np.concatenate([old, x[s]])[-length:]
    operands = [(x, "bf16"), (w, "bf16"), (state, "bf16"), (lines, "i32"), (counts, "i32")]
    t = [tensor(a, e) for a, e in operands]
    case = run(f"hk.causal_conv1d channel_last %0, %1 state %2 indices %3 accepted %4 pad_slot 2 :"
               f" {t[0]}, {t[1]} state {t[2]} indices {t[3]} accepted {t[4]} -> OUTS",
               operands, [(x.shape, "f32"), (state.shape, "bf16")])
    check(f"causal_conv1d accepted {length} {tokens}", case, [f32(y), new])

    first = np.array([0, length - 1, 5 * length + 2, 1, -2])
    y, new = np.zeros(x.shape), state.copy()
    for s, line in enumerate(lines):
        if line in padding:
            continue
        window = np.stack([state[line, (first[s] - back) % length] for back in (3, 2, 1)])
        y[s] = convolve(x[s], w, np.zeros(3), window)[0]
        for i in range(tokens):
            new[line, (first[s] + i) % length] = x[s, i]
    operands[4] = (first, "i32")
    turn = lambda a: a.swapaxes(1, 2)
    operands[0], operands[2] = (turn(x), "bf16"), (turn(state), "bf16")
    t = [tensor(a, e) for a, e in operands]
    case = run(f"hk.causal_conv1d channel_first %0, %1 state %2 indices %3 ring %4 state_layout channel_first"
               f" pad_slot 2 : {t[0]}, {t[1]} state {t[2]} indices {t[3]} ring {t[4]} -> OUTS",
               operands, [(turn(x).shape, "f32"), (turn(state).shape, "bf16")])
    check(f"causal_conv1d ring {length} {tokens}", case, [f32(turn(y)), turn(new)])

# The state after every token, beside the new state; padding slots hold 0.
for first in [False, True]:
    turn = (lambda a: a.swapaxes(1, 2)) if first else (lambda a: a)
    layout = "channel_first" if first else "channel_last"
    for width, length, tokens in [(4, 3, 3), (2, 4, 5), (3, 5, 1)]:
        x, w = to("bf16", rng.normal(size=(4, tokens, 3))), to("bf16", rng.normal(size=(3, width)))
        state, lines = to("bf16", rng.normal(size=(5, length, 3))), np.array([4, -1, 0, 9])
        y, new, windows = np.zeros(x.shape), state.copy(), np.zeros((4, tokens, 3, width - 1))
        for s, line in enumerate(lines):
            if not 0 <= line < 5:
                continue
            y[s], new[line] = convolve(x[s], w, np.zeros(3), state[line])
            inputs = np.concatenate([state[line], x[s]])
            for i in range(tokens):
                windows[s, i] = inputs[: length + i + 1][-(width - 1):].T
        operands = [(turn(x), "bf16"), (w, "bf16"), (state, "bf16"), (lines, "i32")]
        t = [tensor(a, e) for a, e in operands]
        r = [tensor(turn(y), "f32"), tensor(state, "bf16"), tensor(windows, "bf16")]
        case = run(f"hk.causal_conv1d {layout} %0, %1 state %2 indices %3 : {t[0]}, {t[1]} state {t[2]} indices {t[3]}"
                   f" -> {r[0]}, {r[1]} windows {r[2]}", operands,
                   [(turn(y).shape, "f32"), (state.shape, "bf16"), (windows.shape, "bf16")])
        check(f"causal_conv1d windows {layout} {width}", case, [f32(turn(y)), new, windows])
        assert not case.bounds[2].any(), "windows are copied"

# A line per block of tokens: sequences that begin, go on inside a block or at its end,
# that cross several blocks, whose blocks have no line at the end, in between or before.
offsets = np.array([0, 7, 7, 12, 13, 22, 24, 26, 29])
computed = np.array([0, 3, 4, 5, 2, 3, -2, 6])
table = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11], [12, -1, 14], [15, 16, 17], [18, 19, 20], [21, 99, 23]])
for block, length in [(4, 3), (2, 5), (1, 3)]:
    x, w = to("bf16", rng.normal(size=(29, 3))), to("bf16", rng.normal(size=(3, 4)))
    lines = np.concatenate([table, table + 30, table + 60, table + 90], 1) if block < 4 else table
    state = to("bf16", rng.normal(size=(130, length, 3)))
    line_of = lambda s, token: lines[s, token // block] if 0 <= token // block < lines.shape[1] and token >= 0 else -1
    valid = lambda line: 0 <= line < 130 and line != 17
    y, new = np.zeros(x.shape), state.copy()
    for s in range(8):
        part, done = x[offsets[s]:offsets[s + 1]], max(computed[s], 0)
        if not len(part) or not valid(line_of(s, done + len(part) - 1)):
            continue
        begin = line_of(s, done - 1)
        old = state[begin] if valid(begin) else np.zeros((length, 3))
        y[offsets[s]:offsets[s + 1]] = convolve(part, w, np.zeros(3), old)[0]
        inputs = np.concatenate([old, part])
        for i in range(len(part)):
            if ((done + i + 1) % block == 0 or i + 1 == len(part)) and valid(line_of(s, done + i)):
                new[line_of(s, done + i)] = inputs[i + 1:i + 1 + length]
    operands = [(x, "bf16"), (w, "bf16"), (offsets, "i32"), (state, "bf16"), (lines, "i64"), (computed, "i32")]
    t = [tensor(a, e) for a, e in operands]
    case = run(f"hk.causal_conv1d channel_last %0, %1 offsets %2 state %3 indices %4 computed %5"
               f" block {block} pad_slot 17 : {t[0]}, {t[1]} offsets {t[2]} state {t[3]}"
               f" indices {t[4]} computed {t[5]} -> OUTS", operands, [(x.shape, "f32"), (state.shape, "bf16")])
    check(f"causal_conv1d blocks {block}", case, [f32(y), new])

# Several sequences in one.
for first in [False, True]:
    turn = (lambda a: a.swapaxes(1, 2)) if first else (lambda a: a)
    x, w = to("bf16", rng.normal(size=(2, 20, 3))), to("bf16", rng.normal(size=(3, 4)))
    ids = np.sort(rng.integers(0, 6, size=(2, 20)), axis=1)
    y = np.zeros(x.shape)
    for b in range(2):
        for i in set(ids[b]):
            y[b, ids[b] == i] = convolve(x[b, ids[b] == i], w, np.zeros(3), np.zeros((3, 3)))[0]
    layout = "channel_first" if first else "channel_last"
    operands = [(turn(x), "bf16"), (w, "bf16"), (ids, "i32")]
    t = [tensor(a, e) for a, e in operands]
    case = run(f"hk.causal_conv1d {layout} %0, %1 seq_idx %2 : {t[0]}, {t[1]} seq_idx {t[2]} -> OUTS", operands,
               [(turn(x).shape, "f32")])
    check(f"causal_conv1d seq_idx {layout}", case, f32(turn(y)))
finish()
