"""The wheel: its metadata always; with HK_TEST_ALL=1 (./check --all) also itself, installed
into a fresh environment, from which a model is compiled and run."""

import email
import os
import pathlib
import subprocess
import sys
import zipfile

import hk
import pytest
from hk import _paths

SOURCE = pathlib.Path(__file__).parents[2] / "python"
build = pytest.importorskip("scikit_build_core.build")

PROGRAM = """
import ctypes, sys, hk
folder = sys.argv[1]
text = ('func.func @twice(%x: tensor<?x4xf32> {hk.name = "x"}) -> (tensor<?x4xf32> {hk.name = "y"}) {\\n'
        '  %y = hk.add %x, %x : tensor<?x4xf32>\\n  return %y : tensor<?x4xf32>\\n}\\n')
module = hk.load(hk.compile(text, folder + "/twice.so", targets=["host", "gfx942"]))
four = hk.module._dtypes.BY_NAME["f32"]
x = hk.Tensor(module.device, (2, 4), four)
x._upload(bytes((ctypes.c_float * 8)(*range(8))))
y = module.twice(x).y
print(hk.__file__, list((ctypes.c_float * 8).from_address(y.data)))
"""


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.chdir(SOURCE)
    home = os.environ.get("HK_HOME") or SOURCE.parent / "build" / "release"
    return {"cmake.define.HK_BUILD": str(home), "build-dir": str(tmp_path / "build")}


def test_metadata(tmp_path, settings):
    folder = tmp_path / build.prepare_metadata_for_build_wheel(str(tmp_path), settings)
    data = email.message_from_string((folder / "METADATA").read_text())
    assert (data["Name"], data["Version"]) == ("hk-compiler", hk.__version__)
    assert set(data.get_all("Provides-Extra")) == {"numpy", "torch", "gguf"}
    # Nothing is required: only extras name packages.
    assert all("extra ==" in one for one in data.get_all("Requires-Dist"))
    assert "hk = hk.cli:main" in (folder / "entry_points.txt").read_text()


def test_wheel_needs_a_build(tmp_path, settings, capfd):
    settings["cmake.define.HK_BUILD"] = str(tmp_path)
    with pytest.raises((SystemExit, Exception)):
        build.build_wheel(str(tmp_path), settings)
    said = " ".join("".join(capfd.readouterr()).split())
    assert "is made of a finished build" in said and "./quickstart" in said
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.skipif(not os.environ.get("HK_TEST_ALL"), reason="HK_TEST_ALL is not set")
def test_wheel_in_a_fresh_environment(tmp_path, settings):
    wheel = tmp_path / build.build_wheel(str(tmp_path), settings)
    assert wheel.name == f"hk_compiler-{hk.__version__}-py3-none-linux_x86_64.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"hk/report/style.css", "hk/py.typed", "hk/_install/bin/hk-compile",
            "hk/_install/lib/libhk_emu.so", "hk/_install/share/hk/LICENSE",
            "hk/_install/share/hk/kernels/device/math.h"} <= names
    assert not [n for n in names if "__pycache__" in n or "environment" in n]

    python = tmp_path / "venv" / "bin" / "python"
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    clean["HK_CACHE_DIR"] = str(tmp_path / "cache")

    def run(*command, **environment):
        return subprocess.run([str(word) for word in command], env=clean | environment, cwd="/",
                              check=True, text=True, stdout=subprocess.PIPE).stdout

    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, env=clean)
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    said = run(python, "-c", PROGRAM, tmp_path)
    assert said.startswith(str(tmp_path / "venv")) and f"{[2.0 * i for i in range(8)]}" in said

    model = tmp_path / "model.mlir"
    model.write_text("func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {\n"
                     "  %y = hk.silu %x : tensor<?x64xf32>\n  return %y : tensor<?x64xf32>\n}\n")
    command = python.with_name("hk")
    run(command, "compile", model, "--target=host,gfx942", "-o", tmp_path / "f.so")
    assert "within their bounds" in run(command, "run", tmp_path / "f.so", "--dim=x.0=5",
                                        f"--check={model}")
    emulator = next((tmp_path / "venv").rglob("libhk_emu.so"))
    assert "within their bounds" in run(command, "run", tmp_path / "f.so", "--dim=x.0=5",
                                        f"--check={model}", "--device=hip:0",
                                        HK_HIP_LIBRARY=str(emulator), HK_EMU_CHIP="gfx942")
    run(command, "report", model, "--target=gfx942", "-o", tmp_path / "r.html")
    assert "hk.silu" in (tmp_path / "r.html").read_text()
    assert _paths.tool("hk-compile").exists()  # The checkout's own is untouched.
