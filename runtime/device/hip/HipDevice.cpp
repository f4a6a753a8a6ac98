#include "device/Device.h"
namespace hk {
Status createHipDevice(int, const DeviceOptions &, std::unique_ptr<Device> &) {
  return makeError(HK_UNAVAILABLE, "hip");
}
} // namespace hk
