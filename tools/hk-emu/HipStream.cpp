//===- HipStream.cpp - Streams and graphs of the HIP shim -----------------===//
//
// Part of hk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stream that is captured keeps what it is given; launching the graph does
// it, in that order and in the calling thread.
//
//===----------------------------------------------------------------------===//

#include "Hip.h"

using namespace hk::emu;

hipError_t hk::emu::enqueue(HipStream *stream,
                            std::function<hipError_t()> work) {
  if (!stream || !stream->captured)
    return work();
  stream->captured->steps.push_back(std::move(work));
  return hipSuccess;
}

hipError_t hk::emu::waitable(const HipStream *stream) {
  return stream && stream->captured ? hipErrorStreamCaptureUnsupported
                                    : hipSuccess;
}

HK_HIP_API hipError_t hipStreamCreate(HipStream **stream) {
  if (!stream)
    return setLastError(hipErrorInvalidValue);
  *stream = new HipStream;
  return hipSuccess;
}
HK_HIP_API hipError_t hipStreamCreateWithFlags(HipStream **stream, unsigned) {
  return hipStreamCreate(stream);
}
HK_HIP_API hipError_t hipStreamDestroy(HipStream *stream) {
  delete stream;
  return hipSuccess;
}
HK_HIP_API hipError_t hipStreamSynchronize(HipStream *stream) {
  return setLastError(waitable(stream));
}
HK_HIP_API hipError_t hipStreamQuery(HipStream *stream) {
  return setLastError(waitable(stream));
}
HK_HIP_API hipError_t hipStreamWaitEvent(HipStream *, HipEvent *, unsigned) {
  return hipSuccess;
}
/// The status is 1 while the stream is captured.
HK_HIP_API hipError_t hipStreamIsCapturing(HipStream *stream, int *status) {
  if (!status)
    return setLastError(hipErrorInvalidValue);
  *status = stream && stream->captured ? 1 : 0;
  return hipSuccess;
}
/// What a thread may do beside a capture is not looked at: modes are kept only.
HK_HIP_API hipError_t hipThreadExchangeStreamCaptureMode(int *mode) {
  static thread_local int current = 0; // hipStreamCaptureModeGlobal
  if (!mode)
    return setLastError(hipErrorInvalidValue);
  std::swap(*mode, current);
  return hipSuccess;
}

/// The default stream is never captured.
HK_HIP_API hipError_t hipStreamBeginCapture(HipStream *stream, int) {
  if (!stream)
    return setLastError(hipErrorStreamCaptureUnsupported);
  if (stream->captured)
    return setLastError(hipErrorIllegalState);
  stream->captured = std::make_unique<HipGraph>();
  return hipSuccess;
}
HK_HIP_API hipError_t hipStreamEndCapture(HipStream *stream, HipGraph **graph) {
  if (!graph)
    return setLastError(hipErrorInvalidValue);
  if (!stream || !stream->captured)
    return setLastError(hipErrorIllegalState);
  *graph = stream->captured.release();
  return hipSuccess;
}
HK_HIP_API hipError_t hipLaunchHostFunc(HipStream *stream,
                                        void (*function)(void *), void *data) {
  if (!function)
    return setLastError(hipErrorInvalidValue);
  return setLastError(enqueue(stream, [function, data] {
    function(data);
    return hipSuccess;
  }));
}

/// A graph that can be launched is a copy.
HK_HIP_API hipError_t hipGraphInstantiateWithFlags(HipGraph **ready,
                                                   HipGraph *graph,
                                                   unsigned long long) {
  if (!ready || !graph)
    return setLastError(hipErrorInvalidValue);
  *ready = new HipGraph(*graph);
  return hipSuccess;
}
HK_HIP_API hipError_t hipGraphInstantiate(HipGraph **ready, HipGraph *graph,
                                          void **, char *, size_t) {
  return hipGraphInstantiateWithFlags(ready, graph, 0);
}
HK_HIP_API hipError_t hipGraphLaunch(HipGraph *ready, HipStream *stream) {
  if (!ready)
    return setLastError(hipErrorInvalidValue);
  for (const auto &step : ready->steps)
    if (hipError_t error = enqueue(stream, step))
      return setLastError(error);
  return hipSuccess;
}
HK_HIP_API hipError_t hipGraphDestroy(HipGraph *graph) {
  delete graph;
  return hipSuccess;
}
HK_HIP_API hipError_t hipGraphExecDestroy(HipGraph *ready) {
  delete ready;
  return hipSuccess;
}
