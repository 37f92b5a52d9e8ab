#include "calibrate/measure/campaign.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr int kMostFailures = 3;  // One after the other.
// A case may take this much of an equal share of what is left: many are done
// early.
constexpr double kShares = 4;

// The record's file, open for adding lines.
class RecordFile {
 public:
  // Without a path it takes all and keeps nothing.
  static absl::StatusOr<RecordFile> Open(const std::string& path,
                                         const DeviceIdentity& device,
                                         const std::string& date,
                                         Record& record) {
    RecordFile opened(path);
    record.device = device;
    record.date = date;
    if (path.empty()) return opened;
    std::ifstream known(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(known)),
                     std::istreambuf_iterator<char>());
    known.close();
    // A line that was cut short is no line.
    text.resize(text.rfind('\n') == std::string::npos ? 0
                                                      : text.rfind('\n') + 1);
    if (!text.empty()) {
      absl::StatusOr<Record> read = ReadRecord(text);
      if (!read.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": ", read.status().message()));
      }
      if (read->device.id_hash != device.id_hash ||
          read->device.backend != device.backend) {
        return absl::FailedPreconditionError(absl::StrCat(
            path, ": is the record of another device, ", read->device.name,
            " (", read->device.id_hash, "); this one is ", device.name, " (",
            device.id_hash, ")"));
      }
      record.results = std::move(read->results);
    }
    opened.file_.open(path, std::ios::binary | std::ios::trunc);
    opened.file_ << text;
    RETURN_IF_ERROR(opened.Add(HeaderLine(device, date)));
    return opened;
  }

  absl::Status Add(const std::string& line) {
    if (path_.empty()) return absl::OkStatus();
    file_ << line << std::flush;
    if (file_) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(path_, ": cannot be written"));
  }

 private:
  explicit RecordFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::ofstream file_;
};

void Keep(CaseResult result, Record& record) {
  for (CaseResult& known : record.results) {
    if (known.measured == result.measured) {
      known = std::move(result);
      return;
    }
  }
  record.results.push_back(std::move(result));
}

class Campaign {
 public:
  Campaign(Backend& backend, const std::vector<Case>& cases,
           const CampaignOptions& options)
      : backend_(backend), cases_(cases), options_(options) {}

  absl::StatusOr<Record> Run() {
    start_ = backend_.Now();
    fastest_clock_ = backend_.identity().clock_hertz;
    ASSIGN_OR_RETURN(RecordFile file,
                     RecordFile::Open(options_.record_path, backend_.identity(),
                                      options_.date, record_));
    Tell(0, nullptr);
    for (size_t i = 0; i < cases_.size(); ++i) {
      const CaseResult* known = record_.Find(cases_[i]);
      if (known == nullptr || known->outcome != Outcome::kMeasured) {
        RETURN_IF_ERROR(RunCase(i, file));
      }
      Tell(i + 1, record_.Find(cases_[i]));
      if (failures_ >= kMostFailures) {
        return absl::InternalError(absl::StrCat(
            kMostFailures, " cases failed one after the other, the last: ",
            CaseId(cases_[i]), ": ", record_.Find(cases_[i])->reason));
      }
    }
    return std::move(record_);
  }

 private:
  absl::Status RunCase(size_t i, RecordFile& file) {
    const double now = backend_.Now();
    const double left = start_ + options_.budget_seconds - now;
    CaseResult result;
    result.measured = cases_[i];
    if (left <= 0) {
      result.reason = absl::StrCat("the budget of ", options_.budget_seconds,
                                   " s is spent");
    } else {
      const double share =
          left / static_cast<double>(cases_.size() - i) * kShares;
      absl::Status written;
      result = MeasureCase(
          backend_, cases_[i], options_.loop, now + std::min(left, share),
          fastest_clock_, [&](const Sample& sample) {
            written.Update(file.Add(SampleLine(cases_[i], sample)));
          });
      RETURN_IF_ERROR(written);
    }
    failures_ = result.outcome == Outcome::kFailed ? failures_ + 1 : 0;
    RETURN_IF_ERROR(file.Add(ResultLine(result)));
    Keep(std::move(result), record_);
    return absl::OkStatus();
  }

  void Tell(size_t done, const CaseResult* last) {
    if (options_.progress == nullptr) return;
    options_.progress({done, cases_.size(), backend_.Now() - start_,
                       options_.budget_seconds, last});
  }

  Backend& backend_;
  const std::vector<Case>& cases_;
  const CampaignOptions& options_;
  Record record_;
  double start_ = 0;
  double fastest_clock_ = 0;
  int failures_ = 0;
};

}  // namespace

absl::StatusOr<Record> RunCampaign(Backend& backend,
                                   const std::vector<Case>& cases,
                                   const CampaignOptions& options) {
  return Campaign(backend, cases, options).Run();
}

}  // namespace mansard::calibrate
