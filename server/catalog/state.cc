#include "server/catalog/state.h"

#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"

namespace mansard::server {

absl::StatusOr<const EngineEntry*> CatalogState::FindEngine(
    const std::string& id) const {
  const auto found = engines.find(id);
  if (found == engines.end()) return EngineNotFound(id, KeysOf(engines));
  if (found->second->broken()) {
    return EngineBroken(ResourceName(kEngines, id), found->second->error);
  }
  return found->second.get();
}

}  // namespace mansard::server
