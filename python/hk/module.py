"""Compiled modules: load them, look at them, call their functions."""

import collections
import ctypes as c
import json
import os
import threading
import typing
import weakref

from . import _abi, _dlpack, _dtypes
from .comm import Communicator
from .errors import InvalidArgument, NotFound
from .tensor import Device, Tensor


class Argument(typing.NamedTuple):
    """An argument: role is "input", "state" (read and written in place) or "output"; a
    size of -1 is dynamic."""

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]


class _Frame:
    """The descriptors of one call, kept between calls: of one function, thread and stream."""

    def __init__(self, function: "Function"):
        self.function = function
        arguments = function.arguments
        self.sizes = [(c.c_int64 * max(len(a.shape), 1))() for a in arguments]
        self.strides = [(c.c_int64 * max(len(a.shape), 1))() for a in arguments]
        self.tensors = [_abi.DLTensor(shape=s, lanes=1) for s in self.sizes]
        pointers = [c.pointer(t) for t in self.tensors]
        self.pointers = (c.POINTER(_abi.DLTensor) * len(pointers))(*pointers)
        self.inputs = (c.POINTER(_abi.DLTensor) * max(function.num_inputs, 1))(
            *pointers[:function.num_inputs])
        self.call = _abi.Call(c.sizeof(_abi.Call), len(arguments), self.pointers)
        self.workspace: Tensor | None = None
        self.shapes: list | None = None
        self.planned: list | None = None
        self.owners: list = [None] * len(arguments)

    def set(self, index: int, value: typing.Any) -> tuple[int, ...]:
        """Points argument `index` at a tensor; returns its shape."""
        argument, tensor = self.function.arguments[index], self.tensors[index]
        try:
            view = _dlpack.as_argument(_dlpack.view(value), _dtypes.BY_NAME[argument.dtype])
        except InvalidArgument as error:
            raise InvalidArgument(f"function '{self.function.name}', {argument.role} "
                                  f"'{argument.name}': {error}") from error.__cause__
        rank = len(view.shape)
        if rank != len(argument.shape):
            raise InvalidArgument(f"function '{self.function.name}', {argument.role} "
                                  f"'{argument.name}': expected rank {len(argument.shape)} with "
                                  f"shape {list(argument.shape)}, got shape {list(view.shape)}")
        if view.read_only and argument.role != "input":
            raise InvalidArgument(f"function '{self.function.name}', {argument.role} "
                                  f"'{argument.name}': it is written, and the tensor is read-only")
        if argument.role != "input" and _dlpack.is_recorded(value):
            raise InvalidArgument(f"function '{self.function.name}', {argument.role} "
                                  f"'{argument.name}': it is written, and the tensor requires a "
                                  "gradient, which PyTorch would compute without knowing of the "
                                  "write; give tensor.detach(), or call within torch.no_grad()")
        tensor.data = view.data
        tensor.device_type, tensor.device_id = view.device
        tensor.ndim, tensor.code, tensor.bits = rank, view.code, view.bits
        self.sizes[index][:rank] = view.shape
        if view.strides is None:
            tensor.strides = None
        else:
            self.strides[index][:rank] = view.strides
            tensor.strides = c.cast(self.strides[index], c.POINTER(c.c_int64))
        self.owners[index] = view.owner
        return view.shape

    def plan(self, shapes: list) -> list:
        """The shapes of the outputs, for inputs of these shapes; sees to the workspace."""
        if shapes == self.shapes:
            return self.planned
        function = self.function
        outputs = function.arguments[function.num_inputs:]
        sizes = (c.c_int64 * max(sum(len(a.shape) for a in outputs), 1))()
        needed = c.c_uint64()
        _abi.check(_abi.lib().hk_function_plan(function._handle, self.inputs, function.num_inputs,
                                               sizes, c.byref(needed)))
        planned, at = [], 0
        for argument in outputs:
            planned.append(tuple(sizes[at:at + len(argument.shape)]))
            at += len(argument.shape)
        if self.workspace is None or self.workspace.nbytes < needed.value:
            self.workspace = Tensor(function.device, (needed.value,), _dtypes.BY_NAME["i8"])
        self.call.workspace, self.call.workspace_bytes = self.workspace.data, needed.value
        self.shapes, self.planned = shapes, planned
        return planned

    def run(self, stream: int | None, profile: "Profile | None" = None) -> None:
        self.call.stream = stream
        self.call.profile = profile._handle if profile else None
        _abi.check(_abi.lib().hk_function_call(self.function._handle, c.byref(self.call)))

    def release(self) -> None:
        """Forgets the tensors of the call."""
        self.owners[:] = [None] * len(self.owners)


class BoundCall:
    """A call whose tensors are fixed: for decode loops, which change what they hold.

    Calling it runs the function and returns the same `results` every time.
    """

    def __init__(self, frame: _Frame, results: tuple):
        self._frame, self.results = frame, results

    def __call__(self, stream: int | None = None) -> typing.Any:
        self._frame.run(_current_stream(self._frame.function.device, stream))
        return self.results


def _current_stream(device: Device, stream: int | None) -> int | None:
    """The given stream, or PyTorch's current one if PyTorch is loaded and uses the device."""
    if stream is not None or device.dlpack[0] == 1:
        return stream
    import sys

    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return torch.cuda.current_stream(device.dlpack[1]).cuda_stream
    return None


class Function:
    """A function of a loaded module; call it with tensors by name or in order.

    Inputs and states are anything with __dlpack__ on the module's device: dense, row-major,
    16-byte aligned; states are written in place. `out` is the tensor for the output, a list
    of them all, or a dictionary by name; what that lacks is allocated. The results are a named tuple of
    hk.Tensor (or of the tensors given as `out`). On a GPU the call is enqueued on `stream`,
    by default PyTorch's current one. Safe to call from several threads.
    """

    def __init__(self, module: "Module", name: str):
        self.module, self.device, self.name = module, module.device, name
        self._handle = _abi.make("hk_program_function", module._program, name.encode())
        library = _abi.lib()
        infos = [library.hk_function_argument(self._handle, i)
                 for i in range(library.hk_function_num_arguments(self._handle))]
        self.arguments = tuple(
            Argument(i.name.decode(), ("input", "state", "output")[i.role],
                     _dtypes.BY_CODE[i.code, i.bits].name, tuple(i.sizes[:i.rank])) for i in infos)
        self.num_inputs = sum(a.role != "output" for a in self.arguments)
        self.inputs = self.arguments[:self.num_inputs]
        self.outputs = self.arguments[self.num_inputs:]
        self._index = {a.name: i for i, a in enumerate(self.arguments)}
        self._results = collections.namedtuple("Results", [a.name for a in self.outputs],
                                               rename=True)
        self._local = threading.local()

    def __call__(self, *args: typing.Any, out: typing.Any = None, stream: int | None = None,
                 profile: "Profile | None" = None, **kwargs: typing.Any) -> typing.Any:
        stream = _current_stream(self.device, stream)
        frames = self._local.__dict__.setdefault("frames", {})
        frame = frames.get(stream)
        if frame is None:
            frame = frames[stream] = _Frame(self)
        try:
            results = self._prepare(frame, args, kwargs, out)
            frame.run(stream, profile)
        finally:
            frame.release()
        return results

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("a function of an hk.Module belongs to its process; load the module again "
                        "there, with hk.load")

    def bind(self, *args: typing.Any, out: typing.Any = None, **kwargs: typing.Any) -> BoundCall:
        """Fixes the tensors of a call; the outputs are allocated once."""
        frame = _Frame(self)
        return BoundCall(frame, self._prepare(frame, args, kwargs, out))

    def _prepare(self, frame: _Frame, args: tuple, kwargs: dict, out: typing.Any) -> tuple:
        shapes = [frame.set(i, value) for i, value in enumerate(self._ordered(args, kwargs))]
        results = self._outputs(frame.plan(shapes), out)
        for i, value in enumerate(results, self.num_inputs):
            frame.set(i, value)
        return self._results(*results)

    def _ordered(self, args: tuple, kwargs: dict) -> list:
        if len(args) > self.num_inputs:
            raise InvalidArgument(f"function '{self.name}': expected at most {self.num_inputs} "
                                  f"tensors, got {len(args)}")
        values = list(args) + [None] * (self.num_inputs - len(args))
        for name, value in kwargs.items():
            index = self._index.get(name, self.num_inputs)
            if index >= self.num_inputs:
                raise InvalidArgument(f"function '{self.name}' has no input '{name}'; it has "
                                      + ", ".join(a.name for a in self.inputs))
            if values[index] is not None:
                raise InvalidArgument(f"function '{self.name}': input '{name}' is given twice")
            values[index] = value
        missing = [a.name for a, v in zip(self.inputs, values, strict=True) if v is None]
        if missing:
            raise InvalidArgument(f"function '{self.name}': missing {', '.join(missing)}")
        return values

    def _outputs(self, planned: list, out: typing.Any) -> list:
        given = out if isinstance(out, dict) else {}
        if out is not None and not isinstance(out, dict):
            tensors = out if isinstance(out, (list, tuple)) else [out]
            if len(self.outputs) != len(tensors):
                raise InvalidArgument(f"function '{self.name}' has {len(self.outputs)} outputs; "
                                      f"out= has {len(tensors)} tensors; name them in a dictionary")
            given = {a.name: t for a, t in zip(self.outputs, tensors, strict=True)}
        unknown = set(given) - {a.name for a in self.outputs}
        if unknown:
            raise InvalidArgument(f"function '{self.name}' has no output "
                                  f"'{min(unknown)}'; it has "
                                  + ", ".join(a.name for a in self.outputs))
        return [given[a.name] if a.name in given
                else Tensor(self.device, shape, _dtypes.BY_NAME[a.dtype])
                for a, shape in zip(self.outputs, planned, strict=True)]

    def __repr__(self) -> str:
        sides = [", ".join(f"{a.name}: {a.dtype}{list(a.shape)}" for a in side)
                 for side in (self.inputs, self.outputs)]
        return f"{self.name}({sides[0]}) -> ({sides[1]})"


class Module:
    """A loaded module; its functions are attributes: `m.decode(...)`, or `m["decode"]`."""

    def __init__(self, path: str | os.PathLike, device: str | Device = "host", *,
                 weights: str | os.PathLike | None = None, threads: int = 0,
                 comm: Communicator | None = None):
        self.device = device if isinstance(device, Device) else Device(device, threads=threads)
        self.path = os.fspath(path)
        library = _abi.lib()
        module = _abi.make("hk_module_open", self.path.encode())
        try:
            self._info = json.loads(library.hk_module_json(module))
            self._program = _abi.make("hk_program_create_on", module, self.device._handle,
                                      comm._handle if comm else None,
                                      os.fspath(weights).encode() if weights else None)
        except BaseException:
            library.hk_module_close(module)
            raise
        weakref.finalize(self, _close, (self.device, comm), self._program, module)
        self.functions = {f["name"]: Function(self, f["name"]) for f in self._info["functions"]}

    def info(self) -> dict:
        """The module's description of itself: functions, kernels, targets, weights."""
        return self._info

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError("an hk.Module belongs to its process; load it again there, with hk.load")

    def __getitem__(self, name: str) -> Function:
        if name not in self.functions:
            raise NotFound(f"'{self.path}' has no function '{name}'; it has "
                           + ", ".join(self.functions))
        return self.functions[name]

    def __getattr__(self, name: str) -> Function:
        functions = self.__dict__.get("functions", {})
        if name in functions:
            return functions[name]
        raise AttributeError(f"module '{self.__dict__.get('path')}' has no function '{name}'; it "
                             f"has {', '.join(functions)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __repr__(self) -> str:
        return f"hk.Module('{self.path}', {self.device.spec}: {', '.join(self.functions)})"


def _close(_used: tuple, program: int, module: int) -> None:
    _abi.lib().hk_program_destroy(program)
    _abi.lib().hk_module_close(module)


class Profile:
    """Collects the time of every launch of the calls it is given to (which then wait).

    With `launches` it keeps that many launches, the first ones, one by one.
    """

    def __init__(self, launches: int = 0) -> None:
        if launches < 0:
            raise InvalidArgument(f"expected launches to be at least 0, got {launches}")
        self._handle = _abi.make("hk_profile_create")
        weakref.finalize(self, _abi.lib().hk_profile_destroy, self._handle)
        _abi.check(_abi.lib().hk_profile_keep_launches(self._handle, launches))

    def entries(self) -> list[dict]:
        """One dictionary per kernel variant: kernel, variant, ops, launches, total_us, min_us."""
        library, rows = _abi.lib(), []
        for i in range(library.hk_profile_num_entries(self._handle)):
            entry = library.hk_profile_get(self._handle, i)
            rows.append({"kernel": entry.kernel.decode(), "variant": entry.variant.decode(),
                         "ops": entry.ops.decode(), "launches": entry.launches,
                         "total_us": entry.total_us, "min_us": entry.min_us})
        return rows

    def launches(self) -> list[dict]:
        """One dictionary per kept launch, in order: function, kernel, variant, ops, call
        (0 is the first), begin_us (since the profile was made), duration_us."""
        library, rows = _abi.lib(), []
        for i in range(library.hk_profile_num_launches(self._handle)):
            launch = library.hk_profile_get_launch(self._handle, i)
            rows.append({name: getattr(launch, name).decode()
                         for name in ("function", "kernel", "variant", "ops")}
                        | {"call": launch.call, "begin_us": launch.begin_us,
                           "duration_us": launch.duration_us})
        return rows


def load(path: str | os.PathLike, device: str | Device = "host", *,
         weights: str | os.PathLike | None = None, threads: int = 0,
         comm: Communicator | None = None) -> Module:
    """Opens a compiled module on a device: "host", "hip:N", "cuda:N" or a Device.

    `weights` is a safetensors file, by default the one that the module names beside itself.
    `threads` (host only): 0 is one per core. `comm`: this process is one of several ranks;
    all of them load the module together.
    """
    return Module(path, device, weights=weights, threads=threads, comm=comm)
