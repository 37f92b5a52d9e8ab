#include "tests/load/bench_env.h"

#include <utility>

#include "model/base/violations.h"
#include "server/catalog/engine_entry.h"
#include "tests/load/bench_servers.h"
#include "tests/load/scheduling_requests.h"

namespace mansard::load {

server::ServerEnv& TheEnv() {
  static server::ServerEnv* const kEnv = [] {
    auto catalog = server::Catalog::OpenInMemory();
    if (!catalog.ok()) Fail(catalog.status().ToString());
    auto* env = new server::ServerEnv(server::LogLevel::kOff,
                                      *std::move(catalog), 1, 1);
    server::CatalogWriter writer(*env->catalog);
    model::Violations violations;
    const auto entry = server::MakeEntry(writer.snapshot(), kBenchEngine,
                                         CreateBenchEngine().engine(), nullptr,
                                         writer.now(), violations);
    if (!entry.ok()) Fail(violations.ToStatus().ToString());
    const absl::Status put =
        writer.Put(kBenchEngine, *entry, /*validate_only=*/false);
    if (!put.ok()) Fail(put.ToString());
    return env;
  }();
  return *kEnv;
}

}  // namespace mansard::load
