"""Two processes of one module: sums, and errors of the other rank."""

import subprocess
import sys

import hk
import pytest

SUM = """
module attributes {hk.mesh = "tp=2"} {
func.func @total(%x: tensor<?x8xf32> {hk.name = "x"}) -> (tensor<?x8xf32> {hk.name = "sum"}) {
  %0 = hk.all_reduce sum %x axis "tp" : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
}
"""
RANK = """
import sys
import numpy as np
import hk
rank, module, file, rows = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
device = hk.Device("host", threads=1)
comm = hk.Communicator(device, "tp=2", rank=rank, world=2, id_file=file, timeout_ms=20000)
assert (comm.rank, comm.world) == (rank, 2)
m = hk.load(module, device, comm=comm)
try:
    total = m.total(np.full((rows, 8), 1.5 + rank, np.float32)).sum.numpy()
    comm.wait()
    comm.check()
    print("sum", total.shape, float(total.min()), float(total.max()))
except hk.Error as error:
    print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def total(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comm")
    (folder / "sum.mlir").write_text(SUM)
    hk.compile(folder / "sum.mlir", targets=["host"], output=folder / "sum.so")
    return folder / "sum.so"


def run(total, file, rows):
    command = [sys.executable, "-c", RANK]
    ranks = [subprocess.Popen([*command, str(rank), str(total), str(file), str(count)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd=hk.__path__[0] + "/..")
             for rank, count in enumerate(rows)]
    try:
        return [rank.communicate(timeout=60)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()


def test_ranks_sum(total, tmp_path):
    for text in run(total, tmp_path / "id", [3, 3]):
        assert text == "sum (3, 8) 4.0 4.0\n"


def test_errors_of_ranks_are_exceptions(total, tmp_path):
    for text in run(total, tmp_path / "id", [3, 4]):
        assert "do not agree" in text and text.split()[0] in ("InvalidArgument", "RankFailed"), text


def test_options_are_checked(total, tmp_path):
    with pytest.raises(hk.InvalidArgument, match="got rank 0 of 0"):
        hk.Communicator(hk.Device("host"), "tp=2", id_file=tmp_path / "id")
    with pytest.raises(hk.InvalidArgument, match="compiled for the ranks of the mesh 'tp=2'"):
        hk.load(total)
