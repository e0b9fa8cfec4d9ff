// Success, or an exit code and a message for the user.
#ifndef RUNTIME_BASE_STATUS_H
#define RUNTIME_BASE_STATUS_H

#include <string>
#include <utility>
#include <variant>

namespace gradc::runtime {

/// Exit codes of every gradc program.
enum class Code {
  ok = 0,
  error = 1,
  usage = 2,
  invalid = 3,
  mismatch = 4,
  doesNotFit = 5,
  signal = 128 ///< plus the number of the signal that ended the program
};
/// The exit code that shells report for a program ended by this signal.
inline Code codeOfSignal(int signal) { return Code(int(Code::signal) + signal); }

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  static Status error(std::string message) { return {Code::error, std::move(message)}; }
  static Status invalid(std::string message) { return {Code::invalid, std::move(message)}; }

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  const std::string &message() const { return message_; }

private:
  Code code_ = Code::ok;
  std::string message_;
};

/// A value, or a status that explains why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Status status) : state(std::move(status)) {}

  bool ok() const { return std::holds_alternative<T>(state); }
  explicit operator bool() const { return ok(); }
  T &operator*() { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const T &operator*() const { return std::get<T>(state); }
  const T *operator->() const { return &std::get<T>(state); }
  /// The failure; an ok status on success.
  Status status() const { return ok() ? Status() : std::get<Status>(state); }

private:
  std::variant<T, Status> state;
};

} // namespace gradc::runtime

#endif
