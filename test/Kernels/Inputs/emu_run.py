"""What the tests of foreign kernels share: argv is OBJECT CHIP FOLDER, kernels run by hk-emu."""
import re
import subprocess
import sys
from array import array

OBJECT, CHIP, FOLDER = sys.argv[1:]


def put(name, values, code):
    with open(f"{FOLDER}/{name}", "wb") as file:
        array(code, values).tofile(file)
    return f"--arg=in:{FOLDER}/{name}"


def run(kernel, grid, block, *arguments, out=None, code="f", options=()):
    size = f"{out}:{FOLDER}/out" if out else ""
    listed = [a.replace("OUT", size) for a in arguments]
    done = subprocess.run(["hk-emu", OBJECT, f"--chip={CHIP}", f"--run={kernel}", f"--grid={grid}", f"--block={block}",
                           *listed, *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{kernel}: {done.stderr}{done.stdout}")
    if "--timing" in options:
        return float(re.search(r"clocks +(\d+)", done.stdout)[1])
    values = array(code)
    with open(f"{FOLDER}/out", "rb") as file:
        values.frombytes(file.read())
    return list(values)


def check(name, good):
    print(f"{name}: {'right' if good else 'WRONG'}")
