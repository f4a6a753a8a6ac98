#!/usr/bin/env python3
"""Does fusion pay? The functions of test/Modules fused and one kernel an operator, on a GPU.

  fusion.py pack BUILD FOLDER   compile every module for sm_90a both ways, and choose functions
  fusion.py run FOLDER OUT.json on the machine with the GPU, which needs hk-run and
                                libhk_runtime.so in FOLDER only
  fusion.py table OUT.json      Markdown: the functions where fusion costs time first

Chosen are, of every module, functions that fusion gives fewer kernels, each with other operators
in its kernels, at most --most of them. All dynamic sizes are 4096, or a half, a quarter ... of
that, so that the inputs stay below --bytes. The time of a call is the sum over its kernels
of their medians between two events, on arguments that no cache holds; the two sides take turns.
Events add one to two microseconds to each launch, which favours the side with fewer.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIDES = ("fused", "apart")
BITS = {"i1": 8, "i4": 4, "ui4": 4, "f4E2M1FN": 4, "bf16": 16, "f16": 16}
CACHE = 64 << 20


def bits(dtype):
    if dtype in BITS:
        return BITS[dtype]
    return 8 if dtype.startswith(("f8", "i8")) else int(re.findall(r"\d+", dtype)[0])


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


def sizes(arguments, most):
    """A value for the dynamic sizes of the inputs."""
    inputs = [a for a in arguments if a["role"] != "output"]
    dims = sorted({d for a in inputs for d in a["shape"] if isinstance(d, str)})
    value = 4096
    while value > 16 and sum(bits(a["dtype"]) * math.prod(value if isinstance(d, str) else d for d in a["shape"])
                             for a in inputs) > 8 * most:
        value //= 2
    return [f"--dim={d}={value}" for d in dims]


def pack(build, folder, most, most_bytes, only_modules):
    folder.mkdir(parents=True, exist_ok=True)
    calls = []
    for source in sorted((ROOT / "test" / "Modules").glob("*.mlir")):
        if not re.search(only_modules, source.stem):
            continue
        sides = {side: planned(build, source, side) for side in SIDES}
        refused = [f"{side}: {why}" for side, (_, why) in sides.items() if why]
        if refused:
            print(f"{source.stem} left out: {'; '.join(refused)}", file=sys.stderr)
            continue
        fused, apart = (sides[side][0] for side in SIDES)
        seen = {}
        for name, ops in fused.items():
            if len(ops) < len(apart[name]) and len(seen) < most:
                seen.setdefault(tuple(sorted(ops)), name)
        if not seen:
            continue
        part = folder / f"{source.stem}.mlir"
        part.write_text(only(source, seen.values()))
        for side in SIDES:
            subprocess.run([build / "bin" / "hk-compile", part, "--target=sm_90a", *options_of(source, side), "-o",
                            folder / f"{source.stem}.{side}.so"], check=True)
        info = json.loads(subprocess.run([build / "bin" / "hk-run", folder / f"{source.stem}.fused.so", "--info"],
                                         check=True, text=True, stdout=subprocess.PIPE).stdout)
        arguments = {f["name"]: f["arguments"] for f in info["functions"]}
        calls += [{"module": source.stem, "function": name, "sizes": sizes(arguments[name], most_bytes),
                   "kernels": [len(fused[name]), len(apart[name])]} for name in seen.values()]
        print(f"{source.stem}: {len(seen)}", flush=True)
    (folder / "calls.json").write_text(json.dumps(calls))
    shutil.copy(build / "bin" / "hk-run", folder)
    shutil.copy(build / "lib" / "libhk_runtime.so", folder / "libhk_runtime.so.0")
    print(f"{len(calls)} functions")


def timed(folder, call, side, device):
    times = folder / "times.json"
    times.unlink(missing_ok=True)
    command = [folder / "hk-run", folder / f"{call['module']}.{side}.so", f"--function={call['function']}",
               f"--device={device}", *call["sizes"], "--bench=9", f"--times={times}", f"--cold={CACHE}"]
    done = subprocess.run(command, env=dict(os.environ, LD_LIBRARY_PATH=str(folder)), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        return None, done.stdout.strip()[-300:]
    record = json.loads(times.read_text())
    return sum(k["launches"] * k["cold_us"]["median"] for k in record["kernels"]), None


def mended(sizes, why):
    """The sizes, changed as a refused call asks for: offsets are one more than sequences."""
    found = re.search(r"\S+ dim \d+ is (\d+) but (\S+) dim (\d+) - (\d+) is", why)
    if not found:
        return None
    size, name, dim, more = found.groups()
    option = f"--dim={name}.{dim}="
    return [f"{option}{int(size) + int(more)}" if s.startswith(option) else s for s in sizes]


def run(folder, out, device, seconds):
    import time

    end = time.monotonic() + seconds
    calls = json.loads((folder / "calls.json").read_text())
    rows = []
    for call in calls:
        if time.monotonic() > end:
            print(f"{len(calls) - len(rows)} functions left out for time")
            break
        found = {side: [] for side in SIDES}
        why = timed(folder, call, SIDES[0], device)[1]
        if why and (sizes := mended(call["sizes"], why)):
            call = dict(call, sizes=sizes)
        for side in SIDES * 2:
            us, why = timed(folder, call, side, device)
            if why:
                rows.append(dict(call, failed=why))
                break
            found[side].append(us)
        else:
            rows.append(dict(call, **{side: statistics.median(found[side]) for side in SIDES},
                             spread={side: max(found[side]) / min(found[side]) for side in SIDES}))
    out.write_text(json.dumps(rows, indent=1))
    table(out)


def table(path):
    rows = json.loads(path.read_text())
    timed_rows = sorted((r for r in rows if "failed" not in r), key=lambda r: -r["fused"] / r["apart"])
    ratios = [r["fused"] / r["apart"] for r in timed_rows]
    print(f"{len(ratios)} functions; fused over apart: geometric mean "
          f"{math.exp(statistics.mean(map(math.log, ratios))):.2f}, above 1.05: {sum(r > 1.05 for r in ratios)}\n")
    print("| module, function | sizes | kernels | fused us | apart us | fused / apart |\n|---|---|---|---|---|---|")
    for r in timed_rows[:40]:
        dims = ", ".join(s.removeprefix("--dim=") for s in r["sizes"])
        print(f"| {r['module']} {r['function']} | {dims} | {r['kernels'][0]} / {r['kernels'][1]} | "
              f"{r['fused']:.1f} | {r['apart']:.1f} | {r['fused'] / r['apart']:.2f} |")
    for r in rows:
        if "failed" in r:
            print(f"failed: {r['module']} {r['function']} {r['sizes']}: {r['failed']}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["pack", "run", "table"])
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--only", default="", help="expression for modules")
    parser.add_argument("--bytes", type=int, default=96 << 20)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seconds", type=int, default=500)
    options = parser.parse_args()
    paths = [p.resolve() for p in options.paths]
    if options.step == "pack":
        pack(*paths, options.most, options.bytes, options.only)
    elif options.step == "run":
        run(*paths, options.device, options.seconds)
    else:
        table(*paths)


if __name__ == "__main__":
    main()
