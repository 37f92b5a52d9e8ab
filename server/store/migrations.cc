#include "server/store/migrations.h"

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace mansard::server {
namespace {

// Times are microseconds of the Unix epoch; hashes are of the contents, to see
// what a disk has changed.
constexpr char kFirst[] = R"sql(
CREATE TABLE resource(
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  etag TEXT NOT NULL,
  create_time INTEGER NOT NULL,
  update_time INTEGER NOT NULL,
  newest INTEGER NOT NULL,
  request_id TEXT UNIQUE,
  request_hash TEXT,
  PRIMARY KEY(kind, id)
) STRICT;
CREATE TABLE revision(
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  number INTEGER NOT NULL,
  revision_id TEXT NOT NULL,
  create_time INTEGER NOT NULL,
  content_hash TEXT NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY(kind, id, number),
  FOREIGN KEY(kind, id) REFERENCES resource(kind, id) ON DELETE CASCADE
) STRICT;
)sql";

absl::Status Unfit(const SqliteDatabase& database, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the catalog's store ", database.path(), " ", why));
}

// Its version. An empty database is of version 0.
absl::StatusOr<int64_t> VersionOf(SqliteDatabase& database) {
  ASSIGN_OR_RETURN(const int64_t owner,
                   database.Number("PRAGMA application_id"));
  ASSIGN_OR_RETURN(const int64_t version,
                   database.Number("PRAGMA user_version"));
  ASSIGN_OR_RETURN(const int64_t tables,
                   database.Number("SELECT count(*) FROM sqlite_schema"));
  if (owner != kApplicationId && (owner != 0 || version != 0 || tables != 0)) {
    return Unfit(database, "is another program's database");
  }
  return version;
}

}  // namespace

const std::vector<std::string>& Migrations() {
  static const auto* const kMigrations = new std::vector<std::string>{kFirst};
  return *kMigrations;
}

absl::Status Migrate(SqliteDatabase& database,
                     const std::vector<std::string>& migrations) {
  ASSIGN_OR_RETURN(int64_t version, VersionOf(database));
  const auto newest = static_cast<int64_t>(migrations.size());
  if (version > newest) {
    return Unfit(database,
                 absl::StrCat("has schema ", version,
                              ", of a newer version of this program, which "
                              "knows up to ",
                              newest, "; start that one"));
  }
  for (; version < newest; ++version) {
    SqliteTransaction transaction(database);
    RETURN_IF_ERROR(transaction.Begin());
    RETURN_IF_ERROR(database.Run(migrations[static_cast<size_t>(version)]));
    RETURN_IF_ERROR(
        database.Run(absl::StrCat("PRAGMA application_id = ", kApplicationId,
                                  "; PRAGMA user_version = ", version + 1)));
    RETURN_IF_ERROR(transaction.Commit());
  }
  return absl::OkStatus();
}

absl::Status CheckVersion(SqliteDatabase& database,
                          const std::vector<std::string>& migrations) {
  ASSIGN_OR_RETURN(const int64_t version, VersionOf(database));
  const auto newest = static_cast<int64_t>(migrations.size());
  if (version == newest) return absl::OkStatus();
  return Unfit(database, absl::StrCat("has schema ", version,
                                      "; this program reads ", newest));
}

}  // namespace mansard::server
