// Libraries that are opened when the program runs, so that it starts without
// them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {

class SharedLibrary {
 public:
  // Null where there is none of the name.
  using FindSymbol = std::function<void*(const char* name)>;

  // The first of the names that opens; it stays open to the program's end.
  // UNIMPLEMENTED names the first, and says what the system says of it.
  static absl::StatusOr<SharedLibrary> Open(
      const std::vector<std::string>& names);
  // For tests.
  SharedLibrary(std::string name, FindSymbol find)
      : name_(std::move(name)), find_(std::move(find)) {}

  const std::string& name() const { return name_; }
  // UNIMPLEMENTED: the library has no such function.
  template <class Function>
  absl::Status Find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(find_(name));
    if (function != nullptr) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat(name_, " has no function ", name));
  }

 private:
  std::string name_;
  FindSymbol find_;
};

}  // namespace mansard::calibrate
