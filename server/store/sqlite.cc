#include "server/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "server/error.h"

namespace mansard::server {
namespace {

// Readers in other processes hold a writer up for moments only.
constexpr int kBusyMilliseconds = 5000;

struct Reason {
  absl::StatusCode code;
  const char* name;
};

Reason ReasonOf(int code) {
  switch (code) {
    case SQLITE_FULL:
      return {absl::StatusCode::kUnavailable, "STORE_FULL"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {absl::StatusCode::kUnavailable, "STORE_READ_ONLY"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {absl::StatusCode::kUnavailable, "STORE_BUSY"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {absl::StatusCode::kInternal, "STORE_CORRUPT"};
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
      return {absl::StatusCode::kUnavailable, "STORE_FAILED"};
    default:
      return {absl::StatusCode::kInternal, "STORE_FAILED"};
  }
}

absl::Status ErrorOf(int code, absl::string_view message,
                     absl::string_view what, absl::string_view path) {
  const Reason reason = ReasonOf(code & 0xff);
  return ErrorBuilder(reason.code, reason.name)
      .Message(absl::StrCat("The catalog's store ", path, " cannot ", what,
                            ": ", message))
      .Metadata("sqlite_code", absl::StrCat(code))
      .Build();
}

}  // namespace

SqliteDatabase::SqliteDatabase(std::string path, sqlite3* handle)
    : path_(std::move(path)), handle_(handle) {}

SqliteDatabase::~SqliteDatabase() { sqlite3_close_v2(handle_); }

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(
    const std::string& path, Mode mode) {
  sqlite3* handle = nullptr;
  const int flags =
      (mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
      SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  auto database =
      std::unique_ptr<SqliteDatabase>(new SqliteDatabase(path, handle));
  if (code != SQLITE_OK) {
    return ErrorOf(code, sqlite3_errstr(code), "be opened", path);
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  return database;
}

absl::Status SqliteDatabase::Error(absl::string_view what) const {
  return ErrorOf(sqlite3_extended_errcode(handle_), sqlite3_errmsg(handle_),
                 what, path_);
}

absl::Status SqliteDatabase::Run(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) ==
      SQLITE_OK) {
    return absl::OkStatus();
  }
  return Error("be written");
}

absl::StatusOr<std::string> SqliteDatabase::Text(const std::string& sql) {
  SqliteStatement statement(*this, sql.c_str());
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Text(0) : "";
}

absl::StatusOr<int64_t> SqliteDatabase::Number(const std::string& sql) {
  SqliteStatement statement(*this, sql.c_str());
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Number(0) : 0;
}

SqliteStatement::SqliteStatement(SqliteDatabase& database, const char* sql)
    : database_(database) {
  Keep(sqlite3_prepare_v2(database.handle(), sql, -1, &statement_, nullptr));
}

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

void SqliteStatement::Keep(int code) {
  if (code != SQLITE_OK && error_.ok()) error_ = database_.Error("be used");
}

SqliteStatement& SqliteStatement::Bind(absl::string_view text) {
  // Bytes that are not there would be bound as NULL.
  const char* const bytes = text.empty() ? "" : text.data();
  Keep(sqlite3_bind_text64(statement_, next_parameter_++, bytes, text.size(),
                           SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int64_t number) {
  Keep(sqlite3_bind_int64(statement_, next_parameter_++, number));
  return *this;
}

SqliteStatement& SqliteStatement::BindOrNull(absl::string_view text) {
  if (!text.empty()) return Bind(text);
  Keep(sqlite3_bind_null(statement_, next_parameter_++));
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(absl::string_view bytes) {
  const char* const data = bytes.empty() ? "" : bytes.data();
  Keep(sqlite3_bind_blob64(statement_, next_parameter_++, data, bytes.size(),
                           SQLITE_STATIC));
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  if (!error_.ok()) return error_;
  switch (sqlite3_step(statement_)) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      return database_.Error("be used");
  }
}

absl::Status SqliteStatement::Done() { return Step().status(); }

std::string SqliteStatement::Text(int column) const {
  const auto* const text =
      reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  const auto size =
      static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return text == nullptr ? std::string() : std::string(text, size);
}

std::string SqliteStatement::Blob(int column) const {
  const auto* const bytes =
      static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto size =
      static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

int64_t SqliteStatement::Number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

SqliteTransaction::~SqliteTransaction() {
  // It may have been rolled back with the statement that failed; there is
  // nobody to tell.
  if (open_) (void)database_.Run("ROLLBACK");
}

absl::Status SqliteTransaction::Begin() {
  RETURN_IF_ERROR(database_.Run("BEGIN IMMEDIATE"));
  open_ = true;
  return absl::OkStatus();
}

absl::Status SqliteTransaction::Commit() {
  RETURN_IF_ERROR(database_.Run("COMMIT"));
  open_ = false;
  return absl::OkStatus();
}

}  // namespace mansard::server
