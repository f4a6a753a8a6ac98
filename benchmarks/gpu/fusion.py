#!/usr/bin/env python3
"""Does fusion pay? The functions of test/Modules fused and one kernel an operator, on a GPU.

  fusion.py pack BUILD FOLDER   compile every module for sm_90a both ways
  fusion.py run FOLDER OUT.json on the machine with the GPU, which needs Python with PyTorch
                                and what pack put into FOLDER
  fusion.py table OUT.json      Markdown: all functions, those where fusion costs time first

Packed is every function that fusion gives fewer kernels. All its dynamic sizes are 4096, or a
half, a quarter ... of that, so that the inputs stay below --bytes. The time of a call is the
sum over its kernels of the times between two events, on arguments that no cache holds, and the
median of --calls calls; the two sides take turns in one process and read the same inputs.
Events add one to two microseconds to each launch, which favours the side with fewer.
`differ` is the share of the elements of the results that the two sides give differently, by
more than a fiftieth of the largest.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIDES = ("fused", "apart")
CACHE = 128 << 20


def functions_of(source):
    """(first line, name) of every function."""
    lines = source.read_text().splitlines()
    found = [(n + 1, re.match(r"func\.func (?:private )?@(\w+)", line)) for n, line in enumerate(lines)]
    return [(n, m[1]) for n, m in found if m]


def kernels(source, explained):
    """The operators of every kernel of every function."""
    starts = functions_of(source)
    result = {name: [] for _, name in starts}
    for kernel in explained["kernels"]:
        lines = [int(m) for s in kernel["sources"] for m in re.findall(r":(\d+):\d+", s["location"])]
        if lines:
            result[[name for start, name in starts if start <= min(lines)][-1]].append(kernel["ops"])
    return result


def options_of(source, side):
    lines = re.findall(r"^// HK-COMPILE: (.*)$", source.read_text(), re.M)
    return [option for line in lines for option in line.split()] + ["--no-fuse"] * (side == "apart")


def planned(build, source, side):
    """The operators of every kernel of every function, or why the module does not compile."""
    command = [build / "bin" / "hk-compile", source, "--target=sm_90a", "--explain=json", *options_of(source, side)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[0]
    return kernels(source, json.loads(done.stdout)), None


def only(source, names):
    """The text of a module without its other functions."""
    lines = source.read_text().splitlines(keepends=True)
    starts = functions_of(source) + [(len(lines) + 1, None)]
    text = "".join(lines[:starts[0][0] - 1])
    for (start, name), (end, _) in zip(starts, starts[1:]):
        body = lines[start - 1:end - 1]
        # What stands behind a function, such as the attributes of the next, stays.
        last = max(n for n, line in enumerate(body) if line.startswith("}")) + 1
        text += "".join(body if name in names else body[last:])
    return text


def pack_module(build, folder, source):
    """What calls.json says of a module, or why it is left out."""
    sides = {side: planned(build, source, side) for side in SIDES}
    refused = [f"{side}: {why}" for side, (_, why) in sides.items() if why]
    if refused:
        return [], "; ".join(refused)
    fused, apart = (sides[side][0] for side in SIDES)
    chosen = [name for name, ops in fused.items() if len(ops) < len(apart[name])]
    if not chosen:
        return [], "fusion changes nothing"
    part = folder / f"{source.stem}.mlir"
    part.write_text(only(source, chosen))
    for side in SIDES:
        subprocess.run([build / "bin" / "hk-compile", part, "--target=sm_90a", *options_of(source, side), "-o",
                        folder / f"{source.stem}.{side}.so"], check=True)
    return [{"module": source.stem, "function": name, "kernels": [len(fused[name]), len(apart[name])]}
            for name in chosen], None


def pack(build, folder, only_modules):
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    calls = []
    for source in sorted((ROOT / "test" / "Modules").glob("*.mlir")):
        if re.search(only_modules, source.stem):
            found, why = pack_module(build, folder, source)
            calls += found
            print(f"{source.stem}: {why or len(found)}", flush=True)
    (folder / "calls.json").write_text(json.dumps(calls))
    shutil.copytree(ROOT / "python" / "hk", folder / "hk", dirs_exist_ok=True)
    shutil.copy(build / "lib" / "libhk_runtime.so", folder / "lib")
    shutil.copy(__file__, folder)
    print(f"{len(calls)} functions")


def sizes_of(arguments, most):
    """A value for every dynamic size of the inputs."""
    import hk._dtypes as dtypes

    def size(d, value):
        return value if isinstance(d, str) else d

    value = 4096
    while value > 16 and sum(dtypes.BY_NAME[a["dtype"]].bits * math.prod(size(d, value) for d in a["shape"])
                             for a in arguments) > 8 * most:
        value //= 2
    return {d: value for a in arguments for d in a["shape"] if isinstance(d, str)}


def mended(sizes, why):
    """The sizes, changed as a refused call asks for: offsets are one more than sequences, and
    what is made of other sizes is what it is."""
    found = re.search(r"(\S+) dim (\d+) is (\d+) but (.*) is (\d+)", why)
    if not found:
        return None
    name, dim, size, other, is_size = found.groups()
    less = re.fullmatch(r"(\S+) dim (\d+) - (\d+)", other)
    key, value = (f"{less[1]}.{less[2]}", int(size) + int(less[3])) if less else (f"{name}.{dim}", int(is_size))
    return dict(sizes, **{key: value}) if key in sizes and sizes[key] != value else None


def integers(torch, count, values, sizes):
    """As hk-run draws them: what the operators that read them can use."""
    end = min((sum(math.prod(sizes[f] if isinstance(f, str) else f for f in product) for product in total)
               for total in values["ends"]), default=1)
    if values["kind"] in ("bounds", "lengths"):
        inner = torch.randint(0, end + 1, (max(count - (values["kind"] == "bounds") - 1, 0),)).sort().values
        bounds = torch.cat([torch.tensor([0]), inner, torch.tensor([end])])
        return bounds[:count] if values["kind"] == "bounds" else bounds.diff()[:count]
    if values["kind"] == "distinct":
        return torch.cat([torch.randperm(end), torch.full((max(count - end, 0),), -1)])[:count]
    return torch.randint(values["low"], max(end, values["low"] + 1), (count,))


def random_input(torch, argument, sizes):
    import hk._dtypes as dtypes

    dtype = dtypes.BY_NAME[argument["dtype"]]
    shape = [sizes[d] if isinstance(d, str) else d for d in argument["shape"]]
    if dtype.bits == 4:
        shape[-1] //= 2
    kind = getattr(torch, dtype.torch) if dtype.torch else torch.uint8
    if "values" in argument:
        return integers(torch, math.prod(shape), argument["values"], sizes).reshape(shape).to("cuda", kind)
    if dtype.bits == 4 or dtype.name in ("i8", "f8E8M0FNU"):
        low, high = (120, 130) if dtype.name == "f8E8M0FNU" else (0, 256)
        return torch.randint(low, high, shape, dtype=torch.uint8, device="cuda").view(kind)
    if dtype.name.startswith("i"):
        return torch.randint(0, 2, shape, device="cuda").to(kind)
    return torch.randn(shape, device="cuda").to(kind)


def numbers(torch, value):
    """A result as double, 4-bit ones and those that PyTorch has no type for as codes."""
    try:
        value = torch.from_dlpack(value) if not isinstance(value, torch.Tensor) else value
        return value.double()
    except (RuntimeError, BufferError, KeyError, ValueError):
        return torch.from_numpy(value.numpy().astype("float64")).cuda()


def differ(torch, left, right):
    """The share of elements."""
    worst = 0.0
    for a, b in zip(left, right):
        a, b = numbers(torch, a), numbers(torch, b)
        if b.numel():
            largest = b.nan_to_num(0, 0, 0).abs().max()
            other = ~torch.isclose(a, b, rtol=0, atol=float(largest) / 50, equal_nan=True)
            worst = max(worst, other.double().mean().item())
    return worst


class Call:
    """A function of one side, with its inputs and results."""

    def __init__(self, function, inputs):
        self.function = function
        # States are written: each side has its own.
        self.inputs = [i.clone() if a.role == "state" else i for i, a in zip(inputs, function.inputs)]
        self.outputs = list(function(*self.inputs))
        states = [i for i, a in zip(self.inputs, function.inputs) if a.role == "state"]
        self.results = states + self.outputs

    def time(self, hk):
        profile = hk.Profile()
        self.function(*self.inputs, out=self.outputs, profile=profile)
        return sum(entry["total_us"] for entry in profile.entries())


def measure(hk, torch, modules, call, options):
    """The record of one function."""
    sides = [getattr(modules[side], call["function"]) for side in SIDES]
    info = next(f for f in modules[SIDES[0]].info()["functions"] if f["name"] == call["function"])
    arguments = [a for a in info["arguments"] if a["role"] != "output"]
    sizes = sizes_of(arguments, options.bytes)
    while True:
        inputs = [random_input(torch, a, sizes) for a in arguments]
        try:
            fused, apart = (Call(side, inputs) for side in sides)
            break
        except hk.InvalidArgument as why:
            if not (sizes := mended(sizes, str(why))):
                raise
    record = dict(call, sizes=sizes, differ=differ(torch, fused.results, apart.results))
    held = torch.ones(CACHE // 4, device="cuda")
    times = {side: [] for side in SIDES}
    for number in range(options.calls + 2):
        for side, one in zip(SIDES, (fused, apart)):
            held.max()
            us = one.time(hk)
            if number > 1:
                times[side].append(us)
    record.update({side: statistics.median(t) for side, t in times.items()})
    record["spread"] = {side: max(t) / min(t) for side, t in times.items()}
    return record


def measure_all(folder, options):
    """Prints a line of JSON for each function that stdin names; one that breaks the device ends it."""
    sys.path.insert(0, str(folder))
    import torch

    import hk

    device, loaded, modules = hk.Device("cuda:0"), None, {}
    for call in map(json.loads, sys.stdin):
        try:
            if call["module"] != loaded:
                loaded = call["module"]
                modules = {side: hk.load(folder / f"{loaded}.{side}.so", device) for side in SIDES}
            record = measure(hk, torch, modules, call, options)
        except Exception as why:  # whatever it is, the others are measured
            record = dict(call, failed=f"{type(why).__name__}: {why}"[:300])
        print(json.dumps(record), flush=True)
        if "failed" in record:
            torch.cuda.synchronize()


def assemble(folder, calls):
    """Loads every module once, in many processes: the driver keeps what it assembles."""
    def load(path):
        text = f"import hk; hk.load({str(path)!r}, 'cuda:0')"
        subprocess.run([sys.executable, "-c", text], cwd=folder, stderr=subprocess.DEVNULL)

    paths = [folder / f"{module}.{side}.so" for module in {c["module"] for c in calls} for side in SIDES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(load, sorted(paths, key=lambda p: -p.stat().st_size)))


def run(folder, out, options):
    end = time.monotonic() + options.seconds
    os.environ.update(HK_HOME=str(folder), CUDA_CACHE_MAXSIZE=str(4 << 30))
    calls, rows = json.loads((folder / "calls.json").read_text()), []
    assemble(folder, calls)
    print(f"assembled with {end - time.monotonic():.0f} s left", flush=True)
    while len(rows) < len(calls) and time.monotonic() < end:
        command = [sys.executable, __file__, "measure", folder, f"--bytes={options.bytes}", f"--calls={options.calls}"]
        lines = "".join(json.dumps(call) + "\n" for call in calls[len(rows):])
        try:
            text = subprocess.run(command, input=lines, text=True, stdout=subprocess.PIPE,
                                  timeout=max(end - time.monotonic(), 1)).stdout
        except subprocess.TimeoutExpired as late:
            rows += [json.loads(line) for line in (late.stdout or b"").decode().splitlines(True) if line.endswith("\n")]
            break
        done = [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
        rows += done or [dict(calls[len(rows)], failed="ended its process")]
    print(f"{len(calls) - len(rows)} functions left out for time")
    out.write_text(json.dumps(rows, indent=1))
    table(out)


def table(path):
    rows = json.loads(path.read_text())
    timed = sorted((r for r in rows if "failed" not in r), key=lambda r: -r["fused"] / r["apart"])
    ratios = [r["fused"] / r["apart"] for r in timed]
    print("| module, function | sizes | kernels | fused us | apart us | fused / apart | differ |\n" + "|---" * 7 + "|")
    for r in timed:
        dims = ", ".join(f"{dim}={size}" for dim, size in r["sizes"].items())
        print(f"| {r['module']} {r['function']} | {dims} | {r['kernels'][0]} / {r['kernels'][1]} | "
              f"{r['fused']:.1f} | {r['apart']:.1f} | {r['fused'] / r['apart']:.2f} | {r['differ']:.1g} |")
    print(f"\n{len(ratios)} functions; fused over apart: geometric mean "
          f"{math.exp(statistics.mean(map(math.log, ratios))):.2f}, above 1.05: {sum(r > 1.05 for r in ratios)}")
    for r in rows:
        if "failed" in r:
            print(f"failed: {r['module']} {r['function']}: {r['failed']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["pack", "run", "measure", "table"])
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--only", default="", help="expression for modules")
    parser.add_argument("--bytes", type=int, default=96 << 20)
    parser.add_argument("--calls", type=int, default=11)
    parser.add_argument("--seconds", type=int, default=500)
    options = parser.parse_args()
    paths = [p.resolve() for p in options.paths]
    if options.step == "pack":
        pack(*paths, options.only)
    elif options.step == "run":
        run(*paths, options)
    elif options.step == "measure":
        measure_all(*paths, options)
    else:
        table(*paths)


if __name__ == "__main__":
    main()
