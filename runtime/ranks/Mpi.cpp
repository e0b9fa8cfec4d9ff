// Uses the binary interface that Open MPI 4 and 5 share, in which MPI objects are addresses of
// symbols.
#include "runtime/ranks/Mpi.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <sched.h>

namespace gradc::runtime {

static constexpr const char *files[] = {"libmpi.so.40", "libmpi.so"};
static constexpr int threadMultiple = 3; // MPI_THREAD_MULTIPLE
static constexpr size_t textLength = 512;

Result<std::unique_ptr<Mpi>> Mpi::open() {
  std::unique_ptr<Mpi> mpi(new Mpi(std::make_shared<Library>()));
  for (auto step : {&Mpi::find, &Mpi::start})
    if (Status status = (mpi.get()->*step)(); !status.ok())
      return status;
  return mpi;
}

Status Mpi::find() {
  const char *named = std::getenv("GRADC_LIBMPI");
  std::string reasons;
  void *opened = nullptr; // never closed: its threads and handlers outlive this object
  for (const char *file :
       named && *named ? std::span<const char *const>(&named, 1) : std::span(files)) {
    // Open MPI's plugins resolve its symbols in the program's global scope.
    opened = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (opened)
      break;
    reasons += text(reasons.empty() ? "" : "; ", dlerror());
  }
  if (!opened)
    return Status::error(text("cannot open MPI: ", reasons,
                              "; install Open MPI (Debian: libopenmpi3, package openmpi-bin has "
                              "mpirun), or name its libmpi.so with GRADC_LIBMPI"));
  const struct {
    const char *name;
    void *target;
  } symbols[] = {{"MPI_Get_library_version", &library->version},
                 {"MPI_Init_thread", &library->initialize},
                 {"MPI_Finalize", &library->finalize},
                 {"MPI_Comm_rank", &library->rank},
                 {"MPI_Comm_size", &library->size},
                 {"MPI_Comm_set_errhandler", &library->setErrors},
                 {"MPI_Isend", &library->send},
                 {"MPI_Irecv", &library->receive},
                 {"MPI_Testall", &library->testAll},
                 {"MPI_Comm_split", &library->split},
                 {"MPI_Error_string", &library->errorText},
                 {"ompi_mpi_comm_world", &library->world},
                 {"ompi_mpi_byte", &library->byte},
                 {"ompi_mpi_errors_return", &library->errorsReturn}};
  for (const auto &symbol : symbols) {
    void *found = dlsym(opened, symbol.name);
    char version[textLength * 16] = "unknown"; // other libraries have longer version texts
    int length = 0;
    if (!found && library->version)
      library->version(version, &length);
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
  library->version(version, &length);
  std::string_view name = version;
  if (!name.starts_with("Open MPI v4.") && !name.starts_with("Open MPI v5."))
    return Status::error(text("expected Open MPI 4 or 5, found ", name.substr(0, name.find(','))));
  if (int error = library->initialize(nullptr, nullptr, threadMultiple, &provided))
    return Status::error(text("MPI_Init_thread failed with error ", error));
  if (provided < threadMultiple)
    return Status::error(text("expected an MPI built for several threads, found that ",
                              name.substr(0, name.find(',')), " provides level ", provided, " of ",
                              threadMultiple));
  library->setErrors(library->world, library->errorsReturn);
  enter(library->world);
  return {};
}

void Mpi::enter(Object all) {
  communicator = all;
  library->rank(communicator, &ownRank);
  library->size(communicator, &ranks);
}

Result<std::unique_ptr<Messages>> Mpi::split(int color) {
  Object group = nullptr;
  if (Status made = check(library->split(communicator, color, ownRank, &group), "MPI_Comm_split");
      !made.ok())
    return made;
  std::unique_ptr<Mpi> members(new Mpi(library));
  members->enter(group);
  return std::unique_ptr<Messages>(std::move(members));
}

Status Mpi::check(int error, const char *what) const {
  if (!error)
    return {};
  char reason[textLength] = {};
  int length = 0;
  library->errorText(error, reason, &length);
  return Status::error(text(what, " failed: ", reason));
}

/// Below the 64 KiB, with headers, up to which Open MPI sends over TCP before the receiver answers.
static constexpr size_t blockBytes = 60 << 10;

/// Starts the transfer of each block of a message with `start(block, request)`; one without bytes
/// has one block, too. Returns MPI's error.
template <typename Bytes, typename Start>
static int forEachBlock(Bytes bytes, Messages::Requests &requests, Start &&start) {
  do {
    Bytes block = bytes.first(std::min(bytes.size(), blockBytes));
    Messages::Request request = nullptr;
    if (int error = start(block, &request))
      return error;
    requests.push_back(request);
    bytes = bytes.subspan(block.size());
  } while (!bytes.empty());
  return 0;
}

Status Mpi::send(std::span<const std::byte> bytes, int to, int tag, Requests &requests) {
  auto start = [&](std::span<const std::byte> block, Request *request) {
    return library->send(block.data(), int(block.size()), library->byte, to, tag, communicator,
                         request);
  };
  return check(forEachBlock(bytes, requests, start), "MPI_Isend");
}

Status Mpi::receive(std::span<std::byte> bytes, int from, int tag, Requests &requests) {
  auto start = [&](std::span<std::byte> block, Request *request) {
    return library->receive(block.data(), int(block.size()), library->byte, from, tag, communicator,
                            request);
  };
  return check(forEachBlock(bytes, requests, start), "MPI_Irecv");
}

Result<bool> Mpi::haveEnded(std::span<Request> requests) {
  int flag = 0;
  Status status = check(library->testAll(int(requests.size()), requests.data(), &flag,
                                         /*MPI_STATUSES_IGNORE*/ nullptr),
                        "MPI_Testall");
  if (!status.ok())
    return status;
  return flag != 0;
}

/// Yields, because ranks may outnumber the CPUs.
Status Mpi::pause() {
  sched_yield();
  return library->beats ? library->beats->lost() : Status();
}

} // namespace gradc::runtime
