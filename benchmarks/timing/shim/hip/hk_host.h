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
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipFunction_t *hipFunction_t;
typedef int hipDevice_t;
enum {
  hipSuccess,
  hipErrorInvalidValue,
  hipErrorOutOfMemory,
  hipErrorMemoryAllocation = 2,
  hipErrorNotSupported = 801,
  hipErrorUnknown = 999
};
enum { hipStreamDefault, hipStreamNonBlocking };
enum { hipEventDefault, hipEventBlockingSync, hipEventDisableTiming };
enum { hipHostMallocDefault, hipHostMallocPortable, hipHostMallocMapped };
enum { hipMemAttachGlobal = 1, hipMemAttachHost };
enum hipFuncAttribute {
  hipFuncAttributeMaxDynamicSharedMemorySize = 8,
  hipFuncAttributePreferredSharedMemoryCarveout
};
enum hipDeviceAttribute_t {
  hipDeviceAttributeMultiprocessorCount,
  hipDeviceAttributeWarpSize,
  hipDeviceAttributeMaxSharedMemoryPerBlock,
  hipDeviceAttributeClockRate,
  hipDeviceAttributeWallClockRate
};
#define HIP_SYMBOL(x) x
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
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
  int warpSize, multiProcessorCount, clockRate, maxThreadsPerBlock, major,
      minor, memoryClockRate, memoryBusWidth, l2CacheSize, regsPerBlock,
      maxThreadsPerMultiProcessor, maxGridSize[3], maxThreadsDim[3];
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
hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t = nullptr);
hipError_t hipMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t,
                       hipMemcpyKind);
hipError_t hipMemGetInfo(size_t *, size_t *);
hipError_t hipFree(void *);
hipError_t hipFreeAsync(void *, hipStream_t);
hipError_t hipPeekAtLastError();
hipError_t hipDeviceReset();
hipError_t hipInit(unsigned);
hipError_t hipDeviceGetAttribute(int *, hipDeviceAttribute_t, int);
hipError_t hipRuntimeGetVersion(int *);
hipError_t hipStreamCreateWithFlags(hipStream_t *, unsigned);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned = 0);
hipError_t hipEventCreateWithFlags(hipEvent_t *, unsigned);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t = 0,
                           hipStream_t = nullptr);
hipError_t hipLaunchCooperativeKernel(const void *, dim3, dim3, void **,
                                      unsigned, hipStream_t);
hipError_t hipFuncSetAttribute(const void *, hipFuncAttribute, int);
hipError_t hipModuleLoad(hipModule_t *, const char *);
hipError_t hipModuleGetFunction(hipFunction_t *, hipModule_t, const char *);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned,
                                 unsigned, unsigned, unsigned, unsigned,
                                 hipStream_t, void **, void **);
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
template <class T> hipError_t hipMallocAsync(T **, size_t, hipStream_t);
template <class T> hipError_t hipMallocManaged(T **, size_t, unsigned = 1);
template <class T>
hipError_t hipMemcpyToSymbol(const T &, const void *, size_t, size_t = 0,
                             hipMemcpyKind = hipMemcpyHostToDevice);
template <class T>
hipError_t hipMemcpyFromSymbol(void *, const T &, size_t, size_t = 0,
                               hipMemcpyKind = hipMemcpyDeviceToHost);
template <class T> hipError_t hipGetSymbolAddress(void **, const T &);
template <class K>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *, K, int, size_t);
template <class K>
hipError_t hipOccupancyMaxPotentialBlockSize(int *, int *, K, size_t = 0,
                                             int = 0);
#define hipLaunchKernelGGL(kernel, ...) HK_LAUNCH((kernel), __VA_ARGS__)
#define HK_LAUNCH(kernel, grid, block, lds, stream, ...)                       \
  do {                                                                         \
    kernel<<<(grid), (block), (lds), (stream)>>>(__VA_ARGS__);                 \
  } while (0)
