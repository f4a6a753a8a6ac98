"""Every exchange between more ranks than two, for ranks.py: writes their module (ranks_moves.py RANKS > moves.mlir, RANKS a
divisor of 12), and says what its results have to be, to the bit: terms are whole numbers, whose sums are exact in any
order."""

import sys

import torch


def module_of(ranks):
    part = 12 // ranks
    x, rows = "tensor<?x12x6xbf16>", f"tensor<{ranks}x?x12x6xbf16>"
    wide, swapped = f"tensor<?x12x{6 * ranks}xbf16>", f"tensor<?x{part}x{6 * ranks}xbf16>"
    counts, own = f"tensor<{ranks}xi32>", f"tensor<?x{part}x6xbf16>"
    return f"""module attributes {{hk.mesh = "tp={ranks}"}} {{
func.func @moves(%x: {x}, %counts: {counts})
    -> ({x} {{hk.name = "sum"}}, tensor<?x12x6xf32> {{hk.name = "ordered"}}, {own} {{hk.name = "scattered"}},
        {own} {{hk.name = "engine"}}, {wide} {{hk.name = "gathered"}}, {swapped} {{hk.name = "swapped"}}, {x} {{hk.name = "sent"}},
        {x} {{hk.name = "most"}}, tensor<i32> {{hk.name = "rank"}}, {rows} {{hk.name = "rows"}}, {counts} {{hk.name = "received"}}) {{
  %0 = hk.all_reduce sum %x axis "tp" transport any_order : {x}
  %1 = hk.all_reduce sum %x axis "tp" : {x} -> tensor<?x12x6xf32>
  %2 = hk.reduce_scatter sum %x axis "tp" dim 1 : {x} -> {own}
  %3 = hk.reduce_scatter sum %x axis "tp" dim 1 transport any_order : {x} -> {own}
  %4 = hk.all_gather %x axis "tp" dim 2 : {x} -> {wide}
  %5 = hk.all_to_all %x axis "tp" split 1 concat 2 : {x} -> {swapped}
  %6 = hk.broadcast_rank %x axis "tp" root {ranks - 1} : {x}
  %7 = hk.all_reduce max %x axis "tp" : {x}
  %8 = hk.rank axis "tp" : tensor<i32>
  %9:2 = hk.all_to_all_rows %x, %counts axis "tp" : {x}, {counts} -> {rows}, {counts}
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9#0, %9#1 : {x}, tensor<?x12x6xf32>, {own}, {own}, {wide}, {swapped}, {x}, {x},
    tensor<i32>, {rows}, {counts}
}}
}}
"""


def arguments_of(rows, ranks, rank):
    """Those of a rank, which the others can compute, too: terms, and how many of its rows go to each rank."""
    draw = torch.Generator().manual_seed(100 * rows + rank)
    x = torch.randint(-9, 10, (rows, 12, 6), generator=draw).bfloat16()
    to = torch.randint(0, ranks, (rows,), generator=draw)
    return x, torch.bincount(to, minlength=ranks).int()


def wanted(rows, ranks, rank):
    """The results of a rank, by name."""
    xs, counts = zip(*(arguments_of(rows, ranks, r) for r in range(ranks)))
    part, total = 12 // ranks, torch.stack([x.float() for x in xs]).sum(0)
    mine = slice(part * rank, part * rank + part)
    come = torch.zeros(ranks, rows, 12, 6, dtype=torch.bfloat16)
    for r in range(ranks):
        begin = int(counts[r][:rank].sum())
        sent = xs[r][begin:begin + int(counts[r][rank])]
        come[r, :len(sent)] = sent
    return {"sum": total.bfloat16(), "ordered": total, "scattered": total.bfloat16()[:, mine],
            "engine": total.bfloat16()[:, mine], "gathered": torch.cat(xs, 2),
            "swapped": torch.cat([x[:, mine] for x in xs], 2), "sent": xs[-1],
            "most": torch.stack(xs).amax(0), "rank": torch.tensor(rank, dtype=torch.int32), "rows": come,
            "received": torch.stack([c[rank] for c in counts])}


if __name__ == "__main__":
    print(module_of(int(sys.argv[1])), end="")
