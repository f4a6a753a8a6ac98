"""Two ranks under mpirun: what they compute, and what they say when something is wrong.

usage: parallel.py FOLDER INPUTS; compiled modules and arrays go to FOLDER."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from verdict import compile, fail, finish

folder, inputs = Path(sys.argv[1]), Path(sys.argv[2])
os.chdir(folder)
rng = np.random.default_rng(3)
PARALLEL, WHOLE = inputs / "parallel_mlp.mlir", inputs / "whole_mlp.mlir"


def mpirun(command, ranks=2, environment=None, ends_others=True):
    """The exit status, what every rank printed, and how long it took. By itself mpirun ends the
    others when one rank fails: with more ranks than processors, before they could print. Where it
    does not, its status says nothing."""
    start = time.monotonic()
    stays = [] if ends_others else ["--mca", "orte_abort_on_non_zero_status", "0"]
    result = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--tag-output",
                             *stays, "-n", str(ranks), *map(str, command)], capture_output=True, text=True, timeout=300,
                            env={**os.environ, **(environment or {})})
    texts = ["\n".join(re.findall(rf"^\[\d+,{rank}\]<\w+>: ?(.*)$", result.stdout + result.stderr, re.M))
             for rank in range(ranks)]
    return result.returncode if ends_others else None, texts, time.monotonic() - start


def run(*options, **keywords):
    return mpirun(["hk-run", "parallel.so", "--threads=1", "--timeout=60000", *options], **keywords)


def save(name, x):
    np.save(name, np.asarray(x, np.float32, order="C"))


def bf16(path):
    return (np.load(path).astype(np.uint32) << 16).view(np.float32)


def expect_ok(name, result):
    status, texts, _ = result
    if status or any("all within their bounds" not in text for text in texts):
        fail(f"{name}: exit status {status}\n" + "\n".join(texts))


# A row- and column-parallel MLP: its own interpretation, and that of one rank.
def check_mlp(rows):
    x, norm = rng.normal(size=(rows, 64)), rng.normal(size=64)
    gate, up, down = (rng.normal(size=shape) / 8 for shape in [(64, 96), (64, 96), (96, 64)])
    for name, array in [("x", x), ("norm", norm), ("gate", gate), ("up", up), ("down", down)]:
        save(f"{name}.npy", array)
    for r in range(2):
        cut = slice(48 * r, 48 * r + 48)
        save(f"gate.{r}.npy", gate[:, cut])
        save(f"up.{r}.npy", up[:, cut])
        save(f"down.{r}.npy", down[cut])
    files = ["--function=mlp", "--input=x=x.npy", "--input=norm=norm.npy"]
    cut = files + [f"--input={name}={name}.{{rank}}.npy" for name in ["gate", "up", "down"]]
    expect_ok(f"mlp of {rows} rows", run(*cut, f"--check={PARALLEL}", "--output=y.{rank}"))
    subprocess.run(["hk-run", "whole.so", f"--check={WHOLE}", "--write-expected=whole"] + files +
                   [f"--input={name}={name}.npy" for name in ["gate", "up", "down"]], check=True)
    subprocess.run(["hk-run", "parallel.so", "--rank=1", f"--check={PARALLEL}", "--write-expected=cut"] + cut, check=True)
    want = bf16("whole/values/y.npy")
    bound = np.load("whole/bounds/y.npy") + np.load("cut/bounds/y.npy")
    results = [bf16(f"y.{r}/y.npy") for r in range(2)]
    if not np.array_equal(*results):
        fail("the ranks have different results")
    if np.any(np.abs(results[0] - want) > bound):
        fail(f"mlp of {rows} rows is not that of one rank: {np.max(np.abs(results[0] - want) - bound)} off")
    if rows == 0:
        return
    # With the rows of the other rank it is another function, far outside of the bound.
    wrong = [o.replace("down.{rank}", "down.0") for o in cut]
    status, texts, _ = run(*wrong, "--output=y.{rank}")
    if status or not np.any(np.abs(bf16("y.0/y.npy") - want) > 4 * bound):
        fail(f"wrong rows are not noticed, exit status {status}\n" + "\n".join(texts))


def check_moves(rows):
    for r in range(2):
        save(f"moved.{r}.npy", rng.normal(size=(rows, 8, 6)))
        np.save(f"codes.{r}.npy", rng.integers(0, 256, size=(4, 4), dtype=np.uint8))
    expect_ok(f"moves of {rows} rows",
              run("--function=moves", "--input=x=moved.{rank}.npy", "--input=codes=codes.{rank}.npy", "--poison",
                  f"--check={PARALLEL}"))


def check_rows(rows):
    """Rows by counts: none, more than the capacity, more than there are."""
    for r, counts in enumerate([[0, 5], [-1, 9]]):
        save(f"row.{r}.npy", rng.normal(size=(rows, 6)))
        np.save(f"counts.{r}.npy", np.array(counts, np.int32))
    expect_ok(f"{rows} rows by counts",
              run("--function=rows", "--input=x=row.{rank}.npy", "--input=counts=counts.{rank}.npy", "--poison",
                  f"--check={PARALLEL}"))


def refused(name, result, *texts, seconds=50):
    """Every rank says its text; no hang, and an exit status."""
    status, printed, took = result
    for rank, text in enumerate(texts):
        if not re.search(text, printed[rank]):
            fail(f"{name}: rank {rank} does not say '{text}' but: {printed[rank]}")
    if status == 0:
        fail(f"{name}: exit status 0")
    if took > seconds:
        fail(f"{name}: it took {took:.1f} s")


def ranks(*commands):
    """Another command for each rank."""
    branches = "".join(f"{r}) exec {c} ;; " for r, c in enumerate(commands))
    return ["sh", "-c", f"case $OMPI_COMM_WORLD_RANK in {branches} esac"]


def catches(process, number):
    """Whether a process has a handler for a signal."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
    return int(re.search(r"^SigCgt:\s*(\w+)$", status, re.M)[1], 16) >> (number - 1) & 1


def check_ended():
    """A rank that is ended, as mpirun does when another has failed, while it waits for one that
    never comes. It writes to a file, as mpirun may lose what a rank says last, and is ended when it
    can say something, however busy the machine is."""
    started, said = Path("ended.pid"), Path("ended.txt")
    waits = f"echo $$ > {started}; exec hk-run parallel.so --threads=1 --function=mlp --dim=x.0=2 2> {said}"
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2",
               *ranks("sleep 200", f"sh -c '{waits}'")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as launcher:
        end = time.monotonic() + 100
        while not (started.exists() and (text := started.read_text()).endswith("\n") and
                   catches(text.strip(), signal.SIGTERM)):
            if time.monotonic() > end:
                launcher.terminate()
                return fail("ended: rank 1 does not wait for others within 100 s")
            time.sleep(0.05)
        os.kill(int(text), signal.SIGTERM)
        try:
            launcher.wait(20)
        except subprocess.TimeoutExpired:  # its ranks are gone: PMIx may wait for itself at its end
            launcher.kill()
    expected = "rank 1 was ended while it waited for others to open their communicators with mesh 'tp=2'"
    if expected not in said.read_text():
        fail(f"ended: rank 1 does not say '{expected}' but: {said.read_text()}")


def check_failures():
    mlp = "hk-run parallel.so --threads=1 --timeout=60000 --function=mlp"
    for r in range(2):
        save(f"rows.{r}.npy", rng.normal(size=(3 + r, 64)))
    refused("rows", run("--function=mlp", "--input=x=rows.{rank}.npy"),
            *[r"(ranks do not agree: rank .*3x64xf32; rank .* with 4x64xf32|ranks do not agree: .*4x64.*3x64)"] * 2)
    refused("functions", mpirun(ranks(f"{mlp} --dim=x.0=2", "hk-run parallel.so --threads=1 --function=moves --dim=x.0=2")),
            *[r"ranks do not agree: .*all_reduce over 'tp' in function 'mlp'.*|ranks do not agree: .*function 'moves'"] * 2)
    refused("modules", mpirun(ranks(f"{mlp} --dim=x.0=2", "hk-run other.so --threads=1 --dim=x.0=2")),
            *[r"the program of the module with checksum \w+ for host; rank . is at .* checksum"] * 2)
    refused("meshes", mpirun(ranks(f"{mlp} --dim=x.0=2", "hk-run ep.so --threads=1 --dim=x.0=2")),
            *[r"hk_comm_open with mesh '.*' and runtime .*; rank . is at .* hk_comm_open with mesh"] * 2)
    refused("processes", run("--function=mlp", "--dim=x.0=2", ranks=3, ends_others=False),
            *[r"mesh 'tp=2' has 2 ranks, but there are 3 processes|rank . failed: mesh 'tp=2' has 2 ranks"] * 3)
    refused("calls", mpirun(ranks(f"{mlp} --dim=x.0=2 --bench=20", f"{mlp} --dim=x.0=2")),
            r"rank 1 has closed its communicator, but rank 0 waits for it in all_reduce over 'tp' in function 'mlp'", "")
    refused("late", mpirun(ranks("hk-run parallel.so --timeout=2000 --function=mlp --dim=x.0=2", "sleep 60")),
            "MPI did not start within 2000 ms: some rank has not opened its communicator", "")
    check_ended()
    os.mkfifo("never.npy")  # reading it lasts until mpirun ends the rank
    refused("slow", mpirun(ranks("hk-run parallel.so --threads=1 --timeout=8000 --function=mlp --dim=x.0=2",
                                 f"{mlp} --input=x=never.npy")),
            r"rank 1 has not come to all_reduce over 'tp' in function 'mlp' with 2x64xf32 within 8000 ms", "",
            seconds=60)
    refused("an input", mpirun(ranks(f"{mlp} --dim=x.0=2", f"{mlp} --input=x=missing.npy")),
            "rank 1 has closed its communicator", "missing.npy")
    refused("library", run("--function=mlp", "--dim=x.0=2", environment={"HK_MPI_LIBRARY": "/nowhere/libmpi.so"},
                           ends_others=False),
            *[r"cannot load OpenMPI, .*openmpi-bin libopenmpi3.*/nowhere/libmpi.so"] * 2)
    refused("other library", run("--function=mlp", "--dim=x.0=2", environment={"HK_MPI_LIBRARY": "libm.so.6"},
                                 ends_others=False),
            *["'libm.so.6' does not export MPI_Initialized"] * 2)
    alone = subprocess.run(["hk-run", "parallel.so", "--function=mlp", "--dim=x.0=2"], capture_output=True, text=True)
    refused("no mpirun", (alone.returncode, [alone.stderr], 0), "this process was not started by mpirun; start all ranks")


compile(PARALLEL, "parallel.so", "host")
compile(WHOLE, "whole.so", "host")
small = """module attributes {hk.mesh = "%s=2"} {
func.func @mlp(%%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %%0 = hk.all_reduce sum %%x axis "%s" : tensor<?x64xf32>
  return %%0 : tensor<?x64xf32>
}
}
"""
compile("other.mlir", "other.so", "host", small % ("tp", "tp"))
compile("ep.mlir", "ep.so", "host", small % ("ep", "ep"))
for rows in [5, 1, 0]:
    check_mlp(rows)
for rows in [3, 0]:
    check_moves(rows)
check_rows(5)
check_failures()
finish()
