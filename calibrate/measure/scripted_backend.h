// A device that does what a script says, on a clock that only it moves. For
// tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "calibrate/measure/backend.h"

namespace mansard::calibrate {

// A generator of our own: the standard's distributions differ by library.
class ScriptedNoise {
 public:
  explicit ScriptedNoise(uint64_t seed) : state_(seed) {}
  // Uniform in [0, 1).
  double Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  // About normal: mean 0, standard deviation 1.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Next();
    return sum;
  }

 private:
  uint64_t state_;
};

class ScriptedBackend : public Backend {
 public:
  // What a run of a case gives; `run` counts from 0 within one preparation.
  // The clock moves by the sample's seconds.
  std::function<absl::StatusOr<Sample>(const Case& measured, int run)> run =
      [](const Case&, int) { return Sample{1e-3}; };
  std::function<absl::Status(const Case& measured)> prepare = [](const Case&) {
    return absl::OkStatus();
  };
  std::function<absl::Status(const Case& measured)> verify = [](const Case&) {
    return absl::OkStatus();
  };

  std::function<double(const Case& measured)> operations = &Operations;

  DeviceIdentity device{.backend = "scripted",
                        .name = "A device of the test",
                        .id_hash = "5eed",
                        .software = "script 1"};
  double now = 0;
  int runs = 0;
  std::vector<double> pauses;

  const DeviceIdentity& identity() const override { return device; }
  absl::StatusOr<std::unique_ptr<PreparedCase>> Prepare(
      const Case& measured) override {
    absl::Status status = prepare(measured);
    if (!status.ok()) return status;
    return std::make_unique<Prepared>(*this, measured);
  }
  double RunOperations(const Case& measured) const override {
    return operations(measured);
  }
  double Now() override { return now; }
  void Sleep(double seconds) override {
    now += seconds;
    pauses.push_back(seconds);
  }

 private:
  class Prepared : public PreparedCase {
   public:
    Prepared(ScriptedBackend& backend, const Case& measured)
        : backend_(backend), measured_(measured) {}
    absl::Status Verify() override { return backend_.verify(measured_); }
    absl::StatusOr<Sample> Run() override {
      ++backend_.runs;
      absl::StatusOr<Sample> sample = backend_.run(measured_, run_++);
      // A failure takes time as well.
      backend_.now += sample.ok() ? sample->seconds : 1e-3;
      return sample;
    }

   private:
    ScriptedBackend& backend_;
    const Case measured_;
    int run_ = 0;
  };
};

}  // namespace mansard::calibrate
