//===- HKAttrs.td - Attributes -----------------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target of a module, the symbolic shapes of kernel arguments and the tile of
// each family; the tiles mirror include/hk/Contract/Tile.h field by field.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKATTRS
#define HK_HKATTRS

include "HKEnums.td"

class HK_Attr<string name, string attrMnemonic> : AttrDef<HK_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def HK_WeightSliceAttr : HK_Attr<"WeightSlice", "weight_slice"> {
  let summary = "which part of a weight a rank has, along one axis of the mesh";
  let description = [{
    Dim `dim` is segments of `sizes`, in order. Segment i is cut into `parts[i]`
    equal parts; the rank at place p of w has part p / (w / parts[i]) of each, one
    behind the other. Example:
    `#hk.weight_slice<"tp" dim 0 sizes[256, 128, 128] parts[2, 2, 2]>`.
  }];
  let parameters = (ins StringRefParameter<"axis of the mesh">:$axis,
                        "int64_t":$dim, ArrayRefParameter<"int64_t">:$sizes,
                        ArrayRefParameter<"int64_t">:$parts);
  let assemblyFormat = "`<` $axis `dim` $dim `sizes` `[` $sizes `]` `parts` `[` $parts `]` `>`";
}

def HK_TargetAttr : HK_Attr<"Target", "target"> {
  let summary = "chip the module is compiled for, a row of the contract's table";
  let description = "Example: `#hk.target<\"gfx942\">`. An unknown name is an error.";
  let parameters = (ins StringRefParameter<"name in the target table">:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
}

def HK_SymShapeAttr : HK_Attr<"SymShape", "shape"> {
  let summary = "sizes of a kernel argument: constants and dim symbols";
  let description = [{
    A size >= 0 is a constant; -1 - s stands for dim symbol s of the kernel.
    Printed as `#hk.shape<[d0, 4096]>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static bool isSymbol(int64_t size) { return size < 0; }
    static int64_t symbolOf(int64_t size) { return -1 - size; }
  }];
}
def HK_SymShapeArrayAttr : TypedArrayAttrBase<HK_SymShapeAttr, "symbolic shapes">;

def HK_VersionAttr : HK_Attr<"Version", "version"> {
  let summary = "a version of a function for few rows";
  let description = [{
    The function computes what function `of` does, in a way that is better while
    dim `dim` of argument `argument` is at most `at_most`. A call of `of` runs the
    version with the least `at_most` that holds. Made by hk-split.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$of, "int64_t":$argument,
                        "int64_t":$dim, "int64_t":$at_most);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_RowTileAttr : HK_Attr<"RowTile", "row_tile"> {
  let summary = "tile of a row-wise kernel (hk::RowTile)";
  let parameters = (ins "int64_t":$rows, "int64_t":$threads, "int64_t":$vec,
                        "int64_t":$slots,
                        DefaultValuedParameter<"int64_t", "1">:$cluster);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_GemmTileAttr : HK_Attr<"GemmTile", "gemm_tile"> {
  let summary = "tile of a GEMM kernel (hk::GemmTile)";
  let parameters = (ins "int64_t":$bm, "int64_t":$bn, "int64_t":$bk,
                        "int64_t":$wm, "int64_t":$wn, "int64_t":$stages,
                        "int64_t":$splitK,
                        DefaultValuedParameter<"::mlir::hk::GemmLoop",
                                               "GemmLoop::blocks">:$loop,
                        DefaultValuedParameter<"int64_t", "1">:$cluster);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_AttentionTileAttr : HK_Attr<"AttentionTile", "attention_tile"> {
  let summary = "tile of an attention kernel (hk::AttentionTile)";
  let parameters = (ins "int64_t":$bq, "int64_t":$bk, "int64_t":$waves,
                        "int64_t":$stages, "int64_t":$splitKv,
                        DefaultValuedParameter<"int64_t", "0">:$blocks,
                        DefaultValuedParameter<"int64_t", "1">:$heads,
                        DefaultValuedParameter<"int64_t", "1">:$cluster);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_AttentionBackwardTileAttr
    : HK_Attr<"AttentionBackwardTile", "attention_backward_tile"> {
  let summary = "tile of a kernel of attention's gradients (hk::AttentionBackwardTile)";
  let parameters = (ins "int64_t":$rows, "int64_t":$walked, "int64_t":$waves,
                        "int64_t":$stages);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_Conv1dTileAttr : HK_Attr<"Conv1dTile", "conv1d_tile"> {
  let summary = "tile of a causal convolution kernel (hk::Conv1dTile)";
  let parameters = (ins "int64_t":$items, "int64_t":$channelLanes,
                        "int64_t":$channels, "int64_t":$tokens);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_ScanTileAttr : HK_Attr<"ScanTile", "scan_tile"> {
  let summary = "tile of a scan kernel (hk::ScanTile)";
  let parameters = (ins "int64_t":$threads, "int64_t":$columns,
                        "int64_t":$items);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_RoutingTileAttr : HK_Attr<"RoutingTile", "routing_tile"> {
  let summary = "tile of a routing kernel (hk::RoutingTile)";
  let parameters = (ins "int64_t":$threads);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_GatedDeltaTileAttr : HK_Attr<"GatedDeltaTile", "gated_delta_tile"> {
  let summary = "tile of a gated delta rule kernel (hk::GatedDeltaTile)";
  let parameters = (ins "int64_t":$threads, "int64_t":$lanes,
                        "int64_t":$columns, "int64_t":$waves);
  let assemblyFormat = "`<` struct(params) `>`";
}

def HK_JointTileAttr : HK_Attr<"JointTile", "joint_tile"> {
  let summary = "tiles of the problems that share a launch, in their order";
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$parts);
  let assemblyFormat = "`<` `[` $parts `]` `>`";
}

def HK_CollectiveTileAttr : HK_Attr<"CollectiveTile", "collective_tile"> {
  let summary = "stands where kernels have a tile: the runtime's engine runs it";
}

def HK_AnyTileAttr : AnyAttrOf<[HK_RowTileAttr, HK_GemmTileAttr,
                                HK_AttentionTileAttr, HK_Conv1dTileAttr,
                                HK_ScanTileAttr, HK_RoutingTileAttr,
                                HK_GatedDeltaTileAttr,
                                HK_AttentionBackwardTileAttr, HK_JointTileAttr,
                                HK_CollectiveTileAttr],
                               "tile of a kernel family">;

#endif // HK_HKATTRS
