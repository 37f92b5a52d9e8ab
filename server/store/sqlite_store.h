// The store in an SQLite database: of a state directory, or in memory.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/store/migrations.h"
#include "server/store/sqlite.h"
#include "server/store/state_directory.h"
#include "server/store/store.h"

namespace mansard::server {

// One connection, used by one thread at a time.
class SqliteStore final : public Store {
 public:
  // Nothing outlives it.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> InMemory();
  // Checks the whole database and brings it to the newest schema. Errors, with
  // messages for whoever starts the server: FAILED_PRECONDITION as
  // StateDirectory::Hold and Migrate; INTERNAL for a damaged database.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(
      const std::string& state_directory,
      const std::vector<std::string>& migrations = Migrations());
  // Beside a process that writes, perhaps. Writes fail as STORE_READ_ONLY.
  // FAILED_PRECONDITION for another schema; there must be a database.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> OpenReadOnly(
      const std::string& state_directory);

  absl::StatusOr<std::vector<StoredResource>> List(StoredKind kind,
                                                   absl::string_view prefix,
                                                   absl::string_view after,
                                                   int64_t limit) override;
  absl::StatusOr<std::optional<StoredResource>> Find(
      StoredKind kind, absl::string_view id) override;
  absl::StatusOr<std::optional<StoredResource>> FindByRequest(
      absl::string_view request_id) override;
  absl::StatusOr<int64_t> Count(StoredKind kind,
                                absl::string_view prefix) override;
  absl::StatusOr<std::vector<StoredRevision>> Revisions(StoredKind kind,
                                                        absl::string_view id,
                                                        int64_t before,
                                                        int64_t limit) override;
  absl::StatusOr<std::optional<StoredRevision>> FindRevision(
      StoredKind kind, absl::string_view id,
      absl::string_view revision_id) override;
  absl::Status Put(const StoredResource& resource,
                   absl::string_view expected_etag,
                   int64_t revisions_kept) override;
  absl::Status Delete(StoredKind kind, absl::string_view id,
                      absl::string_view expected_etag) override;

 private:
  SqliteStore(std::unique_ptr<SqliteDatabase> database,
              std::optional<StateDirectory> directory)
      : directory_(std::move(directory)), database_(std::move(database)) {}

  absl::Status CheckEtag(StoredKind kind, absl::string_view id,
                         absl::string_view expected_etag);
  absl::Status PutRows(const StoredResource& resource, int64_t number);
  // Of the newest revision; 0 where there is none.
  absl::StatusOr<int64_t> NewestNumber(StoredKind kind, absl::string_view id);

  std::mutex mutex_;
  std::optional<StateDirectory> directory_;  // Let go after the database.
  std::unique_ptr<SqliteDatabase> database_;
};

}  // namespace mansard::server
