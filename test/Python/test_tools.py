"""hk.compile and hk.run_reference."""

import hk
import numpy as np
import pytest
from hk import _codes


def test_compile_refuses(tmp_path):
    with pytest.raises(hk.CompileError, match="error"):
        hk.compile("func.func @f(\n", tmp_path / "f.so")
    assert not (tmp_path / "f.so").exists()
    with pytest.raises(hk.NotFound, match=r"no such file: 'none.mlir'"):
        hk.compile("none.mlir")


def test_sources_and_targets(source, tmp_path):
    for wrong, kind, text in ((3, hk.InvalidArgument, "MLIR text or an hk.torch.Graph, got int"),
                              (b"text", hk.InvalidArgument, "got bytes"),
                              ("", hk.NotFound, "no such file: ''; a text"),
                              (tmp_path, hk.InvalidArgument, "the file of a model, got the folder")):
        with pytest.raises(kind, match=text):
            hk.compile(wrong)
    with pytest.raises(hk.InvalidArgument, match="targets: expected at least one"):
        hk.compile(source, targets=[])
    assert "add" in hk.load(hk.compile(source, tmp_path / "m.so", targets="host")).functions
    with pytest.raises(hk.InvalidArgument, match="launches to be at least 0, got -1"):
        hk.Profile(launches=-1)


@pytest.mark.parametrize(("content", "kind", "text"), [
    (None, hk.NotFound, "no such file: '.*w.safetensors'"),
    (b"", hk.Incompatible, "is not a safetensors file, or it is cut off"),
    (b"{not json", hk.Incompatible, "is not a safetensors file, or it is cut off"),
    (b"[1, 2]", hk.Incompatible, "is not a safetensors file, or it is cut off"),
    (b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,0]}}', hk.Incompatible,
     "tensor 'a': .4. has 4 elements, but the file 0"),
    (b"[" * 100000, hk.Incompatible, "is not a safetensors file, or it is cut off"),
    (b'{"a": 3}', hk.Incompatible, "tensor 'a': no support for None"),
    (b'{"a": {"dtype": "F32", "shape": [-2, -3], "data_offsets": [0, 24]}}', hk.Incompatible,
     r"tensor 'a': expected a list of counts, got \[-2, -3\]"),
    (b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [8]}}', hk.Incompatible,
     "tensor 'a': expected two data_offsets, got 1"),
    (b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 7]}}', hk.Incompatible,
     "tensor 'a': bytes 0 to 7 are no F32 elements of the "),
    (b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4611686018427387904]}}',
     hk.Incompatible, "tensor 'a': bytes 0 to 4611686018427387904 are no F32 elements of the "),
    (b'{"__metadata__":{"hk.files":"[3]"}}', hk.Incompatible, "hk.files of its metadata is no list"),
    (b'{"__metadata__":{"hk.files":"[\\"w.safetensors\\"]"}}', hk.Incompatible, "named by one itself")])
def test_damaged_weights(source, tmp_path, content, kind, text):
    file = tmp_path / "w.safetensors"
    if content is not None:
        file.write_bytes(content and len(content).to_bytes(8, "little") + content)
    with pytest.raises(kind, match=text):
        hk.run_reference(source, [np.ones((1, 8), np.float32)] * 2, function="add", weights=file)


def test_compile_without_clang(source, monkeypatch):
    monkeypatch.setenv("HK_CLANG", "clang-of-nobody")
    with pytest.raises(hk.NotFound, match="clang-of-nobody.*install the Debian package clang-22"):
        hk.compile(source)


def test_tools_are_found(monkeypatch, tmp_path):
    from hk import _paths

    monkeypatch.setenv("HK_HOME", str(tmp_path))
    with pytest.raises(hk.NotFound, match=f"cannot find bin/hk-opt: looked for {tmp_path}"):
        _paths.tool("hk-opt")


def test_reference_bounds_the_compiled_result(source, module):
    x = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
    y = x[::-1].copy()
    reference, = hk.run_reference(source, [x, y], function="add")
    assert (np.abs(module.add(x, y).sum.numpy() - reference.values) <= reference.bounds).all()
    assert (reference.bounds < 1e-5).all()


def test_reference_takes_weights(tmp_path):
    text = ('hk.weight @w "layer.weight" : tensor<4xbf16>\n'
            "func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {\n"
            "  %w = hk.weight_ref @w : tensor<4xbf16>\n"
            "  %c = hk.cast %w : tensor<4xbf16> -> tensor<4xf32>\n"
            "  %y = hk.mul %x, %c : tensor<?x4xf32>, tensor<4xf32>\n"
            "  return %y : tensor<?x4xf32>\n}\n")
    x = np.ones((2, 4), np.float32)
    w = np.array([1, 2, 3, 4], np.float32)
    header = b'{"layer.weight":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}'
    bits = (w.view(np.uint32) >> 16).astype(np.uint16)
    file = tmp_path / "w.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + bits.tobytes())
    for weights in ({"w": w}, file):
        result, = hk.run_reference(text, [x], weights=weights)
        np.testing.assert_array_equal(result.values, [w, w])
    file.write_bytes(file.read_bytes().replace(b"layer.weight", b"layer.nobody"))
    with pytest.raises(hk.NotFound, match="no tensor 'layer.weight'"):
        hk.run_reference(text, [x], weights=file)
    with pytest.raises(hk.CompileError, match="no --weight=w"):
        hk.run_reference(text, [x])


@pytest.mark.parametrize(("element", "numbers"), [
    ("ui4", range(16)), ("i4", [*range(8), *range(-8, 0)]),
    ("f4E2M1FN", [0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])])
def test_reference_takes_weights_of_four_bits(tmp_path, element, numbers):
    """Two to a byte in a file, the lower half first; scales are bytes, too (1 and 2)."""
    text = (f'hk.weight @w "w" : tensor<2x32x{element}>\nhk.weight @s "s" : tensor<2x1xf8E8M0FNU>\n'
            "func.func @main() -> (tensor<2x32xf32>, tensor<2x1xf32>) {\n"
            f"  %w = hk.weight_ref @w : tensor<2x32x{element}>\n"
            "  %s = hk.weight_ref @s : tensor<2x1xf8E8M0FNU>\n"
            f"  %y = hk.cast %w : tensor<2x32x{element}> -> tensor<2x32xf32>\n"
            "  %t = hk.cast %s : tensor<2x1xf8E8M0FNU> -> tensor<2x1xf32>\n"
            "  return %y, %t : tensor<2x32xf32>, tensor<2x1xf32>\n}\n")
    codes = np.arange(64) * 7 % 16
    header = (b'{"w":{"dtype":"U8","shape":[2,16],"data_offsets":[0,32]},'
              b'"s":{"dtype":"U8","shape":[2,1],"data_offsets":[32,34]}}')
    file = tmp_path / "w.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header
                     + (codes[::2] | codes[1::2] << 4).astype(np.uint8).tobytes() + b"\x7f\x80")
    result, scales = hk.run_reference(text, [], weights=file)
    np.testing.assert_array_equal(result.values.ravel(), np.array(numbers, np.float32)[codes])
    np.testing.assert_array_equal(scales.values, [[1], [2]])


@pytest.mark.parametrize(("element", "dtype"), [
    ("f8E4M3FN", "float8_e4m3fn"), ("f8E4M3FNUZ", "float8_e4m3fnuz"), ("f8E5M2", "float8_e5m2"),
    ("f8E5M2FNUZ", "float8_e5m2fnuz"), ("f8E8M0FNU", "float8_e8m0fnu"), ("i8", "int8")])
def test_codes_of_eight_bits(element, dtype):
    """All 256, as PyTorch has them."""
    torch = pytest.importorskip("torch")
    codes = np.arange(256, dtype=np.uint8)
    expected = torch.from_numpy(codes).view(getattr(torch, dtype)).float().numpy()
    np.testing.assert_array_equal(_codes.numbers(codes, [256], element), expected)
