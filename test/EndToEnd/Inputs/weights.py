"""Compiles models against safetensors files and their index: weights.py FOLDER."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import numpy as np

MODEL = """
hk.weight @a "layer.a" : tensor<64xf32>
hk.weight @b "layer.b" : tensor<64xf32>
func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %a = hk.weight_ref @a : tensor<64xf32>
  %b = hk.weight_ref @b : tensor<64xf32>
  %y = hk.mul %x, %a : tensor<?x64xf32>, tensor<64xf32>
  %z = hk.add %y, %b : tensor<?x64xf32>, tensor<64xf32>
  return %z : tensor<?x64xf32>
}
"""
# With something to compute at compile time.
FOLDED = MODEL.replace("%b = hk.weight_ref @b : tensor<64xf32>",
                       "%c = hk.weight_ref @b : tensor<64xf32>\n"
                       "  %b = hk.mul %c, %c : tensor<64xf32>")


def write(path, arrays, metadata=None):
    header, offset = {"__metadata__": metadata} if metadata else {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in arrays.values()))


def run(*command, fails=None):
    result = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if fails is None:
        assert result.returncode == 0, result.stdout
    else:
        assert result.returncode != 0, "it passed"
        for part in fails:
            assert str(part) in result.stdout, f"no '{part}' in: {result.stdout}"
    return result.stdout


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "checkpoint").mkdir(parents=True)
    folder = folder.resolve()
    model, folded, module = folder / "m.mlir", folder / "folded.mlir", folder / "m.so"
    model.write_text(MODEL)
    folded.write_text(FOLDED)
    shards = folder / "checkpoint"
    first, second = shards / "model-1.safetensors", shards / "model-2.safetensors"
    values = [np.arange(64, dtype=np.float32), np.ones(64, np.float32) / 3]
    write(first, {"layer.a": values[0], "other": values[1]})
    write(second, {"layer.b": values[1]})
    index = shards / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"layer.a": first.name, "other": first.name, "layer.b": second.name}}))
    call = ["--dim=x.0=3"]

    # In place, from two files.
    run("hk-compile", model, "-o", module, f"--weights={index}")
    assert not (folder / "m.so.weights").exists()
    run("hk-run", module, *call, f"--check={model}")
    run("hk-run", module, *call, f"--check={model}", f"--weights={index}")
    # Only what is computed is written.
    run("hk-compile", folded, "-o", folder / "folded.so", f"--weights={index}")
    assert (folder / "folded.so.weights").stat().st_size < 2048
    run("hk-run", folder / "folded.so", *call, f"--check={folded}", f"--check-weights={index}")
    # All in one file that travels with the module.
    run("hk-compile", model, "-o", folder / "packed.so", f"--weights={index}", "--pack-weights")

    # In place, from a file that names another one.
    naming = folder / "naming.safetensors"
    write(naming, {"layer.b": values[1]}, {"hk.files": '["checkpoint/model-1.safetensors"]'})
    run("hk-compile", model, "-o", folder / "named.so", f"--weights={naming}")
    run("hk-run", folder / "named.so", *call, f"--check={model}")
    run("hk-run", folder / "named.so", *call, f"--check={model}", f"--weights={naming}")
    lost = folder / "lost.safetensors"
    named = ["hk-compile", model, "-o", folder / "lost.so", f"--weights={lost}"]
    for files, compiler, runtime in (
            ('["nothing"]', ["cannot read the weights file", "lost.safetensors' names this file", "--copy-weights"],
             ["lost.safetensors' names this file", "No such file"]),
            ('{"a": 3}', ["expected a list of paths in 'hk.files'", 'got \'{"a": 3}\''], ["lost.safetensors"]),
            ("[", ["expected a list of paths in 'hk.files'"], ["lost.safetensors"])):
        write(lost, {"layer.b": values[1]}, {"hk.files": files})
        run(*named, fails=compiler)
        run("hk-run", folder / "named.so", *call, f"--weights={lost}", fails=runtime)

    # The folder may move; the current one does not matter.
    moved = folder.with_name(folder.name + ".moved")
    shutil.rmtree(moved, ignore_errors=True)
    folder.rename(moved)
    os.chdir(moved / "checkpoint")
    run("hk-run", moved / "m.so", *call, f"--check={moved / 'm.mlir'}")
    os.chdir(moved)
    run("hk-run", "m.so", *call, "--check=m.mlir")

    # Gone, changed, and not what the index says.
    gone = moved / "checkpoint" / "model-2.safetensors"
    gone.rename(moved / "away")
    run("hk-run", moved / "m.so", *call, fails=["m.so'", "weight 'layer.b'", "model-2.safetensors': No such file",
                                               "put it back", "--pack-weights"])
    run("hk-run", moved / "packed.so", *call, f"--check={moved / 'm.mlir'}")
    run("hk-compile", moved / "m.mlir", "-o", moved / "n.so", f"--weights={moved / 'checkpoint' / index.name}",
        fails=["cannot read the weights file", "model-2.safetensors"])
    write(gone, {"layer.b": values[0]})
    run("hk-run", moved / "m.so", *call, fails=["weight 'layer.b'", "expected checksum"])
    write(gone, {"layer.c": values[0]})
    run("hk-run", moved / "m.so", *call, fails=["weight 'layer.b'", "model-2.safetensors' has no such tensor"])
    again = ["hk-compile", moved / "m.mlir", "-o", moved / "n.so", f"--weights={moved / 'checkpoint' / index.name}"]
    run(*again, fails=["model-2.safetensors' to hold the tensor 'layer.b'", "index.json' says"])
    (moved / "checkpoint" / index.name).write_text('{"weights": {}}')
    run(*again, fails=["index.json' is no index of safetensors files"])
    (moved / "checkpoint" / index.name).write_text('{"weight_map": {"layer.b": 3}}')
    run(*again, fails=["does not say in which file 'layer.b' is"])
    assert not (moved / "n.so").exists()

    # What does not fit into memory has a name.
    run("hk-run", moved / "packed.so", "--dim=x.0=100000000000", fails=["argument 'x'", "f32 [100000000000, 64]"])
    print("ok")


if __name__ == "__main__":
    main()
