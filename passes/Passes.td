//===- Passes.td - The passes of hk ------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In pipeline order; Pipelines.cpp says what IR each step needs and yields.
//
//===----------------------------------------------------------------------===//

#ifndef HK_PASSES
#define HK_PASSES

include "mlir/Pass/PassBase.td"

def HKCheckSignature : Pass<"hk-check-signature", "::mlir::ModuleOp"> {
  let summary = "functions are ones that the module ABI can call";
  let description = [{
    An error is: an argument or a result that is a scalar, an unranked tensor or
    of an element type that hk does not have; a tensor of more bytes than can be
    addressed; two arguments or results of one public name; dims of one name in
    `hk.dims` that have different static sizes; more than one block; a write in
    place into a weight or an input; a state that is written but not returned.
  }];
}

def HKGuardViews : Pass<"hk-guard-views", "::mlir::ModuleOp"> {
  let summary = "views must lie inside of what they view";
  let description = [{
    A slice or an expanded shape whose sizes or offsets only the call tells gets
    `hk.guard`s: offsets and sizes are not negative, a slice ends inside its
    tensor, the sizes of an expanded shape multiply to what is expanded. What
    types or operands prove gets none. A slice that is read backwards out of
    its tensor, or with a dynamic size, is an error.
  }];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def HKAssignTarget : Pass<"hk-assign-target", "::mlir::ModuleOp"> {
  let summary = "set the target of the module";
  let description = [{
    Sets `hk.target` on the module. An unknown name is an error that lists the
    known ones.
  }];
  let options = [Option<"target", "target", "std::string", "", "row of the target table">];
  let dependentDialects = ["::mlir::hk::HKDialect"];
}

def HKRaise : Pass<"hk-raise", "::mlir::ModuleOp"> {
  let summary = "make hk's operators of forms that exporters decompose";
  let description = [{
    Finds norms, activations, rotary embeddings, repeated key heads, attention
    and its masks that are written as smaller operators, and puts the one operator
    in their place. hk-import runs it on ONNX models, behind it the canonicaliser
    and CSE. docs/raise.md has the forms.

    With `exact` only what gives the same bits is raised: so it is part of hk-graph.

    A form is raised when the operator computes the same formula of the same
    values, where roundings of f32 intermediates do not count, but those to a
    narrower type do. With `drop-roundings` those do not count either: the result
    is then nearer to the exact value than the graph's. Every rewrite is a remark,
    and so is every near miss, with a reason code.

    With `check` every function is interpreted before and after, on random
    arguments, and a difference beyond the derived bounds is an error.
  }];
  let options = [
    Option<"exact", "exact", "bool", "false", "only forms whose operator gives the same bits">,
    Option<"dropRoundings", "drop-roundings", "bool", "false",
           "roundings to bf16 and f16 inside of a form do not keep it from being raised">,
    Option<"check", "check", "bool", "false", "interpret before and after, and compare">];
  let statistics = [
    Statistic<"numRaised", "num-raised", "forms that became one operator">,
    Statistic<"numMissed", "num-missed", "forms that look like one and are not">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def HKFoldGates : Pass<"hk-fold-gates", "::mlir::ModuleOp"> {
  let summary = "make hk.gated_activation of a gate written as slices";
  let description = [{
    silu, gelu, gelu_tanh or relu of the first half of a tensor's last dim, times
    the second half, becomes hk.gated_activation with `round_before_up`, if
    nothing else reads the activation. A product has it as epilogue; a view of a
    product would cost a launch. Every gate is a decision of the log.
  }];
  let statistics = [Statistic<"numFolded", "num-folded", "gates that became one operator">];
  let dependentDialects = ["::mlir::hk::HKDialect"];
}

def HKOrderColumns : Pass<"hk-order-columns", "::mlir::func::FuncOp"> {
  let summary = "columns of products in the order of those who read them";
  let description = [{
    A product with a weight whose columns are sliced, reshaped and concatenated
    (heads of queries, keys and values that lie beside each other) in a way that
    memory cannot hold as a view gets its columns in the order in which they are
    read, if none is read twice: the same moves of the weight, and of a bias, are
    a recipe for `hk-fold-weights`, which must follow. What is read then are
    slices of the product. A gate whose columns alternate (`interleaved`) becomes
    one of two halves likewise, also of products of groups.
  }];
  let statistics = [Statistic<"numOrdered", "num-ordered", "products whose columns got another order">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def HKMergeProducts : Pass<"hk-merge-products", "::mlir::func::FuncOp"> {
  let summary = "make one product of those that read the same input";
  let description = [{
    Products of one left operand with different weights (of one dtype, one
    orientation, one kind of scale, all with a bias or none) become one product
    with the concatenated weights; `hk-fold-weights`, which must follow,
    concatenates at compile time. The former results are views of the new one,
    those of a gate and its up projection the two halves that `hk-fold-gates`
    expects. A result that a view would not do for (a result of the function, an
    operand of a product, one with an epilogue of its own) keeps its product.
  }];
  let statistics = [Statistic<"numMerged", "num-merged", "products that became part of another">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def HKShard : Pass<"hk-shard", "::mlir::ModuleOp"> {
  let summary = "cut a module between the ranks of a mesh";
  let description = [{
    Makes a module for one rank, which runs as one of those of `mesh`, of one for
    a single chip. Along each axis products are cut by columns where what follows
    can work on a part and ends in a product that is then cut by k; what those
    give is a partial sum until an operator needs all of it. There, and nowhere
    earlier, stands the hk.all_reduce. Along an axis named "ep" the experts of
    grouped products are cut. `shard.shard` (MLIR's shard dialect) says otherwise
    of a value: cut along a dim, or, with no axis, whole. Weights become slices of
    the same tensors, states shrink with what is written into them, arguments and
    results stay whole unless annotated. Sizes that do not divide are an error
    that says which numbers of ranks do. Every exchange is a decision of the log.
    Runs on inlined functions whose weights are folded.
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"", "axes and their ranks, tp=2,ep=4">];
  let statistics = [
    Statistic<"numCut", "num-cut", "weights of which a rank has a slice">,
    Statistic<"numExchanges", "num-exchanges", "operators over ranks">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def HKFoldWeights : Pass<"hk-fold-weights", "::mlir::ModuleOp"> {
  let summary = "compute with weights once, at compile time";
  let description = [{
    What row-wise operators compute from weights and constants alone becomes a
    weight with a recipe, which the compiler evaluates when it writes the weights
    file: merged, transposed, converted, re-encoded or quantised weights. Equal
    recipes are one weight; weights that only recipes read disappear. Results of
    more than four times the bytes of their operands are left to the kernels, and
    so are products and, without `expand`, results larger than 64 KiB that take
    more bytes than the weights they are made of, but for an eighth of padding:
    quantised weights stay quantised.
  }];
  let options = [Option<"expand", "expand", "bool", "false",
                        "also store what is larger than the weights it is made of">];
  let statistics = [Statistic<"numFolded", "num-folded", "values that became weights">];
  let dependentDialects = ["::mlir::hk::HKDialect"];
}

def HKSplit : Pass<"hk-split", "::mlir::ModuleOp"> {
  let summary = "share a reduction between more blocks where that pays";
  let description = [{
    Cuts the k of a matrix product or the keys of an attention into slices when
    the chip would otherwise idle: the operator then gives partial results, which
    hk.sum_slices or hk.attention_combine put together, fused with what follows.
    The walk of hk.chunk_state over the chunks of a sequence is cut in segments:
    hk.chunk_transition and hk.chunk_starts give the states that they begin with.
    An hk.dequantize that a product of many rows would repeat for every tile of
    them gets hk.apart, so that it stays a launch of its own. The families' cost
    models choose the number of parts from the sizes. Where the number of rows is
    dynamic nothing is cut in the function itself, but it gets versions for few
    rows (#hk.version), cut for those, if that pays; a call picks one by the rows
    it has. An option above 1 cuts into that many slices wherever the operator
    allows and makes no versions, 1 cuts into none.
  }];
  let options = [
    Option<"k", "k", "int64_t", "0", "slices of k; 0: by cost, 1: never">,
    Option<"keys", "keys", "int64_t", "0", "slices of the keys; 0: by cost, 1: never">,
    Option<"segments", "segments", "int64_t", "0", "segments of a walk over chunks; 0: by cost, 1: never">];
  let statistics = [Statistic<"numSplit", "num-split", "operators cut into slices">];
  let dependentDialects = ["::mlir::hk::HKDialect"];
}

def HKExpandExchanges : Pass<"hk-expand-exchanges", "::mlir::ModuleOp"> {
  let summary = "make exchanges between ranks of what the target's engine has";
  let description = [{
    `hk.all_to_all_rows` puts rows where their receiver finds them and exchanges
    equal parts (`hk.all_to_all`), on every target.

    NCCL and RCCL add in any order, with inputs and results of one type. On
    targets with such an engine a sum in order, one that changes the type and an
    extreme of floats become an exchange of the parts, a slice for each rank, and
    `hk.sum_slices` or pointwise operators, which fuse with what follows. Sums
    with `transport any_order`, and reductions of integers of 8, 32 and 64 bits,
    stay, and so do sums that kernels make themselves (docs/parallel.md).
  }];
  let statistics = [Statistic<"numExpanded", "num-expanded", "exchanges that became exchanges of parts">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::tensor::TensorDialect"];
}

def HKSplitReductions : Pass<"hk-split-reductions", "::mlir::ModuleOp"> {
  let summary = "reductions of large tensors in two steps";
  let description = [{
    An `hk.reduce` over everything, of more elements than one workgroup reads in
    about the time of a launch, becomes a reduction of rows and one of their
    results. Partial sums are f32; rounding to the result's type stays last. A row
    that is the only one is cut in equal parts where its size is static, together
    with what computes it element by element.
  }];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::tensor::TensorDialect"];
}

def HKFuse : Pass<"hk-fuse", "::mlir::ModuleOp"> {
  let summary = "group base operators into hk.fused regions";
  let description = [{
    Groups are decided on a side table by a level rule that cannot make a cycle;
    which operators may share a kernel is the families' verdict. An operator joins
    the kernel that makes its operand, or one that reads the same operand; a kernel
    whose results only one other reads may be taken into that one. At the end
    kernels of one family that nothing leads between share a launch when their rows
    are the same (launch sharing). Every operator ends in exactly one region; every
    refusal is a remark with a reason code.
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "64", "most base operators of a kernel">,
    Option<"disable", "disable", "bool", "false", "one kernel per operator">];
  let statistics = [
    Statistic<"numRegions", "num-regions", "regions made">,
    Statistic<"numFused", "num-fused", "operators that joined another's region">,
    Statistic<"numRefused", "num-refused", "joins refused">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def HKGatherFirst : Pass<"hk-gather-first", "::mlir::ModuleOp"> {
  let summary = "rows of a product are chosen before they are computed";
  let description = [{
    An hk.gather_rows of what a product gives, as of the logits of last tokens,
    moves in front of the product and of the row-wise operators around it that
    nothing else reads. Rows outside of the table are made zero behind them, as
    the gather gives them (hk.has_row). Where the indices are as many as the rows,
    or a multiple of them, nothing moves.
  }];
  let statistics = [Statistic<"numMoved", "num-moved", "gathers that moved">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def HKJoinRows : Pass<"hk-join-rows", "::mlir::ModuleOp"> {
  let summary = "batches that share a matrix are rows of one product";
  let description = [{
    A product [B, S, K] x [K, N] becomes [B * S, K] x [K, N] between views. It
    keeps its batches where they do not lie at one distance in the memory of the
    left operand (a slice of the tokens, a transpose), and where a transpose
    reads the result.
  }];
  let statistics = [Statistic<"numJoined", "num-joined", "products whose batches became rows">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def HKPadDepth : Pass<"hk-pad-depth", "::mlir::ModuleOp"> {
  let summary = "rows of products that begin where the copy engine reads";
  let description = [{
    The copy engine of sm_90a reads rows that begin at multiples of 16 bytes. A
    product of 16 bits whose operands both run along k, which is static and no
    multiple of 8, gets them padded by zeros (hk.pad), where that takes less
    than copies of one to four elements: not with a few rows of an even k, nor
    where little is multiplied.
  }];
  let statistics = [Statistic<"numPadded", "num-padded", "products whose k became a multiple of 8">];
  let dependentDialects = ["::mlir::hk::HKDialect"];
}

def HKNormalize : Pass<"hk-normalize", "::mlir::ModuleOp"> {
  let summary = "views of rows out of the way of fusion";
  let description = [{
    Row-wise operators share a kernel when their rows are the same, which a view
    between them that joins or parts leading dims ([B, S, H] and [B * S, H], or
    [1, S, H] and [S, H]) would prevent. Views that join rows move up and those
    that part them move down, through row-wise operators, to the arguments, the
    results and operators of other families, where they cost nothing. Where an
    operator needs the dims apart, because an operand repeats along one of them,
    its neighbours get them apart as well. On gfx942 and gfx950 a transpose that
    moves columns goes behind the elementwise operators between it and a result.
  }];
  let statistics = [
    Statistic<"numReshaped", "num-reshaped", "operators whose rows got another shape">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def HKOutline : Pass<"hk-outline", "::mlir::ModuleOp"> {
  let summary = "hk.fused to hk.kernel and hk.launch";
  let description = [{
    Structurally equal regions, with equal symbolic shapes, become one kernel. A
    region whose results have no elements becomes none.
  }];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "kernels made">,
    Statistic<"numShared", "num-shared", "launches of a kernel that already was">];
  let dependentDialects = ["::mlir::hk::HKDialect"];
}

def HKPlaceOutputs : Pass<"hk-place-outputs", "::mlir::ModuleOp"> {
  let summary = "results become destinations given by the caller";
  let description = [{
    Appends one writable tensor argument per result that is not a state, uses it
    as the destination of the launch that makes the result, and marks every other
    argument read-only.
  }];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::bufferization::BufferizationDialect"];
}

def HKSelectTiles : Pass<"hk-select-tiles", "::mlir::ModuleOp"> {
  let summary = "add the variants of every kernel";
  let description = [{
    The family of each kernel picks tiles that fit the target's LDS. If none fits
    the error names the operator, the kernel, the bytes asked, the limit and the
    nearest tile that fits.
  }];
  let statistics = [Statistic<"numVariants", "num-variants", "variants added">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect"];
}

def HKShareLaunches : Pass<"hk-share-launches", "::mlir::ModuleOp"> {
  let summary = "several kernels that need nothing of each other in one launch";
  let description = [{
    Two launches that nothing leads between, of kernels whose families allow it,
    become one launch of a `joint` kernel: its blocks are those of the first
    problem, then those of the second, with as much LDS as the larger one needs
    and as many threads in every block. The longer problem comes first. Done where
    the model says that one launch takes no longer than the two, for few rows and
    for many; every refusal is a remark with a reason code.
  }];
  let statistics = [Statistic<"numShared", "num-shared", "launches that joined another">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect"];
}

def HKScatterSums : Pass<"hk-scatter-sums", "::mlir::ModuleOp"> {
  let summary = "each rank keeps some rows of a sum over ranks";
  let description = [{
    Sequence parallel: `hk.all_reduce` and what follows it row by row become
    `hk.reduce_scatter`, the same operators on a part of the rows, and
    `hk.all_gather` of what others read, where the model says that this takes
    less time: exchanges start once more, and what is computed row by row, for
    which every rank reads and writes all rows, is shared. A residual to which
    several sums are added stays in parts. Needs numbers of rows that are known
    and shared evenly, and `transport any_order`. Every sum that something
    follows row by row is a decision of the log.
  }];
  let statistics = [Statistic<"numScattered", "num-scattered", "sums that became parts">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::tensor::TensorDialect"];
}

def HKOrderLaunches : Pass<"hk-order-launches", "::mlir::ModuleOp"> {
  let summary = "a kernel and what needs its results in one launch";
  let description = [{
    A launch that reads what the one in front of it writes becomes a problem of
    that launch, if its family lets blocks wait: they come behind those of the
    other problems, and wait until these have counted themselves. Done where the
    model says that waiting takes less than a launch, for few rows and for many.
    The words in which blocks are counted are zeroed by one launch in front of
    all, so what they save together must be more than that. Works on memrefs;
    docs/fusion.md says why no block waits for ever.
  }];
  let statistics = [Statistic<"numOrdered", "num-ordered", "launches that became a problem of the one in front">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def HKOrderSums : Pass<"hk-order-sums", "::mlir::ModuleOp"> {
  let summary = "memory for sums that blocks make in order";
  let description = [{
    A kernel whose blocks each make a part of a sum can add the parts in memory,
    one block after the other, instead of computing them twice: on sm_90a
    attention's gradients do, for dq, where that is quicker. Such a launch gets
    the memory, and words that a launch in front of it zeroes, which say whose
    turn it is. Works on memrefs; docs/fusion.md says why no block waits for ever.
  }];
  let statistics = [Statistic<"numOrdered", "num-ordered", "launches that sum in order">];
  let dependentDialects = ["::mlir::hk::HKDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def HKSendResults : Pass<"hk-send-results", "::mlir::ModuleOp"> {
  let summary = "products send their results to the other rank";
  let description = [{
    A sum over two ranks that a kernel makes itself (docs/parallel.md) begins with
    the link: every rank writes its rows into the other's memory. Where a product
    made them, it can do that tile by tile, while it computes the next ones, and
    sum what has come. Its kernel gets `hk.sends`, the axis, if all its launches
    are such, nothing else reads what it computes, and between it and the sum
    there is no other exchange over that axis, whose slot it would take. If the
    launch behind does nothing with the sum but add to it, that becomes the last
    input, and both kernels get `hk.adds`. Launches with few rows, which compute
    all tiles at once, still leave all of it to the launch behind.
  }];
  let statistics = [Statistic<"numSending", "num-sending", "kernels that send their results">];
}

def HKCheckState : Pass<"hk-check-state", "::mlir::ModuleOp"> {
  let summary = "state is written in place, once, and not read afterwards";
  let description = [{
    Before bufferization: each state value has one writer and no reader that could
    run after it, else a copy of a cache would be needed: an error.
  }];
}

def HKPlanArena : Pass<"hk-plan-arena", "::mlir::ModuleOp"> {
  let summary = "one workspace for all temporaries";
  let description = [{
    Replaces every memref.alloc by a view of one workspace argument; buffers whose
    lives do not overlap share bytes. Offsets and the total are arith on dims.
    Buffers begin at multiples of 256 bytes; a product of dynamic sizes of which each
    unit takes few bytes is rounded up as a whole.
  }];
  let statistics = [
    Statistic<"numBuffers", "num-buffers", "temporaries">,
    Statistic<"bytesStatic", "bytes-static", "workspace bytes when they are static">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def HKVerifyNoLooseMovement : Pass<"hk-verify-no-loose-movement", "::mlir::ModuleOp"> {
  let summary = "no data moves outside kernels";
  let description = [{
    After bufferization only views, dims and launches may remain outside kernels;
    a memref.copy or an alloc that hk did not plan is an error.
  }];
}

def HKLowerToLLVM : Pass<"hk-lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "functions to the module ABI";
  let description = [{
    Every public function becomes a `shape` and a `run` function of the module ABI,
    every hk.launch a call of ctx->launch, every hk.variant list a plan function.
    Kernels and weights are erased: emit them before.
  }];
  let options = [Option<"prefix", "prefix", "std::string", "\"hk_\"", "of every symbol made">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // HK_PASSES
