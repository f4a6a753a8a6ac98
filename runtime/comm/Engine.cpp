//===- Engine.cpp - Messages between ranks --------------------------------===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What engines have in common.
//
//===----------------------------------------------------------------------===//

#include "comm/Engine.h"

using namespace hk;

Engine::~Engine() = default;
DeviceEngine::~DeviceEngine() = default;

Status Engine::checkAlive(int64_t) { return {}; }
