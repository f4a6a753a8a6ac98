#include "device/Device.h"
namespace hk {
Status createCudaDevice(int, const DeviceOptions &, std::unique_ptr<Device> &) {
  return makeError(HK_UNAVAILABLE, "cuda");
}
} // namespace hk
