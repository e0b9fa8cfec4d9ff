// gradc doctor: the machine's capabilities, what is missing, and how to get it.
#include "compiler/codegen/KernelCache.h"
#include "compiler/codegen/cuda/Ptxas.h"
#include "runtime/base/ThreadTeam.h"
#include "runtime/data/image/Decode.h"
#include "runtime/device/Device.h"
#include "runtime/device/cuda/CublasLt.h"
#include "runtime/device/cuda/Cudnn.h"
#include "runtime/ranks/Ranks.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/doctor/MeasureLevel.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include <cstdio>
#include <dlfcn.h>
#include <fmt/core.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace gradc {
using namespace runtime;
namespace {

/// The value of a key in a /proc file; "unknown" if it is not found.
std::string readKey(const char *path, llvm::StringRef key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto [name, value] = llvm::StringRef(line).split(':');
    if (name.trim() == key)
      return value.trim().str();
  }
  return "unknown";
}

std::string memoryText(llvm::StringRef key) {
  int64_t kilobytes = 0;
  std::string value = readKey("/proc/meminfo", key); // "16328220 kB"
  llvm::StringRef number = value;
  if (number.consumeInteger(10, kilobytes))
    return value;
  return fmt::format("{:.1f} GiB", double(kilobytes) / 1048576);
}

struct Library {
  const char *name, *file, *what, *howToGet;
};

/// Only needed at run time for GPUs and clusters, not for training on CPUs.
constexpr Library libraries[] = {
    {"CUDA driver", "libcuda.so.1", "runs kernels on an NVIDIA GPU",
     "comes with NVIDIA's driver: apt-get install nvidia-driver, or the vendor's installer"},
    {"NCCL", "libnccl.so.2", "several GPUs", "is a package beside the CUDA toolkit: libnccl2"},
    {"MPI", "libmpi.so.40", "several processes that train together", "apt-get install libopenmpi3"},
};

void printLibrary(const Library &library) {
  void *handle = dlopen(library.file, RTLD_LAZY | RTLD_LOCAL);
  fmt::print("  {:12} {:18} {}\n", library.name, library.file,
             handle ? "found" : fmt::format("not found; {}; {}", library.what, library.howToGet));
  if (handle)
    dlclose(handle);
}

/// Prints the program that `--ranks` starts. Its package is not that of the library.
void printMpirun() {
  auto mpirun = findMpirun();
  fmt::print("  {:12} {}\n", "mpirun",
             mpirun ? fmt::format("{:18} found", *mpirun) : mpirun.status().message());
}

/// Prints the version of a CUDA library that an artifact may call, and the required version.
void printCudaLibrary(runtime::cuda::Library &&library, const char *howToGet) {
  Status opened = library.open();
  std::string found =
      opened.ok()
          ? fmt::format("{} found, version {} ({} or newer needed)", library.file(),
                        library.version(), library.oldestVersion())
          : fmt::format("{}; generated kernels run in its place; {}", opened.message(), howToGet);
  fmt::print("  {:12} {}\n", library.name(), found);
}

void printCache() {
  std::string wanted = cacheFolder();
  if (wanted.empty())
    fmt::print("kernels    not kept: GRADC_CACHE_DIR, or the home, is empty\n");
  else if (KernelCache(wanted).folder().empty())
    fmt::print("kernels    not kept: {} cannot be made, or other users may write to it\n", wanted);
  else
    fmt::print("kernels    kept in {}\n", wanted);
}

/// Whether this machine can compile and train.
int doctor() {
  auto device = createHostDevice(1);
  if (!device)
    return fail(device.status());
  fmt::print("processor  {}, {} CPUs, {} for this process\n",
             readKey("/proc/cpuinfo", "model name"), std::thread::hardware_concurrency(),
             ThreadTeam::availableCpus());
  fmt::print("memory     {}, {} available\n", memoryText("MemTotal"), memoryText("MemAvailable"));
  fmt::print("compiler   LLVM {}, its lld linked in\n", LLVM_VERSION_STRING);
  printCache();
  std::string problem;
  fmt::print("levels\n");
  auto gpu = createCudaDevice();
  std::string ptxas = gradc::cuda::findTool("ptxas");
  for (const mlir::exec::Level &level : mlir::exec::levels()) {
    const Device *runsOn = !level.isCuda() ? device->get() : gpu ? gpu->get() : nullptr;
    bool runs = runsOn && runsOn->executes(level.name);
    std::string compiles = ptxas.empty()
                               ? "no code for it: there is no ptxas, which comes with the "
                                 "CUDA toolkit (CUDA_HOME tells where it is)"
                               : "code for it with " + ptxas;
    const char *elsewhere =
        level.isCuda() ? "does not run here" : "this processor has not all of it";
    fmt::print("  {:14} {}{}\n", level.name.str(), runs ? "runs here" : elsewhere,
               level.isCuda() ? "; " + compiles : "");
  }
  fmt::print("  {}\n", gpu ? "GPU: " + (*gpu)->describe() : "no GPU: " + gpu.status().message());
  if (!mlir::exec::nativeLevel())
    problem = "this machine runs none of the levels: it needs AVX2 and FMA";
  fmt::print("runners\n");
  for (const char *runner :
       {"gradc-runner", "libgradc-runner.so", "gradc-runner-full", "libgradc-runner-full.so"}) {
    std::string path = runnerFile(runner);
    bool there = llvm::sys::fs::exists(path);
    fmt::print("  {:24} {}\n", runner, there ? "found" : "not found");
    if (!there)
      problem = "expected " + path +
                ", which gradc compile puts artifacts behind: build the target "
                "gradc again";
  }
  fmt::print("image decoders: {}\n",
             canDecodePictures() ? "libjpeg, libpng"
                                 : "not built in: install libjpeg62-turbo-dev and libpng-dev, and "
                                   "build gradc again");
  fmt::print("optional libraries, loaded where a target uses them\n");
  for (const Library &library : libraries)
    printLibrary(library);
  printMpirun();
  printCudaLibrary(
      runtime::cuda::CublasLt(),
      "it comes with the CUDA toolkit 13: developer.nvidia.com/cuda-downloads; where it is "
      "elsewhere, GRADC_LIBCUBLASLT names its file");
  printCudaLibrary(
      runtime::cuda::Cudnn(),
      "it is a package beside the CUDA toolkit: developer.nvidia.com/cudnn-downloads; where it "
      "is elsewhere, GRADC_LIBCUDNN names its file");
  std::fflush(stdout); // the problem comes last
  if (!problem.empty())
    return fail(Code::error, problem);
  fmt::print("ready to compile and train on this machine's CPUs\n");
  return exitCode(Code::ok);
}

/// Prints this machine's own numbers next to those used for its level.
int measure(bool json) {
  const mlir::exec::Level *row = mlir::exec::nativeLevel();
  if (!row)
    return fail(Code::error, "this machine runs none of the levels: it needs AVX2 and FMA");
  mlir::exec::Level own = measureLevel(*row);
  nlohmann::ordered_json text = {{"level", row->name.str()}};
  if (!json)
    fmt::print("{:18} {:>10} {:>10}\n", row->name.str(), "measured", "table");
  for (const LevelNumber &number : levelNumbers()) {
    text["measured"][number.name] = number.of(own);
    text["table"][number.name] = number.of(*row);
    if (!json)
      fmt::print("{:18} {:>10.1f} {:>10.1f} {}\n", number.name, number.of(own) / number.scale,
                 number.of(*row) / number.scale, number.unit);
  }
  if (json)
    printAsJson(text);
  return exitCode(Code::ok);
}

} // namespace

void addDoctor(CLI::App &app, Runner &run) {
  CLI::App *command = app.add_subcommand("doctor", "what this machine offers, and what is missing");
  auto measures = std::make_shared<bool>(false), json = std::make_shared<bool>(false);
  CLI::Option *measured = command->add_flag(
      "--measure", *measures, "measure the numbers by which code is scheduled, on an idle machine");
  command->add_flag("--json", *json, "print them as JSON")->needs(measured);
  command->callback([=, &run] { run = [=] { return *measures ? measure(*json) : doctor(); }; });
}

} // namespace gradc
