"""What ranks on GPUs of their own (two, or as many as RANKS says) are told when something is wrong, and when: calls and
replayed graphs whose sums kernels make in memory that the ranks share.

Usage: ranks_failures.py FOLDER OUT.json   (FOLDER has ranks.so for so many ranks, compiled for sm_90a; HK_HOME and
PYTHONPATH as for ranks.py)

Each case is a process a rank, without PyTorch, so that one takes seconds; it is rank 1 that fails. Every rank that still
runs has to have a text within 10 s of the failure, and its stream has to be free."""

import json
import os
import re
import subprocess
import sys
import time

import numpy as np

import hk
from driver_graphs import Driver

D, LIMIT = 8192, 10
RANKS = int(os.environ.get("RANKS", 2))
DEVICE = os.environ.get("DEVICE", "cuda:{rank}")  # "hip:0" with the emulator
# Case: the texts of ranks 0 and 1; None: it does not run any more. Others have that of rank 0, or that one failed.
CASES = {
    "absent": ("rank 1 has not come to hk_comm_open", None),
    "late call": ("rank 1 has not come to function 'any_order'.* within 3000 ms", "rank 0 failed: rank 1 has not come"),
    "late product call": ("rank 1 has not come to function 'product'.* within 3000 ms", "rank 0 failed: rank 1 has not come"),
    "dead call": (r"rank 1, process \d+, has ended", None),
    "other rows": ("ranks do not agree", "ranks do not agree"),
    "late replay": ("the stream of rank 0 is not done within 3000 ms", "rank 0 failed: the stream of rank 0"),
    "dead replay": (r"rank 1, process \d+, has ended", None),
    "killed among replays": (r"rank 1, process \d+, has ended", None),
    "other graph": ("the stream of rank 0 is not done within 3000 ms", "rank 0 failed: the stream of rank 0"),
}


class Rank:
    def __init__(self, folder, rank, case):
        self.rank, self.name = rank, case.replace(" ", "-")
        spec = DEVICE.format(rank=rank)
        self.device = hk.Device(spec)
        self.driver = Driver(spec)
        self.stream = self.driver.stream()
        patient = "dead" in case or "killed" in case
        self.comm = hk.Communicator(self.device, f"tp={RANKS}", rank=rank, world=RANKS, id_file=f"/dev/shm/hk-failure-{self.name}",
                                    timeout_ms=30000 if patient else 3000, shared_bytes=RANKS << 25)
        self.module = hk.load(f"{folder}/ranks.so", self.device, comm=self.comm)

    def bound(self, rows):
        ones = np.full((rows, D), 0x3F80, np.uint16)  # 1.0 in bf16
        x, w = self.device.tensor(ones, "bf16"), self.device.tensor(ones[0], "bf16")
        call = self.module.any_order.bind(x, x, w)
        return lambda: call(self.stream)

    def product(self, rows):
        """A sum whose rows a product sends."""
        ones = np.full((8192, D), 0x3F80, np.uint16)
        call = self.module.product.bind(*(self.device.tensor(np.ascontiguousarray(part), "bf16") for part in
                                          (ones[:rows, :512], ones[:, :512], ones[:rows])))
        return lambda: call(self.stream)

    def wait(self, limit=20000):
        self.comm.wait(self.stream, limit)

    def graph(self, rows):
        call = self.bound(rows)
        call()
        self.wait()
        launch = self.driver.capture(self.stream, call)
        for _ in range(3):
            launch()
        self.wait()
        return launch

    def until_told(self, body):
        """What hk says, and after how many seconds; the stream is free by then."""
        begin, text = time.monotonic(), "nothing"
        try:
            body()
        except hk.Error as error:
            text = str(error)
        told = time.monotonic() - begin
        self.driver.synchronize(self.stream)
        return {"text": text, "told": round(told, 2), "free": round(time.monotonic() - begin, 2)}


def call_case(rank, case):
    call = rank.product(700) if "product" in case else rank.bound(64 if rank.rank != 1 or case != "other rows" else 65)
    if rank.rank == 1 and case == "dead call":
        os._exit(0)
    if rank.rank == 1 and case in ("late call", "late product call"):
        time.sleep(5)

    def body():
        call()
        rank.wait()
    return body


def replay_case(rank, case):
    launch = rank.graph(64)
    if rank.rank == 1 and case == "dead replay":
        os._exit(0)
    if rank.rank == 1 and case == "late replay":
        time.sleep(5)

    def once():
        launch()
        rank.wait(3000 if case == "late replay" else 20000)

    def again():
        print("replaying", flush=True)
        for _ in range(1000000):
            for _ in range(20):
                launch()
            rank.wait()
    return again if case == "killed among replays" else once


def other_graph(rank, _case):
    graphs = [rank.graph(64), rank.graph(1)]

    def body():
        graphs[rank.rank == 1]()
        rank.wait(3000)
        time.sleep(5)  # a graph of one row may have found its row
        graphs[rank.rank == 1]()
        rank.wait(3000)
    return body


def worker(folder, case, number):
    begin = time.monotonic()
    try:
        rank = Rank(folder, number, case)
    except hk.Error as error:
        print("RESULT", json.dumps({"text": str(error), "told": round(time.monotonic() - begin, 2)}), flush=True)
        os._exit(1)
    kind = call_case if case.endswith("call") or case == "other rows" else replay_case
    body = (other_graph if case == "other graph" else kind)(rank, case)
    print("READY", round(time.monotonic() - begin, 2), flush=True)
    print("RESULT", json.dumps(rank.until_told(body)), flush=True)
    os._exit(1)


def run_case(folder, case):
    ranks = [subprocess.Popen([sys.executable, __file__, "worker", folder, case, str(r)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
             for r in range(RANKS) if case != "absent" or r != 1]
    if case == "killed among replays":
        while ranks[1].poll() is None and "replaying" not in ranks[1].stdout.readline():
            pass
        time.sleep(1)
        killed = time.monotonic()
        ranks[1].kill()
    told = []
    texts = [*CASES[case], *[rf"{CASES[case][0]}|rank \d+ failed"] * (RANKS - 2)]
    for number, (process, expected) in enumerate(zip(ranks, [t for t in texts if case != "absent" or t])):
        try:
            said = process.communicate(timeout=25)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0] + "HANGS"
        if expected is None:
            continue
        found = re.search("RESULT (.*)", said)
        result = json.loads(found[1]) if found else {"text": said, "told": 99}
        if case == "killed among replays":
            result["told"] = result["free"] = round(time.monotonic() - killed, 2)
        result["right"] = bool(re.search(expected, result["text"])) and max(
            result["told"], result.get("free", 0)) - (5 if case == "other graph" and number else 0) <= LIMIT
        told.append(result)
    return told


def main(folder, out):
    for name in CASES:
        path = f"/dev/shm/hk-failure-{name.replace(' ', '-')}"
        if os.path.exists(path):
            os.unlink(path)
    table, begin = {}, time.monotonic()
    for case in os.environ.get("CASES", ",".join(CASES)).split(","):
        table[case] = run_case(folder, case)
        for number, result in enumerate(table[case]):
            print(f"{time.monotonic() - begin:5.1f} {case:21} rank {number} {'ok   ' if result['right'] else 'WRONG'} told "
                  f"{result['told']:5.2f} s, free {result.get('free', '-'):>5}: {result['text'][:150]!r}", flush=True)
        with open(out, "w") as file:
            json.dump(table, file, indent=1)
    wrong = [case for case, told in table.items() if not all(r["right"] for r in told)]
    print("every rank was told in time" if not wrong else f"WRONG: {wrong}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    main(sys.argv[1], sys.argv[2])
