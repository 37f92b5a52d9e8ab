#pragma once

#include <string>

namespace mansard::cli {

// Version of this program: "0.1.0".
std::string ClientVersion();

}  // namespace mansard::cli
