//===- HKCollectiveOps.td - Operators over several ranks ---------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators whose result depends on the values of other ranks that run the same
// function, and the number of a rank. Shapes are those of one rank.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKCOLLECTIVEOPS
#define HK_HKCOLLECTIVEOPS

include "HKEnums.td"

// An operator over the ranks along an axis of the mesh. Its .cpp says with
// getExchange what is sent and what becomes of it; shapes follow from that.
class HK_CollectiveOp<string mnemonic>
    : HK_BaseOp<mnemonic, [HK_StatesShapes, HK_OperandsInMemory,
          DeclareOpInterfaceMethods<HK_CollectiveOpInterface>]>;

def HK_AllReduceOp : HK_CollectiveOp<"all_reduce"> {
  let summary = "sum or extremum over the ranks of an axis";
  let description = [{
    Every rank gets the sum (`max`, `min`) of the inputs of all ranks along `axis`,
    the same bits on each of them. All ranks have inputs of the same sizes.

    `sum` of floats widens the inputs, adds them in f32 in the order of the ranks,
    ((x0 + x1) + x2) + ..., and rounds once to the result's type: exact inputs have
    one exact result. With `transport any_order` partial sums may be rounded to the
    input's type, which is also the result's, and added in any order, as the rings
    and trees of NCCL and RCCL do; with two ranks that adds no rounding. Sums of
    integers wrap, exactly. `max` and `min` are exact, then rounded to the result's
    type; NaN propagates. An infinity and its negative add up to NaN. An input
    without elements has a result without elements.

    Sources: MPI_Allreduce of MPI 4.1; ncclAllReduce of NCCL, which promises no
    order.

    Example:
    ```mlir
    %y = hk.all_reduce sum %x axis "tp" : tensor<?x4096xbf16>
    %m = hk.all_reduce max %a axis "tp" : tensor<?x1xf32>
    ```
  }];
  let arguments = (ins HK_ReduceKindAttr:$kind, HK_NumberTensor:$input, StrAttr:$axis,
      DefaultValuedAttr<HK_TransportAttr, "::mlir::hk::Transport::in_order">:$transport);
  let results = (outs HK_NumberTensor:$result);
  let syntax = [{
    $kind $input `axis` $axis (`transport` $transport^)? attr-dict `:` type($input)
    `` custom<ResultType>(ref(type($input)), type($result))
  }];
}

def HK_ReduceScatterOp : HK_CollectiveOp<"reduce_scatter"> {
  let summary = "sum or extremum over the ranks of an axis, a part for each";
  let description = [{
    What hk.all_reduce gives, of which the rank at place r along `axis` keeps part r
    of dim `dim`; the size of that dim is a multiple of the number of ranks.
    Rounding, order, `transport`, NaN and sizes as in hk.all_reduce. Sources:
    MPI_Reduce_scatter_block of MPI 4.1, ncclReduceScatter.

    Example:
    ```mlir
    %y = hk.reduce_scatter sum %x axis "tp" dim 0 : tensor<64x4096xbf16> -> tensor<32x4096xbf16>
    ```
  }];
  let arguments = (ins HK_ReduceKindAttr:$kind, HK_NumberTensor:$input, StrAttr:$axis,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$dim,
      DefaultValuedAttr<HK_TransportAttr, "::mlir::hk::Transport::in_order">:$transport);
  let results = (outs HK_NumberTensor:$result);
  let syntax = [{
    $kind $input `axis` $axis `dim` $dim (`transport` $transport^)? attr-dict `:`
    type($input) `->` type($result)
  }];
}

def HK_AllGatherOp : HK_CollectiveOp<"all_gather"> {
  let summary = "concatenate the tensors of the ranks of an axis";
  let description = [{
    Every rank gets the inputs of all ranks along `axis`, concatenated along dim
    `dim` in the order of the ranks. All inputs have the same sizes. Bits are
    copied. Sources: MPI_Allgather of MPI 4.1, ncclAllGather.

    Example:
    ```mlir
    %y = hk.all_gather %x axis "tp" dim 1 : tensor<?x512xbf16> -> tensor<?x1024xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$input, StrAttr:$axis,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$dim);
  let results = (outs HK_Tensor:$result);
  let syntax = "$input `axis` $axis `dim` $dim attr-dict `:` type($input) `->` type($result)";
}

def HK_AllToAllOp : HK_CollectiveOp<"all_to_all"> {
  let summary = "exchange the parts of a tensor between the ranks of an axis";
  let description = [{
    The input is cut along dim `split` in as many parts as there are ranks along
    `axis`; the size of that dim is a multiple of their number. Part r goes to the
    rank at place r. A rank's result are the parts it got, concatenated along dim
    `concat` in the order of the ranks they came from. All inputs have the same
    sizes. Bits are copied. Sources: MPI_Alltoall of MPI 4.1; DeepSpeed-Ulysses
    exchanges heads and tokens so.

    Example:
    ```mlir
    %y = hk.all_to_all %x axis "sp" split 1 concat 0 : tensor<?x32x128xbf16> -> tensor<?x16x128xbf16>
    ```
  }];
  let arguments = (ins HK_Tensor:$input, StrAttr:$axis,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$split,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$concat);
  let results = (outs HK_Tensor:$result);
  let syntax = [{
    $input `axis` $axis `split` $split `concat` $concat attr-dict `:` type($input)
    `` custom<ResultType>(ref(type($input)), type($result))
  }];
}

def HK_AllToAllRowsOp : HK_CollectiveOp<"all_to_all_rows"> {
  let summary = "send rows to the ranks of an axis, as many as data says";
  let description = [{
    The rows of the input [P, ...] are sorted by the place that they go to: the
    first counts[0] of them to the rank at place 0 along `axis`, those behind to the
    rank at place 1, and so on; a count below 0 is none. Rows behind the last go
    nowhere. rows[s, i] is row i of those that the rank at place s has for this one,
    0 for i from that count on, and for rows that the input lacks. Of each rank at
    most `capacity` rows arrive, P unless given, with which none is lost;
    received[s] is the count of the rank at place s as it was sent, so a number above
    the capacity says that rows are missing. All inputs have the same sizes. Bits are
    copied, and nothing depends on a count but values, so a call may be captured.

    Sources: MPI_Alltoallv of MPI 4.1, whose receivers know the counts; the dispatch
    of experts in DeepEP and MORI, which have a capacity.

    Example:
    ```mlir
    %rows, %received = hk.all_to_all_rows %x, %counts axis "ep" capacity 64 : tensor<?x512xbf16>, tensor<2xi32> -> tensor<2x64x512xbf16>, tensor<2xi32>
    ```
  }];
  let arguments = (ins HK_Tensor:$input, 1DTensorOf<[I32]>:$counts, StrAttr:$axis,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$capacity);
  let results = (outs HK_Tensor:$rows, 1DTensorOf<[I32]>:$received);
  let syntax = [{
    $input `,` $counts `axis` $axis (`capacity` $capacity^)? attr-dict `:`
    type($input) `,` type($counts) `->` type($rows) `,` type($received)
  }];
}

def HK_BroadcastRankOp : HK_CollectiveOp<"broadcast_rank"> {
  let summary = "the tensor of one rank of an axis";
  let description = [{
    Every rank gets the bits of the input of the rank at place `root` along `axis`.
    All inputs have the same sizes. Sources: MPI_Bcast of MPI 4.1, ncclBroadcast.

    Example:
    ```mlir
    %y = hk.broadcast_rank %x axis "tp" root 0 : tensor<?xi32>
    ```
  }];
  let arguments = (ins HK_Tensor:$input, StrAttr:$axis,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$root);
  let results = (outs HK_Tensor:$result);
  let syntax = [{
    $input `axis` $axis `root` $root attr-dict `:` type($input)
    `` custom<ResultType>(ref(type($input)), type($result))
  }];
}

def HK_RankOp : HK_CollectiveOp<"rank"> {
  let summary = "place of the rank along an axis";
  let description = [{
    A number from 0 to one less than the ranks along `axis`. The only operator by
    which what a function computes depends on the rank it runs on. No rank waits
    for another one.

    Example:
    ```mlir
    %r = hk.rank axis "tp" : tensor<i32>
    ```
  }];
  let arguments = (ins StrAttr:$axis);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let syntax = "`axis` $axis attr-dict `:` type($result)";
}

#endif // HK_HKCOLLECTIVEOPS
