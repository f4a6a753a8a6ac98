"""What row-wise kernels ask of the vector units beside what they ask of memory, modelled.

    rowwise_valu.py --build=build/release [--chip=gfx942] [--only=EXPRESSION] [--json=FILE]
    rowwise_valu.py --build=build/release --known=BEFORE.json --known-libraries=FOLDER ...
    rowwise_valu.py --table=AFTER.json [--before=BEFORE.json]
    rowwise_valu.py --build=build/release --check=AFTER.json

The share of a kernel is the time that the vector units need to issue its instructions over the
time that its bytes take at the peak bandwidth of the chip; above 85 % (LIMIT) the memory waits
for the vector units. Every function of test/Modules is called in the emulator with R and 2 R
rows, R such that blocks are full, and the difference counts: issue clocks of the vector units (4 for an instruction of a
wave, packed f32 too, 16 for a transcendental one), and distinct bytes read or written, so that
weights and tables that all rows read do not count. So a share is that of a launch with as many rows
as it takes for bytes to bound it. Functions whose sizes cannot be doubled, or are static, are counted
whole, in their largest case.

Not meant, and shown apart: selections (a row of scores is a few hundred bytes and its time is
latency), small kernels, which move less than SMALL bytes whatever the call, a fifth of a microsecond
where a launch takes several, and narrow kernels, whose threads move less than 4 bytes at a time
because rows have an odd length or stride or are a few elements long.

--known: a module whose row-wise kernels and calls are what they were in that count, instruction by
instruction, is not run again; its lines are taken over.

--check asks the timing model for kernels of AFTER.json on grids that fill the chip: where the
share is above 1 the model's clocks must be bound by vector issue, and agree.
"""
import argparse
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test"), str(ROOT / "test/Families/Inputs")]
import module_calls  # noqa: E402
from budget import use_build  # noqa: E402
from objects import kernels_of_library, output  # noqa: E402

LIMIT = 0.85
#: Compute units, clock in Hz and peak bytes a second: MI325X and MI355X (docs/emulator.md).
CHIPS = {"gfx942": (304, 2.1e9, 6.0e12), "gfx950": (256, 2.4e9, 8.0e12)}
SELECTIONS = ("topk", "group_limit", "bitmatrix")
CLASSES = ("main", "narrow", "selection", "small")
#: Arguments of one f32 that are positive in every use, bounds of scales and scales: random ones may
#: be negative, and then the kernel takes the way for what is no scale.
BOUNDS, BOUND = ("ub", "scale", "s", "xs", "ws", "qs", "ks", "vs", "k_scale", "v_scale"), 3.0
#: Kernels that are only for positive numbers: of normal ones half take the way for what has no logarithm.
LOGARITHMS = ("log", "log2")
#: Bytes of a launch of static sizes.
SMALL = 1 << 20
#: More rows than any chip has compute units, and rows beyond which a call takes too long.
MANY_ROWS, MOST_ROWS = 320, 1024
#: Threads of a block beyond which it is a large one (RowVariants.cpp).
USUAL_THREADS = 256


def share(clocks, count, chip):
    units, clock, bandwidth = CHIPS[chip]
    return clocks / (4 * units * clock) / (count / bandwidth)


def sizes_of(options):
    return {m[1]: int(m[2]) for o in options if (m := re.fullmatch(r"--dim=(.+)=(\d+)", o))}


def with_rows(options, rows, inner=False):
    """The options with the largest leading size, and what else has it, changed to `rows`; with
    `inner` also other sizes than leading ones."""
    sizes = [v for k, v in sizes_of(options).items() if inner or k.endswith(".0")]
    if not sizes or not max(sizes):
        return None
    old = max(sizes)
    changed = []
    for option in options:
        dim = r"--dim=.+=" if inner else r"--dim=.+\.0="
        match = re.fullmatch(rf"({dim}|--range=.+=(?:bounds|lengths|distinct):)(\d+)", option)
        changed.append(f"{match[1]}{rows}" if match and int(match[2]) == old else option)
    return changed


def largest_case(calls):
    """The call with most elements by its dynamic sizes."""
    def elements(options):
        product = 1
        for size in sizes_of(options).values():
            product *= size
        return product
    return max(calls, key=elements)


def counted(library, calls, chip):
    """For each of the calls what its kernels counted; None where one cannot be made."""
    with tempfile.TemporaryDirectory() as folder:
        listed, lines = f"{folder}/calls", f"{folder}/counters"
        pathlib.Path(listed).write_text("".join(" ".join(call) + "\n" for call in calls))
        done = subprocess.run(["hk-run", library, "--device=hip:0", f"--calls={listed}"], capture_output=True,
                              env=dict(os.environ, HK_EMU_CHIP=chip, HK_EMU_COUNTERS=lines))
        if done.returncode or not os.path.exists(lines):
            return None
        launches = [json.loads(line) for line in pathlib.Path(lines).read_text().splitlines()]
    # All calls are of one function, and have as many launches.
    each = len(launches) // len(calls)
    return [{launch["kernel"]: launch for launch in launches[i * each:(i + 1) * each]} for i in range(len(calls))]


def class_of(kernel, size):
    """`size`: bytes of a launch that does not grow, or None."""
    if any(word in kernel["ops"] for word in SELECTIONS):
        return "selection"
    if size is not None and size < SMALL:
        return "small"
    return "main" if kernel["widest"] >= 4 else "narrow"


def full_blocks(launches, rows, kernels):
    """A multiple of `rows` at which kernels have the variant for many rows, if more rows choose it,
    and full blocks: what a block that is half empty has to spare would seem to cost nothing."""
    for symbol in launches:
        if symbol in kernels:
            last = kernels[symbol]["last"]
            own, threads = (int(re.search(rf"{name} = (\d+)", kernels[last]["tile"])[1]) for name in ("rows", "threads"))
            # Large blocks of many rows are for as many blocks as compute units.
            if symbol != last:
                rows = max(rows, MANY_ROWS * (own if own > 1 and threads > USUAL_THREADS else 1))
            rows = math.lcm(rows, own) if math.lcm(rows, own) <= MOST_ROWS else rows + -rows % own
    return rows


def measure_function(library, function, case, chip, rows, kernels):
    """A line for each row-wise kernel of a function."""
    def with_both(rows, inner):
        more = with_rows(case, 2 * rows, inner)
        return more, counted(library, [with_rows(case, rows, inner), more], chip) if more else None

    alone = counted(library, [case], chip)
    if alone and any(kernels[symbol]["ops"] in LOGARITHMS for symbol in alone[0] if symbol in kernels):
        case = ["--data=equal" if option == "--data=normal" else option for option in case]
    # The rows of some operands are no leading size (slices, or a position of each of three kinds).
    for inner in (False, True):
        more, both = with_both(rows, inner)
        if both:
            break
    if both and (full := full_blocks({**both[0], **both[1]}, rows, kernels)) != rows:
        more, both = with_both(full, inner)
    if not both:
        more = case
        both = counted(library, [case], chip) if alone else None
    if not both:
        print(f"{function}: cannot be called with {' '.join(case)}", file=sys.stderr)
        return
    first, second = both[0] if len(both) == 2 else {}, both[-1]
    for symbol, counts in second.items():
        if symbol not in kernels:
            continue
        clocks, count = counts["valu_clocks"], counts["compulsory_bytes"]
        before = first.get(symbol)
        grows = before and count > before["compulsory_bytes"]
        if grows:
            clocks, count = clocks - before["valu_clocks"], count - before["compulsory_bytes"]
        if not clocks or not count:
            continue
        kernel = kernels[symbol]
        yield {"chip": chip, "function": function, "kernel": kernel["name"], "symbol": symbol, "tile": kernel["tile"],
               "class": class_of(kernel, None if grows else count),
               "rows": "marginal" if grows else "whole",
               "lane_instructions_per_byte": round(16 * clocks / count, 2), "share": round(share(clocks, count, chip), 4),
               "options": more}


def rowwise_kernels(library, described):
    """The row-wise kernels of a library: symbol -> name, tile, bytes of the widest access."""
    with tempfile.TemporaryDirectory() as folder:
        code = kernels_of_library(library, folder)
    found = {}
    for kernel in described["sections"][0]["kernels"]:
        if kernel["family"] == "rowwise":
            for v in kernel["variants"]:
                found[v["symbol"]] = {"name": re.sub(r"_\d+(?=_and_|$)", "", kernel["name"]), "tile": v["tile"],
                                      "ops": kernel["ops"], "last": kernel["variants"][-1]["symbol"],
                                      "widest": max(code[v["symbol"]].accesses(), default=0)}
    return found


def number_of(argument, folder):
    """The option that gives an argument of BOUNDS its number; None of any other argument."""
    shape = argument["shape"]
    if argument["name"] not in BOUNDS or argument["dtype"] != "f32" or any(size != 1 for size in shape):
        return None
    path = pathlib.Path(folder) / f"bound{len(shape)}.npy"
    write_number(path, BOUND, shape)
    return f"--input={argument['name']}={path}"


def write_number(path, value, shape):
    """A NumPy file of one f32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack("<f", value))


def code_of(library):
    """What counts depend on: the instructions of each row-wise kernel."""
    described = json.loads(output("hk-run", library, "--info"))
    with tempfile.TemporaryDirectory() as folder:
        code = kernels_of_library(library, folder)
    return {v["symbol"]: [(i.name, i.operands) for i in code[v["symbol"]].code]
            for k in described["sections"][0]["kernels"] if k["family"] == "rowwise" for v in k["variants"]}


def measure_module(source, chip, rows, folder, known, known_libraries):
    library = f"{folder}/{source.stem}.{chip}.so"
    directive = module_calls.directives(source)
    environment = dict(os.environ, HK_EMU_CHIP=chip)
    if not os.path.exists(library):
        options = [o for line in directive["COMPILE"] for o in line.split()]
        output("hk-compile", str(source), f"--target={chip}", "-o", library, *options, env=environment)
    before = f"{known_libraries}/{source.stem}.{chip}.so"
    if known and os.path.exists(before) and code_of(before) == code_of(library):
        yield from (r for r in known if r["module"] == source.stem and r["chip"] == chip)
        return
    print(f"{source.stem} for {chip} runs", file=sys.stderr)
    described = json.loads(output("hk-run", library, "--info", env=environment))
    kernels = rowwise_kernels(library, described)
    calls = {}
    bounds = {f["name"]: [option for a in f["arguments"] if a["role"] == "input" and (option := number_of(a, folder))]
              for f in described["functions"]}
    for options, _ in module_calls.calls(directive, described, chip) if kernels else []:
        if options[-1] == "--data=normal":
            function = options[0].split("=")[1]
            calls.setdefault(function, []).append([*options, *bounds[function]])
    for function, mine in calls.items():
        yield from measure_function(library, function, largest_case(mine), chip, rows, kernels)


def measure(options):
    sources = [p for p in sorted((ROOT / "test/Modules").glob("*.mlir")) if re.search(options.only, p.stem)]
    found, known = [], read(options.known)
    with tempfile.TemporaryDirectory() as own:
        folder = options.libraries or own

        def lines_of(task):
            lines = measure_module(*task, options.rows, folder, known, options.known_libraries)
            return [dict(line, module=task[0].stem) for line in lines]

        with ThreadPoolExecutor(2) as pool:
            tasks = [(s, chip) for chip in ([options.chip] if options.chip else CHIPS) for s in sources]
            for lines in pool.map(lines_of, tasks):
                found += lines
    # Functions may share a kernel: the call with the lowest share fills it best.
    kernels = {}
    for line in sorted(found, key=lambda r: -r["share"]):
        kernels[line["chip"], line["module"], line["symbol"]] = line
    return sorted(kernels.values(), key=lambda r: (r["chip"], -r["share"]))


def key_of(line):
    return line["chip"], line["module"], line["function"], line["kernel"]


def counts_text(lines, chip):
    cells = []
    for cls in CLASSES:
        mine = [r for r in lines if r["chip"] == chip and r["class"] == cls]
        cells.append(f"{sum(r['share'] > LIMIT for r in mine)} of {len(mine)}")
    return cells


def table(lines, before):
    known = {key_of(r): r["share"] for r in before}
    print("| chip | " + " | ".join(f"{c}: above {LIMIT:.0%}" for c in CLASSES) + " |\n|---|" + "---|" * len(CLASSES))
    for chip in CHIPS:
        was = [f"{text} -> " for text in counts_text(before, chip)] if before else [""] * len(CLASSES)
        print(f"| {chip} | " + " | ".join(map("".join, zip(was, counts_text(lines, chip)))) + " |")
    print("\n| chip | module | function | kernel | class | lane instructions a byte | share, before | share |")
    print("|---|---|---|---|---|---|---|---|")
    for line in lines:
        old = f"{known[key_of(line)]:.2f}" if key_of(line) in known else "-"
        print(f"| {line['chip']} | {line['module']} | {line['function']} | {line['kernel']} | {line['class']} | "
              f"{line['lane_instructions_per_byte']:.1f} | {old} | {line['share']:.2f} |")


def check(lines, options):
    """The share beside the timing model's, of kernels on grids that fill the chip."""
    print("| chip | module | function | share | modelled vector issue | modelled limit |\n|---|---|---|---|---|---|")
    for line in lines:
        if line["rows"] != "marginal" or line["class"] != "main" or not re.search(options.only, line["module"]):
            continue
        library = f"{options.libraries}/{line['module']}.{line['chip']}.so"
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/timing"
            output("hk-run", library, "--device=hip:0", *with_rows(line["options"], options.rows),
                   env=dict(os.environ, HK_EMU_CHIP=line["chip"], HK_EMU_CHECKS="0", HK_EMU_TIMING=path,
                            HK_EMU_TIMING_SAMPLE="1"))
            launches = [json.loads(text) for text in pathlib.Path(path).read_text().splitlines()]
        for timing in launches:
            if timing["kernel"] == line["symbol"] and "clocks" in timing:
                print(f"| {line['chip']} | {line['module']} | {line['function']} | {line['share']:.2f} | "
                      f"{timing['busy']['vector issue']:.2f} | {timing['limit']} |", flush=True)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--chip", choices=list(CHIPS), help="default: both")
    parser.add_argument("--only", default="", help="expression for modules")
    parser.add_argument("--rows", type=int, default=32, help="R; with --check the rows of a call")
    parser.add_argument("--libraries", type=pathlib.Path, help="folder of compiled modules, NAME.CHIP.so; missing ones are compiled into it")
    parser.add_argument("--json", type=pathlib.Path, help="write the lines here")
    parser.add_argument("--known", type=pathlib.Path, help="such a file, of which unchanged modules are taken")
    parser.add_argument("--known-libraries", type=pathlib.Path, help="the --libraries of that count")
    parser.add_argument("--table", type=pathlib.Path, help="only print the table of such a file")
    parser.add_argument("--before", type=pathlib.Path, help="such a file, to compare with")
    parser.add_argument("--check", type=pathlib.Path, help="compare such a file with the timing model")
    options = parser.parse_args()
    if options.table:
        return table(read(options.table), read(options.before))
    build = options.build.resolve()
    use_build(build)
    os.environ.update(HK_HIP_LIBRARY=str(build / "lib/libhk_emu.so"))
    if options.check:
        return check(read(options.check), options)
    lines = measure(options)
    if options.json:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table(lines, read(options.before))


if __name__ == "__main__":
    main()
