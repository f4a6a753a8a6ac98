"""Operators of ONNX on tensors whose sizes only a call tells, against ONNX's own evaluator."""

import subprocess

import hk
import numpy as np
import pytest
from hk import _paths

onnx = pytest.importorskip("onnx")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from test_onnx_fused import results  # noqa: E402
from test_onnx_models import Builder  # noqa: E402


def sizes(b, x):
    """Numbers that the shape of x gives, as data: of one dim, and of a polynomial."""
    shape = b.op("Shape", [x])
    rows, columns = (b.op("Gather", [shape, b.integers(i)], axis=0) for i in (0, 1))
    both = b.op("Add", [b.op("Mul", [rows, columns]), b.integers(3)])
    return rows, both


def pads(b):
    edges = b.integers(2, 0, 1, 3)
    yield b.op("Pad", ["x", edges, b.number(0.5)])
    yield b.op("Pad", ["x", edges], mode="edge")
    yield b.op("Pad", ["x", b.integers(2, 1), "", b.integers(1)], mode="reflect")
    # Over a dim of known size, and integers.
    turned = b.op("Reshape", ["x", b.integers(-1, 1, 1)])
    known = b.op("Expand", [turned, b.integers(1, 1, 3)])
    whole = b.op("Cast", [b.op("Pad", [known, b.integers(0, 0, 1, 1, 0, 2), b.number(2)])],
                 to=T.INT32)
    edge = b.weight("edge", np.array(7, np.int32))
    more = b.op("Pad", [whole, b.integers(1, 0, 0, 0, 0, 0), edge])
    yield b.op("Cast", [b.op("Reshape", [more, b.integers(-1, 6)])], to=T.FLOAT)


def triangles(b):
    yield b.op("Trilu", ["x", b.integers(1)], upper=1)
    yield b.op("Trilu", ["x"], upper=0)


def counts(b):
    rows, both = sizes(b, "x")
    scale = b.op("Sqrt", [b.op("Cast", [both], to=T.FLOAT)])
    yield b.op("Div", ["x", scale])
    several = b.op("Cast", [b.op("Concat", [rows, both, b.integers(7)], axis=0)], to=T.FLOAT)
    yield b.op("Add", [b.op("ReduceSum", [several], keepdims=1), "x"])


def filled(b):
    shape = b.op("Shape", ["x"])
    value = onnx.numpy_helper.from_array(np.array([2.5], np.float32))
    yield b.op("Mul", ["x", b.op("ConstantOfShape", [shape], value=value)])


def products(b):
    weight = b.matrix("w", 5, 6)
    outer = b.op("Einsum", ["x", weight], equation="ij,kl->kjil")
    yield b.op("ReduceSum", [outer, b.integers(0, 3)], keepdims=0)
    yield b.op("Einsum", ["x", "x"], equation="ij,kj->ki")
    yield b.op("Einsum", ["x", "x"], equation="ij, ij -> ji")


def joined(b):
    """Elements at row * columns + column of a matrix whose rows are joined: by row and column."""
    shape = b.op("Shape", ["x"])
    rows, columns = (b.op("Gather", [shape, b.integers(i)], axis=0) for i in (0, 1))
    none = b.weight("none", np.array(0, np.int64))
    one = b.weight("one", np.array(1, np.int64))
    row, column = (b.op("Range", [none, b.op("Squeeze", [n]), one]) for n in (rows, columns))
    place = b.op("Add", [b.op("Mul", [b.op("Unsqueeze", [row, b.integers(1)]), columns]), column])
    flat = b.op("Reshape", ["x", b.integers(-1)])
    yield b.op("Gather", [flat, place], axis=0)
    # Columns counted by rows: no place of the matrix, but an index of the row all the same.
    other = b.op("Add", [b.op("Mul", [b.op("Unsqueeze", [column, b.integers(1)]), rows]), row])
    yield b.op("Gather", [flat, other], axis=0)


def rows(b):
    """Means, norms and other forms along a dim of any size; one row for all, indices from the
    end."""
    image = b.op("Unsqueeze", ["x", b.integers(1)])
    norm = b.op("InstanceNormalization", [image, b.weight("s", np.array([1.5], np.float32)),
                                          b.weight("t", np.array([0.5], np.float32))])
    yield b.op("Squeeze", [norm, b.integers(1)])
    yield b.op("Sub", ["x", b.op("ReduceMean", ["x", b.integers(1)])])
    yield b.op("ReduceLogSumExp", ["x", b.integers(1)])
    yield b.op("Gather", ["x", b.integers(-1, 0)], axis=1)
    shape = b.op("Shape", ["x"])
    one = b.op("Reshape", [b.matrix("line", 1, 6), b.integers(1, 6)])
    repeats = b.op("Concat", [b.op("Gather", [shape, b.integers(0)]), b.integers(1)], axis=0)
    turned = b.op("Slice", [b.op("Tile", [one, repeats]), b.integers(5), b.integers(-7),
                            b.integers(1), b.integers(-2)])
    yield b.op("Add", [turned, b.op("ReduceMax", ["x", b.integers(1)])])


@pytest.mark.parametrize("graph", [pads, triangles, counts, filled, products, joined, rows])
def test_open_sizes(tmp_path, graph):
    b = Builder(3)
    outputs = [b.op("Identity", [name]) for name in graph(b)]
    path = tmp_path / "f.onnx"
    model = b.save(path, [("x", T.FLOAT, ["rows", "columns"])],
                   [(o, T.FLOAT, [None, None]) for o in outputs], 18)
    mlir = path.with_suffix(".mlir")
    subprocess.run([_paths.tool("hk-import"), path, "-o", mlir], check=True)
    if graph is joined:
        assert mlir.read_text().count("hk.gather_elements") == 1
    weights = mlir.with_suffix(".safetensors")
    function = hk.load(hk.compile(mlir, weights=weights if weights.exists() else None), threads=2).f
    for shape in ((4, 5), (7, 3), (3, 40)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        expected = ReferenceEvaluator(model).run(None, {"x": x})
        results = function(x=x)
        for got, wanted in zip(results if len(outputs) > 1 else [results[0]], expected,
                               strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-6, atol=2e-6)


def test_pads_below_zero(tmp_path):
    """They cut off, which ONNX's evaluator does not do."""
    b = Builder(3)
    path = tmp_path / "f.onnx"
    b.rename(b.op("Pad", ["x", b.integers(0, -1, 2, -2)]), "y")
    b.save(path, [("x", T.FLOAT, ["rows", "columns"])], [("y", T.FLOAT, [None, None])], 18)
    mlir = path.with_suffix(".mlir")
    subprocess.run([_paths.tool("hk-import"), path, "-o", mlir], check=True)
    x = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)
    result = hk.run_reference(mlir, [x], function="f")[0].values
    np.testing.assert_array_equal(result, np.pad(x[:, 1:-2], ((0, 2), (0, 0))))


@pytest.mark.parametrize(("columns", "wanted"), [(1, lambda x, w: -(x + w)[:, 0]),
                                                 (3, lambda x, w: x + w + 1)])
def test_branches_that_shapes_choose(tmp_path, columns, wanted):
    """As torch's exporter writes a squeeze of a dim that may be 1: the branch's nodes read values
    and weights of the graph, and the other branch's are not looked at."""
    b, path = Builder(6), tmp_path / "m.onnx"
    x = b.op("Add", ["x", b.matrix("w", columns)])
    size = b.op("Gather", [b.op("Shape", [x]), b.integers(1)])
    once = b.op("Reshape", [b.op("Equal", [size, b.integers(1)]), b.integers(1)])
    one = numpy_helper.from_array(np.array([1], np.int64), "one")
    real = numpy_helper.from_array(np.array(1, np.float32), "plus")

    def branch(nodes, result, *numbers):
        return helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info(
            result, T.FLOAT, None)], list(numbers))

    inner = branch([helper.make_node("Neg", ["squeezed"], ["n"])], "n")
    never = branch([helper.make_node("NonZero", [x], ["zero"])], "zero")
    nested = helper.make_node("If", [once], ["m"], then_branch=inner, else_branch=never)
    b.nodes.append(helper.make_node(
        "If", [once], ["y"],
        then_branch=branch([helper.make_node("Squeeze", [x, "one"], ["squeezed"]), nested], "m", one),
        else_branch=branch([helper.make_node("Add", [x, "plus"], ["sum"])], "sum", real)))
    b.save(path, [("x", T.FLOAT, ["n", columns])], [("y", T.FLOAT, None)], 18)
    given = b.random.standard_normal((2, columns)).astype(np.float32)
    got, = results(path, given)
    np.testing.assert_array_equal(got, wanted(given, b.weights["w"]))
