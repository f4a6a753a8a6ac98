"""A trace as Perfetto wants it: trace.py FILE CLOCK CALLS KERNELS...: complete events of one
track, in time, every call around its kernels; counted devices say bytes."""

import json
import sys

path, clock, calls, *kernels = sys.argv[1:]
trace = json.load(open(path))
assert trace["otherData"]["clock"] == clock, trace["otherData"]
names = {e["name"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}
assert clock in names["thread_name"] and "hk-run" in names["process_name"], names
events = [e for e in trace["traceEvents"] if e["ph"] != "M"]
assert all(e["ph"] == "X" and (e["pid"], e["tid"]) == (1, 1) and e["dur"] > 0 for e in events)
made = [e for e in events if e["cat"] == "kernel"]
around = [e for e in events if e["cat"] == "call"]
assert [e["name"] for e in made] == kernels * int(calls), made
assert [e["args"]["call"] for e in around] == list(range(int(calls)))
for before, after in zip(made, made[1:]):
    assert before["ts"] + before["dur"] <= after["ts"] + 1e-6, (before, after)
for call in around:
    own = [e for e in made if e["args"]["call"] == call["args"]["call"]]
    assert len(own) == len(kernels)
    assert call["ts"] == own[0]["ts"]
    assert abs(call["ts"] + call["dur"] - own[-1]["ts"] - own[-1]["dur"]) < 1e-6
if clock == "modelled":
    # rms_norm writes 5 rows of 256 bf16, the product reads at least its weight.
    assert made[0]["args"]["bytes_written"] == 5 * 256 * 2, made[0]
    assert made[1]["args"]["bytes_read"] >= 256 * 256 * 2, made[1]
    assert all(e["args"]["clocks"] > 0 and e["args"]["limit"] for e in made)
else:
    assert all("bytes_read" not in e["args"] for e in made)
print(f"{len(made)} launches in {calls} calls, {clock}")
