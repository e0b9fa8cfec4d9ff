// Uses the binary interface that Open MPI 4 and 5 share, in which MPI objects are addresses of
// symbols.
#include "runtime/ranks/Mpi.h"

#include "runtime/base/Text.h"

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <sched.h>

namespace gradc::runtime {

static constexpr const char *files[] = {"libmpi.so.40", "libmpi.so"};
static constexpr int threadMultiple = 3; // MPI_THREAD_MULTIPLE
static constexpr size_t textLength = 512;

Result<std::unique_ptr<Mpi>> Mpi::open() {
  std::unique_ptr<Mpi> mpi(new Mpi);
  for (auto step : {&Mpi::find, &Mpi::start})
    if (Status status = (mpi.get()->*step)(); !status.ok())
      return status;
  return mpi;
}

Status Mpi::find() {
  const char *named = std::getenv("GRADC_LIBMPI");
  std::string reasons;
  for (const char *file :
       named && *named ? std::span<const char *const>(&named, 1) : std::span(files)) {
    // Open MPI's plugins resolve its symbols in the program's global scope.
    library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (library)
      break;
    reasons += text(reasons.empty() ? "" : "; ", dlerror());
  }
  if (!library)
    return Status::error(text("cannot open MPI: ", reasons,
                              "; install Open MPI (Debian: libopenmpi3, package openmpi-bin has "
                              "mpirun), or name its libmpi.so with GRADC_LIBMPI"));
  const struct {
    const char *name;
    void *target;
  } symbols[] = {{"MPI_Get_library_version", &functions.version},
                 {"MPI_Init_thread", &functions.initialize},
                 {"MPI_Finalize", &functions.finalize},
                 {"MPI_Comm_rank", &functions.rank},
                 {"MPI_Comm_size", &functions.size},
                 {"MPI_Comm_set_errhandler", &functions.setErrors},
                 {"MPI_Isend", &functions.send},
                 {"MPI_Irecv", &functions.receive},
                 {"MPI_Testall", &functions.testAll},
                 {"MPI_Error_string", &functions.errorText},
                 {"ompi_mpi_comm_world", &functions.world},
                 {"ompi_mpi_byte", &functions.byte},
                 {"ompi_mpi_errors_return", &functions.errorsReturn}};
  for (const auto &symbol : symbols) {
    void *found = dlsym(library, symbol.name);
    char version[textLength * 16] = "unknown"; // other libraries have longer version texts
    int length = 0;
    if (!found && functions.version)
      functions.version(version, &length);
    if (!found)
      return Status::error(
          text("expected Open MPI 4 or 5, found an MPI library without ", symbol.name, ": ",
               std::string_view(version).substr(0, std::string_view(version).find('\n'))));
    *static_cast<void **>(symbol.target) = found;
  }
  return {};
}

Status Mpi::start() {
  char version[textLength] = {};
  int length = 0, provided = 0;
  functions.version(version, &length);
  std::string_view name = version;
  if (!name.starts_with("Open MPI v4.") && !name.starts_with("Open MPI v5."))
    return Status::error(text("expected Open MPI 4 or 5, found ", name.substr(0, name.find(','))));
  if (int error = functions.initialize(nullptr, nullptr, threadMultiple, &provided))
    return Status::error(text("MPI_Init_thread failed with error ", error));
  if (provided < threadMultiple)
    return Status::error(text("expected an MPI built for several threads, found that ",
                              name.substr(0, name.find(',')), " provides level ", provided, " of ",
                              threadMultiple));
  functions.setErrors(functions.world, functions.errorsReturn);
  functions.rank(functions.world, &ownRank);
  functions.size(functions.world, &ranks);
  return {};
}

Status Mpi::check(int error, const char *what) const {
  if (!error)
    return {};
  char reason[textLength] = {};
  int length = 0;
  functions.errorText(error, reason, &length);
  return Status::error(text(what, " failed: ", reason));
}

/// MPI's byte counts are ints.
static Status checkSize(size_t bytes) {
  return bytes <= INT_MAX ? Status()
                          : Status::error(text("a message of ", bytes, " bytes, expected at most ",
                                               INT_MAX, ": use more ranks"));
}

Status Mpi::send(std::span<const std::byte> bytes, int to, int tag, Request &request) {
  if (Status fits = checkSize(bytes.size()); !fits.ok())
    return fits;
  return check(functions.send(bytes.data(), int(bytes.size()), functions.byte, to, tag,
                              functions.world, &request),
               "MPI_Isend");
}

Status Mpi::receive(std::span<std::byte> bytes, int from, int tag, Request &request) {
  if (Status fits = checkSize(bytes.size()); !fits.ok())
    return fits;
  return check(functions.receive(bytes.data(), int(bytes.size()), functions.byte, from, tag,
                                 functions.world, &request),
               "MPI_Irecv");
}

Result<bool> Mpi::haveEnded(std::span<Request> requests) {
  int flag = 0;
  Status status = check(functions.testAll(int(requests.size()), requests.data(), &flag,
                                          /*MPI_STATUSES_IGNORE*/ nullptr),
                        "MPI_Testall");
  if (!status.ok())
    return status;
  return flag != 0;
}

/// Yields, because ranks may outnumber the CPUs.
Status Mpi::pause() {
  sched_yield();
  return beats ? beats->lost() : Status();
}

} // namespace gradc::runtime
