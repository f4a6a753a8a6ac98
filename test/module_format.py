"""A lit format for test/Modules: one graph, every target, many shapes and data.

A module is one .mlir file in base operators. Comment lines at its top direct the
test; a directive may be repeated.

  // HK-LAUNCHES: 1              most launches of a function after fusion
  // HK-COMPILE: --split-k=4     options of hk-compile
  // HK-ARGS: --range=pos=iota   for every call of a function with these arguments
  // HK-DIMS: x.0=17 y.0=17      one case: sizes of the dynamic dims ("-" for none); what starts
  //                             with @ names the functions it is for (default: all), with -- an
  //                             option of hk-run for this case
  // HK-DIMS-HOST: x.0=9999      one more case on the host, too large to emulate; data normal
  // HK-DATA: normal,equal       kinds of data for every case (default: normal)

Every file becomes one test per target: it is compiled for that target, and every
function is called in every case with hk-run --check, on poisoned and fenced memory,
blocks in random order on the host. AMD targets run their code objects in the emulator.
A test that passes leaves NAME.TARGET.json in its build folder: the launches of every
function and every call, for test/suite.
"""

import json
import os
import re
import subprocess

import hk_run
import lit.formats
import lit.Test

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


class ModuleFormat(lit.formats.TestFormat):
    def getTestsInDirectory(self, suite, path_in_suite, litConfig, localConfig):
        folder = suite.getSourcePath(path_in_suite)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".mlir"):
                for target in TARGETS:
                    yield lit.Test.Test(suite, path_in_suite + (name, target), localConfig)

    def execute(self, test, litConfig):
        *folders, name, target = test.path_in_suite
        source = test.suite.getSourcePath(tuple(folders) + (name,))
        config = test.config
        binaries = os.path.join(config.hk_binary_dir, "bin")
        work = os.path.join(config.hk_binary_dir, "test", *folders)
        os.makedirs(work, exist_ok=True)
        library = os.path.join(work, f"{name}.{target}.so")
        record = os.path.join(work, f"{name}.{target}.json")
        if os.path.exists(record):
            os.remove(record)
        listed = os.path.join(work, f"{name}.{target}.calls")
        calls = []
        environment = dict(config.environment)
        environment["HK_CACHE_DIR"] = os.path.join(config.hk_binary_dir, "test", "kernel-cache")
        device = ["--device=host", "--shuffle=7"]
        if target != "host":
            environment["HK_EMU_CHIP"] = target
            # hk's own kernels write every word once.
            environment["HK_EMU_STRICT_RACES"] = "1"
            environment["HK_HIP_LIBRARY"] = os.path.join(config.hk_binary_dir, "lib", "libhk_emu.so")
            device = ["--device=hip:0"]

        def run(*command):
            return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200)

        def failed(command, result):
            return lit.Test.Result(lit.Test.FAIL, f"{' '.join(command)}\n{result.stdout}")

        directive = directives(source)
        options = [o for line in directive["COMPILE"] for o in line.split()]
        compile_ = [f"{binaries}/hk-compile", source, f"--target={target}", "-o", library, *options]
        result = run(*compile_)
        if result.returncode:
            return failed(compile_, result)
        info = [f"{binaries}/hk-run", library, "--info"]
        result = run(*info)
        if result.returncode:
            return failed(info, result)
        described = json.loads(result.stdout)
        functions = described["sections"][0]["functions"]
        names = {f["name"]: {name for a in f["arguments"] for name in (a["name"], *a["shape"])}
                 for f in described["functions"]}

        for limit in directive["LAUNCHES"]:
            for function in functions:
                if function["launches"] > int(limit):
                    return lit.Test.Result(
                        lit.Test.FAIL, f"@{function['name']} has {function['launches']} launches for "
                                       f"{target}, expected at most {limit}")
        call = [f"{binaries}/hk-run", library, "--poison", *device]
        data = [d for line in directive["DATA"] for d in line.split(",")] or ["normal"]
        everywhere = [(dims, data) for dims in directive["DIMS"] or ["-"]]
        if target == "host":
            everywhere += [(dims, ["normal"]) for dims in directive["DIMS-HOST"]]
        lines = []
        for function in functions:
            for dims, kinds in everywhere:
                words = dims.split()
                only = [w[1:] for w in words if w.startswith("@")]
                if only and function["name"] not in only:
                    continue
                arguments = optionsFor(names[function["name"]], directive["ARGS"])
                sizes = optionsFor(names[function["name"]], [dims])
                empty = sizes and all(re.fullmatch(r"--dim=.*=0", size) for size in sizes)
                for kind in kinds[:1] if empty else kinds:
                    line = [f"--function={function['name']}", *sizes, *arguments, f"--data={kind}"]
                    lines.append(" ".join(line))
                    if dims not in directive["DIMS-HOST"]:
                        calls.append([*call, *line])
        # One process for all: most of a call is the process and the decoding of its kernels.
        with open(listed, "w") as file:
            file.write("\n".join(lines) + "\n")
        checked = [*call, f"--calls={listed}", f"--check={source}"]
        result = run(*checked)
        if result.returncode:
            result.stdout = "".join(text for _, text, passed in hk_run.calls(result.stdout) if not passed)
            return failed(checked, result)
        launches = {function["name"]: function["launches"] for function in functions}
        with open(record, "w") as file:
            json.dump({"launches": launches, "calls": calls}, file)
        return lit.Test.Result(lit.Test.PASS, "")
