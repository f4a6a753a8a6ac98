"""What can go wrong: one exception class for each status code of the C interface.

The text of an error of the runtime is the C interface's own: it names the thing, what was
expected and what came.
"""


class Error(RuntimeError):
    """Any error of hk; `code` is the status code of hk.h, 0 for errors of the tools."""

    code = 0


class InvalidArgument(Error, ValueError):
    """A tensor's or option's name, dtype, shape, strides, alignment, device or overlap."""

    code = 1


class NotFound(Error, LookupError):
    """No such file, function or weight."""

    code = 2


class Unavailable(Error):
    """No such device or driver here, or the module has no code for it."""

    code = 3


class Incompatible(Error):
    """Not a module, another version of hk, or CPU features that this machine lacks."""

    code = 4


class OutOfMemory(Error, MemoryError):
    """Host or device memory is spent."""

    code = 5


class DeviceError(Error):
    """An error that HIP or the CUDA driver reported."""

    code = 6


class InternalError(Error):
    """A module that breaks its contract: a bug of hk."""

    code = 7


class RankFailed(Error):
    """Another rank failed, or the library that reaches it."""

    code = 8


class RankTimeout(Error, TimeoutError):
    """Another rank did not come in time."""

    code = 9


class CompileError(Error):
    """hk-compile refused a model; the text is the tool's."""


class UnsupportedModel(Error):
    """A model cannot be imported: names the line, the operator and a remedy."""


class CheckFailed(Error):
    """An imported model's results differ from the original's by more than the bound."""


BY_CODE = {cls.code: cls for cls in (InvalidArgument, NotFound, Unavailable, Incompatible,
                                     OutOfMemory, DeviceError, InternalError, RankFailed, RankTimeout)}
