#include "server/store/sqlite_store.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/io/revision.h"
#include "server/error.h"

namespace mansard::server {
namespace {

// The resource with its newest revision, in the order of ReadResource.
#define MANSARD_RESOURCE_COLUMNS                                            \
  "SELECT r.kind, r.id, v.revision_id, r.etag, r.create_time, "             \
  "r.update_time, v.content, r.request_id, r.request_hash, v.content_hash " \
  "FROM resource r JOIN revision v "                                        \
  "ON v.kind = r.kind AND v.id = r.id AND v.number = r.newest "

int64_t Micros(absl::Time time) { return absl::ToUnixMicros(time); }

// What the disk gives back is what was written.
absl::Status CheckContent(const std::string& id, const std::string& content,
                          const std::string& hash) {
  if (model::ContentHash(content) == hash) return absl::OkStatus();
  return ErrorBuilder(absl::StatusCode::kInternal, "STORE_CORRUPT")
      .Message(absl::StrCat("The catalog's store is damaged: the content of \"",
                            id, "\" is not what was written"))
      .Build();
}

absl::StatusOr<StoredResource> ReadResource(StoredKind kind,
                                            const SqliteStatement& row) {
  StoredResource resource{.kind = kind,
                          .id = row.Text(1),
                          .revision_id = row.Text(2),
                          .etag = row.Text(3),
                          .create_time = absl::FromUnixMicros(row.Number(4)),
                          .update_time = absl::FromUnixMicros(row.Number(5)),
                          .content = row.Blob(6),
                          .request_id = row.Text(7),
                          .request_hash = row.Text(8)};
  RETURN_IF_ERROR(CheckContent(resource.id, resource.content, row.Text(9)));
  return resource;
}

absl::StatusOr<StoredRevision> ReadRevision(absl::string_view id,
                                            const SqliteStatement& row) {
  StoredRevision revision{.number = row.Number(0),
                          .revision_id = row.Text(1),
                          .create_time = absl::FromUnixMicros(row.Number(2)),
                          .content = row.Blob(3)};
  RETURN_IF_ERROR(CheckContent(std::string(id), revision.content, row.Text(4)));
  return revision;
}

// The first text that does not start with `prefix`, in order of bytes. Ids are
// ASCII.
std::string EndOfPrefix(absl::string_view prefix) {
  if (prefix.empty()) return "\x7f";
  std::string end(prefix);
  ++end.back();
  return end;
}

absl::Status Damaged(const SqliteDatabase& database, absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("the catalog's store ", database.path(),
                   " is damaged: ", what, "; restore a copy of it"));
}

absl::Status Make(const std::string& state_directory,
                  const std::vector<std::string>& migrations) {
  ASSIGN_OR_RETURN(const std::string path, NewDatabase(state_directory));
  {
    ASSIGN_OR_RETURN(
        auto database,
        SqliteDatabase::Open(path, SqliteDatabase::Mode::kReadWrite));
    RETURN_IF_ERROR(Migrate(*database, migrations));
  }
  return KeepNewDatabase(state_directory);
}

absl::Status Prepare(SqliteDatabase& database, bool read_only) {
  std::error_code error;
  if (std::filesystem::file_size(database.path(), error) == 0 && !error) {
    return Damaged(database, "it is empty");
  }
  // SQLite takes a last page that is cut short for one that ends in zeros.
  const auto size = std::filesystem::file_size(database.path(), error);
  const absl::StatusOr<int64_t> page = database.Number("PRAGMA page_size");
  if (!error && page.ok() && *page > 0 &&
      size % static_cast<uintmax_t>(*page) != 0) {
    return Damaged(database, "it is cut short");
  }
  const absl::StatusOr<std::string> health =
      database.Text("PRAGMA quick_check(1)");
  if (!health.ok()) return Damaged(database, health.status().message());
  if (*health != "ok") return Damaged(database, *health);
  RETURN_IF_ERROR(database.Run("PRAGMA foreign_keys = ON"));
  if (read_only) return absl::OkStatus();
  // A commit that was answered is on disk.
  return database.Run(
      "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216");
}

}  // namespace

const char* StoredKindName(StoredKind kind) {
  switch (kind) {
    case StoredKind::kModelGraph:
      return "model_graph";
    case StoredKind::kHardwareProfile:
      return "hardware_profile";
    case StoredKind::kEngine:
      return "engine";
    case StoredKind::kCalibration:
      return "calibration";
  }
  return "";
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::InMemory() {
  ASSIGN_OR_RETURN(
      auto database,
      SqliteDatabase::Open(":memory:", SqliteDatabase::Mode::kReadWrite));
  RETURN_IF_ERROR(database->Run("PRAGMA foreign_keys = ON"));
  RETURN_IF_ERROR(Migrate(*database, Migrations()));
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(std::move(database), std::nullopt));
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(
    const std::string& state_directory,
    const std::vector<std::string>& migrations) {
  ASSIGN_OR_RETURN(StateDirectory directory,
                   StateDirectory::Hold(state_directory));
  if (!HasDatabase(state_directory)) {
    RETURN_IF_ERROR(Make(state_directory, migrations));
  }
  ASSIGN_OR_RETURN(auto database,
                   SqliteDatabase::Open(DatabasePath(state_directory),
                                        SqliteDatabase::Mode::kReadWrite));
  RETURN_IF_ERROR(Prepare(*database, /*read_only=*/false));
  RETURN_IF_ERROR(Migrate(*database, migrations));
  ASSIGN_OR_RETURN(const std::string journal,
                   database->Text("PRAGMA journal_mode = WAL"));
  if (journal != "wal") {
    return absl::FailedPreconditionError(
        absl::StrCat("the state directory \"", state_directory,
                     "\" is on a file system that cannot hold the catalog's "
                     "write-ahead log"));
  }
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(std::move(database), std::move(directory)));
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::OpenReadOnly(
    const std::string& state_directory) {
  ASSIGN_OR_RETURN(auto database,
                   SqliteDatabase::Open(DatabasePath(state_directory),
                                        SqliteDatabase::Mode::kReadOnly));
  RETURN_IF_ERROR(Prepare(*database, /*read_only=*/true));
  RETURN_IF_ERROR(CheckVersion(*database, Migrations()));
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(std::move(database), std::nullopt));
}

absl::StatusOr<std::vector<StoredResource>> SqliteStore::List(
    StoredKind kind, absl::string_view prefix, absl::string_view after,
    int64_t limit) {
  const std::lock_guard lock(mutex_);
  SqliteStatement statement(
      *database_, MANSARD_RESOURCE_COLUMNS
      "WHERE r.kind = ? AND r.id >= ? AND r.id < ? AND r.id > ? "
      "ORDER BY r.id LIMIT ?");
  statement.Bind(StoredKindName(kind))
      .Bind(prefix)
      .Bind(EndOfPrefix(prefix))
      .Bind(after)
      .Bind(limit);
  std::vector<StoredResource> found;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return found;
    ASSIGN_OR_RETURN(StoredResource resource, ReadResource(kind, statement));
    found.push_back(std::move(resource));
  }
}

absl::StatusOr<std::optional<StoredResource>> SqliteStore::Find(
    StoredKind kind, absl::string_view id) {
  const std::lock_guard lock(mutex_);
  SqliteStatement statement(
      *database_, MANSARD_RESOURCE_COLUMNS "WHERE r.kind = ? AND r.id = ?");
  statement.Bind(StoredKindName(kind)).Bind(id);
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) return std::nullopt;
  ASSIGN_OR_RETURN(StoredResource resource, ReadResource(kind, statement));
  return resource;
}

absl::StatusOr<std::optional<StoredResource>> SqliteStore::FindByRequest(
    absl::string_view request_id) {
  const std::lock_guard lock(mutex_);
  SqliteStatement statement(*database_,
                            MANSARD_RESOURCE_COLUMNS "WHERE r.request_id = ?");
  statement.Bind(request_id);
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) return std::nullopt;
  StoredKind kind = StoredKind::kModelGraph;
  for (int i = 0; i < kStoredKindCount; ++i) {
    if (statement.Text(0) == StoredKindName(static_cast<StoredKind>(i))) {
      kind = static_cast<StoredKind>(i);
    }
  }
  ASSIGN_OR_RETURN(StoredResource resource, ReadResource(kind, statement));
  return resource;
}

absl::StatusOr<int64_t> SqliteStore::Count(StoredKind kind,
                                           absl::string_view prefix) {
  const std::lock_guard lock(mutex_);
  SqliteStatement statement(*database_,
                            "SELECT count(*) FROM resource WHERE kind = ? AND "
                            "id >= ? AND id < ?");
  statement.Bind(StoredKindName(kind)).Bind(prefix).Bind(EndOfPrefix(prefix));
  RETURN_IF_ERROR(statement.Done());
  return statement.Number(0);
}

absl::StatusOr<std::vector<StoredRevision>> SqliteStore::Revisions(
    StoredKind kind, absl::string_view id, int64_t before, int64_t limit) {
  const std::lock_guard lock(mutex_);
  SqliteStatement statement(
      *database_,
      "SELECT number, revision_id, create_time, content, content_hash FROM "
      "revision WHERE kind = ? AND id = ? AND number < ? ORDER BY number DESC "
      "LIMIT ?");
  statement.Bind(StoredKindName(kind)).Bind(id).Bind(before).Bind(limit);
  std::vector<StoredRevision> found;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return found;
    ASSIGN_OR_RETURN(StoredRevision revision, ReadRevision(id, statement));
    found.push_back(std::move(revision));
  }
}

absl::StatusOr<std::optional<StoredRevision>> SqliteStore::FindRevision(
    StoredKind kind, absl::string_view id, absl::string_view revision_id) {
  const std::lock_guard lock(mutex_);
  SqliteStatement statement(
      *database_,
      "SELECT number, revision_id, create_time, content, content_hash FROM "
      "revision WHERE kind = ? AND id = ? AND revision_id = ? ORDER BY number "
      "DESC LIMIT 1");
  statement.Bind(StoredKindName(kind)).Bind(id).Bind(revision_id);
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) return std::nullopt;
  ASSIGN_OR_RETURN(StoredRevision revision, ReadRevision(id, statement));
  return revision;
}

absl::Status SqliteStore::CheckEtag(StoredKind kind, absl::string_view id,
                                    absl::string_view expected_etag) {
  SqliteStatement statement(
      *database_, "SELECT etag FROM resource WHERE kind = ? AND id = ?");
  statement.Bind(StoredKindName(kind)).Bind(id);
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  const std::string etag = row ? statement.Text(0) : "";
  if (etag == expected_etag) return absl::OkStatus();
  return ErrorBuilder(absl::StatusCode::kAborted, "STORE_CHANGED")
      .Message(absl::StrCat("The catalog's store has another \"", id,
                            "\" than this server: it was changed from "
                            "outside; start the server anew"))
      .Build();
}

absl::StatusOr<int64_t> SqliteStore::NewestNumber(StoredKind kind,
                                                  absl::string_view id) {
  SqliteStatement statement(
      *database_, "SELECT newest FROM resource WHERE kind = ? AND id = ?");
  statement.Bind(StoredKindName(kind)).Bind(id);
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Number(0) : 0;
}

absl::Status SqliteStore::PutRows(const StoredResource& resource,
                                  int64_t number) {
  SqliteStatement upsert(
      *database_,
      "INSERT INTO resource(kind, id, etag, create_time, update_time, newest, "
      "request_id, request_hash) VALUES(?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT(kind, id) DO UPDATE SET etag = excluded.etag, "
      "update_time = excluded.update_time, newest = excluded.newest");
  upsert.Bind(StoredKindName(resource.kind))
      .Bind(resource.id)
      .Bind(resource.etag)
      .Bind(Micros(resource.create_time))
      .Bind(Micros(resource.update_time))
      .Bind(number)
      .BindOrNull(resource.request_id)
      .BindOrNull(resource.request_hash);
  RETURN_IF_ERROR(upsert.Done());
  SqliteStatement insert(
      *database_,
      "INSERT INTO revision(kind, id, number, revision_id, create_time, "
      "content_hash, content) VALUES(?, ?, ?, ?, ?, ?, ?)");
  insert.Bind(StoredKindName(resource.kind))
      .Bind(resource.id)
      .Bind(number)
      .Bind(resource.revision_id)
      .Bind(Micros(resource.update_time))
      .Bind(model::ContentHash(resource.content))
      .BindBlob(resource.content);
  return insert.Done();
}

absl::Status SqliteStore::Put(const StoredResource& resource,
                              absl::string_view expected_etag,
                              int64_t revisions_kept) {
  const std::lock_guard lock(mutex_);
  SqliteTransaction transaction(*database_);
  RETURN_IF_ERROR(transaction.Begin());
  RETURN_IF_ERROR(CheckEtag(resource.kind, resource.id, expected_etag));
  ASSIGN_OR_RETURN(const int64_t newest,
                   NewestNumber(resource.kind, resource.id));
  RETURN_IF_ERROR(PutRows(resource, newest + 1));
  SqliteStatement prune(
      *database_,
      "DELETE FROM revision WHERE kind = ? AND id = ? AND number <= ?");
  prune.Bind(StoredKindName(resource.kind))
      .Bind(resource.id)
      .Bind(newest + 1 - revisions_kept);
  RETURN_IF_ERROR(prune.Done());
  return transaction.Commit();
}

absl::Status SqliteStore::Delete(StoredKind kind, absl::string_view id,
                                 absl::string_view expected_etag) {
  const std::lock_guard lock(mutex_);
  SqliteTransaction transaction(*database_);
  RETURN_IF_ERROR(transaction.Begin());
  RETURN_IF_ERROR(CheckEtag(kind, id, expected_etag));
  // Revisions go with their resource.
  SqliteStatement remove(*database_,
                         "DELETE FROM resource WHERE kind = ? AND id = ?");
  remove.Bind(StoredKindName(kind)).Bind(id);
  RETURN_IF_ERROR(remove.Done());
  if (kind == StoredKind::kHardwareProfile) {
    const std::string below = absl::StrCat(id, "/");
    SqliteStatement calibrations(
        *database_,
        "DELETE FROM resource WHERE kind = ? AND id >= ? AND id < ?");
    calibrations.Bind(StoredKindName(StoredKind::kCalibration))
        .Bind(below)
        .Bind(EndOfPrefix(below));
    RETURN_IF_ERROR(calibrations.Done());
  }
  return transaction.Commit();
}

}  // namespace mansard::server
