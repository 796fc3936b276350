// Result<T>: a value or an Error, without exceptions.
//
// Invariant: a Result holds exactly one of the two. Error messages follow one form: what happened, where
// (file, line, address…), and what the user can do about it.
// Ownership: by value. Threads: a Result is a plain value; share it as you would share a T.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tessera {

// Classes of failure; the command maps them to its exit status (see docs/commands.md).
enum class ErrorCode : std::uint8_t {
  usage,        // the caller asked for something that can't be asked for
  bad_data,     // bytes from outside are not what they should be
  not_found,    // a named thing isn't there
  environment,  // the machine lacks something (file, permission, memory, driver)
  unsupported,  // valid, but not offered
  infeasible,   // no answer exists under the given limits
  internal,     // our own mistake
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string what;   // one clause, no full stop: "truncated fat binary"
  std::string where;  // "profile.json:3:14", "offset 0x40", or empty
  std::string hint;   // what to do, or empty

  // One line: "what (where): hint".
  [[nodiscard]] std::string message() const;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] T value_or(T other) && { return ok() ? std::get<0>(std::move(state_)) : std::move(other); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace tessera

#define TESSERA_TRY_JOIN2(a, b) a##b
#define TESSERA_TRY_JOIN(a, b) TESSERA_TRY_JOIN2(a, b)
// TRY(variable, expression): declares `variable` from a Result's value, or returns its Error from the function.
// This is the only macro of the project that may return.
#define TRY(variable, expression) TESSERA_TRY(variable, expression, TESSERA_TRY_JOIN(tessera_try_, __LINE__))
#define TESSERA_TRY(variable, expression, holder)     \
  auto holder = (expression);                         \
  if (!holder.ok()) return std::move(holder).error(); \
  auto variable = std::move(holder).value()
// TRY_STATUS(expression): the same for a Status.
#define TRY_STATUS(expression) \
  if (auto tessera_status = (expression); !tessera_status.ok()) return std::move(tessera_status).error()
