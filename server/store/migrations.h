// The schema of the store, by version: what a database of an older version
// needs to become one of the next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/store/sqlite.h"

namespace mansard::server {

// In a database's header: that it is a catalog of ours.
inline constexpr int64_t kApplicationId = 0x4d4e5344;

// SQL that leads from version i to i + 1. Only ever appended to.
const std::vector<std::string>& Migrations();

// Brings the database to version migrations.size(), each step whole or not at
// all. FAILED_PRECONDITION where it is newer, or another program's.
absl::Status Migrate(SqliteDatabase& database,
                     const std::vector<std::string>& migrations);
// FAILED_PRECONDITION where it is not of that version; writes nothing.
absl::Status CheckVersion(SqliteDatabase& database,
                          const std::vector<std::string>& migrations);

}  // namespace mansard::server
