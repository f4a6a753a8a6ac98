# Every function of rowwise.mlir on the emulated chip, against the interpreter.
import subprocess
import sys

CASES = """softmax --dim=x.0=3
softmax --dim=x.0=0
softmax --dim=x.0=2 --data=inf
softmax_any --dim=x.0=2 --dim=x.1=37
softmax_any --dim=x.0=1 --dim=x.1=5000
add_norm_quantize --dim=x.0=5 --dim=res.0=5
add_norm_quantize --dim=x.0=310 --dim=res.0=310 --data=equal
add_norm_quantize --dim=x.0=2 --dim=res.0=2 --data=nan
norm_odd --dim=x.0=2
norm_pad --dim=x.0=3
layer_norm --dim=x.0=5
gated_mx --dim=x.0=3
gated_mx --dim=x.0=3 --data=inf
quantize_token --dim=x.0=3
qkv --dim=x.0=6 --dim=pos.0=6 --dim=slots.0=6 --range=pos=-1:600 --range=slots=iota:-2
heads --dim=x.0=6
embed --dim=ids.0=6 --range=ids=-2:120
transpose --dim=x.0=9""".splitlines()

failed = 0
for case in CASES:
    name, *options = case.split()
    done = subprocess.run(["hk-run", sys.argv[1], "--device=hip:0", f"--function={name}",
                           f"--check={sys.argv[2]}", *options], capture_output=True, text=True)
    if done.returncode:
        failed += 1
        print(f"{case}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
sys.exit(failed > 0)
