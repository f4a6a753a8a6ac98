//===- EventTimer.h - Timing launches with a driver's events -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HIP and CUDA time in the same way: an event before and one after each launch,
// read when all have passed.
//
//===----------------------------------------------------------------------===//

#ifndef HK_RUNTIME_DEVICE_EVENTTIMER_H
#define HK_RUNTIME_DEVICE_EVENTTIMER_H

#include "device/Device.h"

namespace hk {

/// The driver's side of it.
class EventDriver {
public:
  virtual ~EventDriver() = default;
  virtual Status createEvent(void *&event) = 0;
  virtual void destroyEvent(void *event) = 0;
  virtual Status recordEvent(void *event, void *stream) = 0;
  /// Waits for `end`.
  virtual Status elapsedMilliseconds(void *begin, void *end, float &time) = 0;
};

class EventTimer : public LaunchTimer {
public:
  explicit EventTimer(EventDriver &driver) : driver(driver) {}
  ~EventTimer() override;

  Status start(void *stream) override { return record(stream); }
  Status stop(void *stream) override { return record(stream); }
  Status collect(std::vector<LaunchTime> &times) override;

private:
  Status record(void *stream);

  EventDriver &driver;
  std::vector<void *> events; // begin, end, begin, end, ...
};

} // namespace hk

#endif // HK_RUNTIME_DEVICE_EVENTTIMER_H
