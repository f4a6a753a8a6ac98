// What host code beside a kernel says, so that its file compiles for the device
// as it is; nothing here is ever called.
#pragma once
#include <cstddef>

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef int hipError_t;
enum { hipSuccess = 0 };
enum hipMemcpyKind {
  hipMemcpyHostToHost,
  hipMemcpyHostToDevice,
  hipMemcpyDeviceToHost,
  hipMemcpyDeviceToDevice,
  hipMemcpyDefault
};
struct hipDeviceProp_t {
  char name[256], gcnArchName[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int warpSize, multiProcessorCount, clockRate, maxThreadsPerBlock;
};
extern "C" {
// What kernel<<<grid, block>>>() becomes.
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds = 0,
                                      hipStream_t stream = nullptr);
const char *hipGetErrorString(hipError_t);
const char *hipGetErrorName(hipError_t);
hipError_t hipGetLastError();
hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind,
                          hipStream_t = nullptr);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipFree(void *);
hipError_t hipHostFree(void *);
hipError_t hipSetDevice(int);
hipError_t hipGetDevice(int *);
hipError_t hipGetDeviceCount(int *);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *, int);
hipError_t hipDeviceSynchronize();
hipError_t hipStreamCreate(hipStream_t *);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipEventCreate(hipEvent_t *);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t = nullptr);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float *, hipEvent_t, hipEvent_t);
}
template <class T> hipError_t hipMalloc(T **, size_t);
template <class T> hipError_t hipHostMalloc(T **, size_t, unsigned = 0);
template <class K, class... A> void hkInstantiate(K kernel, A...) {
  (void)kernel;
}
#define hipLaunchKernelGGL(kernel, grid, block, lds, stream, ...)              \
  hkInstantiate(kernel, __VA_ARGS__)
