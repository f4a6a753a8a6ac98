"""A whole decode step of two ranks, its exchanges too, as one graph: replays have the bits of calls that were not
captured, for new tokens and caches that grow, and a rank whose process has ended ends the others' replays with a text.

usage: graph_ranks.py FOLDER SOURCE WEIGHTS TARGET DEVICE   (DEVICE: "hip:0" with the emulator, "cuda:{rank}"; SOURCE
"-": FOLDER has kernel.so and engine.so already)"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

STEPS, REPLAYS, LIMIT = 4, int(os.environ.get("REPLAYS", 4)), float(os.environ.get("LIMIT", 200))


def worker(folder, weights, spec, name, rank):
    import hk
    from driver_graphs import Driver

    device = hk.Device(spec.format(rank=rank))
    driver = Driver(device.spec)
    stream = driver.stream()
    comm = hk.Communicator(device, "tp=2", rank=rank, world=2, id_file=f"{folder}/{name}.id", timeout_ms=60000,
                           shared_bytes=1 << 22 if name == "kernel" else 0)
    decode = hk.load(f"{folder}/{name}.so", device, weights=weights, comm=comm)["decode"]
    arguments = {a.name: device.zeros(a.shape, a.dtype) for a in decode.inputs}
    call = decode.bind(**arguments)
    tokens = [84, 104, 101, 32]

    def restart():
        for a in decode.inputs:
            arguments[a.name]._upload(bytes(arguments[a.name].nbytes))

    def step(at, run):
        for name, value in (("ids", tokens[at % 4]), ("positions", at), ("kv_len", at + 1)):
            arguments[name]._upload(np.array([value], np.int32).tobytes())
        run()
        comm.wait(stream, 60000)
        return [t.numpy().tobytes() for t in (*call.results, *(arguments[a.name] for a in decode.inputs if a.role == "state"))]

    want = [step(at, lambda: call(stream)) for at in range(STEPS)]
    graph = driver.capture(stream, lambda: call(stream))
    print("captured", flush=True)
    for _ in range(REPLAYS // STEPS):
        restart()
        got = [step(at, graph) for at in range(STEPS)]
        if got != want:
            print("FAIL", name, "rank", rank, "steps", [a == b for a, b in zip(got, want)])
    if len(set(w[0] for w in want)) != STEPS:
        print("FAIL", name, "the steps do not differ")
    print("replayed", flush=True)
    # Rank 1 has what it needs a little before rank 0 does; if it ended then, rank 0 would be told too early.
    done = Path(folder, f"{name}.done")
    if rank == 1:
        while not done.exists():
            time.sleep(0.01)
        os._exit(0)
    done.touch()
    begin = time.monotonic()
    try:
        for at in range(1000):
            graph()
            comm.wait(stream, 20000)
        print("FAIL", name, "nobody says that rank 1 has ended")
    except hk.Error as error:
        print("told", str(error)[:200], flush=True)
    if time.monotonic() - begin > 10:
        print("FAIL", name, f"it took {time.monotonic() - begin:.1f} s")
    os._exit(0)


def main(folder, source, weights, target, spec):
    from verdict import fail, finish

    for name in ("kernel", "engine"):
        if source != "-":
            text = Path(source).read_text()
            # hk-shard keeps what the module says of its exchanges.
            Path(f"{folder}/{name}.mlir").write_text(f'module attributes {{hk.exchange = "{name}"}} {{\n{text}\n}}\n')
            subprocess.run(["hk-compile", f"{folder}/{name}.mlir", f"--target={target}", "--mesh=tp=2",
                            f"--weights={weights}", "-o", f"{folder}/{name}.so"], check=True)
        Path(folder, f"{name}.done").unlink(missing_ok=True)
        begin = time.monotonic()
        ranks = [subprocess.Popen([sys.executable, __file__, "worker", folder, weights, spec, name, str(r)],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for r in range(2)]
        texts = []
        for rank in ranks:
            try:
                texts.append(rank.communicate(timeout=max(1, begin + LIMIT - time.monotonic()))[0])
            except subprocess.TimeoutExpired:
                rank.kill()
                texts.append("FAIL: it hangs; " + rank.communicate()[0])
        for rank, text in enumerate(texts):
            if "FAIL" in text or "replayed" not in text:
                fail(f"{name}: rank {rank} says: {text}")
        if "has ended without closing its communicator" not in texts[0]:
            fail(f"{name}: rank 0 is not told: {texts[0]}")
        print(f"{name}: {REPLAYS} replays of a decode step, {time.monotonic() - begin:.1f} s")
    finish()


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        worker(*sys.argv[2:6], int(sys.argv[6]))
    main(*sys.argv[1:6])
