//===- HKEnums.td - Closed sets ----------------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The closed sets that ops and attributes choose from.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKENUMS
#define HK_HKENUMS

include "HKOpBase.td"

class HK_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::hk";
  let genSpecializedAttr = 0;
}
class HK_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<HK_Dialect, info, mnemonic> {
  let assemblyFormat = ?;
  let hasCustomAssemblyFormat = 1;
  let extraClassDefinition = [{
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser, ::mlir::Type) {
      auto word = ::mlir::hk::parseCase(parser, "}] # info.summary # [{", {}] #
          !interleave(!foreach(one, info.enumerants, "\"" # one.str # "\""), ", ") # [{});
      if (::llvm::failed(word))
        return {};
      return get(parser.getContext(), *}] # info.cppNamespace # "::" # info.stringToSymbolFnName # [{(*word));
    }
    void $cppClass::print(::mlir::AsmPrinter &printer) const {
      printer << ' ' << }] # info.cppNamespace # "::" # info.symbolToStringFnName # [{(getValue());
    }
  }];
}

def HK_ComparePredicate : HK_Enum<"ComparePredicate", "comparison", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
    I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def HK_ComparePredicateAttr : HK_EnumAttr<HK_ComparePredicate, "predicate">;

def HK_GateKind : HK_Enum<"GateKind", "activation of a gated unit", [
    I32EnumAttrCase<"silu", 0>, I32EnumAttrCase<"gelu", 1>,
    I32EnumAttrCase<"gelu_tanh", 2>, I32EnumAttrCase<"relu", 3>,
    I32EnumAttrCase<"swiglu_oai", 4>]>;
def HK_GateKindAttr : HK_EnumAttr<HK_GateKind, "gate">;

def HK_RopeStyle : HK_Enum<"RopeStyle", "pairing of rotary elements", [
    I32EnumAttrCase<"neox", 0>, I32EnumAttrCase<"gptj", 1>]>;
def HK_RopeStyleAttr : HK_EnumAttr<HK_RopeStyle, "rope_style">;

def HK_Granularity : HK_Enum<"Granularity", "elements that share a scale", [
    I32EnumAttrCase<"per_token", 0>, I32EnumAttrCase<"per_group", 1>]>;
def HK_GranularityAttr : HK_EnumAttr<HK_Granularity, "granularity">;

def HK_ReduceKind : HK_Enum<"ReduceKind", "what a reduction computes", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>,
    I32EnumAttrCase<"min", 2>, I32EnumAttrCase<"absmax", 3>]>;
def HK_ReduceKindAttr : HK_EnumAttr<HK_ReduceKind, "reduce_kind">;

def HK_Transport : HK_Enum<"Transport", "how partial sums of several ranks are added", [
    I32EnumAttrCase<"in_order", 0>, I32EnumAttrCase<"any_order", 1>]>;
def HK_TransportAttr : HK_EnumAttr<HK_Transport, "transport">;

def HK_Conv1dLayout : HK_Enum<"Conv1dLayout", "which of time and channel is innermost", [
    I32EnumAttrCase<"channel_last", 0>, I32EnumAttrCase<"channel_first", 1>]>;
def HK_Conv1dLayoutAttr : HK_EnumAttr<HK_Conv1dLayout, "conv1d_layout">;

def HK_MxRounding : HK_Enum<"MxRounding", "rounding of an e8m0 block scale", [
    I32EnumAttrCase<"even", 0>, I32EnumAttrCase<"ceil", 1>,
    I32EnumAttrCase<"floor", 2>, I32EnumAttrCase<"ocp", 3>,
    I32EnumAttrCase<"ocp_ceil", 4>]>;
def HK_MxRoundingAttr : HK_EnumAttr<HK_MxRounding, "mx_rounding">;

def HK_TieRule : HK_Enum<"TieRule", "which of equal elements are taken first", [
    I32EnumAttrCase<"lowest_index", 0>, I32EnumAttrCase<"highest_index", 1>]>;
def HK_TieRuleAttr : HK_EnumAttr<HK_TieRule, "ties">;

def HK_TopkOrder : HK_Enum<"TopkOrder", "order of the elements of a top-k", [
    I32EnumAttrCase<"by_value", 0>, I32EnumAttrCase<"by_index", 1>]>;
def HK_TopkOrderAttr : HK_EnumAttr<HK_TopkOrder, "topk_order">;

def HK_GroupScore : HK_Enum<"GroupScore", "score of a group of elements", [
    I32EnumAttrCase<"maximum", 0>, I32EnumAttrCase<"top2_sum", 1>]>;
def HK_GroupScoreAttr : HK_EnumAttr<HK_GroupScore, "group_score">;

def HK_CacheLayout : HK_Enum<"CacheLayout", "order of the dims of a paged cache", [
    I32EnumAttrCase<"token_major", 0>, I32EnumAttrCase<"head_major", 1>,
    I32EnumAttrCase<"key_chunks", 2>, I32EnumAttrCase<"transposed", 3>,
    I32EnumAttrCase<"value_chunks", 4>]>;
def HK_CacheLayoutAttr : HK_EnumAttr<HK_CacheLayout, "cache_layout">;

def HK_Normalizer : HK_Enum<"Normalizer", "what makes weights of the scores of an attention", [
    I32EnumAttrCase<"softmax", 0>, I32EnumAttrCase<"none", 1>]>;
def HK_NormalizerAttr : HK_EnumAttr<HK_Normalizer, "normalizer">;

def HK_StateRule : HK_Enum<"StateRule", "what a token adds to a state", [
    I32EnumAttrCase<"delta", 0>, I32EnumAttrCase<"linear", 1>]>;
def HK_StateRuleAttr : HK_EnumAttr<HK_StateRule, "rule">;

def HK_StateLayout : HK_Enum<"StateLayout", "which of key and value is innermost in a state", [
    I32EnumAttrCase<"key_major", 0>, I32EnumAttrCase<"value_major", 1>]>;
def HK_StateLayoutAttr : HK_EnumAttr<HK_StateLayout, "state_layout">;

def HK_ScanKind : HK_Enum<"ScanKind", "which sums a scan holds", [
    I32EnumAttrCase<"inclusive", 0>, I32EnumAttrCase<"exclusive", 1>,
    I32EnumAttrCase<"offsets", 2>]>;
def HK_ScanKindAttr : HK_EnumAttr<HK_ScanKind, "scan">;

def HK_SegmentForm : HK_Enum<"SegmentForm", "how segments are given", [
    I32EnumAttrCase<"lengths", 0>, I32EnumAttrCase<"bounds", 1>]>;
def HK_SegmentFormAttr : HK_EnumAttr<HK_SegmentForm, "segment_form">;

def HK_GroupForm : HK_Enum<"GroupForm", "how groups of a product are given", [
    I32EnumAttrCase<"blocks", 0>, I32EnumAttrCase<"bounds", 1>,
    I32EnumAttrCase<"lengths", 2>]>;
def HK_GroupFormAttr : HK_EnumAttr<HK_GroupForm, "group_form">;

def HK_Accumulation : HK_Enum<"Accumulation", "how the products of fp8 are summed", [
    I32EnumAttrCase<"strict", 0>, I32EnumAttrCase<"tensor_core", 1>]>;
def HK_AccumulationAttr : HK_EnumAttr<HK_Accumulation, "accumulation">;

def HK_GemmLoop : HK_Enum<"GemmLoop", "main loop of a matrix product (hk::GemmLoop)", [
    I32EnumAttrCase<"blocks", 0>, I32EnumAttrCase<"warp_specialised", 1>,
    I32EnumAttrCase<"skinny", 2>, I32EnumAttrCase<"skinny_codes", 3>,
    I32EnumAttrCase<"microscaled", 4>,
    I32EnumAttrCase<"register_cells", 5>,
    I32EnumAttrCase<"ping_pong", 6>,
    I32EnumAttrCase<"streamed_codes", 7>,
    I32EnumAttrCase<"swapped", 8>]>;

def HK_GuardRelation : HK_Enum<"GuardRelation", "what a guard demands of two sizes", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"le", 1>, I32EnumAttrCase<"ge", 2>]>;
def HK_GuardRelationAttr : HK_EnumAttr<HK_GuardRelation, "guard_relation">;

def HK_FamilyKind : HK_Enum<"FamilyKind", "kernel family", [
    I32EnumAttrCase<"rowwise", 0>, I32EnumAttrCase<"gemm", 1>,
    I32EnumAttrCase<"attention", 2>, I32EnumAttrCase<"conv1d", 3>,
    I32EnumAttrCase<"scan", 4>, I32EnumAttrCase<"routing", 5>,
    I32EnumAttrCase<"gated_delta", 6>,
    I32EnumAttrCase<"attention_backward", 7>, I32EnumAttrCase<"joint", 8>,
    I32EnumAttrCase<"collective", 9>]>;
def HK_FamilyKindAttr : HK_EnumAttr<HK_FamilyKind, "family">;

#endif // HK_HKENUMS
