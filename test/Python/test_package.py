"""The package over the C interface: tensors in and out, errors, threads, lifetimes."""

import copy
import gc
import pathlib
import pickle
import subprocess
import sys
import threading

import hk
import numpy as np
import pytest

PYTHON = pathlib.Path(hk.__file__).resolve().parents[1]


def numbers(rows):
    return np.arange(rows * 8, dtype=np.float32).reshape(rows, 8)


def test_import_takes_neither_torch_nor_numpy_nor_long():
    program = ("import time; t = time.process_time(); import hk; t = time.process_time() - t\n"
               "import sys; assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
               "print(t)")
    seconds = min(float(subprocess.run([sys.executable, "-c", program], cwd=PYTHON, text=True,
                                       capture_output=True, check=True).stdout)
                  for _ in range(3))
    assert seconds < 0.2


@pytest.mark.parametrize("rows", [0, 1, 3, 17])
def test_numpy_in_and_out(module, rows):
    x = numbers(rows)
    result = module.add(x=x, y=x + 1)
    assert result.sum.shape == (rows, 8) and result.sum.dtype == "f32"
    np.testing.assert_array_equal(result.sum.numpy(), 2 * x + 1)
    np.testing.assert_array_equal(np.from_dlpack(result.sum), 2 * x + 1)


def test_torch_in_and_out(module):
    torch = pytest.importorskip("torch")
    x = torch.randn(5, 8, dtype=torch.bfloat16)
    double, wide = module.both(x)
    assert double.torch().dtype == torch.bfloat16
    assert torch.equal(torch.from_dlpack(double), x + x)
    assert torch.equal(wide.torch(), x.float())
    parameter = torch.nn.Parameter(torch.ones(2, 8))
    assert torch.equal(module.add(parameter, parameter).sum.torch(), torch.full((2, 8), 2.0))


def test_reference_takes_tensors_of_torch(source):
    torch = pytest.importorskip("torch")
    x = torch.full((2, 8), 1.5, dtype=torch.bfloat16, requires_grad=True)
    double, wide = hk.run_reference(source, [x], function="both")
    assert (double.values == 3).all() and (wide.values == 1.5).all()


def test_results_are_inputs(module):
    """An hk.Tensor speaks DLPack to hk, too; and raw bits stand for a type NumPy lacks."""
    wide = module.both(np.full((2, 8), 0x3FC0, dtype=np.uint16))
    assert wide.double.numpy().dtype == np.uint16 and (wide.double.numpy() == 0x4040).all()
    np.testing.assert_array_equal(module.add(wide.wide, wide.wide).sum.numpy(), 3.0)


def test_out_and_states(module):
    x, out = numbers(3), np.zeros((3, 8), np.float32)
    result = module.add(x, x, out=out)
    assert result.sum is out
    np.testing.assert_array_equal(out, 2 * x)
    cache = np.zeros((2, 4, 1, 8), np.float32)
    assert module.store(x[:, None], np.array([7, 0, -1], np.int32), cache) == ()
    np.testing.assert_array_equal(cache[1, 3, 0], x[0])
    np.testing.assert_array_equal(cache[0, 0, 0], x[1])
    assert cache.sum() == x[:2].sum()


def test_written_tensors_that_need_gradients(module):
    """As PyTorch refuses out= there: its graph would not know of the write."""
    torch = pytest.importorskip("torch")
    x, out = torch.from_numpy(numbers(2)), torch.zeros(2, 8, requires_grad=True)
    text = r"output 'sum': it is written, and the tensor requires a gradient.*tensor\.detach\(\)"
    for call in (module.add, module.add.bind):
        with pytest.raises(hk.InvalidArgument, match=text):
            call(x, x, out=out)
    cache = torch.nn.Parameter(torch.zeros(2, 4, 1, 8))
    with pytest.raises(hk.InvalidArgument, match=r"state '.*': it is written"):
        module.store(x[:, None], torch.tensor([7, 0], dtype=torch.int32), cache)
    assert not out.any() and not cache.any()
    module.add(torch.nn.Parameter(x), x, out=out.detach())
    with torch.no_grad():
        module.add(x, x, out=out)
    assert torch.equal(out.detach(), 2 * x)


def test_bind(module):
    x, y = numbers(2), numbers(2)
    step = module.add.bind(x=x, y=y)
    for i in range(3):
        y[:] = i
        np.testing.assert_array_equal(step().sum.numpy(), x + i)
    assert step() is step.results


def test_memory_outlives_the_tensor(module):
    array = np.from_dlpack(module.add(numbers(4), numbers(4)).sum)
    view = module.add(numbers(4), numbers(4)).sum.numpy()
    gc.collect()
    for _ in range(20):
        module.add(numbers(4) + 1, numbers(4))
    np.testing.assert_array_equal(array, 2 * numbers(4))
    np.testing.assert_array_equal(view, 2 * numbers(4))


def test_unused_capsules_are_freed(module):
    from hk import _dlpack

    tensor = module.add(numbers(1), numbers(1)).sum
    before = len(_dlpack._exported)
    capsules = [tensor.__dlpack__(max_version=v) for v in (None, (1, 0), (0, 8), None, (1, 1))]
    assert len(_dlpack._exported) == before + 5
    del capsules
    array = np.from_dlpack(tensor)  # The next one that is made finds them.
    assert len(_dlpack._exported) == before + 1
    del array
    assert len(_dlpack._exported) == before


def test_a_consumer_that_fails_says_why(module):
    """NumPy has no bf16: its own error arrives, and the memory is given back."""
    double = module.both(np.zeros((2, 8), np.uint16)).double
    with pytest.raises((RuntimeError, BufferError), match="(?i)dtype"):
        np.from_dlpack(double)
    with pytest.raises(TypeError, match=r"NumPy has no bf16; numpy\(\) gives its raw bits"):
        np.asarray(double)


def test_results_are_arrays(module):
    """Copied, shared, or taken for what numpy.asarray asks for."""
    result = module.add(numbers(3), numbers(3)).sum
    shared, copied = np.from_dlpack(result), np.from_dlpack(result, copy=True)
    assert shared.flags.writeable and np.asarray(result).dtype == np.float32
    shared[0, 0] = 7
    assert result.numpy()[0, 0] == 7 and copied[0, 0] == 0
    assert np.asarray(result, dtype=np.float64)[0, 0] == 7 and np.sum(result) == np.sum(shared)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_memory_belongs_to_a_process(module, how):
    """A copy of addresses would be freed twice, or be another process's."""
    for thing in (module, module.add, module.device, module.add(numbers(1), numbers(1)).sum):
        with pytest.raises(TypeError, match="process"):
            how(thing)


@pytest.mark.parametrize(("shape", "text"), [
    ((-1, 3), "sizes of at least 0, got .-1, 3."), ((2.5,), "whole numbers, got"),
    ((1 << 60, 1 << 10), f"no memory has {1 << 72} bytes")])
def test_shapes_that_no_tensor_has(module, shape, text):
    with pytest.raises(hk.Error, match=text):
        module.device.empty(shape, "f32")
    assert module.device.empty(5, "f32").shape == (5,)


def test_wrong_names_of_types_and_devices(module):
    for call in (module.device.empty, module.device.zeros):
        with pytest.raises(hk.InvalidArgument, match="no element type 'float32'; one of f32,"):
            call((1,), "float32")
    with pytest.raises(hk.InvalidArgument, match="no element type 'float32'; one of f32,"):
        module.device.tensor(numbers(1), "float32")
    with pytest.raises(hk.InvalidArgument, match="expected a device as .* got 3"):
        hk.load(module.path, device=3)


def test_threads(module):
    wrong = []

    def work(seed):
        for i in range(50):
            x = np.full((seed + 1, 8), seed * 100.0 + i, np.float32)
            if not (module.add(x, x).sum.numpy() == 2 * x).all():
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_device_tensors(module):
    x = module.device.tensor(numbers(2))
    np.testing.assert_array_equal(module.add(x, module.device.zeros((2, 8), "f32")).sum.numpy(),
                                  numbers(2))
    with pytest.raises(hk.InvalidArgument, match="no element type 'float'"):
        module.device.empty((2,), "float")
    with pytest.raises(hk.InvalidArgument, match="dense"):
        module.device.tensor(numbers(4)[:, ::2])


def test_info_profile_and_repr(module, compiled):
    assert [f["name"] for f in module.info()["functions"]] == ["add", "both", "store"]
    assert repr(module.add) == "add(x: f32[-1, 8], y: f32[-1, 8]) -> (sum: f32[-1, 8])"
    assert str(compiled) in repr(module) and "both" in dir(module)
    profile = hk.Profile()
    module.add(numbers(1), numbers(1), profile=profile)
    assert [row["launches"] for row in profile.entries()] == [1] and profile.launches() == []
    profile = hk.Profile(launches=2)
    for _ in range(3):
        module.add(numbers(1), numbers(1), profile=profile)
    launches = profile.launches()
    assert [(row["function"], row["ops"], row["call"]) for row in launches] == [
        ("add", "add", 0), ("add", "add", 1)]
    assert 0 < launches[0]["begin_us"] < launches[1]["begin_us"]
    assert profile.entries()[0]["launches"] == 3


@pytest.mark.parametrize(("call", "text"), [
    (lambda m: m.add(numbers(2)), "function 'add': missing y"),
    (lambda m: m.add(numbers(2), numbers(2), numbers(2)), "at most 2 tensors, got 3"),
    (lambda m: m.add(numbers(2), z=numbers(2)), "no input 'z'; it has x, y"),
    (lambda m: m.add(numbers(2), x=numbers(2)), "input 'x' is given twice"),
    (lambda m: m.add(numbers(2), [1.0]), "'add', input 'y': expected a tensor with __dlpack__"),
    (lambda m: m.add(numbers(2), numbers(2).astype(np.float64)), "input 'y': hk has no element type"),
    (lambda m: m.add(numbers(2), np.float32(1)), "input 'y': expected rank 2"),
    (lambda m: m.add(numbers(2), np.ma.array(numbers(2), mask=numbers(2) > 1)), "without a mask"),
    (lambda m: m.add(numbers(2), numbers(2).astype(np.int32)), "expected dtype f32, got i32"),
    (lambda m: m.add(numbers(2), numbers(2)[0]), r"input 'y': expected rank 2"),
    (lambda m: m.add(numbers(2), numbers(3)), "x dim 0|dim 0"),
    (lambda m: m.add(numbers(2), np.zeros((2, 9), np.float32)), "expected dim 1 to be 8"),
    (lambda m: m.add(numbers(2), np.zeros((2, 16), np.float32)[:, ::2]), "dense row-major"),
    (lambda m: m.add(numbers(2), numbers(2), out=np.zeros((3, 8), np.float32)), "ask for shape"),
    (lambda m: m.add(numbers(2), numbers(2), out={"y": 1}), "no output 'y'; it has sum"),
    (lambda m: m.both(np.zeros((1, 8), np.uint16), out=numbers(1)), "has 2 outputs; out= has 1 tensors"),
])
def test_wrong_calls(module, call, text):
    with pytest.raises(hk.InvalidArgument, match=text):
        call(module)


def test_tensors_without_their_elements_in_memory(module):
    """What PyTorch would compute when it reads them, and what is no tensor."""
    torch = pytest.importorskip("torch")
    x = torch.ones(2, 8)

    class Taken:
        def __dlpack__(self, **_):
            return 3

        def __dlpack_device__(self):
            return 1, 0

    class Fails(Taken):
        def __dlpack__(self, **_):
            raise BufferError("on another device")

    with torch._subclasses.FakeTensorMode():
        fake = torch.ones(2, 8)
    for other, text in ((Fails(), "input 'y': __dlpack__ of Fails says: on another"),
                        (fake, "input 'y': .* got a FakeTensor"), (torch._neg_view(x), r"resolve_neg\(\)"), (Taken(), "of Taken gives no"),
                        (x.to_sparse(), "layout torch.sparse_coo"), (x.to("meta"), "got meta")):
        with pytest.raises(hk.InvalidArgument, match=text):
            module.add(x, other)
    with pytest.raises(hk.InvalidArgument, match="threads to be 0 .* or more, got -1"):
        hk.load(module.path, threads=-1)


def test_a_file_that_was_written_again(module, tmp_path):
    """Another module by the name of one that is loaded."""
    text = "func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {{\n  %y = hk.{} %x : tensor<8xf32>\n" \
           "  return %y : tensor<8xf32>\n}}\n"
    path, x = tmp_path / "m.so", np.full(8, 4.0, np.float32)
    loaded = []
    for op in ("neg", "sqrt", "neg"):
        (tmp_path / "m.mlir").write_text(text.format(op))
        hk.compile(tmp_path / "m.mlir", path)
        loaded.append(hk.load(path))
    assert [m.f(x)[0].numpy()[0] for m in loaded] == [-4.0, 2.0, -4.0]
    assert hk.load(path).f(x)[0].numpy()[0] == -4.0


def test_states_are_writable(module):
    cache = np.zeros((2, 4, 1, 8), np.float32)
    cache.flags.writeable = False
    with pytest.raises(hk.InvalidArgument, match="state 'cache': it is written, .* read-only"):
        module.store(numbers(1)[:, None], np.zeros(1, np.int32), cache)


def test_wrong_files(tmp_path):
    with pytest.raises(hk.NotFound, match="cannot open"):
        hk.load(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("no module")
    with pytest.raises(hk.Incompatible, match="is not a compiled hk module"):
        hk.load(tmp_path / "text.so")
    with pytest.raises(hk.Error, match="vulkan"):
        hk.Device("vulkan:0")
    with pytest.raises(AttributeError, match="nothing"):
        _ = hk.nothing


def test_every_status_has_a_class():
    header = (PYTHON.parent / "include/hk/Runtime/hk.h").read_text()
    from hk import errors

    import re

    codes = {int(c) for c in re.findall(r"HK_[A-Z_]+ = (\d)[,\n ]", header.split("hk_status_code;")[0])}
    assert codes - {0} == set(errors.BY_CODE)


def test_names_of_functions(module):
    with pytest.raises(AttributeError, match="no function 'sub'; it has add, both, store"):
        _ = module.sub
    with pytest.raises(hk.NotFound, match="no function 'sub'"):
        _ = module["sub"]
