// Asks the libraries for each call, counts refusals, and reports them in one line.
#include "runtime/device/cuda/Libraries.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cstdlib>

namespace gradc::runtime::cuda {

void Libraries::close() {
  calls.clear();
  cudnn.reset();
  cublasLt.reset();
}

/// Rows past those of the run must be zero in both factors: 0 * NaN is NaN.
static std::vector<LibraryCall::Padding> paddingsOf(const gradc_artifact_call &call) {
  std::vector<LibraryCall::Padding> paddings;
  const gradc_library_tensor *factors[] = {&call.lhs, &call.rhs};
  for (size_t i = 0; i < std::size(factors); ++i) {
    const gradc_summed_rows &summed = call.summed[i];
    int64_t bytes = sizeof(float);
    for (int64_t size : factors[i]->sizes)
      bytes *= size;
    if (summed.row)
      paddings.push_back({factors[i]->slice, uint64_t(summed.pieces), bytes / summed.pieces,
                          summed.row * int64_t(sizeof(float))});
  }
  return paddings;
}

template <typename T> static Status openAndStart(std::unique_ptr<T> &library) {
  if (library)
    return {};
  auto opened = std::make_unique<T>();
  Status status = opened->openAndStart();
  if (status.ok())
    library = std::move(opened);
  return status;
}

/// Opens libraries that are not open yet.
Status Libraries::open(bool convolutions) {
  Status opened = openAndStart(cublasLt);
  if (!convolutions)
    return opened;
  if (Status alone = openAndStart(cudnn); !alone.ok())
    return alone;
  if (opened.ok())
    cudnn->setTransposer(*cublasLt);
  return opened.ok() ? opened : Status::error("it needs cuBLASLt: " + opened.message());
}

Result<LibraryCalls> Libraries::prepare(std::span<const gradc_artifact_call *const> wanted,
                                        uint64_t maxWorkspace) {
  const char *given = getenv("GRADC_LIBRARIES");
  std::string_view mode = given && *given ? given : "auto";
  if (mode != "auto" && mode != "off" && mode != "required")
    return Status(Code::usage,
                  text("expected GRADC_LIBRARIES to be auto, off or required, found ", mode));
  LibraryCalls prepared{std::vector<const void *>(wanted.size()), 0, ""};
  calls.clear();
  if (mode == "off")
    return prepared;
  for (bool convolutions : {false, true}) {
    auto isOurs = [&](const gradc_artifact_call *call) {
      return call && (call->role != GRADC_LIBRARY_MATMUL) == convolutions;
    };
    size_t count = std::count_if(wanted.begin(), wanted.end(), isOurs), made = 0;
    if (count == 0)
      continue;
    Status status = open(convolutions);
    Library *library = !status.ok()   ? nullptr
                       : convolutions ? static_cast<Library *>(cudnn.get())
                                      : cublasLt.get();
    std::string problem = status.message();
    for (size_t i = 0; i < wanted.size() && library; ++i) {
      if (!isOurs(wanted[i]))
        continue;
      std::unique_ptr<LibraryCall> call;
      status = library->prepare(*wanted[i], maxWorkspace, call);
      if (!status.ok()) {
        problem = status.message();
        continue;
      }
      call->paddings = paddingsOf(*wanted[i]);
      prepared.workspace = std::max(prepared.workspace, call->workspaceBytes);
      prepared.calls[i] = call.get();
      calls.push_back(std::move(call));
      ++made;
    }
    std::string note = library
                           ? text(library->name(), ' ', library->version(), " runs ", made, " of ",
                                  count, " kernels")
                           : text(convolutions ? "cuDNN" : "cuBLASLt", " is not used: ", problem);
    if (library && made < count)
      appendText(note, text(", ", problem));
    if (made < count && mode == "required")
      return Status(Code::doesNotFit, text("GRADC_LIBRARIES=required, and ", note));
    if (made < count)
      appendText(note, "; generated kernels are used");
    appendText(prepared.note, text(prepared.note.empty() ? "" : "; ", note));
  }
  return prepared;
}

} // namespace gradc::runtime::cuda
