// Open MPI, loaded at run time.
#ifndef RUNTIME_RANKS_MPI_H
#define RUNTIME_RANKS_MPI_H

#include "runtime/ranks/Beats.h"
#include "runtime/ranks/Messages.h"

#include <memory>

namespace gradc::runtime {

/// The MPI library of the mpirun that started this process. Thread-safe.
class Mpi final : public Messages {
public:
  /// Blocks until all ranks have called it. A failure names what was expected and what was found.
  static Result<std::unique_ptr<Mpi>> open();

  int rank() const override { return ownRank; }
  int size() const override { return ranks; }
  Status send(std::span<const std::byte> bytes, int to, int tag, Request &request) override;
  Status receive(std::span<std::byte> bytes, int from, int tag, Request &request) override;
  Result<bool> haveEnded(std::span<Request> requests) override;
  Status pause() override;

  /// From now on `pause` fails once `all` has detected a lost rank; null: never.
  void watch(Beats *all) { beats = all; }
  /// Must be called by all ranks or by none.
  void finalize() { functions.finalize(); }

private:
  using Object = void *; ///< a communicator, a type, ...
  struct Functions {
    int (*version)(char *text, int *length);
    int (*initialize)(int *count, char ***arguments, int required, int *provided);
    int (*finalize)();
    int (*rank)(Object ranks, int *rank);
    int (*size)(Object ranks, int *size);
    int (*setErrors)(Object ranks, Object handler);
    int (*send)(const void *, int count, Object type, int to, int tag, Object ranks, Request *);
    int (*receive)(void *, int count, Object type, int from, int tag, Object ranks, Request *);
    int (*testAll)(int count, Request *, int *flag, void *statuses);
    int (*errorText)(int error, char *text, int *length);
    Object world, byte, errorsReturn; ///< addresses of library objects
  };

  Status find();
  Status start();
  Status check(int error, const char *what) const;

  void *library = nullptr; ///< never closed: its threads and handlers outlive this object
  Functions functions = {};
  Beats *beats = nullptr;
  int ownRank = 0, ranks = 1;
};

} // namespace gradc::runtime

#endif
