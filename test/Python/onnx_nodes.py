"""Node tests of the onnx package through hk-import.

Only those of operators in hk-import's table, without the tests of functions that the package
expands. What ONNX gives as an input of the graph and hk-import takes as numbers of the file
(axes, shapes, k) becomes an initializer. So does uint8, which no function of hk takes or
returns; results of it are cast to int32.
"""

import importlib
import pkgutil
import re
import subprocess
import typing
import warnings

import numpy as np
import onnx
from hk import _paths
from onnx import numpy_helper

# Inputs that hk-import wants known.
NUMBERS = {"Reshape": [1], "Squeeze": [1], "Unsqueeze": [1], "Slice": [1, 2, 3, 4], "Split": [1],
           "Expand": [1], "Tile": [1], "TopK": [1], "CumSum": [1], "Pow": [1], "Range": [0, 1, 2],
           "ConstantOfShape": [0], "Dropout": [1, 2], "ReduceSum": [1], "ReduceMax": [1],
           "ReduceMin": [1], "ReduceMean": [1], "ReduceSumSquare": [1], "ReduceL1": [1],
           "ReduceL2": [1], "Resize": [1, 2, 3], "Pad": [1, 2, 3], "Trilu": [1],
           "ReduceLogSumExp": [1], "ReduceLogSum": [1], "OneHot": [1]}
# Two roundings of a type (attention rounds its weights, too) beside the package's evaluation.
ROUNDING = {"float16": 2.0 ** -9, "bfloat16": 2.0 ** -6}


class Case(typing.NamedTuple):
    """A test of the package: arrays by input, expected arrays in order of outputs."""

    name: str
    model: onnx.ModelProto
    inputs: dict
    outputs: list
    rtol: float
    atol: float


def table() -> list[list[str]]:
    """Rows of hk-import's table of operators: domain, name, opset, remark."""
    text = subprocess.run([_paths.tool("hk-import"), "--list-operators"], capture_output=True,
                          text=True, check=True).stdout
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:]]


def collect() -> list[Case]:
    """The cases, sorted by name."""
    names = {row[1] for row in table() if row[0] == "ai.onnx"}
    from onnx.backend.test.case import node as package

    wanted = {name.lower() for name in names} | {"hyperbolics"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in pkgutil.iter_modules(package.__path__):
            if found.name.replace("_", "") in wanted:
                importlib.import_module(f"{package.__name__}.{found.name}")
    cases = {}
    for case in package._NodeTestCases:
        operators = {node.op_type for node in case.model.graph.node}
        if operators <= names and "_expanded" not in case.name:
            cases[case.name] = _known(case)
    return [cases[name] for name in sorted(cases)]


def _known(case: typing.Any) -> Case:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    # Types that NumPy lacks come as messages.
    inputs, outputs = ([numpy_helper.to_array(a) if isinstance(a, onnx.TensorProto) else a
                        for a in arrays] for arrays in case.data_sets[0])
    arrays = {v.name: a for v, a in zip(model.graph.input, inputs, strict=False)}
    bound = {node.input[i] for node in model.graph.node for i in NUMBERS.get(node.op_type, ())
             if i < len(node.input) and node.input[i]}
    bound |= {name for name, a in arrays.items() if np.asarray(a).dtype == np.uint8}
    if not set(arrays) <= bound:  # A function has an argument.
        for name in sorted(bound & set(arrays)):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(arrays[name]), name))
    for output in model.graph.output:
        if output.type.tensor_type.elem_type == onnx.TensorProto.UINT8:
            model.graph.node.append(onnx.helper.make_node("Cast", [output.name],
                                                          [f"{output.name}_int32"],
                                                          to=onnx.TensorProto.INT32))
            output.name += "_int32"
            output.type.tensor_type.elem_type = onnx.TensorProto.INT32
    return Case(case.name, model, arrays, list(outputs), case.rtol, case.atol)


def tolerance(case: Case, expected: np.ndarray) -> dict:
    """The package's tolerance, or two roundings of a narrow type where that is more."""
    return {"rtol": max(case.rtol, ROUNDING.get(expected.dtype.name, 0)), "atol": case.atol}


def reason(error: str) -> str:
    """What hk-import says of a node, without the file and the node's name."""
    text = error.strip().splitlines()[0]
    return re.sub(r"^.*?error: ", "", text)
