"""The programs of README.md, as they stand there, in a folder with its model."""

import os
import pathlib
import re
import subprocess
import sys

import hk
import pytest
from hk import _paths

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The code of the README by its language, in files, and the compiled model."""
    path = tmp_path_factory.mktemp("readme")
    blocks = dict(re.findall(r"^```(mlir|python|cpp)\n(.*?)^```$", (ROOT / "README.md").read_text(),
                             re.MULTILINE | re.DOTALL))
    (path / "add_norm.mlir").write_text(blocks["mlir"])
    (path / "main.py").write_text(blocks["python"])
    (path / "main.cpp").write_text(blocks["cpp"])
    hk.compile(path / "add_norm.mlir")
    return path


def test_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


def test_python(folder):
    pytest.importorskip("torch")
    said = subprocess.run([sys.executable, "main.py"], cwd=folder, text=True, check=True,
                          env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
                          capture_output=True).stdout
    # Results below 8 in magnitude, rounded to bf16: half a step of 2^-6.
    assert float(re.fullmatch(r"tensor\((.*)\)", said.strip()).group(1)) <= 2**-6 * 1.001


def test_cpp(folder):
    library = _paths.library().parent
    subprocess.run(["clang++-22", "-std=c++17", "-Wall", "-Werror", "main.cpp", f"-I{ROOT}/include",
                    f"-L{library}", f"-Wl,-rpath,{library}", "-lhk_runtime", "-o", "main"],
                   cwd=folder, check=True)
    said = subprocess.run(["./main"], cwd=folder, text=True, check=True, capture_output=True).stdout
    assert said == "sum[0][0] = 0x4000\n"
