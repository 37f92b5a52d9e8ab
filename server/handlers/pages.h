// Pages of lists.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/violations.h"
#include "server/catalog/page_token.h"

namespace mansard::server {

inline constexpr int kDefaultPageSize = 50;
inline constexpr int kMaxPageSize = 500;
// Of the entries of a page of large resources: a page ends with the first that
// reaches it, so that its answer can be received.
inline constexpr size_t kMaxPageBytes = size_t{2} << 20;

struct Page {
  int size = kDefaultPageSize;
  std::string after;  // The last key of the page before; empty: the start.
};

// `list` is the collection. Violations are at "page_size" and "page_token".
template <class Request>
Page PageOf(const Request& request, absl::string_view list,
            model::Violations& violations) {
  Page page;
  if (request.page_size() < 0) {
    violations.Add("page_size", absl::StrCat("is ", request.page_size(),
                                             "; allowed: 0 or more"));
  } else if (request.page_size() > 0) {
    page.size = std::min(request.page_size(), kMaxPageSize);
  }
  if (!request.page_token().empty()) {
    std::optional<std::string> key = ReadPageToken(request.page_token(), list);
    if (key.has_value()) {
      page.after = *std::move(key);
    } else {
      violations.Add(
          "page_token",
          absl::StrCat("is not a next_page_token of the list of ", list));
    }
  }
  return page;
}

// Calls `add` for each entry of the page, which says how many bytes it took;
// none: it left it out. Returns the token of the next page.
template <class Map, class Add>
std::string FillPage(const Map& entries, const Page& page,
                     absl::string_view list, Add add) {
  auto entry =
      page.after.empty() ? entries.begin() : entries.upper_bound(page.after);
  std::string last_key;
  size_t bytes = 0;
  for (int added = 0;
       added < page.size && bytes < kMaxPageBytes && entry != entries.end();
       ++entry) {
    const size_t taken = add(*entry->second);
    if (taken > 0) ++added;
    bytes += taken;
    last_key = entry->first;
  }
  return entry == entries.end() ? "" : MakePageToken(list, last_key);
}

}  // namespace mansard::server
