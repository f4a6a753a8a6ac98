"""LSTM, GRU and RNN of ONNX, written out step by step, against loops in NumPy."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from test_onnx_fused import results  # noqa: E402
from test_onnx_models import Builder, refusal  # noqa: E402

STEPS, WIDTH, HIDDEN = 5, 6, 4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, w, r, bias, h, c, peepholes=(0, 0, 0)):
    (wb, rb), (pi, po, pf) = np.split(bias, 2), peepholes
    for row in x:
        i, o, f, g = np.split(row @ w.T + h @ r.T + wb + rb, 4, -1)
        c = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * np.tanh(g)
        h = sigmoid(o + po * c) * np.tanh(c)
        yield h, c


def rnn(x, w, r, bias, h, activation=np.tanh):
    for row in x:
        h = activation(row @ w.T + h @ r.T + sum(np.split(bias, 2)))
        yield h, h


def gru(x, w, r, bias, h, behind):
    (wz, wr, wh), (rz, rr, rh) = np.split(w, 3), np.split(r, 3)
    bz, br, bh, cz, cr, ch = np.split(bias, 6)
    for row in x:
        z = sigmoid(row @ wz.T + h @ rz.T + bz + cz)
        reset = sigmoid(row @ wr.T + h @ rr.T + br + cr)
        part = reset * (h @ rh.T + ch) if behind else (reset * h) @ rh.T + ch
        h = (1 - z) * np.tanh(row @ wh.T + bh + part) + z * h
        yield h, h


def close(got, wanted):
    """f32 against f64: a few roundings of numbers below 1 in each of five steps."""
    np.testing.assert_allclose(got, np.stack(wanted), rtol=0, atol=2e-6)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "GRU, reset behind"])
def test_layers(tmp_path, kind):
    """Both directions from given states, and one without states and biases."""
    b, path = Builder(1), tmp_path / "m.onnx"
    name, _, behind = kind.partition(",")
    gates = 4 if name == "LSTM" else 3
    w, r, bias = (b.weights[b.matrix(n, 2, gates * HIDDEN * m, *rest)] for n, m, rest in (
        ("w", 1, [WIDTH]), ("r", 1, [HIDDEN]), ("bias", 2, [])))
    for array in (w, r, bias):
        array *= 0.4
    b.weight("w0", w[:1]), b.weight("r0", r[:1])
    states = ["h"] + (["c"] if name == "LSTM" else [])
    more = {"linear_before_reset": 1} if behind else {}
    count = 1 + len(states)
    both = b.op(name, ["x", "w", "r", "bias", "", *states], count, hidden_size=HIDDEN,
                direction="bidirectional", **more)
    back = b.op(name, ["x", "w0", "r0"], count, hidden_size=HIDDEN, direction="reverse", **more)
    b.save(path, [("x", T.FLOAT, [STEPS, "n", WIDTH]),
                  *((s, T.FLOAT, [2, "n", HIDDEN]) for s in states)],
           [(o, T.FLOAT, None) for o in [*both, *back]], 17)
    x = b.random.standard_normal((STEPS, 3, WIDTH)).astype(np.float32)
    given = [b.random.standard_normal((2, 3, HIDDEN)).astype(np.float32) for _ in states]
    got = results(path, x, *given)

    def run(rows, d, bias, *states):
        more = states if name == "LSTM" else [states[0], bool(behind)]
        f = lstm if name == "LSTM" else gru
        return list(f(rows.astype(np.float64), w[d], r[d], bias, *more))

    forward = run(x, 0, bias[0], *(s[0] for s in given))
    backward = run(x[::-1], 1, bias[1], *(s[1] for s in given))
    wanted = [[np.stack([f[0], g[0]]) for f, g in zip(forward, backward[::-1], strict=True)]]
    wanted += [[forward[-1][i], backward[-1][i]] for i in range(len(states))]
    alone = run(x[::-1], 0, 0 * bias[0], *(0 * s[0] for s in given))
    wanted += [[h[None] for h, _ in alone[::-1]]] + [[alone[-1][i]] for i in range(len(states))]
    for one, other in zip(got, wanted, strict=True):
        close(one, other)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_sequences_of_unequal_length(tmp_path, kind):
    """Each sequence as if it were alone, both directions; 0 behind its end. Peepholes of an LSTM;
    an RNN with relu one way."""
    b, path = Builder(3), tmp_path / "m.onnx"
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    w, r, bias = (b.weights[b.matrix(n, 2, gates * HIDDEN * m, *rest)] for n, m, rest in (
        ("w", 1, [WIDTH]), ("r", 1, [HIDDEN]), ("bias", 2, [])))
    peepholes = b.weights[b.matrix("p", 2, 3 * HIDDEN)]
    for array in (w, r, bias):
        array *= 0.4
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    more = [*states, "p"] if kind == "LSTM" else states
    activations = {"activations": ["Tanh", "Tanh"]} if kind == "RNN" else {}
    count = 1 + len(states)
    outputs = [*b.op(kind, ["x", "w", "r", "bias", "lengths", *more], count, hidden_size=HIDDEN,
                     direction="bidirectional", **activations),
               *b.op(kind, ["x", "w0", "r0", "", "lengths"], count, hidden_size=HIDDEN,
                     **({"activations": ["Relu"]} if kind == "RNN" else {}))]
    b.weight("w0", w[:1]), b.weight("r0", r[:1])
    b.save(path, [("x", T.FLOAT, [STEPS, "n", WIDTH]), ("lengths", T.INT32, ["n"]),
                  *((s, T.FLOAT, [2, "n", HIDDEN]) for s in states)],
           [(o, T.FLOAT, None) for o in outputs], 17)
    lengths = np.array([3, STEPS, 0, 1], np.int32)
    x = b.random.standard_normal((STEPS, 4, WIDTH)).astype(np.float32)
    given = [b.random.standard_normal((2, 4, HIDDEN)).astype(np.float32) for _ in states]
    wanted = [np.zeros((STEPS, 2, 4, HIDDEN)), *np.array(given, np.float64),
              np.zeros((STEPS, 1, 4, HIDDEN)), *np.zeros((len(states), 1, 4, HIDDEN))]

    def run(rows, d, bias, starts, seen, activation=np.tanh):
        rest = {"LSTM": [np.split(seen, 3)], "GRU": [False], "RNN": [activation]}[kind]
        f = {"LSTM": lstm, "GRU": gru, "RNN": rnn}[kind]
        return list(f(rows.astype(np.float64), w[d], r[d], bias, *starts, *rest))

    def relu(values):
        return np.maximum(values, 0)

    for i, n in enumerate(lengths):
        passes = [(0, d, d, run(x[:n, i][::-1 if d else 1], d, bias[d], [s[d, i] for s in given],
                                peepholes[d])) for d in (0, 1)]
        passes.append((count, 0, 0, run(x[:n, i], 0, 0 * bias[0], [0 * s[0, i] for s in given],
                                        0 * peepholes[0], relu)))
        for first, place, d, steps in passes:
            for t, (h, _) in enumerate(steps):
                wanted[first][n - 1 - t if d else t, place, i] = h
            for k in range(len(states) if steps else 0):
                wanted[first + 1 + k][place, i] = steps[-1][k]
    for one, other in zip(results(path, x, lengths, *given), wanted, strict=True):
        close(one, other)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_batch_in_front_and_clip(tmp_path, kind):
    """layout 1: sequences are the first dim of all but weights. What goes into an activation is
    kept within the clip; a cell is none of that."""
    b, path, clip = Builder(4), tmp_path / "m.onnx", 0.375
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    w, r, bias = (b.weights[b.matrix(n, 2, gates * HIDDEN * m, *rest)] for n, m, rest in (
        ("w", 1, [WIDTH]), ("r", 1, [HIDDEN]), ("bias", 2, [])))
    states = ["h", "c"] if kind == "LSTM" else ["h"]
    outputs = b.op(kind, ["x", "w", "r", "bias", "lengths", *states], 1 + len(states), layout=1,
                   hidden_size=HIDDEN, direction="bidirectional", clip=clip)
    b.save(path, [("x", T.FLOAT, ["n", STEPS, WIDTH]), ("lengths", T.INT32, ["n"]),
                  *((s, T.FLOAT, ["n", 2, HIDDEN]) for s in states)],
           [(o, T.FLOAT, None) for o in outputs], 17)
    lengths = np.array([2, STEPS, 4], np.int32)
    x = b.random.standard_normal((3, STEPS, WIDTH)).astype(np.float32)
    given = [b.random.standard_normal((3, 2, HIDDEN)).astype(np.float32) for _ in states]
    y, last = np.zeros((3, STEPS, 2, HIDDEN)), np.zeros((len(states), 3, 2, HIDDEN))
    for i, n in enumerate(lengths):
        for d in (0, 1):
            rows = x[i, :n][::-1 if d else 1].astype(np.float64)
            f = {"LSTM": clipped_lstm, "GRU": clipped_gru, "RNN": clipped_rnn}[kind]
            for t, made in enumerate(f(rows, w[d], r[d], bias[d], clip, *(s[i, d] for s in given))):
                y[i, n - 1 - t if d else t, d] = made[0]
            last[:, i, d] = made[:len(states)]
    for one, other in zip(results(path, x, lengths, *given), [y, *last], strict=True):
        close(one, other)


def clipped_lstm(x, w, r, bias, clip, h, c):
    for row in x:
        i, o, f, g = np.split((row @ w.T + h @ r.T + sum(np.split(bias, 2))).clip(-clip, clip), 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        yield h, c


def clipped_gru(x, w, r, bias, clip, h):
    (wz, wr, wh), (rz, rr, rh), bias = np.split(w, 3), np.split(r, 3), sum(np.split(bias, 2))
    bz, br, bh = np.split(bias, 3)
    for row in x:
        z = sigmoid((row @ wz.T + h @ rz.T + bz).clip(-clip, clip))
        reset = sigmoid((row @ wr.T + h @ rr.T + br).clip(-clip, clip))
        h = (1 - z) * np.tanh((row @ wh.T + bh + (reset * h) @ rh.T).clip(-clip, clip)) + z * h
        yield h, h


def clipped_rnn(x, w, r, bias, clip, h):
    for row in x:
        h = np.tanh((row @ w.T + h @ r.T + sum(np.split(bias, 2))).clip(-clip, clip))
        yield h, h


def test_refusals(tmp_path):
    for steps, inputs, attributes, text in [
            ("t", [], {}, "a known number of 1 to 64 steps"),
            (5, [], {"clip": 0.0}, "attribute 'clip' to be above 0, but got 0"),
            (5, [], {"layout": 2}, "attribute 'layout' to be 0 or 1, but got 2"),
            (5, [], {"activations": ["Relu", "Tanh", "Tanh"]}, "expected activations Sigmoid Tanh"),
            (5, ["", "lengths"], {}, "expected a length of each sequence, input #4"),
            (5, ["", "", "", "", "p"], {}, "peephole weights, input #7, of 12 elements")]:
        b = Builder(2)
        b.matrix("w", 1, 4 * HIDDEN, WIDTH), b.matrix("r", 1, 4 * HIDDEN, HIDDEN)
        b.matrix("p", 1, 2 * HIDDEN)
        b.rename(b.op("LSTM", ["x", "w", "r", *inputs], **attributes), "y")
        b.save(tmp_path / "m.onnx",
               [("x", T.FLOAT, [steps, "n", WIDTH]), ("lengths", T.INT32, ["n", 1])],
               [("y", T.FLOAT, None)], 17)
        assert text in refusal(tmp_path / "m.onnx")
