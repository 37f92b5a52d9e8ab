// Early return for absl::Status and absl::StatusOr.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define MANSARD_CONCAT_INNER_(a, b) a##b
#define MANSARD_CONCAT_(a, b) MANSARD_CONCAT_INNER_(a, b)

#define RETURN_IF_ERROR(expression)                      \
  do {                                                   \
    absl::Status status_or_error_ = (expression);        \
    if (!status_or_error_.ok()) return status_or_error_; \
  } while (false)

#define ASSIGN_OR_RETURN(declaration, expression)                     \
  ASSIGN_OR_RETURN_IMPL_(MANSARD_CONCAT_(status_or_value_, __LINE__), \
                         declaration, expression)

#define ASSIGN_OR_RETURN_IMPL_(name, declaration, expression) \
  auto name = (expression);                                   \
  if (!name.ok()) return std::move(name).status();            \
  declaration = *std::move(name)
