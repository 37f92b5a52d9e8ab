#include "calibrate/cuda/shared_library.h"

#include <dlfcn.h>

namespace mansard::calibrate {

absl::StatusOr<SharedLibrary> SharedLibrary::Open(
    const std::vector<std::string>& names) {
  std::string why;
  for (const std::string& name : names) {
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      return SharedLibrary(name, [library](const char* symbol) {
        return dlsym(library, symbol);
      });
    }
    const char* const error = dlerror();
    if (why.empty() && error != nullptr) why = error;
  }
  return absl::UnimplementedError(
      absl::StrCat("cannot be opened: ", why.empty() ? names.front() : why));
}

}  // namespace mansard::calibrate
