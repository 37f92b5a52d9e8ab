#include "clients/cli/version.h"

namespace mansard::cli {

std::string ClientVersion() { return MANSARD_VERSION; }

}  // namespace mansard::cli
