// The catalog of a server: what it answers from, and how that changes. Reads
// take a state; writes go through a CatalogWriter, one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/catalog/state.h"
#include "server/store/store.h"

namespace mansard::server {

// Stored resources of each kind, and of one. What is beyond is refused.
struct CatalogLimits {
  int64_t graphs = 10'000;
  int64_t profiles = 1'000;
  int64_t engines = 256;
  int64_t calibrations = 1'000;  // Of one profile.
  int64_t resource_bytes = int64_t{4} << 20;
  int64_t revisions = 100;  // Older ones go.
};

struct CatalogOptions {
  // Folder of further models/, hardware/ and fabrics/ files. Empty: none.
  std::string catalog_dir = "";
  // Where writes are kept. Empty: nowhere, they end with the process.
  std::string state_dir = "";
  // Reads what is in state_dir, if there is anything, beside a process that
  // writes there; refuses writes.
  bool read_only = false;
  CatalogLimits limits = {};
};

class Catalog {
 public:
  // Something stored that this version cannot use. It is answered as broken.
  struct Problem {
    std::string name;
    std::string error;
  };

  // Loads, reads what is stored, and resolves the engines. Errors, with
  // messages for whoever starts the server: those of MergeFolder and of
  // SqliteStore::Open.
  static absl::StatusOr<std::unique_ptr<Catalog>> Open(
      const CatalogOptions& options);
  // Without a store beyond the process: for tests and benchmarks.
  static absl::StatusOr<std::unique_ptr<Catalog>> OpenInMemory();

  // Never waits for a writer, but while it exchanges the pointer.
  std::shared_ptr<const CatalogState> state() const;

  Store& store() { return *store_; }
  const CatalogLimits& limits() const { return options_.limits; }
  // Found at the start.
  const std::vector<Problem>& problems() const { return problems_; }
  // Called with each new state, by its writer. Set before there are any.
  void OnChange(std::function<void(const CatalogState&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  friend class CatalogWriter;
  explicit Catalog(const CatalogOptions& options) : options_(options) {}
  absl::Status OpenStore();
  absl::Status LoadStored();
  // Of all pages of the kind, in order of id.
  absl::StatusOr<std::vector<StoredResource>> All(StoredKind kind);
  void Exchange(std::shared_ptr<const CatalogState> next);

  CatalogOptions options_;
  std::unique_ptr<Store> store_;
  std::vector<Problem> problems_;
  std::function<void(const CatalogState&)> observer_;

  std::mutex writers_;
  // Guarded by it: so that the last reference mostly goes with a writer, not
  // with a short call.
  std::shared_ptr<const CatalogState> previous_;
  absl::Time last_write_ = absl::InfinitePast();

  mutable std::mutex pointer_;  // Of the next line, held for its exchange.
  std::shared_ptr<const CatalogState> state_;
};

// Holds other writers off while it lives. A change is complete in memory before
// it is written, and seen after it is on disk; one that fails has changed
// neither. Takes as long as engines take to be resolved, and the disk: for the
// heavy pool.
class CatalogWriter {
 public:
  // Waits for the writers before it.
  explicit CatalogWriter(Catalog& catalog);

  const CatalogState& base() const { return *base_; }
  const Snapshot& snapshot() const { return *base_->snapshot; }
  Store& store() { return catalog_.store(); }
  const CatalogLimits& limits() const { return catalog_.limits(); }
  // Of this write: later than that of every write before.
  absl::Time now() const { return now_; }

  // Puts the entry in the place of the one with its id, or adds it; engines
  // that name it are resolved anew. With `validate_only` all is checked and
  // nothing changed. Errors, beside the store's: INVALID_ARGUMENT
  // RESOURCE_TOO_LARGE, FAILED_PRECONDITION CATALOG_FULL, ENGINES_WOULD_BREAK.
  absl::Status Put(const std::string& id,
                   const std::shared_ptr<const GraphEntry>& entry,
                   bool validate_only);
  absl::Status Put(const std::string& id,
                   const std::shared_ptr<const ProfileEntry>& entry,
                   bool validate_only);
  absl::Status Put(const std::string& id,
                   const std::shared_ptr<const EngineEntry>& entry,
                   bool validate_only);
  // What is stored; preconditions: it is. Errors as of Put, and
  // FAILED_PRECONDITION RESOURCE_IN_USE where an engine names what would be
  // missing then.
  absl::Status DeleteGraph(const std::string& id);
  absl::Status DeleteProfile(const std::string& id);
  absl::Status DeleteEngine(const std::string& id);
  // Of what is in the store alone; one that is new, and one that is there.
  absl::Status PutAlone(const StoredResource& resource);
  absl::Status DeleteAlone(const StoredResource& resource);

 private:
  using Named = bool (*)(const EngineEntry& engine, const std::string& id);

  // With `snapshot`, and the engines that name `id` on it.
  absl::StatusOr<std::shared_ptr<CatalogState>> Next(
      std::shared_ptr<const Snapshot> snapshot, Named named,
      const std::string& id) const;
  absl::Status CheckRoom(const StoredResource& resource, bool added,
                         const char* what, int64_t stored, int64_t limit) const;
  // Writes and then shows the state.
  absl::Status Keep(const StoredResource& resource,
                    const std::string& expected_etag, int64_t revisions,
                    std::shared_ptr<const CatalogState> state);
  // The same of a deletion; `next` is without the entry, or with what lies
  // beneath it (`remains`).
  absl::Status Remove(StoredKind kind, const std::string& id,
                      const std::string& etag, bool remains, Named named,
                      std::shared_ptr<const Snapshot> next);
  absl::Status CheckWritable() const;

  Catalog& catalog_;
  std::unique_lock<std::mutex> lock_;
  std::shared_ptr<const CatalogState> base_;
  absl::Time now_;
};

}  // namespace mansard::server
