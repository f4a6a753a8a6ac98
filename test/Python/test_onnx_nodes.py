"""ONNX's node tests: which pass, which are refused and why, is pinned in onnx_nodes.txt.

All are imported and evaluated by the interpreter; the first case of every operator is also
compiled and run on the host. HK_UPDATE_ONNX_NODES=1 writes the list anew.
"""

import concurrent.futures
import os
import pathlib
import subprocess

import hk
import numpy as np
import pytest
from hk import _paths

onnx = pytest.importorskip("onnx")
import onnx_nodes  # noqa: E402

PINNED = pathlib.Path(__file__).parent / "onnx_nodes.txt"


@pytest.fixture(scope="module")
def cases():
    return {case.name: case for case in onnx_nodes.collect()}


def arguments(model, function, case):
    """Arrays for a function's arguments, which have the names of the graph's inputs."""
    text = model.read_text()
    head = text[text.index(f"@{function}("):].split("\n", 1)[0].split(") -> ")[0]
    return [np.asarray(case.inputs[piece.split('"')[0]]) for piece in head.split('hk.name = "')[1:]]


def imported(case, folder):
    """The graph of a case, or why it is refused."""
    model = folder / f"{case.name}.onnx"
    onnx.save(case.model, model)
    done = subprocess.run([_paths.tool("hk-import"), model, "-o", model.with_suffix(".mlir"),
                           f"--function={case.name}"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), f"{case.name}: ended with {done.returncode}"
    return None if done.returncode == 0 else onnx_nodes.reason(done.stderr)


def outcome(case, folder):
    refused = imported(case, folder)
    if refused:
        return f"refused: {refused}"
    model = folder / f"{case.name}.mlir"
    weights = model.with_suffix(".safetensors")
    results = hk.run_reference(model, [numeric(a) for a in arguments(model, case.name, case)],
                               function=case.name, weights=weights if weights.exists() else None)
    for result, expected in zip(results, case.outputs, strict=True):
        expected = np.asarray(expected)
        np.testing.assert_allclose(result.values, expected.astype(np.float64), err_msg=case.name,
                                   **onnx_nodes.tolerance(case, expected))
    return "pass"


def numeric(array):
    """Types that NumPy lacks, as numbers."""
    known = array.dtype.isbuiltin == 1 and array.dtype.kind in "fib"
    return array if known else array.astype(np.float32)


def test_outcomes(cases, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(cases, pool.map(lambda c: outcome(c, tmp_path), cases.values()),
                         strict=True))
    lines = [f"{name}: {text}" for name, text in found.items()]
    if os.environ.get("HK_UPDATE_ONNX_NODES"):
        PINNED.write_text("\n".join(lines) + "\n")
    assert lines == PINNED.read_text().splitlines()


def first_of_each(cases):
    """The first case of every operator that passes with one or more results of NumPy's types."""
    passed = {line.split(": ")[0] for line in PINNED.read_text().splitlines()
              if line.endswith(": pass")}
    chosen = {}
    for name, case in cases.items():
        operator = case.model.graph.node[-1].op_type
        known = all(np.asarray(o).dtype.isbuiltin == 1 for o in case.outputs)
        if name in passed and operator not in chosen and case.inputs and known:
            chosen[operator] = case
    return chosen.values()


def test_compiled(cases, tmp_path):
    chosen = list(first_of_each(cases))
    assert len(chosen) > 60
    models = []
    for case in chosen:
        models.append(tmp_path / f"{case.name}.onnx")
        onnx.save(case.model, models[-1])
    mlir = tmp_path / "all.mlir"
    subprocess.run([_paths.tool("hk-import"), *models, "-o", mlir], check=True)
    weights = mlir.with_suffix(".safetensors")
    module = hk.load(hk.compile(mlir, weights=weights if weights.exists() else None), threads=2)
    for case in chosen:
        results = module[case.name](*(np.asarray(a, order="C") for a in
                                      arguments(mlir, case.name, case)))
        for result, expected in zip(results, case.outputs, strict=True):
            expected = np.asarray(expected)
            np.testing.assert_allclose(np.asarray(result.numpy(), np.float64),
                                       expected.astype(np.float64), err_msg=case.name,
                                       **onnx_nodes.tolerance(case, expected))
