"""Calls every function of a module with each kind of data and checks the results.

usage: sweep.py MODULE.so SOURCE.mlir
"""

import subprocess
import sys

module, source = sys.argv[1:]
# What random inputs need beyond their types.
OPTIONS = {
    "chain": "--dim=x.0=13 --dim=r.0=13",
    "points": "--dim=x.0=13",
    "limited": "--dim=x.0=13",
    "quant": "--dim=x.0=13",
    "attn": "",
    "move": "--dim=x.0=7 --dim=p.0=7 --dim=sl.0=7 --range=p=-1:30 --range=sl=iota",
    "cat": "--dim=i.0=7 --dim=b.0=7 --range=i=-2:105",
    "scaled": "--dim=x.0=7",
    "int8": "--dim=x.0=7",
    "unary": "--dim=x.0=7",
    "ragged": "",
    "batched": "",
    "stepped": "",
    "integers": "--dim=i.0=5 --range=i=-40000:40000 --range=j=-70000:70000",
    "dequantized": "--dim=q.0=5 --dim=s.0=5 --dim=x.0=5 --range=q=-127:127",
}
agree, calls = 0, 0
for function, options in OPTIONS.items():
    for data in ["normal", "huge", "tiny", "nan", "inf"]:
        calls += 1
        run = subprocess.run(["hk-run", module, f"--function={function}", f"--data={data}", "--poison", "--shuffle=1",
                              f"--check={source}", *options.split()], capture_output=True, text=True)
        if run.returncode == 0 and "all within their bounds" in run.stdout:
            agree += 1
        else:
            print(f"FAILED @{function} with {data} data:\n{run.stdout}{run.stderr}")
print(f"{agree} of {calls} calls agree")
