"""A floor of the vector instructions of row-wise kernels, from their definition.

    rowwise_need.py --counts=FILE.json... --libraries=FOLDER --build=build/release

FILE.json is what rowwise_valu.py --json wrote, for one chip or both. For each main or narrow kernel above
85 % (LIMIT) on a chip the operators of its spec are counted by COSTS: lane instructions of an element that
give the bits that hk promises (the formulas of kernels/device/math.h, quotients.h, quant.h and mx.h, whose
results tests pin), one for two where the chip has packed f32, four for a transcendental one. Elements in
memory cost what turns them into f32 and back (READ, WRITE). Nothing is counted for tables and weights, which
all rows share, addresses, bounds, loops, exchanges between lanes, NaN in conversions, and what a row or a
group does once. So the code of a kernel cannot take less unless another formula with the same bits is found.

Of each kernel, named by a function that has it, the share (rowwise_valu.py), and in lane instructions a
byte its code, the arithmetic of the code (rowwise_floor.py) and the floor are said, and the share that the
floor is: at 0.85 or above the kernel cannot go below the limit. Nothing here is a measurement.
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
from rowwise_floor import arithmetic_of  # noqa: E402
from rowwise_valu import CHIPS, LIMIT  # noqa: E402

BITS = {"f32": 32, "i32": 32, "i64": 64, "bf16": 16, "f16": 16, "i16": 16, "i8": 8, "i1": 8, "f8E8M0FNU": 8}
#: Lane instructions that bring an element of a dtype from memory into f32, gfx942 and gfx950: a shift
#: or a mask, a conversion, a conversion of two.
READ = {"bf16": (1, 1), "f16": (1, 1), "i8": (1, 1), "f8E8M0": (0, 0), "f8": (0.5, 0.5), "f4": (1.5, 0.5)}
#: And back. bf16 on gfx942: three packed instructions that round two, and one that joins them. fp4
#: there: three roundings of two, the least of three, a sign, a place in the word.
WRITE = {"bf16": (2, 0.5), "f16": (1, 0.5), "i8": (1, 1), "f8E8M0": (0, 0), "f8": (0.5, 0.5), "f4": (4.5, 0.5)}
#: What a rounding to 16 bits in between costs, with what makes it f32 again.
ROUND = {"bf16": (2, 1.5), "f16": (2, 1.5)}
#: By operator, for an element of the widest operand or result; two numbers: gfx942 and gfx950.
#: Power: its product with log2 e, the chip's, what rounding lacks (two fma). Where powers have a range, a
#: square and half of a maximum of three find what lies beyond (RANGE).
EXP, RECIPROCAL, RANGE = 5.5, 4, 1
#: Magnitude's limit, square, polynomial of five with its product and sum, power, half sum, reciprocal,
#: difference, choice and sign.
TANH = 1 + 0.5 + 3 + EXP - 0.5 + 1 + RECIPROCAL + 0.5 + 2 + 1
#: Limit, square, two polynomials of six, power, difference, choice, sign.
ERF = 1 + 0.5 + 3 + 3 + EXP + 0.5 + 2 + 1
#: Exponent and mantissa in four, a polynomial of eight, three sums; the range of two comparisons.
LOG = 4 + 0.5 + 5.5 + 1.5 + 1
#: Two roundings to multiples of pi / 2, five fma, a limit, two polynomials and a conversion; then a choice
#: of three, a sign of two and NaN. The other of an angle shares all but the choice.
SIN, OTHER_OF_ANGLE = 19.5, 6
#: A quotient by what neighbours share: its product and two exact remainders, correctly rounded; by a scale
#: of f8E8M0FNU, which is a power of two, a product.
QUOTIENT, BY_POWER = 2.5, 0.5
COSTS = {
    "add": 0.5, "sub": 0.5, "mul": 0.5, "neg": 0, "abs": 0, "square": 0.5, "div": RECIPROCAL + QUOTIENT, "max": 0.5, "min": 0.5,
    "relu": 0.5, "compare": 1, "select": 1, "exp": EXP + RANGE, "exp2": 4, "log": LOG, "log2": LOG + 2.5, "log1p": LOG + 7,
    "softplus": EXP + LOG + 9, "sigmoid": EXP + RANGE + 0.5 + RECIPROCAL, "silu": EXP + RANGE + 1 + RECIPROCAL, "tanh": TANH,
    "gelu": ERF + 2, "gelu_tanh": TANH + 4, "erf": ERF, "sin": SIN, "cos": SIN, "sqrt": 6, "rsqrt": RECIPROCAL + 5, "reduce": 0.5,
    "rms_norm": 1.5, "layer_norm": 3, "l2_norm": 1, "softmax": EXP + 3.5, "rope": 1.5,
    "quantize": 2, "quantize_static": 2, "quantize_mx": (1, 0.5), "dequantize": (0.5, 0), "reencode": 0.5,
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


def repeated_inputs(text):
    """By kernel: the numbers of inputs that are an earlier one in another shape."""
    source = dict(re.findall(r"(%\w+) = memref\.(?:expand_shape|collapse_shape|cast) (%\w+)", text))
    found = {}
    for name, inputs in re.findall(r"hk\.launch @(\S+) +ins\(([^:)]*)", text):
        bases = re.findall(r"%\w+", inputs)
        for number, base in enumerate(bases):
            while base in source:
                base = source[base]
            bases[number] = base
        found.setdefault(name, {n for n, base in enumerate(bases) if base in bases[:n]})
    return found


def kernels_of(text):
    """The arguments and operators of each kernel's spec: name -> inputs, arguments (None: one that is
    there already), lines."""
    found, repeated = {}, repeated_inputs(text)
    for match in re.finditer(r"hk\.kernel @(\S+) +rowwise inputs (\d+).*?\^bb0\((.*?)\):\n(.*?)\n +}", text, re.S):
        arguments = list(tensors_of(match[3]))
        for number in repeated.get(match[1], ()):
            arguments[number] = None
        found[match[1]] = int(match[2]), arguments, match[4].splitlines()
    return found


def cost_of_operator(name, types, chip):
    """Elements and lane instructions of each, of an operator with these types."""
    tensors = list(tensors_of(types))
    cost = COSTS[name]
    elements = [e for e, _, shared in tensors if not shared] or [e for e, _, _ in tensors] or [0]
    # A divisor that many share.
    if name == "div" and len(elements) > 1 and elements[1] < elements[0]:
        cost = QUOTIENT
    return max(elements), cost[chip != "gfx942"] if isinstance(cost, tuple) else cost


def powers_of(lines):
    """Names of values that are scales of f8E8M0FNU in another type or shape."""
    found = set()
    for line in lines:
        name = re.match(r"\s*(%\w+) = (?:hk\.cast|tensor\.\w+) (%\w+)", line)
        if name and (name[2] in found or re.search(r"hk\.cast .*f8E8M0FNU> ->", line)):
            found.add(name[1])
    return found


def angles_needed(table, types, text):
    """Of a table of angles: those of each token once, whatever its heads are; None of another one."""
    rope = re.search(rf"hk\.rope .*{table}\b.*? : tensor<([?\d]+)x", text)
    width = re.search(r"x(\d+)x\w+>$", types.strip())
    if not rope or not width:
        return None
    return int(width[1]) * (DYNAMIC if rope[1] == "?" else int(rope[1]))


def needed(kernel, chip):
    """Lane instructions and bytes of a kernel."""
    inputs, arguments, lines = kernel
    static = all(argument[2] for argument in arguments if argument)
    text = "\n".join(lines)
    # The chip converts bf16 and f16 with a block's scale as they lie in memory, and to them.
    scaled = chip == "gfx950" and re.search(r"hk\.(quantize_mx|dequantize)", text)
    count, size = 0, 0
    for number, argument in enumerate(arguments):
        elements, dtype, shared = argument or (0, "", True)
        if not elements or (shared and not static):
            continue
        size += elements * bits_of(dtype) / 8
        free = scaled and dtype in ("bf16", "f16") and len(re.findall(r"hk\.\w+", text)) <= 2
        count += 0 if free else elements * cost_of(READ if number < inputs else WRITE, dtype, chip)
    yielded = set(re.findall(r"%\w+", next((line for line in lines if "hk.yield" in line), "")))
    angles, powers = set(), powers_of(lines)
    for line in lines:
        if not (op := re.search(r"hk\.(\w+)", line)) or op[1] not in (*COSTS, "gated_activation"):
            continue
        types = line.split(" : ", 1)[1] if " : " in line else ""
        tensors = list(tensors_of(types))
        if op[1] == "gated_activation":
            gate = re.search(r"gated_activation +(\w+)", line)[1]
            elements, cost = tensors[-1][0] // (1 if "->" in types else 2), COSTS[GATES.get(gate, "silu")] + 0.5
        else:
            elements, cost = cost_of_operator(op[1], types, chip)
        if op[1] in ("sin", "cos"):
            elements = angles_needed(re.match(r"\s*(%\w+)", line)[1], types, text) or elements
            angle = re.search(r"hk\.\w+ (%\w+)", line)[1]
            cost = OTHER_OF_ANGLE if angle in angles else cost
            angles.add(angle)
        divisor = re.search(r"hk\.div %\w+, (%\w+)", line)
        if divisor and divisor[1] in powers:
            cost = BY_POWER
        count += elements * cost
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


def cells_of(line, need, part):
    """The columns of a chip, and the share that the floor is."""
    count, size = need
    units, clock, bandwidth = CHIPS[line["chip"]]
    floor = count / size if size else 0
    share, code = floor / (64 * units * clock / bandwidth), line["lane_instructions_per_byte"]
    return f"{line['share']:.2f} | {code:.1f} / {part * code:.1f} / {floor:.1f} | {share:.2f}", share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--libraries", type=pathlib.Path, required=True, help="as for rowwise_valu.py")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    use_build(options.build.resolve())
    lines = [json.loads(text) for path in options.counts for text in path.read_text().splitlines()]
    lines = [r for r in lines if r["class"] in ("main", "narrow") and r["share"] > LIMIT]
    parts, known, rows = arithmetic_of(lines, options.libraries), {}, {}
    for line in sorted(lines, key=lambda r: -r["share"]):
        chip, module = line["chip"], line["module"]
        if (chip, module) not in known:
            known[chip, module] = described(module, chip, options.libraries)
        need = known[chip, module].get(line["symbol"], (0, 0))
        rows.setdefault((module, line["function"]), {})[chip] = cells_of(line, need, parts[chip, module, line["symbol"]])
    # Groups: below the limit on no chip that is above it, on one, on both.
    groups = {"cannot go below": [], "above by what is around": []}
    for name, cells in rows.items():
        group = "cannot go below" if all(floor >= LIMIT for _, floor in cells.values()) else "above by what is around"
        groups[group].append(f"| {' '.join(name)} | " + " | ".join(cells.get(chip, ("- | - | -",))[0] for chip in CHIPS) + " |")
    for group, texts in groups.items():
        print(f"\n{group}: {len(texts)}\n")
        print("| kernel | " + " | ".join(f"{chip}: share | code / arithmetic / floor | share of the floor" for chip in CHIPS) + " |")
        print("|---" * 7 + "|\n" + "\n".join(texts))
    for chip in CHIPS:
        mine = [cells[chip][1] for cells in rows.values() if chip in cells]
        print(f"\n{chip}: {len(mine)} above {LIMIT:.0%}, of which {sum(floor >= LIMIT for floor in mine)} cannot go below")


if __name__ == "__main__":
    main()
