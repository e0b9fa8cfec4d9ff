// Artifacts as shared libraries and as executables.
#include "test/unit/runtime/core/capi/CApiTesting.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace gradc::runtime::test;

namespace {

std::string output(const std::string &command, int *exitCode) {
  std::string text;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof buffer, pipe))
    text.append(buffer, count);
  *exitCode = WEXITSTATUS(pclose(pipe));
  return text;
}

/// A compiled model as a shared library, opened.
struct Library {
  std::string path;
  void *handle;

  explicit Library(const std::string &name, float weightStart) : path(temporary(name) + ".so") {
    TestModelOptions options;
    options.weightStart = weightStart;
    writeFile(path, withArtifact(readFile(GRADC_TEST_LIBRARY_RUNNER), makeTestModel(options)));
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
  }
  ~Library() {
    dlclose(handle);
    unlink(path.c_str());
  }
  template <typename F> F *function(F *, const char *name) {
    return reinterpret_cast<F *>(dlsym(handle, name));
  }
};

float firstWeight(Library &library) {
#define FUNCTION(NAME) library.function(&NAME, #NAME)
  gradc_model *model = nullptr;
  gradc_session *session = nullptr;
  float weight[24] = {};
  EXPECT_EQ(FUNCTION(gradc_open)(nullptr, &model), GRADC_OK) << FUNCTION(gradc_last_error)();
  EXPECT_EQ(FUNCTION(gradc_session_create)(model, nullptr, &session), GRADC_OK);
  EXPECT_EQ(FUNCTION(gradc_state_get)(session, 1, weight, sizeof weight), GRADC_OK);
  FUNCTION(gradc_session_free)(session);
  FUNCTION(gradc_close)(model);
#undef FUNCTION
  return weight[0];
}

TEST(LibraryForm, TwoModelsLiveInOneProcess) {
  Library first("first", 11), second("second", 22);
  EXPECT_EQ(firstWeight(first), 11);
  EXPECT_EQ(firstWeight(second), 22);
  ASSERT_EQ(chdir("/"), 0);
  EXPECT_EQ(firstWeight(first), 11);
}

TEST(LibraryForm, ExportsTheCInterfaceAlone) {
  int code = 0;
  std::string symbols =
      output(GRADC_TEST_NM " -D --defined-only --format=posix " GRADC_TEST_LIBRARY_RUNNER, &code);
  ASSERT_EQ(code, 0) << symbols;
  size_t count = 0;
  for (size_t at = 0, end; (end = symbols.find('\n', at)) != std::string::npos; at = end + 1) {
    EXPECT_EQ(symbols.compare(at, 6, "gradc_"), 0) << symbols.substr(at, end - at);
    ++count;
  }
  EXPECT_GT(count, 25u);
}

TEST(LibraryForm, ServesACProgram) {
  std::string folder = temporary("embedded"), library = folder + "/libgradc-runner.so";
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  writeFile(library, withArtifact(readFile(GRADC_TEST_LIBRARY_RUNNER), makeTestModel()));
  int code = 0;
  std::string text = output("LD_LIBRARY_PATH=" + folder + " " GRADC_TEST_EMBED, &code);
  EXPECT_EQ(code, 0) << text;
  EXPECT_EQ(text, "step 1: loss 1008\nstep 2: loss 1008\ntotal[16] = 2\n");
  unlink(library.c_str());
  rmdir(folder.c_str());
}

TEST(ExecutableForm, SaysThatItCarriesNothing) {
  int code = 0;
  std::string text = output(GRADC_TEST_RUNNER, &code);
  EXPECT_EQ(code, GRADC_INVALID);
  EXPECT_NE(text.find("not a gradc artifact"), std::string::npos) << text;
}

TEST(ExecutableForm, IsATrainer) {
  std::string path = temporary("trainer");
  writeFile(path, withArtifact(readFile(GRADC_TEST_RUNNER), makeTestModel()));
  int code = 0;
  std::string text = output(path + " --help", &code);
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(text.find("--steps"), std::string::npos) << text;
  text = output(path + " --no-such-option", &code);
  EXPECT_EQ(code, GRADC_USAGE) << text;
  unlink(path.c_str());
}

} // namespace
