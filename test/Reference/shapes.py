"""What hk-interp says of sizes that the types allow and the operator does not.

The checks come from what each operator states of its shapes, so a few forms of
statement stand for all: a vector, a broadcast, a sum, groups, sequences.
"""

import os
import subprocess
import tempfile

import numpy as np


def refuse(name, arguments, line, result, inputs):
    """Evaluates one operator on sizes that do not fit and prints the error."""
    text = f"func.func @main({arguments}) -> {result} {{\n  %r = {line}\n  return %r : {result}\n}}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.mlir")
        with open(path, "w") as f:
            f.write(text)
        command = ["hk-interp", path, f"--output={folder}/out"]
        for i, x in enumerate(inputs):
            np.save(f"{folder}/in{i}.npy", x)
            command.append(f"--input={folder}/in{i}.npy")
        done = subprocess.run(command, capture_output=True, text=True)
        error = done.stderr.splitlines()[0].split("error: ")[-1] if done.returncode else "no error"
        print(f"{name}: {error}")


f32 = np.float32
refuse("vector", "%x: tensor<?x?xf32>, %w: tensor<?xf32>",
       "hk.rms_norm %x, %w epsilon 1.0e-05 : tensor<?x?xf32>, tensor<?xf32>", "tensor<?x?xf32>",
       [np.ones((2, 8), f32), np.ones(4, f32)])
refuse("broadcast", "%x: tensor<?x?xf32>, %y: tensor<?xf32>",
       "hk.add %x, %y : tensor<?x?xf32>, tensor<?xf32>", "tensor<?x?xf32>",
       [np.ones((2, 8), f32), np.ones(4, f32)])
refuse("concat", "%x: tensor<?x4xf32>, %y: tensor<?x4xf32>",
       "hk.concat 1 (%x, %y) : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x8xf32>", "tensor<?x8xf32>",
       [np.ones((2, 4), f32), np.ones((3, 4), f32)])
refuse("groups", "%x: tensor<?x256xf32>, %s: tensor<?x?xf32>",
       "hk.quantize_static %x, %s : tensor<?x256xf32>, tensor<?x?xf32> -> tensor<?x256xi8>", "tensor<?x256xi8>",
       [np.ones((2, 256), f32), np.ones((2, 3), f32)])
refuse("product", "%x: tensor<?x?xf32>, %y: tensor<?x?xf32>",
       "hk.matmul %x, %y : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>", "tensor<?x?xf32>",
       [np.ones((2, 8), f32), np.ones((4, 8), f32)])
refuse("sequences", "%q: tensor<?x2x8xf32>, %k: tensor<?x16x1x8xf32>, %n: tensor<?xi32>, %o: tensor<?xi32>",
       "hk.attention %q, %k, %k q_offsets %o kv_lens %n scale 1.0 : tensor<?x2x8xf32>, tensor<?x16x1x8xf32>, "
       "tensor<?x16x1x8xf32> q_offsets tensor<?xi32> kv_lens tensor<?xi32> -> tensor<?x2x8xf32>", "tensor<?x2x8xf32>",
       [np.ones((4, 2, 8), f32), np.ones((2, 16, 1, 8), f32), np.full(3, 4, np.int32), np.array([0, 2, 4], np.int32)])
