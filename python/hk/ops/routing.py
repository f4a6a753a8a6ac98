"""The experts of a token."""

import torch

from ._run import element, op, run


@op(mutates=("topk_weights", "topk_indices", "token_expert_indices"))
def topk_softmax(topk_weights: torch.Tensor, topk_indices: torch.Tensor,
                 token_expert_indices: torch.Tensor, gating_output: torch.Tensor,
                 need_renorm: bool) -> None:
    """The k largest of softmax(gating_output [T, E]) in f32, of equal ones the first experts;
    `need_renorm`: divided by their sum. token_expert_indices[t, j] = j T + t."""
    tokens, count = topk_weights.shape
    wide = f"tensor<?x{gating_output.shape[1]}xf32>"
    narrow = wide.replace("f32", element(gating_output.dtype))
    cast = "" if narrow == wide else f"%g = hk.cast %gate : {narrow} -> {wide}\n"
    renorm = ("%s = hk.reduce sum %v : {weights} -> tensor<?x1xf32>\n"
              "%weights = hk.div %v, %s : {weights}, tensor<?x1xf32>")
    values = "%v" if need_renorm else "%weights"
    run(f"""{cast}%p = hk.softmax {'%g' if cast else '%gate'} : {wide}
            {values}, %indices = hk.topk %p : {wide} -> {{weights}}, {{indices}}
            {renorm if need_renorm else ''}""",
        {"gate": gating_output}, {"weights": topk_weights, "indices": topk_indices})
    order = torch.arange(count * tokens, device=gating_output.device)
    token_expert_indices.copy_(order.view(count, tokens).T)
