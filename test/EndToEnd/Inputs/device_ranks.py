"""Two processes whose devices exchange tensors: what they compute, and that every failure has a text on each rank in
time. On the emulator with a stand-in for RCCL, or on the host by messages in a file.

usage: device_ranks.py FOLDER INPUTS TARGET; TARGET is host or a chip that the emulator has."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from verdict import compile, fail, finish

folder, inputs, target = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
os.chdir(folder)
onHost = target == "host"
rng = np.random.default_rng(7)
number = 0
PARALLEL, SUMS = inputs / "parallel_mlp.mlir", inputs / "device_ranks.mlir"
KERNELS = inputs / "kernel_ranks.mlir"
SHARED = "--shared=8000000"  # two slots for two ranks: tensors of up to 2 MB
ALWAYS = ["--threads=1", f"--device={'host' if onHost else 'hip:0'}"]
LIMIT = 10  # seconds that a failure may take


class Ranks:
    """Processes, each with arguments and an environment of its own; none outlives this."""

    def __init__(self, commands, timeout=4000, delays=(), environments=(), file=None):
        global number
        number += 1
        self.file = file or f"ranks.{number}"
        self.start = time.monotonic()
        self.processes = []
        for index, command in enumerate(commands):
            if command is None:
                continue
            time.sleep(delays[index] if index < len(delays) else 0)
            environment = environments[index] if index < len(environments) else {}
            rank = [] if any(o.startswith("--rank=") for o in command) else [f"--rank={index}"]
            self.processes.append(subprocess.Popen(
                ["hk-run", *map(str, command), *ALWAYS, *rank, f"--id-file={self.file}", f"--timeout={timeout}"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}))

    def wait(self, limit=100):
        """The exit statuses and texts, and how long it took."""
        texts = []
        try:
            for process in self.processes:
                texts.append(process.communicate(timeout=max(1, self.start + limit - time.monotonic()))[0])
        except subprocess.TimeoutExpired:
            fail(f"{self.file}: a process hangs")
        finally:
            for process in self.processes:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
        texts += ["" for _ in self.processes[len(texts):]]
        return [p.returncode for p in self.processes], texts, time.monotonic() - self.start


def expect_ok(name, command, ranks=2):
    statuses, texts, _ = Ranks([command] * ranks, timeout=60000).wait()
    for rank, (status, text) in enumerate(zip(statuses, texts)):
        if status or "all within their bounds" not in text:
            fail(f"{name}: rank {rank} has exit status {status}\n{text}")


def refused(name, commands, texts, limit=LIMIT, **keywords):
    """Each rank says its text, none succeeds, and nobody waits for long."""
    statuses, printed, took = Ranks(commands, **keywords).wait()
    for rank, (status, said, text) in enumerate(zip(statuses, printed, texts)):
        if text is None:
            continue
        if not re.search(text, said):
            fail(f"{name}: rank {rank} does not say '{text}' but: {said}")
        if status == 0:
            fail(f"{name}: rank {rank} has exit status 0")
    if took > limit:
        fail(f"{name}: it took {took:.1f} s")


def save(name, x):
    np.save(name, np.ascontiguousarray(x))


def check_results(rows):
    for r in range(2):
        save(f"x.{r}.npy", rng.normal(size=(rows, 4, 6)).astype(np.float32))
        save(f"n.{r}.npy", rng.integers(-99, 99, size=(rows, 4)).astype(np.int32))
        save(f"moved.{r}.npy", rng.normal(size=(rows, 8, 6)).astype(np.float32))
        save(f"codes.{r}.npy", rng.integers(0, 256, size=(4, 4), dtype=np.uint8))
        save(f"gate.{r}.npy", rng.normal(size=(64, 48)).astype(np.float32) / 8)
    expect_ok(f"sums of {rows} rows", ["sums.so", "--input=x=x.{rank}.npy", "--input=n=n.{rank}.npy", "--poison",
                                       f"--check={SUMS}"])
    expect_ok(f"moves of {rows} rows", ["parallel.so", "--function=moves", "--input=x=moved.{rank}.npy",
                                        "--input=codes=codes.{rank}.npy", "--poison", f"--check={PARALLEL}"])
    expect_ok(f"mlp of {rows} rows", ["parallel.so", "--function=mlp", f"--dim=x.0={rows}", "--bench=3",
                                      "--input=gate=gate.{rank}.npy", f"--check={PARALLEL}"])


def check_rows(rows):
    """Rows by counts: none, more than the capacity, more than there are."""
    for counts in ([[2, 3], [4, 1]], [[0, 5], [-1, 9]]):
        for r in range(2):
            save(f"row.{r}.npy", rng.normal(size=(rows, 6)).astype(np.float32))
            save(f"counts.{r}.npy", np.array(counts[r], np.int32))
        expect_ok(f"{rows} rows by counts {counts}",
                  ["parallel.so", "--function=rows", "--input=x=row.{rank}.npy", "--input=counts=counts.{rank}.npy",
                   "--poison", f"--check={PARALLEL}"])


def check_kernels(rows):
    """Sums that kernels make themselves: with memory that ranks share, too little of it, and none. The bits are the
    same, on both ranks, call after call."""
    for function, width in (("norm", 1024), ("layers", 320)):
        for r in range(2):
            save(f"term.{r}.npy", rng.normal(size=(rows, width)).astype(np.float32))
        results = []
        for shared in ([], [SHARED], ["--shared=1"]):
            folder = f"{function}.{len(results)}"
            command = ["kernels.so", f"--function={function}", "--input=x=term.{rank}.npy", f"--dim=r.0={rows}", *shared]
            expect_ok(f"{function} of {rows} rows, {shared}", command + ["--poison", "--bench=7", f"--check={KERNELS}",
                                                                         f"--output={folder}.{{rank}}"])
            results += [{f.name: f.read_bytes() for f in Path(f"{folder}.{r}").iterdir()} for r in range(2)]
        if not results[0] or any(r != results[0] for r in results):
            fail(f"{function} of {rows} rows: ranks, or ways to exchange rows, have other bits")


def check_four():
    """Four ranks, and two axes of which one is summed over. Words of all ones, which mean to kernels that nothing has
    come, are NaN like others."""
    for r in range(4):
        x = rng.normal(size=(9, 320)).astype(np.float32)
        x.view(np.uint32)[r % 2 * 8, r:r + 5] = 0xFFFFFFFF
        save(f"term.{r}.npy", x)
    for mesh in ("tp=4", "ep=2,tp=2"):
        compile("mesh.mlir", "mesh.so", target, KERNELS.read_text().replace("tp=2", mesh))
        command = ["mesh.so", "--function=layers", "--input=x=term.{rank}.npy", "--dim=r.0=9", SHARED, "--bench=3",
                   "--poison", "--check=mesh.mlir"]
        expect_ok(f"layers of {mesh}", command, ranks=4)


def check_owners():
    """Many rows of more than two ranks: each has an owner, who sends the sum. The bits are those of the library's
    gather and a sum in order, on every rank, call after call."""
    for ranks, rows in ((3, 290), (4, 150), (8, 40)):
        compile("mesh.mlir", "mesh.so", target, KERNELS.read_text().replace("tp=2", f"tp={ranks}"))
        for r in range(ranks):
            x = rng.normal(size=(rows, 1024)).astype(np.float32)
            x.view(np.uint32)[r * 40:r * 40 + 3, 4 * r:4 * r + 9] = 0xFFFFFFFF
            save(f"term.{r}.npy", x)
        results = []
        for shared in ([SHARED], []):
            command = ["mesh.so", "--function=norm", "--input=x=term.{rank}.npy", f"--dim=r.0={rows}", *shared, "--poison"]
            expect_ok(f"owners of {ranks} ranks, {shared}",
                      command + ["--check=mesh.mlir", "--bench=3" if shared else "--bench=1",
                                 f"--output=owners.{len(results)}.{{rank}}"], ranks)
            results += [{f.name: f.read_bytes() for f in Path(f"owners.{len(results)}.{r}").iterdir()} for r in range(ranks)]
        if not results[0] or any(r != results[0] for r in results[:ranks]):
            fail(f"owners of {ranks} ranks: ranks have other bits")
        if results[0]["sum.npy"] != results[ranks]["sum.npy"]:
            fail(f"owners of {ranks} ranks: another sum than of one in order")


def check_waits():
    """A kernel that waits for a rank that does not come, or whose process ends, ends with a text."""
    norm = ["kernels.so", "--function=norm", SHARED, "--dim=r.0=3"]
    mine, never = norm + ["--dim=x.0=3"], norm + ["--input=x=never.npy"]
    expect_late("a kernel waits", mine, never, expected=r"rank 1 has not come to .*function 'norm'.* within 3000 ms")
    expect_killed("a kernel waits", mine, never)
    much = ["--shared=900000000000000" if o == SHARED else o for o in mine]
    refused("no memory", [much, mine], ["options.shared_bytes of 9.*allocating 9", "rank 0 failed: "])
    refused("other memory", [mine, ["--shared=5" if o == SHARED else o for o in mine]], ["ranks do not agree"] * 2)


def check_meeting():
    """Ranks that do not find each other, or are not of one mesh and module."""
    mlp = ["parallel.so", "--function=mlp", "--dim=x.0=2"]
    refused("nobody else", [mlp, None], ["rank 1 has not come to hk_comm_open with mesh 'tp=2' .* within 4000 ms"])
    refused("no first rank", [None, mlp], [r"rank 0 has not made 'ranks\.\d+' within 4000 ms, where rank 1 waits"])
    refused("modules", [mlp, ["other.so", "--dim=x.0=2"]], [r"the program of the module with checksum \w+ for"] * 2)
    refused("meshes", [mlp, ["ep.so", "--dim=x.0=2"]], [r"hk_comm_open with mesh '.*' and runtime .*; rank . is at"] * 2)
    refused("larger mesh", [mlp, ["four.so", "--dim=x.0=2"]],
            ["another rank failed: .* is of 2 ranks", "is of 2 ranks, but this one, rank 1, is of 4"])
    four = ["four.so", "--dim=x.0=2"]
    taken = r"process \d+ is rank 1 of 'ranks\.\d+' already"
    refused("two of a rank", [four, four, four + ["--rank=1"]], [f"another rank failed: {taken}"] * 2 + [taken],
            delays=[0, 0, 1])
    refused("outside", [mlp + ["--rank=7"]], ["expected options.world to be 2, .* got rank 7 of 2"])
    # A file of processes that have ended is none.
    Path("old").write_bytes(bytes(100000))
    refused("an old file", [None, mlp], ["rank 0 has not made 'old'"], file="old")
    statuses, texts, _ = Ranks([mlp, mlp], file="old", delays=[1, 0]).wait()
    if statuses != [0, 0]:
        fail(f"an old file stops new ranks: {texts}")
    if Path("old").exists():
        fail("the file stays when all have come")


def check_calls():
    """Ranks that make other calls, none, or come too late."""
    mlp = ["parallel.so", "--function=mlp"]
    disagree = r"ranks do not agree: .*mlp'|rank \d failed: ranks do not agree"
    refused("rows", [mlp + ["--dim=x.0=3"], mlp + ["--dim=x.0=4"]], [disagree] * 2)
    refused("functions", [mlp + ["--dim=x.0=2"], ["parallel.so", "--function=moves", "--dim=x.0=2"]], [disagree] * 2)
    refused("fewer calls", [mlp + ["--dim=x.0=2", "--bench=200"], mlp + ["--dim=x.0=2"]],
            ["rank 1 has closed its communicator, but rank 0 waits for it in"], limit=20)
    never = ["parallel.so", "--function=mlp", "--input=x=never.npy"]
    expect_late("late", mlp + ["--dim=x.0=2"], never, expected=r"rank 1 has not come to .*function 'mlp'.* within 3000 ms")
    expect_killed("a killed rank", mlp + ["--dim=x.0=2"], never)


def expect_told(name, ranks, others, expected, since, limit):
    """What the `others` say, who wait for the last rank, and that they do so in time."""
    texts = [process.communicate(timeout=60)[0] for process in ranks.processes[:others]]
    took = time.monotonic() - since
    ranks.processes[-1].kill()
    ranks.wait()
    # Who is told by another rank has its text, too.
    for rank, text in enumerate(texts):
        if not re.search(expected.replace("RANK", str(rank)), text) and not re.search(
                r"rank \d failed: .*" + expected.replace("RANK", r"\d"), text):
            fail(f"{name}: rank {rank} says: {text}")
        if took > limit or ranks.processes[rank].returncode == 0:
            fail(f"{name}: rank {rank} has exit status {ranks.processes[rank].returncode} after {took:.1f} s")


def expect_late(name, *commands, expected):
    """The last of `commands` never comes."""
    late = Ranks(commands, timeout=3000)
    expect_told(name, late, len(commands) - 1, expected + ", where rank RANK waits", late.start, LIMIT)


def expect_killed(name, *commands):
    """The last of `commands`, for which the others wait, is killed."""
    killed = Ranks(commands, timeout=60000)
    time.sleep(3)
    killed.processes[-1].kill()
    expect_told(name, killed, len(commands) - 1,
                rf"rank {len(commands) - 1}, process \d+, has ended without closing its communicator", time.monotonic(), 5)


def moves_of(ranks):
    """Every exchange between so many ranks, which divide 12."""
    part = 12 // ranks
    return f"""module attributes {{hk.mesh = "tp={ranks}"}} {{
func.func @moves(%x: tensor<?x12x6xbf16> {{hk.name = "x"}}, %counts: tensor<{ranks}xi32> {{hk.name = "counts"}})
    -> (tensor<?x12x6xbf16>, tensor<?x12x6xf32>, tensor<?x{part}x6xbf16>, tensor<?x12x{6 * ranks}xbf16>,
        tensor<?x{part}x{6 * ranks}xbf16>, tensor<?x12x6xbf16>, tensor<?x12x6xbf16>, tensor<i32>,
        tensor<{ranks}x?x12x6xbf16>, tensor<{ranks}xi32>) {{
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : tensor<?x12x6xbf16>
  %1 = hk.all_reduce sum %x axis "tp" : tensor<?x12x6xbf16> -> tensor<?x12x6xf32>
  %2 = hk.reduce_scatter sum %x axis "tp" dim 1 : tensor<?x12x6xbf16> -> tensor<?x{part}x6xbf16>
  %3 = hk.all_gather %x axis "tp" dim 2 : tensor<?x12x6xbf16> -> tensor<?x12x{6 * ranks}xbf16>
  %4 = hk.all_to_all %x axis "tp" split 1 concat 2 : tensor<?x12x6xbf16> -> tensor<?x{part}x{6 * ranks}xbf16>
  %5 = hk.broadcast_rank %x axis "tp" root {ranks - 1} : tensor<?x12x6xbf16>
  %6 = hk.all_reduce max %x axis "tp" : tensor<?x12x6xbf16>
  %7 = hk.rank axis "tp" : tensor<i32>
  %8:2 = hk.all_to_all_rows %x, %counts axis "tp" : tensor<?x12x6xbf16>, tensor<{ranks}xi32> -> tensor<{ranks}x?x12x6xbf16>, tensor<{ranks}xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8#0, %8#1 : tensor<?x12x6xbf16>, tensor<?x12x6xf32>, tensor<?x{part}x6xbf16>,
    tensor<?x12x{6 * ranks}xbf16>, tensor<?x{part}x{6 * ranks}xbf16>, tensor<?x12x6xbf16>, tensor<?x12x6xbf16>,
    tensor<i32>, tensor<{ranks}x?x12x6xbf16>, tensor<{ranks}xi32>
}}
}}
"""


def check_more(ranks):
    """Every exchange between more ranks, and that each of them is told what is wrong with the last one."""
    compile("moves.mlir", "moves.so", target, moves_of(ranks))
    for rows in (5, 0):
        for r in range(ranks):
            save(f"x.{r}.npy", rng.normal(size=(rows, 12, 6)).astype(np.float32))
            save(f"counts.{r}.npy", rng.multinomial(rows, [1 / ranks] * ranks).astype(np.int32))
        expect_ok(f"moves of {rows} rows between {ranks} ranks",
                  ["moves.so", "--input=x=x.{rank}.npy", "--input=counts=counts.{rank}.npy", "--poison",
                   "--check=moves.mlir"], ranks)
    mine = ["moves.so", "--dim=x.0=2"]
    others = [mine] * (ranks - 1)
    last = ranks - 1
    refused(f"rows of {ranks} ranks", others + [["moves.so", "--dim=x.0=3"]],
            [r"ranks do not agree: .*moves'|rank \d failed: ranks do not agree"] * ranks)
    refused(f"fewer than {ranks} ranks", others + [None],
            [rf"rank {last} has not come to hk_comm_open with mesh 'tp={ranks}' .* within 4000 ms|rank \d failed: .*"] * last)
    never = ["moves.so", "--input=x=never.npy"]
    expect_late(f"late among {ranks}", *others, never, expected=rf"rank {last} has not come to .*function 'moves'.* within 3000 ms")
    expect_killed(f"a killed rank of {ranks}", *others, never)


def check_library():
    """What the library that exchanges tensors may do."""
    mlp = ["parallel.so", "--function=mlp", "--dim=x.0=2", "--bench=5"]
    faulty = lambda what: [{}, {"HK_STANDIN_RCCL": what}]
    # Five exchanges are made to see that the engine works.
    refused("it fails at the start", [mlp, mlp], ["rank 1 failed: .*unhandled stand-in error",
                                                  "ncclAllGather of .* failed with error 1: unhandled stand-in error"],
            environments=faulty("error:3"))
    refused("it fails in a call", [mlp, mlp], ["rank 1 failed: .*unhandled stand-in error",
                                               "function 'mlp'.*ncclAllGather of .*unhandled stand-in error"],
            environments=faulty("error:7"))
    for n in (2, 7):
        refused(f"a rank dies in exchange {n}", [mlp, mlp], [r"rank 1, process \d+, has ended without", None],
                environments=faulty(f"die:{n}"), timeout=60000)
    for n in (2, 7):
        refused(f"exchange {n} never ends", [mlp, mlp], ["has not begun within 3000 ms|have not ended|rank 1 failed"] * 2,
                environments=faulty(f"stall:{n}"), timeout=3000)
    refused("versions", [mlp, mlp], ["rank 1 failed: .* version", "is of version 1 here, of 22809 on the first rank"],
            environments=faulty("version:1"))
    refused("no library", [mlp, mlp], ["rank 1 failed: cannot load RCCL", "cannot load RCCL, .*rocm|cannot load RCCL"],
            environments=[{}, {"HK_RCCL_LIBRARY": "/nowhere/librccl.so"}])
    refused("another library", [mlp, mlp], ["rank 1 failed: 'libm.so.6'", "'libm.so.6' does not export ncclGetVersion"],
            environments=[{}, {"HK_RCCL_LIBRARY": "libm.so.6"}])


compile(PARALLEL, "parallel.so", target)
compile(SUMS, "sums.so", target)
small = """module attributes {hk.mesh = "%s"} {
func.func @mlp(%%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %%0 = hk.all_reduce sum %%x axis "%s" : tensor<?x64xf32>
  return %%0 : tensor<?x64xf32>
}
}
"""
compile("other.mlir", "other.so", target, small % ("tp=2", "tp"))
compile("ep.mlir", "ep.so", target, small % ("ep=2", "ep"))
compile("four.mlir", "four.so", target, small % ("tp=4", "tp"))
os.mkfifo("never.npy")  # reading it never ends
for rows in [5, 1, 0]:
    check_results(rows)
    check_rows(rows)
check_meeting()
check_calls()
for ranks in [3, 4]:
    check_more(ranks)
if onHost:
    refused("memory of the host", [["sums.so", SHARED]] * 2, ["expected options.shared_bytes to be 0 on the host"] * 2)
else:
    check_library()
    compile(KERNELS, "kernels.so", target)
    for rows in [1, 0, 70]:
        check_kernels(rows)
    check_four()
    check_owners()
    check_waits()
finish()
