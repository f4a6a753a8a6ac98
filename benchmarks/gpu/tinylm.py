"""Times a decode step and a prefill of examples/tinylm on one GPU, launched call by call and as a
graph that was captured once.

  tinylm.py MODULE WEIGHTS   tinylm.so (--target=sm_90a) and model.safetensors; prints JSON

Each call is timed with events over 100 calls, median of 9 turns. A graph must give the logits of
the call. HK_HOME: see python/README.md.
"""

import json
import statistics
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
import gemm

CONTEXT, HEADS, SIZE, LAYERS, VOCABULARY = 512, 2, 64, 6, 256
CALLS = 100


def microseconds(torch, call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(CALLS):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / CALLS * 1e3


def measure(torch, function, tokens, first):
    caches = [torch.randn(1, CONTEXT, HEADS, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2 * LAYERS)]
    ids = torch.randint(0, VOCABULARY, (tokens,), device="cuda", dtype=torch.int32)
    positions = torch.arange(first, first + tokens, device="cuda", dtype=torch.int32)
    length = torch.tensor([first + tokens], device="cuda", dtype=torch.int32)
    logits = torch.empty(tokens, VOCABULARY, device="cuda")
    call = function.bind(ids, positions, length, *caches, out=logits)
    call()
    expected = logits.clone()
    graph = gemm.graph_of(torch, [call], 1)
    logits.fill_(float("nan"))
    graph.replay()
    equal = torch.equal(logits, expected)
    times = {"call": [], "graph": []}
    for _ in range(9):
        times["call"].append(microseconds(torch, call))
        times["graph"].append(microseconds(torch, graph.replay))
    return {"tokens": tokens, "equal": equal,
            **{f"{side}_us": round(statistics.median(t), 2) for side, t in times.items()}}


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    import torch
    sys.path.insert(0, __file__.rsplit("/", 3)[0] + "/python")
    import hk

    torch.manual_seed(0)
    model = hk.load(sys.argv[1], "cuda:0", weights=sys.argv[2])
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    print(json.dumps({"function": "decode", **measure(torch, model["decode"], 1, 255)}))
    print(json.dumps({"function": "prefill", **measure(torch, model["prefill"], 256, 0)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
