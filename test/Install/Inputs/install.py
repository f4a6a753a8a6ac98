"""Installs hk into a folder, moves that, and uses what is there: install.py BUILD SOURCE FOLDER."""

import os
import pathlib
import subprocess
import sys

MODEL = """
func.func @twice(%x: tensor<?x64xf32>) -> (tensor<?x64xf32> {hk.name = "y"}) {
  %y = hk.add %x, %x : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
"""


def run(*command, **environment):
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
    result = subprocess.run([str(word) for word in command], env=dict(kept, **environment), text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        sys.exit(f"{command} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


def namesTheTree(path, folders):
    content = path.read_bytes()
    return [folder for folder in folders if folder.encode() + b"/" in content]


def main():
    build, source, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    run("cmake", "--install", build, "--prefix", folder / "first")
    tree = folder / "somewhere" / "else"
    tree.parent.mkdir()
    (folder / "first").rename(tree)

    model, module = folder / "model.mlir", folder / "model.so"
    model.write_text(MODEL)
    run(tree / "bin/hk-compile", model, "--target=host,gfx942", "-o", module, HK_CACHE_DIR=str(folder / "cache"))
    print("compiled for host and gfx942 where the tree was moved")
    print(run(tree / "bin/hk-run", module, "--dim=x.0=5", f"--check={model}"))
    emulated = run(tree / "bin/hk-run", module, "--dim=x.0=5", f"--check={model}", "--device=hip:0",
                   HK_HIP_LIBRARY=str(tree / "lib/libhk_emu.so"), HK_EMU_CHIP="gfx942")
    print("on hip:0:", emulated.strip().splitlines()[-1].split(": ")[-1])

    consumer = pathlib.Path(__file__).parent / "consumer"
    run("cmake", "-S", consumer, "-B", folder / "consumer", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={tree}",
        "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", folder / "consumer")
    print(run(folder / "consumer/consumer", module))

    installed = [path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()]
    wrong = {path: found for path in installed if (found := namesTheTree(path, [source, build]))}
    print(wrong or "no file names the source or the build folder")


if __name__ == "__main__":
    main()
