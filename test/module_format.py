"""A lit format for test/Modules: one graph, every target, many shapes and data.

A module is one .mlir file in base operators. Comment lines at its top direct the
test; a directive may be repeated.

  // HK-LAUNCHES: 1 @two=2       most launches of a function after fusion, and of those named
  // HK-COMPILE: --split-k=4     options of hk-compile
  // HK-ARGS: --range=pos=iota   for every call of a function with these arguments
  // HK-DIMS: x.0=17 y.0=17      one case: sizes of the dynamic dims ("-" for none); what starts
  //                             with @ names the functions it is for (default: all), with -- an
  //                             option of hk-run for this case
  // HK-DIMS-HOST: x.0=9999      one more case on the host, too large to emulate; data normal
  // HK-DATA: normal,equal       kinds of data for every case (default: normal)

Every file becomes one test per target: it is compiled for that target, and every
function is called with hk-run --check, on poisoned and fenced memory, blocks in random
order on the host. AMD targets run their code objects in the emulator.

On the host every function is called in every case with every kind of data. An emulated
call takes long and what it may find is less: the arithmetic of a kernel is the same
source. There every function is called in every case (sizes choose the variant, the
edges of its tiles and who stores what) with the first kind of data, and with each other
kind once, on one of the chips: on which and in which case goes by turns over the
functions. HK_TEST_ALL=1 (./check --all) makes all calls.

A test that passes leaves NAME.TARGET.json in its build folder: the launches of every
function and every call, for test/suite, and the processor time of the steps.
"""

import json
import os
import resource
import subprocess

import hk_run
import module_calls
import lit.formats
import lit.Test


def processorTime():
    """Seconds that the children of this process have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class ModuleFormat(lit.formats.TestFormat):
    def getTestsInDirectory(self, suite, path_in_suite, litConfig, localConfig):
        folder = suite.getSourcePath(path_in_suite)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".mlir"):
                for target in module_calls.TARGETS:
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

        directive = module_calls.directives(source)
        options = [o for line in directive["COMPILE"] for o in line.split()]
        compile_ = [f"{binaries}/hk-compile", source, f"--target={target}", "-o", library, *options]
        started = processorTime()
        result = run(*compile_)
        if result.returncode:
            return failed(compile_, result)
        compiled = processorTime()
        info = [f"{binaries}/hk-run", library, "--info"]
        result = run(*info)
        if result.returncode:
            return failed(info, result)
        described = json.loads(result.stdout)
        functions = described["sections"][0]["functions"]

        for limits in directive["LAUNCHES"]:
            most, *others = limits.split()
            of = dict(other[1:].split("=") for other in others)
            for function in functions:
                limit = of.get(function["name"], most)
                if function["launches"] > int(limit):
                    return lit.Test.Result(
                        lit.Test.FAIL, f"@{function['name']} has {function['launches']} launches for "
                                       f"{target}, expected at most {limit}")
        call = [f"{binaries}/hk-run", library, "--poison", *device]
        lines = []
        for options, large in module_calls.calls(directive, described, target):
            lines.append(" ".join(options))
            if not large:
                calls.append([*call, *options])
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
            json.dump({"launches": launches, "calls": calls,
                       "seconds": {"compile": round(compiled - started, 2),
                                   "calls": round(processorTime() - compiled, 2)}}, file)
        return lit.Test.Result(lit.Test.PASS, "")
