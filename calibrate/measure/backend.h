// What can be measured on: a device, its clock, and cases made ready on it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/measure/case.h"

namespace mansard::calibrate {

// Who was measured, for the record and the provenance.
struct DeviceIdentity {
  std::string backend = "";  // "cpu".
  std::string name = "";     // As the device or system spells it.
  std::string id_hash = "";  // Of what tells this device from its like; hex.
  std::string software =
      "";                  // Library of the products, with version and kernels.
  double clock_hertz = 0;  // As probed at the start; 0: not known.
  double memory_bytes = 0;  // Whole device.
  double last_level_cache_bytes = 0;
  int threads = 1;  // That a case runs on; multiprocessors of a device.
  // Anything else worth keeping: compiler, kernel, instruction set.
  std::map<std::string, std::string> notes = {};
};

// One timed run.
struct Sample {
  double seconds = 0;
  double clock_hertz = 0;  // While it ran; 0: not known.
  // Not empty: what disturbed it, so that it tells nothing of the device.
  std::string disturbance = "";
  // What the device said of itself beside it: power, temperature, what limits
  // its clock. For the record alone.
  std::string remark = "";
};

// A case with its buffers filled. Not to be used from two threads.
class PreparedCase {
 public:
  virtual ~PreparedCase() = default;
  // Compares results with a reference of higher precision. DATA_LOSS names
  // the element that is wrong.
  virtual absl::Status Verify() = 0;
  // Error: the device failed.
  virtual absl::StatusOr<Sample> Run() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceIdentity& identity() const = 0;
  // UNIMPLEMENTED or FAILED_PRECONDITION: this machine cannot run it (a
  // library is missing), and the message says why; RESOURCE_EXHAUSTED: too
  // little memory. Other errors are failures.
  virtual absl::StatusOr<std::unique_ptr<PreparedCase>> Prepare(
      const Case& measured) = 0;
  // Operations of one run where the case does not say (multiply-adds).
  virtual double RunOperations(const Case& measured) const = 0;

  // Seconds since some moment; never falls.
  virtual double Now() = 0;
  virtual void Sleep(double seconds) = 0;
};

}  // namespace mansard::calibrate
