"""Fixtures of the Python tests: the build to test and small compiled modules."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import hk  # noqa: E402

TWO = """
func.func @add(%x: tensor<?x8xf32> {hk.name = "x"}, %y: tensor<?x8xf32> {hk.name = "y"})
    -> (tensor<?x8xf32> {hk.name = "sum"}) {
  %0 = hk.add %x, %y : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
func.func @both(%x: tensor<?x8xbf16> {hk.name = "x"})
    -> (tensor<?x8xbf16> {hk.name = "double"}, tensor<?x8xf32> {hk.name = "wide"}) {
  %0 = hk.add %x, %x : tensor<?x8xbf16>
  %1 = hk.cast %x : tensor<?x8xbf16> -> tensor<?x8xf32>
  return %0, %1 : tensor<?x8xbf16>, tensor<?x8xf32>
}
func.func @store(%v: tensor<?x1x8xf32> {hk.name = "values"}, %s: tensor<?xi32> {hk.name = "slots"},
                 %c: tensor<2x4x1x8xf32> {hk.state, hk.name = "cache"}) -> tensor<2x4x1x8xf32> {
  %0 = hk.kv_cache_write %v, %s into %c : tensor<?x1x8xf32>, tensor<?xi32>, tensor<2x4x1x8xf32>
  return %0 : tensor<2x4x1x8xf32>
}
"""


@pytest.fixture(scope="session")
def source():
    """A model of three functions, as text."""
    return TWO


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The path of the compiled model."""
    return hk.compile(TWO, tmp_path_factory.mktemp("two") / "two.so")


@pytest.fixture(scope="session")
def module(compiled):
    """The model on the host, its memory poisoned and fenced."""
    os.environ["HK_DEBUG_MEMORY"] = "1"
    return hk.load(compiled, threads=1)
