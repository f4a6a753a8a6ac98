//===- HKStructureOps.td - Fusions, kernels, launches, weights ---*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fusion makes: regions, outlined kernels, their variants and launches; and weights.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKSTRUCTUREOPS
#define HK_HKSTRUCTUREOPS

include "HKAttrs.td"

def HK_FusedOp : HK_Op<"fused", [IsolatedFromAbove, SingleBlock,
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, HK_Reify]> {
  let summary = "base operators that become one kernel";
  let description = [{
    Block arguments are the inputs, then the outs; the terminator yields one value
    per out. An out is read only where its block argument has uses: a state that
    is written in place. Such a state has no other reader in the region.

    Example:
    ```mlir
    %y = hk.fused rowwise ins(%x, %w : tensor<?x64xbf16>, tensor<64xbf16>) outs(%e : tensor<?x64xbf16>) {
    ^bb0(%a: tensor<?x64xbf16>, %b: tensor<64xbf16>, %o: tensor<?x64xbf16>):
      %0 = hk.rms_norm %a, %b epsilon 1.0e-05 : tensor<?x64xbf16>, tensor<64xbf16>
      hk.yield %0 : tensor<?x64xbf16>
    } -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins HK_FamilyKindAttr:$family, Variadic<HK_Tensor>:$inputs,
                       Variadic<HK_Tensor>:$outs);
  let results = (outs Variadic<HK_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $family (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outs^ `:` type($outs) `)`)? attr-dict-with-keyword $body
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// Whether out `index` is read: its block argument has uses.
    bool readsOut(unsigned index);
  }];
  let hasRegionVerifier = 1;
}

def HK_YieldOp : HK_Op<"yield", [Pure, Terminator]> {
  let summary = "the values a fused region or a kernel writes";
  let description = "One value per out, in order.";
  let arguments = (ins Variadic<HK_Tensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def HK_KernelOp : HK_Op<"kernel", [IsolatedFromAbove, SingleBlock, NoTerminator,
    NoRegionArguments, Symbol, SymbolTable]> {
  let summary = "a kernel: its meaning and the ways to launch it";
  let description = [{
    Holds one `hk.spec` (the meaning) and, once tiles are selected, `hk.variant`s;
    at launch the first variant whose condition holds is used. `shapes` has one
    symbolic shape per launch operand; `aligns` the guaranteed alignment, in
    bytes, of every innermost row of each operand; `num_inputs` says how many
    operands are inputs. The SymbolTable trait keeps bufferization out of the
    body.

    A `joint` kernel holds several problems that share its launch: an hk.kernel
    each, with variants of its own, between hk.spec (the meaning of all) and the
    joint variants. The joint kernel's operands are the inputs of all problems,
    in order, then the outs of all; their shapes are written in the joint
    kernel's dim symbols. `threads` says of how many threads the blocks of all
    their variants are.

    Example:
    ```mlir
    hk.kernel @k0 rowwise inputs 1 shapes [#hk.shape<[d0, 64]>, #hk.shape<[d0, 64]>] aligns [16, 16] {
      hk.spec { ... }
      hk.variant @v0 #hk.row_tile<rows = 4, threads = 256, vec = 8, slots = 1> { ... }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, HK_FamilyKindAttr:$family,
                       I64Attr:$num_inputs, HK_SymShapeArrayAttr:$shapes,
                       DenseI64ArrayAttr:$aligns,
                       OptionalAttr<I64Attr>:$threads);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $family `inputs` $num_inputs `shapes` $shapes
    `aligns` $aligns (`threads` $threads^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// The block of hk.spec: arguments are inputs then outs.
    ::mlir::Block &getSpecBlock();
    /// Number of dim symbols of the shapes.
    int64_t getNumDims();
    int64_t getNumOperands();
    /// In order of preference. std::vector: VariantOp is incomplete here.
    ::std::vector<VariantOp> getVariants();
    /// The problems of a joint kernel, in order; of another none.
    ::std::vector<KernelOp> getProblems();
    /// The kernel that is launched: the joint kernel of a problem, or itself.
    KernelOp getLaunched();
    /// Which operand of getLaunched() the kernel's `operand` is.
    int64_t getLaunchedOperand(int64_t operand);
  }];
  let hasRegionVerifier = 1;
}

def HK_SpecOp : HK_Op<"spec", [IsolatedFromAbove, SingleBlock,
    HasParent<"KernelOp">]> {
  let summary = "the meaning of a kernel, in base operators";
  let description = "Block arguments: inputs, then outs. Ends in hk.yield.";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def HK_VariantOp : HK_Op<"variant", [IsolatedFromAbove, SingleBlock, Symbol,
    HasParent<"KernelOp">]> {
  let summary = "one way to launch a kernel";
  let description = [{
    A tile and, in the region, the condition and the grid computed from the dim
    symbols (one index argument each) with plain arith ops. Also the resources the
    tile asks for: threads per block and LDS bytes.

    Example:
    ```mlir
    hk.variant @v0 #hk.row_tile<rows = 4, threads = 256, vec = 8, slots = 1> threads 256 lds 16 {
    ^bb0(%d0: index):
      %true = arith.constant true
      %c4 = arith.constant 4 : index
      %c1 = arith.constant 1 : index
      %g = arith.ceildivui %d0, %c4 : index
      hk.launch_dims if %true grid(%g, %c1, %c1)
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, HK_AnyTileAttr:$tile,
                       I64Attr:$threads, I64Attr:$lds_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $tile `threads` $threads `lds` $lds_bytes attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def HK_LaunchDimsOp : HK_Op<"launch_dims", [Pure, Terminator,
    HasParent<"VariantOp">]> {
  let summary = "condition and grid of a variant";
  let description = "A grid with a zero is a launch that does nothing.";
  let arguments = (ins I1:$condition, Index:$x, Index:$y, Index:$z);
  let assemblyFormat = "`if` $condition `grid` `(` $x `,` $y `,` $z `)` attr-dict";
}

def HK_LaunchOp : HK_Op<"launch", [AttrSizedOperandSegments,
    DestinationStyleOpInterface, HK_Reify,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a kernel";
  let description = [{
    On tensors the results are the outs after the launch; on memrefs there are no
    results. `reads_out` says which outs are also read (state).

    Example:
    ```mlir
    %y = hk.launch @k0 ins(%x : tensor<?x64xbf16>) outs(%e : tensor<?x64xbf16>) reads [false] -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outs,
                       DenseBoolArrayAttr:$reads_out);
  let results = (outs Variadic<HK_Tensor>:$results);
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $outs^ `:` type($outs) `)`)? `reads` $reads_out attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
  let hasVerifier = 1;
}

def HK_GuardOp : HK_Op<"guard"> {
  let summary = "what two sizes must be to each other when the function is called";
  let description = [{
    The sizes are equal (`eq`), or the first is at most (`le`) or at least (`ge`)
    the second. `names` says what the sizes are, for the error. Views in a function
    get theirs before fusion; hk-place-outputs moves them to the shape function.

    Example:
    ```mlir
    hk.guard eq %a, %b names ["x dim 0", "positions dim 0"]
    ```
  }];
  let arguments = (ins HK_GuardRelationAttr:$relation, Index:$lhs, Index:$rhs,
                       StrArrayAttr:$names);
  let assemblyFormat = "$relation $lhs `,` $rhs `names` $names attr-dict";
}

def HK_WeightOp : HK_Op<"weight", [Symbol, IsolatedFromAbove]> {
  let summary = "a tensor of the weights file";
  let description = [{
    A module-level symbol; no bytes in the IR. `source` is the tensor's name in
    the safetensors file.

    With `inputs` the weight is not in the file it comes from: the recipe computes
    it from the tensors of these names, its arguments, when the compiler writes the
    file that goes with the library. `hk-fold-weights` makes such weights.

    Example:
    ```mlir
    hk.weight @wq "layers.0.wqkv" : tensor<512x256xbf16>
    hk.weight @folded0 "hk.folded0" from ["wk", "wv"] {
    ^bb0(%k: tensor<64x256xbf16>, %v: tensor<64x256xbf16>):
      %kv = hk.concat 0 (%k, %v) : tensor<64x256xbf16>, tensor<64x256xbf16> -> tensor<128x256xbf16>
      hk.yield %kv : tensor<128x256xbf16>
    } : tensor<128x256xbf16>
    hk.weight @wk.tp "layers.0.wqkv" slices [#hk.weight_slice<"tp" dim 0 sizes[256, 128, 128] parts[2, 2, 2]>] : tensor<256x256xbf16>
    ```

    With `slices` a rank has a part of the tensor, or of what the recipe makes:
    the type is that of the part. `hk-shard` makes such weights.
  }];
  // The name of a tensor in a file is an open set.
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$source,
                       TypeAttrOf<HK_Tensor>:$type,
                       OptionalAttr<StrArrayAttr>:$inputs,
                       OptionalAttr<TypedArrayAttrBase<HK_WeightSliceAttr,
                           "slices of a weight">>:$slices);
  let regions = (region MaxSizedRegion<1>:$recipe);
  let assemblyFormat = "$sym_name $source (`from` $inputs^ $recipe)? (`slices` $slices^)? attr-dict `:` $type";
  let extraClassDeclaration = [{
    /// The type in front of its slices: that of the tensor in its file, or of
    /// what the recipe makes.
    ::mlir::RankedTensorType getWholeType();
    /// The slices in the order in which they are cut; the mesh that the module
    /// has tells the number of ranks.
    ::std::vector<::hk::WeightSlice> getCuts();
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "StringRef":$name, "StringRef":$source,
                                 "Type":$type, "ArrayAttr":$inputs)>];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def HK_WeightRefOp : HK_Op<"weight_ref", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a weight";
  let description = [{
    Example:
    ```mlir
    %w = hk.weight_ref @wq : tensor<512x256xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs AnyShaped:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

#endif // HK_HKSTRUCTUREOPS
