// The few of SQLite's calls that the store needs, with errors as statuses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace mansard::server {

// For one thread at a time.
class SqliteDatabase {
 public:
  enum class Mode { kReadOnly, kReadWrite };

  // `path` exists, or is ":memory:".
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path, Mode mode);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  // One or more statements without results.
  absl::Status Run(const std::string& sql);
  // The first column of the first row.
  absl::StatusOr<std::string> Text(const std::string& sql);
  absl::StatusOr<int64_t> Number(const std::string& sql);

  // The error of the last call: see store.h for codes and reasons.
  absl::Status Error(absl::string_view what) const;
  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }

 private:
  SqliteDatabase(std::string path, sqlite3* handle);

  std::string path_;
  sqlite3* handle_;
};

// Values are bound from the first parameter on. The first error is told by
// Step and Done.
class SqliteStatement {
 public:
  SqliteStatement(SqliteDatabase& database, const char* sql);
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  // The text is copied.
  SqliteStatement& Bind(absl::string_view text);
  SqliteStatement& Bind(int64_t number);
  // NULL where it is empty.
  SqliteStatement& BindOrNull(absl::string_view text);
  // Outlives the statement.
  SqliteStatement& BindBlob(absl::string_view bytes);

  // Whether there is a row.
  absl::StatusOr<bool> Step();
  // For statements without rows.
  absl::Status Done();

  // Of the row.
  std::string Text(int column) const;
  std::string Blob(int column) const;
  int64_t Number(int column) const;

 private:
  void Keep(int code);

  SqliteDatabase& database_;
  sqlite3_stmt* statement_ = nullptr;
  int next_parameter_ = 1;
  absl::Status error_;
};

// Rolls back unless committed.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase& database) : database_(database) {}
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  absl::Status Begin();
  absl::Status Commit();

 private:
  SqliteDatabase& database_;
  bool open_ = false;
};

}  // namespace mansard::server
