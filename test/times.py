"""What the tests took: a table of the suites, and the slowest tests.

Usage: times.py FOLDER [REST...]

FOLDER holds ctest.xml (ctest --output-junit) and lit.json (lit --output) of one run. A line of
JSON with the time of each suite is kept in FOLDER/times.jsonl, so that runs can be compared. The
REST is kept with it: what ran, for example "--all".
"""

import collections
import datetime
import json
import os
import pathlib
import re
import sys
import xml.etree.ElementTree

SLOWEST = 12


def litTests(folder):
    """Suite, test and seconds of each lit test; modules are suites by target."""
    path = folder / "lit.json"
    for test in json.loads(path.read_text())["tests"] if path.exists() else []:
        name = test["name"].split(" :: ")[-1]
        parts = name.split("/")
        suite = f"lit Modules {parts[-1]}" if parts[0] == "Modules" else f"lit {parts[0]}"
        yield suite, name, test.get("elapsed") or 0.0


def ctestTests(folder):
    for case in xml.etree.ElementTree.parse(folder / "ctest.xml").iter("testcase"):
        name = case.get("name")
        if name != "lit" and case.get("status") in ("run", "fail"):
            yield re.split(r"[-.]", name)[0], name, float(case.get("time") or 0)


def moduleSteps(folder):
    """Processor seconds of compiling and of calling the modules, by target."""
    steps = collections.Counter()
    for path in (folder / "Modules").glob("*.json"):
        seconds = json.loads(path.read_text()).get("seconds", {})
        for step, value in seconds.items():
            steps[path.name.split(".")[-2], step] += value
    return steps


def main():
    folder = pathlib.Path(sys.argv[1])
    tests = [*litTests(folder), *ctestTests(folder)]
    suites = collections.defaultdict(list)
    for suite, name, seconds in tests:
        suites[suite].append(seconds)
    print(f"{'suite':<24}{'tests':>7}{'seconds':>10}{'longest':>10}")
    for suite, seconds in sorted(suites.items(), key=lambda item: -sum(item[1])):
        print(f"{suite:<24}{len(seconds):>7}{sum(seconds):>10.1f}{max(seconds):>10.1f}")
    total = sum(seconds for *_, seconds in tests)
    print(f"{'all':<24}{len(tests):>7}{total:>10.1f}   (over all processes at once)")
    steps = moduleSteps(folder)
    for target in sorted({target for target, _ in steps}):
        print(f"modules for {target}: {steps[target, 'compile']:.0f} s of a processor to compile, "
              f"{steps[target, 'calls']:.0f} s for calls")
    print("the slowest tests")
    for suite, name, seconds in sorted(tests, key=lambda test: -test[2])[:SLOWEST]:
        print(f"{seconds:>10.1f}  {name}")
    kept = {
        "date": datetime.datetime.now().isoformat(timespec="seconds"),
        "what": sys.argv[2:],
        "processors": len(os.sched_getaffinity(0)),
        "suites": {suite: round(sum(seconds), 1) for suite, seconds in suites.items()},
        "modules": {f"{target} {step}": round(value, 1) for (target, step), value in steps.items()},
    }
    with open(folder / "times.jsonl", "a") as file:
        file.write(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
