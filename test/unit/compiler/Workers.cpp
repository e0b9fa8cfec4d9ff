// Forks workers; results come back through files, which outlive their writers.
#include "test/unit/compiler/Workers.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// A file in memory, which needs no folder for temporary files.
FILE *makeFile() {
  int descriptor = memfd_create("gradc-worker", MFD_CLOEXEC);
  FILE *file = descriptor < 0 ? nullptr : fdopen(descriptor, "w+");
  if (!file) {
    perror("cannot make a file in memory for the results of a worker");
    abort();
  }
  return file;
}

void write(FILE *file, size_t index, const std::string &text) {
  size_t size = text.size();
  fwrite(&index, sizeof index, 1, file);
  fwrite(&size, sizeof size, 1, file);
  fwrite(text.data(), 1, size, file);
  fflush(file);
}

void readAll(FILE *file, std::vector<std::optional<std::string>> &into) {
  rewind(file);
  size_t index, size;
  while (fread(&index, sizeof index, 1, file) == 1 && fread(&size, sizeof size, 1, file) == 1) {
    std::string text(size, '\0');
    if (fread(text.data(), 1, size, file) == size)
      into[index] = std::move(text);
  }
  fclose(file);
}

} // namespace

std::vector<std::optional<std::string>>
gradc::test::runInProcesses(size_t count, unsigned processes,
                            std::function<std::string(size_t)> task) {
  void *shared = mmap(nullptr, sizeof(std::atomic<size_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto *next = new (shared) std::atomic<size_t>(0);
  std::map<pid_t, FILE *> workers;
  std::vector<std::optional<std::string>> results(count);
  auto start = [&] {
    FILE *file = makeFile();
    fflush(nullptr); // otherwise both processes would print buffered output
    pid_t child = fork();
    if (child == 0) {
      for (size_t i; (i = next->fetch_add(1)) < count;)
        write(file, i, task(i));
      _exit(0);
    }
    workers[child] = file;
  };
  for (unsigned i = 0; i < processes; ++i)
    start();
  while (!workers.empty()) {
    int status = 0;
    auto done = workers.find(wait(&status));
    if (done == workers.end())
      continue;
    readAll(done->second, results);
    workers.erase(done);
    // The worker's task is lost; another worker takes over the rest.
    if (status != 0 && *next < count)
      start();
  }
  munmap(shared, sizeof(std::atomic<size_t>));
  return results;
}
