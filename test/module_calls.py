"""Which calls of the functions of a module are made, from the directives at the top of its
source. test/module_format.py describes them; the kit for owners of an AMD chip
(tools/amd-report) makes the same calls. Standard library only."""

import os
import re

TARGETS = ["host", "gfx942", "gfx950"]


def directives(path):
    found = {"LAUNCHES": [], "COMPILE": [], "ARGS": [], "DIMS": [], "DIMS-HOST": [], "DATA": []}
    with open(path) as source:
        for line in source:
            match = re.match(r"// HK-([A-Z-]+):\s*(.*?)\s*$", line)
            if match:
                if match[1] not in found:
                    raise ValueError(f"{path}: unknown directive HK-{match[1]}")
                found[match[1]].append(match[2])
    return found


def optionsFor(names, lines):
    """The options of HK-ARGS and HK-DIMS, without those of arguments and sizes other than `names`."""
    words = [word for line in lines for word in line.split() if word != "-" and word[0] != "@"]
    options = [word if word.startswith("--") else f"--dim={word}" for word in words]
    return [o for o in options if not o.startswith(("--range=", "--dim=")) or o.split("=")[1] in names]


def isEmpty(sizes):
    """Whether the options of a case make every dynamic dim 0."""
    return sizes and all(re.fullmatch(r"--dim=.*=0", size) for size in sizes)


def chosen(cases, kinds, target, turn):
    """The pairs of a case (options that give sizes) and a kind of data that are called; `turn`
    is the number of the function."""
    full = [case for case in cases if not isEmpty(case)]
    everything = target == "host" or os.environ.get("HK_TEST_ALL") == "1"
    for case in cases:
        for kind in kinds if everything and case in full else kinds[:1]:
            yield case, kind
    if not everything and full:
        chips = TARGETS[1:]
        for number, kind in enumerate(kinds[1:], turn):
            if chips[number % len(chips)] == target:
                yield full[number // len(chips) % len(full)], kind


def calls(directive, described, target):
    """The options of hk-run for every call of a module on `target`, and whether the sizes are
    among those that are too large to emulate. `described` is what hk-run --info says."""
    names = {f["name"]: {name for a in f["arguments"] for name in (a["name"], *a["shape"])}
             for f in described["functions"]}
    kinds = [kind for line in directive["DATA"] for kind in line.split(",")] or ["normal"]
    for turn, function in enumerate(described["sections"][0]["functions"]):
        name = function["name"]
        arguments = optionsFor(names[name], directive["ARGS"])

        def cases(listed):
            for dims in listed:
                only = [word[1:] for word in dims.split() if word.startswith("@")]
                if not only or name in only:
                    yield optionsFor(names[name], [dims])

        for sizes, kind in chosen(list(cases(directive["DIMS"] or ["-"])), kinds, target, turn):
            yield [f"--function={name}", *sizes, *arguments, f"--data={kind}"], False
        if target == "host":
            for sizes in cases(directive["DIMS-HOST"]):
                yield [f"--function={name}", *sizes, *arguments, "--data=normal"], True
