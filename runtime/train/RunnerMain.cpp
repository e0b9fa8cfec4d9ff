// The prelinked runner: it is a trainer if the compiler has appended an artifact.
#include "runtime/base/OwnFile.h"
#include "runtime/base/StandardStreams.h"
#include "runtime/train/Trainer.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#ifdef __GLIBCXX__
// libstdc++'s own handler prints the type of an uncaught exception, which costs 50 KB of demangler.
namespace __gnu_cxx {
void __verbose_terminate_handler();
void __verbose_terminate_handler() { std::abort(); }
} // namespace __gnu_cxx
#endif

using namespace gradc::runtime;

static Result<std::shared_ptr<Artifact>> openOwnArtifact() {
  auto path = findOwnFile();
  return path ? Artifact::open(*path) : path.status();
}

int main(int argc, char **argv) {
  occupyStandardStreams();
  // A program without unwinding tables ends where std::bad_alloc is thrown.
  std::set_new_handler([] {
    std::fputs("error: out of memory\n", stderr);
    std::_Exit(int(Code::doesNotFit));
  });
  auto artifact = openOwnArtifact();
  if (!artifact) {
    std::fprintf(stderr, "error: %s\n", artifact.status().message().c_str());
    return int(artifact.status().code());
  }
  return trainerMain(argc, argv, *artifact);
}
