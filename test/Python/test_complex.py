"""Complex numbers as pairs of real ones: rotary embeddings as Llama's and DeepSeek's own code has
them, spectra, and FNet, whose tokens meet in a Fourier transform."""

import hk
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
import hk.torch  # noqa: E402
from zoo import built  # noqa: E402

torch.set_num_threads(1)


def checked(module, *args, dtype=torch.float32, dynamic=None):
    graph = hk.torch.export_module(module, args, dtype=dtype, dynamic_shapes=dynamic)
    assert not hk.torch.check(module, graph, threads=1).vacuous
    return graph


class Turned(torch.nn.Module):
    """A table that is kept, and one that is made of the number of tokens."""

    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(64, 64)
        self.register_buffer("table", self.angles(12), persistent=False)

    def angles(self, count):
        frequencies = 1 / 1e4 ** (torch.arange(0, 16, 2).float() / 16)
        angles = torch.outer(torch.arange(count).float(), frequencies)
        return torch.polar(torch.ones_like(angles), angles)

    def turned(self, x, table):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * table[None, :, None]).flatten(3).type_as(x)

    def forward(self, x):
        x = self.query(x).unflatten(-1, (4, 16))
        return {"kept": self.turned(x[:, :12], self.table),
                "made": self.turned(x, self.angles(x.shape[1]))}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rotary(dtype):
    torch.manual_seed(0)
    module = Turned()
    graph = checked(module, torch.randn(2, 14, 64), dtype=dtype,
                    dynamic=({0: torch.export.Dim("batch", min=2)},))
    assert module.table.is_complex() and "table.imag" in graph.tensors


class Spectra(torch.nn.Module):
    def forward(self, x):
        z = torch.complex(x, 0.5 * x.flip(1))
        back = torch.fft.ifft(torch.fft.fft(x, dim=1) * z, dim=1, norm="forward")
        return {"real": torch.fft.fft(x).real, "length": torch.fft.rfft(x, norm="ortho").abs(),
                "both": torch.fft.fft2(x).imag, "back": torch.view_as_real(back),
                "sum": torch.view_as_real((z + 1j * z.conj() - x) / 3)}


def test_spectra():
    torch.manual_seed(0)
    checked(Spectra(), torch.randn(2, 10, 18), dynamic=({0: torch.export.Dim("batch", min=2)},))


class Hidden(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids).last_hidden_state


def test_fnet():
    ids = torch.randint(1, 97, (2, 12), generator=torch.Generator().manual_seed(1))
    checked(Hidden(built("FNetModel", {})), ids)


@pytest.mark.parametrize("function, said", [
    (lambda x: torch.view_as_real(1 / torch.complex(x, x)), "quotient|reciprocal of complex numbers"),
    (lambda x: torch.complex(x, x), "result 'result' is of complex numbers"),
    (lambda x: torch.fft.irfft(torch.complex(x, x)), "fft_c2r of complex numbers")])
def test_refusals(function, said):
    module = torch.nn.Module()
    module.forward = function
    with pytest.raises(hk.UnsupportedModel, match=said):
        hk.torch.export_module(module, (torch.randn(3, 4),))
