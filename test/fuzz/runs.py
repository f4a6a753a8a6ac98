# ===- runs.py - Functions compiled, called and compared ------------------===//
#
# Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One compilation for many functions, one process for all their calls, each checked
# against the reference interpreter on poisoned memory.
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import hk_run


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def problems(folder, text, calls, target, device, *options):
    """Yields the function of every call that fails and what hk-run says of it; no
    function where the module does not compile, or a call ends the process. A call is
    a line of options with --function first."""
    source, library, listed = (f"{folder}/m.{end}" for end in ("mlir", "so", "calls"))
    with open(source, "w") as file:
        file.write(text)
    with open(listed, "w") as file:
        file.writelines(call + "\n" for call in calls)
    if target == "host":
        options += ("--host-cpu=native",)
    result = run("hk-compile", source, "-o", library, f"--target={target}", *options)
    if result.returncode:
        yield None, f"hk-compile failed ({result.returncode}):\n{result.stderr[-3000:]}"
    if result.returncode or not calls:
        return
    where = ["--device=host", "--shuffle=1"] if target == "host" else [f"--device={device}"]
    result = run("hk-run", library, f"--calls={listed}", f"--check={source}", "--poison", *where)
    made = list(hk_run.calls(result.stdout))
    for function, said, passed in made:
        if not passed:
            yield function, said[:3000]
    if len(made) != len(calls):
        yield None, f"hk-run stopped ({result.returncode}):\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
