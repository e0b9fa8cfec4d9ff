// Open MPI, found at run time.
#ifndef RUNTIME_RANKS_MPI_H
#define RUNTIME_RANKS_MPI_H

#include "runtime/ranks/Beats.h"
#include "runtime/ranks/Messages.h"

#include <memory>

namespace gradc::runtime {

/// The library that mpirun has started this process for. Any thread may call it.
class Mpi final : public Messages {
public:
  /// Fails with what was looked for and what was found. Blocks until all ranks have called it.
  static Result<std::unique_ptr<Mpi>> open();

  int rank() const override { return ownRank; }
  int size() const override { return ranks; }
  Status send(std::span<const std::byte> bytes, int to, int tag, Request &request) override;
  Status receive(std::span<std::byte> bytes, int from, int tag, Request &request) override;
  Result<bool> haveEnded(std::span<Request> requests) override;
  Status pause() override;

  /// From now on `pause` fails once they have lost a rank; null: never.
  void watch(Beats *all) { beats = all; }
  /// All ranks must call it, or none.
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
    Object world, byte, errorsReturn; ///< addresses of objects in the library
  };

  Status find();
  Status start();
  Status check(int error, const char *what) const;

  void *library = nullptr; ///< stays open: its threads and handlers outlive us
  Functions functions = {};
  Beats *beats = nullptr;
  int ownRank = 0, ranks = 1;
};

} // namespace gradc::runtime

#endif
