// Open MPI, loaded at run time.
#ifndef RUNTIME_RANKS_MPI_H
#define RUNTIME_RANKS_MPI_H

#include "runtime/ranks/Beats.h"
#include "runtime/ranks/Messages.h"

#include <memory>

namespace gradc::runtime {

/// A communicator of the MPI library of the mpirun that started this process: all ranks, or a group
/// of them. Thread-safe. Messages travel in blocks that the library sends without being asked for
/// them (record 180).
class Mpi final : public Messages {
public:
  /// Returns the communicator of all ranks. Blocks until all ranks have called it. A failure names
  /// what was expected and what was found.
  static Result<std::unique_ptr<Mpi>> open();

  int rank() const override { return ownRank; }
  int size() const override { return ranks; }
  Status send(std::span<const std::byte> bytes, int to, int tag, Requests &requests) override;
  Status receive(std::span<std::byte> bytes, int from, int tag, Requests &requests) override;
  Result<bool> haveEnded(std::span<Request> requests) override;
  Status pause() override;
  Result<std::unique_ptr<Messages>> split(int color) override;

  /// From now on `pause` fails once `all` has detected a lost rank, here and in groups; null:
  /// never.
  void watch(Beats *all) { library->beats = all; }
  /// Must be called by all ranks or by none.
  void finalize() { library->finalize(); }

private:
  using Object = void *; ///< a communicator, a type, ...
  struct Library {
    int (*version)(char *text, int *length);
    int (*initialize)(int *count, char ***arguments, int required, int *provided);
    int (*finalize)();
    int (*rank)(Object ranks, int *rank);
    int (*size)(Object ranks, int *size);
    int (*setErrors)(Object ranks, Object handler);
    int (*send)(const void *, int count, Object type, int to, int tag, Object ranks, Request *);
    int (*receive)(void *, int count, Object type, int from, int tag, Object ranks, Request *);
    int (*testAll)(int count, Request *, int *flag, void *statuses);
    int (*split)(Object ranks, int color, int key, Object *group);
    int (*errorText)(int error, char *text, int *length);
    Object world, byte, errorsReturn; ///< addresses of library objects
    Beats *beats = nullptr;
  };

  explicit Mpi(std::shared_ptr<Library> library) : library(std::move(library)) {}
  Status find();
  Status start();
  void enter(Object all);
  Status check(int error, const char *what) const;

  std::shared_ptr<Library> library;
  Object communicator = nullptr;
  int ownRank = 0, ranks = 1;
};

} // namespace gradc::runtime

#endif
