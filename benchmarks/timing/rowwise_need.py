"""How many vector instructions the definition of a row-wise kernel needs, beside its budget.

    rowwise_need.py --counts=FILE.json --libraries=FOLDER --build=build/release [--class=main]

FILE.json is what rowwise_valu.py --json wrote. For each main kernel above 85 % (LIMIT) the operators
of its spec are counted by COSTS: lane instructions of an element that no code for the chip does
without, as far as known: one for two where the chip has packed arithmetic, four for a
transcendental one. Elements in memory cost what turns them into f32 and back (READ, WRITE);
tables and weights, which all rows share, cost nothing, nor do addresses, bounds, exchanges between
lanes, NaN, and what a row or a group does once. So it is a lower bound from the definition, not
from our code. The budget is what the bytes of the kernel's tensors take at peak bandwidth, times
85 %.

Of each kernel, named by a function that has it, what its code takes and what is needed are said, in
lane instructions a byte; a star says that what is needed is above the budget. Nothing here is a
measurement.
"""
import argparse
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test"), str(ROOT / "test/Families/Inputs"), str(ROOT / "benchmarks/timing")]
import module_calls  # noqa: E402
from budget import use_build  # noqa: E402
from objects import output  # noqa: E402
from rowwise_valu import CHIPS, LIMIT  # noqa: E402

BITS = {"f32": 32, "i32": 32, "i64": 64, "bf16": 16, "f16": 16, "i16": 16, "i8": 8, "i1": 8, "f8E8M0FNU": 8}
#: Lane instructions that bring an element of a dtype from memory into f32, gfx942 and gfx950: a shift
#: or a mask, a conversion, a conversion of two.
READ = {"bf16": (1, 1), "f16": (1, 1), "i8": (1, 1), "f8": (0.5, 0.5), "f4": (1.5, 0.5)}
#: And back. bf16 on gfx942: three packed instructions that round two, and one that joins them. fp4
#: there: three roundings of two, the least of three, a sign, a place in the word.
WRITE = {"bf16": (2, 0.5), "f16": (1, 1), "i8": (1, 1), "f8": (0.5, 0.5), "f4": (4.5, 0.5)}
#: What a rounding to 16 bits in between costs, with what makes it f32 again.
ROUND = {"bf16": (1.5, 1.5), "f16": (2, 2)}
#: By operator, for an element of the widest operand or result; two numbers: gfx942 and gfx950. exp: the
#: product, its rest twice, the power, which is transcendental, and its exponent.
EXP, RECIPROCAL = 6, 4
COSTS = {
    "add": 0.5, "sub": 0.5, "mul": 0.5, "neg": 0.5, "abs": 0.5, "square": 0.5, "div": RECIPROCAL + 1.5, "max": 0.5, "min": 0.5,
    "relu": 0.5, "compare": 1, "select": 1, "exp": EXP, "exp2": EXP - 1, "log": 8, "log2": 8, "log1p": 10, "softplus": EXP + 10,
    "sigmoid": EXP + 0.5 + RECIPROCAL, "silu": EXP + 1 + RECIPROCAL, "tanh": EXP + 2 + RECIPROCAL, "gelu": EXP + 7,
    "gelu_tanh": EXP + 4 + RECIPROCAL, "erf": EXP + 5, "sin": 7, "cos": 7, "sqrt": 6, "rsqrt": 6, "reduce": 0.5,
    "rms_norm": 1.5, "layer_norm": 2, "l2_norm": 1, "softmax": EXP + 2, "rope": 1.5,
    "quantize": (2.5, 2), "quantize_static": 2.5, "quantize_mx": (1.5, 1), "dequantize": 0.5, "reencode": 0.5,
    "sum_slices": 0.5, "attention_combine": 1, "cumsum": 1,
}
GATES = {"silu": "silu", "gelu": "gelu", "gelu_tanh": "gelu_tanh", "relu": "relu", "sigmoid": "sigmoid", "swiglu_oai": "sigmoid"}
#: What a dynamic size is taken to be.
DYNAMIC = 32


def tensors_of(text):
    """Elements, dtype and whether rows share it, of each tensor type in a text."""
    for match in re.finditer(r"tensor<((?:[?\d]+x)*)(\w+)>", text):
        sizes = match[1].split("x")[:-1]
        elements = 1
        for size in sizes:
            elements *= DYNAMIC if size == "?" else int(size)
        yield elements, match[2], "?" not in sizes


def bits_of(dtype):
    return BITS.get(dtype, 4 if dtype.startswith(("f4", "i4", "ui4")) else 8)


def cost_of(table, dtype, chip):
    found = next((value for name, value in table.items() if dtype.startswith(name)), (0, 0))
    return found[chip != "gfx942"]


def kernels_of(text):
    """The arguments and operators of each kernel's spec: name -> inputs, arguments, lines."""
    found = {}
    for match in re.finditer(r"hk\.kernel @(\S+) +rowwise inputs (\d+).*?\^bb0\((.*?)\):\n(.*?)\n +}", text, re.S):
        found[match[1]] = int(match[2]), list(tensors_of(match[3])), match[4].splitlines()
    return found


def needed(kernel, chip):
    """Lane instructions and bytes of a kernel."""
    inputs, arguments, lines = kernel
    static = all(shared for _, _, shared in arguments)
    count, size = 0, 0
    for number, (elements, dtype, shared) in enumerate(arguments):
        if shared and not static:
            continue
        size += elements * bits_of(dtype) / 8
        count += elements * cost_of(READ if number < inputs else WRITE, dtype, chip)
    yielded = set(re.findall(r"%\w+", next((line for line in lines if "hk.yield" in line), "")))
    for line in lines:
        if not (op := re.search(r"hk\.(\w+)", line)) or op[1] not in (*COSTS, "gated_activation"):
            continue
        types = line.split(" : ", 1)[1] if " : " in line else ""
        tensors = list(tensors_of(types))
        if op[1] == "gated_activation":
            gate = re.search(r"gated_activation +(\w+)", line)[1]
            elements, cost = tensors[-1][0] // (1 if "->" in types else 2), COSTS[GATES.get(gate, "silu")] + 0.5
        else:
            elements, cost = max((e for e, _, shared in tensors if static or not shared), default=0), COSTS[op[1]]
        count += elements * (cost[chip != "gfx942"] if isinstance(cost, tuple) else cost)
        result = re.match(r"\s*(%\w+)", line)
        if result and tensors and result[1] not in yielded:
            count += elements * cost_of(ROUND, tensors[-1][1], chip)
    return count, size


def described(module, chip, libraries):
    """By symbol of a module's row-wise kernels: what they need."""
    source = ROOT / f"test/Modules/{module}.mlir"
    options = [o for line in module_calls.directives(source)["COMPILE"] for o in line.split()]
    specs = kernels_of(output("hk-compile", str(source), f"--target={chip}", "--emit=mlir", "-o", "-", *options))
    listed = json.loads(output("hk-run", f"{libraries}/{module}.{chip}.so", "--info"))
    return {v["symbol"]: needed(specs[k["name"]], chip) for k in listed["sections"][0]["kernels"] if k["name"] in specs
            for v in k["variants"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=pathlib.Path, required=True)
    parser.add_argument("--libraries", type=pathlib.Path, required=True, help="as for rowwise_valu.py")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--class", dest="cls", default="main")
    options = parser.parse_args()
    use_build(options.build.resolve())
    lines = [json.loads(text) for text in options.counts.read_text().splitlines()]
    lines = [r for r in lines if r["class"] == options.cls and r["share"] > LIMIT]
    by_definition, missing, known, rows = 0, 0, {}, {}
    for line in sorted(lines, key=lambda r: (r["chip"], r["module"], -r["share"])):
        chip, module = line["chip"], line["module"]
        units, clock, bandwidth = CHIPS[chip]
        if (chip, module) not in known:
            known[chip, module] = described(module, chip, options.libraries)
        count, size = known[chip, module].get(line["symbol"], (0, 0))
        missing += not size
        if not size:
            continue
        budget = LIMIT * 64 * units * clock / bandwidth
        above = count / size > budget
        by_definition += above
        rows.setdefault((chip, budget), {}).setdefault(module, []).append(
            f"{line['function']} {line['lane_instructions_per_byte']:.1f} / {count / size:.1f}{'*' if above else ''}")
    for (chip, budget), modules in rows.items():
        print(f"| {chip}, budget {budget:.1f} | code / needed |\n|---|---|")
        for module, kernels in modules.items():
            print(f"| {module} | {', '.join(kernels)} |")
        print()
    print(f"{len(lines)} kernels above {LIMIT:.0%}: {by_definition} by definition, {missing} not found.")


if __name__ == "__main__":
    main()
