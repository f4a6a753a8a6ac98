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
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOGETHER = 12


def some(calls, number):
    """Of a function's calls the first, with ordinary data, and another in turn."""
    return [calls[0]] + [calls[1 + number % (len(calls) - 1)]] if len(calls) > 1 else calls


def in_modules(calls, numbers, command, seconds=None):
    """Makes calls, those of a module in one process, whose command line
    command(module, their numbers) gives. Returns {number: (status, text)} of those that ended
    before `seconds` were over."""
    end = time.monotonic() + seconds if seconds else None
    of_module = {}
    for number in numbers:
        of_module.setdefault(calls[number]["module"], []).append(number)

    def one(module):
        process = subprocess.Popen(command(module, of_module[module]), text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        late = False
        try:
            output, _ = process.communicate(timeout=max(0, end - time.monotonic()) if end else None)
        except subprocess.TimeoutExpired:
            late = True
            process.kill()
            output, _ = process.communicate()
        texts = re.split(r"^call .*$", output, flags=re.M)[1:]
        answers = {}
        for place, number in enumerate(of_module[module]):
            text = texts[place] if place < len(texts) else f"not made: {output[-300:]}"
            status = re.search(r"^exit status (-?\d+)$", text, re.M)
            if status or not late:
                answers[number] = (int(status[1]) if status else 1, text)
        return answers

    with concurrent.futures.ThreadPoolExecutor(min(TOGETHER, os.cpu_count())) as pool:
        return {n: answer for answers in pool.map(one, of_module) for n, answer in answers.items()}


def calls_file(path, lines):
    path.write_text("".join(" ".join(line) + "\n" for line in lines))
    return f"--calls={path}"


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


def run(folder, device, out, most, seconds):
    calls = json.loads((folder / "calls.json").read_text())
    os.environ["LD_LIBRARY_PATH"] = str(folder)
    work = pathlib.Path("/tmp/hk-modules")

    def command(module, numbers):
        lines = []
        for number in numbers:
            (work / str(number)).mkdir(parents=True, exist_ok=True)
            lines.append([*calls[number]["options"], f"--output={work / str(number)}"])
        return [folder / "hk-run", folder / f"{module}.so", f"--device={device}", "--poison",
                calls_file(work / f"{module}.calls", lines)]

    work.mkdir(parents=True, exist_ok=True)
    answers = in_modules(calls, range(len(calls)), command, seconds)
    failures = {n: text for n, (status, text) in answers.items() if status}
    for number, text in sorted(failures.items()):
        print(calls[number], text[-500:])
    with tarfile.open(out, "w:xz", preset=1) as archive:
        for number in answers:
            files = list((work / str(number)).glob("*.npy"))
            if number not in failures and files and sum(f.stat().st_size for f in files) <= most:
                archive.add(work / str(number), arcname=str(number))
    print(f"{len(answers)} of {len(calls)} calls on {device}, {len(failures)} failed")
    return bool(failures)


def check(build, folder, out, machine):
    calls = json.loads((folder / "calls.json").read_text())
    work = folder / "results"
    with tarfile.open(out) as archive:
        archive.extractall(work)  # our own file

    def command(module, numbers):
        lines = [[*calls[n]["options"], f"--results={work / str(n)}"] for n in numbers]
        return [build / "bin" / "hk-run", folder / f"{module}.so", "--device=host",
                f"--check={ROOT / 'test' / 'Modules' / module}.mlir",
                calls_file(work / f"{module}.calls", lines)]

    numbers = [n for n in range(len(calls)) if (work / str(n)).exists()]
    answers = in_modules(calls, numbers, command)
    passed, failing = {}, set()
    for number, (status, text) in answers.items():
        name = calls[number]["module"]
        passed[name] = passed.get(name, 0) + (status == 0)
        if status:
            failing.add(name)
            print(calls[number], "\n".join(text.splitlines()[-6:]), file=sys.stderr)
    wrong = sum(status != 0 for status, _ in answers.values())
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    print(json.dumps({"machine": machine, "date": str(datetime.date.today()), "commit": commit,
                      "calls": len(calls), "checked": len(numbers), "wrong": wrong,
                      "modules": {n: c for n, c in sorted(passed.items()) if n not in failing}}, indent=1))
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["pack", "run", "check"])
    parser.add_argument("rest", nargs="+")
    parser.add_argument("--most", type=int, default=256 << 10)
    parser.add_argument("--most-calls", type=int, default=1 << 20)
    parser.add_argument("--seconds", type=float, help="how long run may take")
    parser.add_argument("--only", default=".*")
    parser.add_argument("--machine", default="NVIDIA H200 (sm_90a)", help="what ran them, for the JSON of check")
    options = parser.parse_args()
    paths = [pathlib.Path(p).resolve() for p in options.rest]
    if options.step == "pack":
        return pack(*paths, options.most_calls, options.only)
    if options.step == "run":
        return run(paths[0], options.rest[1], paths[2], options.most, options.seconds)
    return check(*paths, options.machine)


if __name__ == "__main__":
    sys.exit(main())
