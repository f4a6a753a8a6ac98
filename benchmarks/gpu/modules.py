#!/usr/bin/env python3
"""The numeric cases of test/Modules on a GPU, checked where the compiler is.

  modules.py pack BUILD FOLDER      compile every module for host and sm_90a into FOLDER
                                    with the calls its tests made (run lit before)
  modules.py run FOLDER DEVICE OUT  on the machine with the GPU, which needs hk-run and
                                    libhk_runtime.so in FOLDER only: call, keep results
  modules.py check BUILD FOLDER OUT compare every result with the interpreter; prints JSON

Results over --most bytes (default 256 KiB) are not kept and not counted. --most-calls
bounds what pack chooses, but every function is called once. --only bounds it to modules whose
name the expression matches.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOGETHER = 12


def some(calls, number):
    """Of a function's calls the first, with ordinary data, and another in turn: every call is a
    process of its own with a context of its own, so that a GPU takes minutes for a thousand."""
    return [calls[0]] + [calls[1 + number % (len(calls) - 1)]] if len(calls) > 1 else calls


def pack(build, folder, most_calls, only):
    folder.mkdir(parents=True, exist_ok=True)
    calls, more = [], []
    for source in sorted((ROOT / "test" / "Modules").glob("*.mlir")):
        if not re.fullmatch(only, source.stem):
            continue
        record = build / "test" / "Modules" / f"{source.name}.host.json"
        if not record.exists():
            print(f"{source.stem}: no record, left out", file=sys.stderr)
            continue
        lines = re.findall(r"^// HK-COMPILE: (.*)$", source.read_text(), re.M)
        options = [option for line in lines for option in line.split()]
        subprocess.run([build / "bin" / "hk-compile", source, "--target=host,sm_90a", "-o",
                        folder / f"{source.stem}.so", *options], check=True)
        functions = {}
        for call in json.loads(record.read_text())["calls"]:
            keep = [w for w in call[2:] if not w.startswith(("--device", "--shuffle", "--poison"))]
            functions.setdefault(keep[0], []).append({"module": source.stem, "options": keep})
        for number, own in enumerate(functions.values()):
            first, *others = some(own, number)
            calls.append(first)
            more += others
    # Every function once; of the further calls as many as there is time for, of all modules.
    missing = max(0, most_calls - len(calls))
    calls += more[::max(1, -(-len(more) // missing))] if missing else []
    (folder / "calls.json").write_text(json.dumps(calls))
    shutil.copy(build / "bin" / "hk-run", folder)
    shutil.copy(build / "lib" / "libhk_runtime.so", folder / "libhk_runtime.so.0")
    print(f"{len(calls)} calls")


def run(folder, device, out, most):
    calls = json.loads((folder / "calls.json").read_text())
    environment = dict(os.environ, LD_LIBRARY_PATH=str(folder))
    work = pathlib.Path("/tmp/hk-modules")

    def one(number):
        call, results = calls[number], work / str(number)
        results.parent.mkdir(parents=True, exist_ok=True)
        command = [folder / "hk-run", folder / f"{call['module']}.so", f"--device={device}", "--poison",
                   f"--output={results}", *call["options"]]
        done = subprocess.run(command, env=environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return number, done.returncode, done.stdout

    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        failures = [(n, text) for n, code, text in pool.map(one, range(len(calls))) if code]
    for number, text in failures:
        print(calls[number], text[-500:])
    with tarfile.open(out, "w:xz", preset=1) as archive:
        for number in range(len(calls)):
            files = list((work / str(number)).glob("*.npy"))
            if files and sum(f.stat().st_size for f in files) <= most:
                archive.add(work / str(number), arcname=str(number))
    print(f"{len(calls)} calls on {device}, {len(failures)} failed")
    return bool(failures)


def check(build, folder, out):
    calls = json.loads((folder / "calls.json").read_text())
    work = folder / "results"
    with tarfile.open(out) as archive:
        archive.extractall(work)  # our own file

    def one(number):
        call = calls[number]
        command = [build / "bin" / "hk-run", folder / f"{call['module']}.so", "--device=host",
                   f"--results={work / str(number)}",
                   f"--check={ROOT / 'test' / 'Modules' / call['module']}.mlir", *call["options"]]
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return number, done.returncode, done.stdout

    numbers = [n for n in range(len(calls)) if (work / str(n)).exists()]
    passed, wrong = {}, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, code, text in pool.map(one, numbers):
            name = calls[number]["module"]
            passed.setdefault(name, 0)
            passed[name] += code == 0
            if code:
                wrong.append(number)
                print(calls[number], "\n".join(text.splitlines()[-6:]), file=sys.stderr)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    failing = {calls[n]["module"] for n in wrong}
    print(json.dumps({"machine": "NVIDIA H200 (sm_90a)", "date": str(datetime.date.today()), "commit": commit,
                      "calls": len(calls), "checked": len(numbers), "wrong": len(wrong),
                      "modules": {n: c for n, c in sorted(passed.items()) if n not in failing}}, indent=1))
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["pack", "run", "check"])
    parser.add_argument("rest", nargs="+")
    parser.add_argument("--most", type=int, default=256 << 10)
    parser.add_argument("--most-calls", type=int, default=1 << 20)
    parser.add_argument("--only", default=".*")
    options = parser.parse_args()
    paths = [pathlib.Path(p).resolve() for p in options.rest]
    if options.step == "pack":
        return pack(*paths, options.most_calls, options.only)
    if options.step == "run":
        return run(paths[0], options.rest[1], paths[2], options.most)
    return check(*paths)


if __name__ == "__main__":
    sys.exit(main())
