//===- HKOps.td - All operators ----------------------------------*- tablegen -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operator of the dialect, in documentation order.
//
//===----------------------------------------------------------------------===//

#ifndef HK_HKOPS
#define HK_HKOPS

include "HKPointwiseOps.td"
include "HKShapeOps.td"
include "HKNormOps.td"
include "HKActivationOps.td"
include "HKQuantOps.td"
include "HKSelectOps.td"
include "HKReductionOps.td"
include "HKConvOps.td"
include "HKMatmulOps.td"
include "HKAttentionOps.td"
include "HKAttentionBackwardOps.td"
include "HKMqaLogitsOps.td"
include "HKScanOps.td"
include "HKGatedDeltaOps.td"
include "HKRoutingOps.td"
include "HKGroupedMatmulOps.td"
include "HKCollectiveOps.td"
include "HKStructureOps.td"

#endif // HK_HKOPS
