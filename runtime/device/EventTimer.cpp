//===- EventTimer.cpp - Timing launches with a driver's events -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bookkeeping of the events.
//
//===----------------------------------------------------------------------===//

#include "device/EventTimer.h"

using namespace hk;

EventTimer::~EventTimer() {
  for (void *event : events)
    driver.destroyEvent(event);
}

Status EventTimer::record(void *stream) {
  events.reserve(events.size() + 1);
  void *event = nullptr;
  if (Status error = driver.createEvent(event))
    return error;
  events.push_back(event);
  return driver.recordEvent(event, stream);
}

Status EventTimer::collect(std::vector<LaunchTime> &times) {
  for (size_t i = 0; i + 1 < events.size(); i += 2) {
    float begin = 0, duration = 0; // in milliseconds
    if (Status error =
            driver.elapsedMilliseconds(events[i], events[i + 1], duration))
      return error;
    if (i > 0)
      if (Status error =
              driver.elapsedMilliseconds(events[0], events[i], begin))
        return error;
    times.push_back({1e3 * begin, 1e3 * duration});
  }
  return {};
}
