#!/usr/bin/env python3
"""Makes the pinned virtual environment of the Python tests, once per requirements file.

PyPI's torch for Linux is built for CUDA and asks for 4 GB of NVIDIA's libraries, although
nothing here runs on a GPU through torch. So packages are installed without dependencies,
and the NVIDIA libraries that torch's shared objects name, but that a CPU never calls, are
replaced by stubs: a function of every name that torch refers to, which says what was
called and aborts. The small ones that torch calls when it is imported (CUDA's runtime and
CUPTI) are the real ones.

    make.py               prints the path of the environment's python
    make.py ARGUMENTS     runs it with these arguments, for example -m pytest

It lies in $XDG_CACHE_HOME/hk (~/.cache/hk), outside of the tree, under a name that changes
with its requirements. It takes 1.7 GB and a minute.
"""

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
CLANG = "clang-22"
READELF = "llvm-readelf-22"


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def needed(library):
    """The libraries that a shared object names."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run(READELF, "-d", library))


def symbols(library):
    """(undefined, defined) names of a shared object's dynamic symbols."""
    undefined, defined = set(), set()
    for line in run(READELF, "--dyn-symbols", "-W", library).splitlines():
        field = line.split()
        if len(field) < 8 or not field[0].endswith(":") or field[4] == "LOCAL":
            continue
        name = field[7].split("@")[0]
        weak = field[4] == "WEAK"
        if field[6] != "UND":
            defined.add(name)
        elif not weak:
            undefined.add(name)
    return undefined, defined


def write_stubs(site):
    """Adds what torch's libraries name and nobody has: libraries that only abort."""
    folder = site / "torch" / "lib"
    libraries = sorted(folder.glob("*.so*"))
    have = {p.name for p in libraries}
    have |= {p.name for p in site.glob("nvidia/*/lib/*.so*")}
    wanted = {name for p in libraries for name in needed(p)}
    replaced = re.compile(r"lib(cublas|cudnn|cufft|cufile|cusolver|cusparse|nccl|nvrtc|nvshmem)")
    missing = sorted(n for n in wanted - have if replaced.match(n))
    undefined, defined = set(), set()
    for path in [*libraries, *site.glob("nvidia/*/lib/*.so*")]:
        u, d = symbols(path)
        undefined |= u if path in libraries else set()
        defined |= d
    prefix = re.compile(r"(cublas|cudnn|cufft|cusparse|cusolver|nccl|pnccl|nvrtc|nvshmem|cuFile)")
    names = sorted(n for n in undefined - defined if prefix.match(n) and n.isidentifier())
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch) / "stub.c"
        bodies = "\n".join(f'void {n}(void) {{ stub("{n}"); }}' for n in names)
        source.write_text(
            "#include <stdio.h>\n#include <stdlib.h>\n"
            "static void stub(const char *name) {\n"
            '  fprintf(stderr, "%s: this environment has no CUDA libraries\\n", name);\n'
            "  abort();\n}\n" + bodies + "\n")
        # One library has the functions, the others are found by name and are empty.
        for i, name in enumerate(missing):
            text = source if i == 0 else pathlib.Path(scratch) / "empty.c"
            if i:
                text.write_text("")
            run(CLANG, "-shared", "-fPIC", "-O1", f"-Wl,-soname,{name}", "-o", folder / name, text)
    return missing


def make(target):
    """Builds the environment; the file `complete` in it says that it is whole."""
    # An environment holds its own path, so it is built in place.
    shutil.rmtree(target, ignore_errors=True)
    run(sys.executable, "-m", "venv", target)
    python = target / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir",
        "--disable-pip-version-check", "-r", REQUIREMENTS)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    stubs = write_stubs(target / "lib" / version / "site-packages")
    run(python, "-c", "import torch, transformers, gguf; torch.ones(2, 2) @ torch.ones(2, 2)")
    (target / "complete").write_text("stubs: " + " ".join(stubs) + "\n")


def main():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "hk"
    content = REQUIREMENTS.read_bytes() + pathlib.Path(__file__).read_bytes()
    target = cache / f"venv-{hashlib.sha256(content).hexdigest()[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Two test runs make one environment.
        if not (target / "complete").exists():
            print(f"making {target} (1.7 GB, about a minute)", file=sys.stderr)
            make(target)
    python = str(target / "bin" / "python")
    if len(sys.argv) > 1:
        os.execv(python, [python, *sys.argv[1:]])
    print(python)


if __name__ == "__main__":
    main()
