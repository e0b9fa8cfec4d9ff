// Writes the artifact of a linear model with kernels in C.
#include "test/unit/runtime/train/TrainModel.h"

#include "runtime/train/checkpoint/CheckpointFolder.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

enum Kernel { train8, train3, evaluate8, evaluate1 };

class Writer : public ArtifactBuilder {
public:
  explicit Writer(const TrainModelOptions &options) : options(options) {}

  Bytes write() {
    writeState();
    if (!options.job.empty())
      header.job = JobText(options.job).put(*this);
    std::vector<gradc_artifact_level> levels;
    for (const std::string &name : options.levels) {
      gradc_artifact_level level = {};
      level.name = text(name);
      level.image = put(readFile(GRADC_TRAIN_KERNELS));
      level.buffers = put(std::vector<gradc_artifact_buffer>{{0, GRADC_BUFFER_PLAIN, 16, 0, 0}});
      level.kernels = put(std::vector<gradc_artifact_kernel>{
          kernel("train_8"), kernel("train_3"), kernel("evaluate_8"), kernel("evaluate_1")});
      std::vector<gradc_artifact_entry> entries = {entry("train", 8, train8),
                                                   entry("evaluate", 8, evaluate8)};
      if (options.tails) {
        entries.push_back(entry("train.tail", 3, train3));
        entries.push_back(entry("evaluate.tail", 1, evaluate1));
      }
      for (const std::string &name : options.evaluateOne)
        entries.push_back(entry(name.c_str(), 1, evaluate1));
      level.entries = put(entries);
      levels.push_back(level);
    }
    header.levels = put(levels);
    header.model_hash = options.modelHash;
    return finish();
  }

private:
  void writeState() {
    Bytes initial = bytesOf(std::vector<float>{0.1f, 0.2f, 0.3f, 0.4f});
    gradc_artifact_state state = {};
    state.tensor = tensor(options.weight, GRADC_F32, {4});
    state.kind = GRADC_STATE_PARAMETER;
    state.initial = put(initial);
    if (options.carriesModel) {
      Bytes model = bytesOf(std::vector<char>{'b', 'e', 'f', 'o', 'r', 'e', ' '});
      state.places = put(std::vector<gradc_artifact_place>{{model.size(), 0, 0}});
      model.insert(model.end(), initial.begin(), initial.end());
      Bytes after = bytesOf(std::vector<char>{' ', 'a', 'f', 't', 'e', 'r'});
      model.insert(model.end(), after.begin(), after.end());
      header.model = put(model);
    }
    std::vector<gradc_artifact_state> states = {state};
    if (options.ballast) {
      gradc_artifact_state ballast = {};
      ballast.tensor = tensor("ballast", GRADC_F32, {options.ballast});
      ballast.kind = GRADC_STATE_SLOT;
      ballast.splat = 1;
      if (!options.rule.empty())
        ballast.rule = text(options.rule);
      ballast.initial = put(Bytes(4));
      states.push_back(ballast);
    }
    header.states = put(states);
  }

  gradc_artifact_kernel kernel(const char *symbol) {
    gradc_artifact_kernel k = {};
    k.symbol = text(symbol);
    k.title = text("linear model");
    k.units = k.grain = 1;
    return k;
  }

  gradc_artifact_port port(const char *name, gradc_dtype dtype, std::vector<int64_t> shape,
                           gradc_role role, gradc_artifact_slice slice = {}) {
    gradc_artifact_port p = {};
    p.tensor = tensor(name, dtype, std::move(shape));
    p.role = role;
    p.slice = slice;
    return p;
  }

  gradc_artifact_entry entry(const char *name, int64_t batch, Kernel kernel) {
    bool trains = kernel == train8 || kernel == train3;
    auto size = uint64_t(batch);
    std::vector<gradc_artifact_port> inputs = {port("x", GRADC_F32, {batch, 2, 2}, GRADC_ROLE_DATA),
                                               port("y", GRADC_I64, {batch}, GRADC_ROLE_DATA)};
    inputs[0].field = text("images");
    inputs[1].field = text("labels");
    inputs[1].classes = 10;
    std::vector<gradc_artifact_slice> slices = {
        {GRADC_SPACE_INPUT, 0, 0, size * 16, GRADC_F32, 0, {}},
        {GRADC_SPACE_INPUT, 1, 0, size * 8, GRADC_I64, 0, {}}};
    if (trains) {
      inputs.push_back(port("lr", GRADC_F32, {}, GRADC_ROLE_LEARNING_RATE));
      inputs.push_back(port("step", GRADC_F32, {}, GRADC_ROLE_STEP));
      inputs.push_back(port("counter", GRADC_I32, {}, GRADC_ROLE_COUNTER));
      inputs.push_back(port("seed", GRADC_I32, {}, GRADC_ROLE_SEED));
      for (uint32_t i = 2; i < 6; ++i)
        slices.push_back({GRADC_SPACE_INPUT, i, 0, 4, inputs[i].tensor.dtype, 0, {}});
    }
    gradc_artifact_slice w = {GRADC_SPACE_BUFFER, 0, 0, 16, GRADC_F32, 0, {}};
    slices.push_back(w);
    gradc_artifact_node launch = {};
    launch.end = 1;
    launch.as.launch.kernel = kernel;
    launch.operands = uint32_t(slices.size());
    launch.node = text("dense");

    auto result = [&](uint64_t place, gradc_dtype dtype, uint64_t bytes) {
      gradc_artifact_slice slice = {GRADC_SPACE_ARENA, 0, place * 64, bytes,
                                    uint32_t(dtype),   0, {}};
      slices.push_back(slice);
      return slice;
    };
    if (trains)
      slices.push_back(w);
    std::vector<gradc_artifact_port> outputs;
    outputs.push_back(port("loss", GRADC_F32, {}, GRADC_ROLE_LOSS, result(0, GRADC_F32, 4)));
    outputs.push_back(port("accuracy", GRADC_F32, {}, GRADC_ROLE_METRIC, result(1, GRADC_F32, 4)));
    if (trains) {
      outputs.push_back(
          port("norm", GRADC_F32, {}, GRADC_ROLE_GRADIENT_NORM, result(2, GRADC_F32, 4)));
      outputs.push_back(
          port("proceed", GRADC_BOOL, {}, GRADC_ROLE_PROCEED, result(3, GRADC_BOOL, 1)));
    }
    launch.slices = put(slices);

    gradc_artifact_entry e = {};
    e.name = text(name);
    e.batch = batch;
    e.inputs = put(inputs);
    e.outputs = put(outputs);
    e.nodes = put(std::vector<gradc_artifact_node>{launch});
    e.arena = 256;
    return e;
  }

  const TrainModelOptions &options;
};

} // namespace

Bytes gradc::runtime::test::makeTrainModel(const TrainModelOptions &options) {
  return Writer(options).write();
}

TrainTest::TrainTest() {
  writeFile(folder / "digits.npz", zip(digits(60)));
  make();
}

void TrainTest::make(TrainModelOptions model) {
  if (model.job.empty())
    model.job = digitsJob;
  for (size_t at; (at = model.job.find("{}")) != model.job.npos;)
    model.job.replace(at, 2, folder.path);
  blob = makeTrainModel(model);
  auto opened = Artifact::fromMemory(blob);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  artifact = *opened;
}

Result<Trained> TrainTest::train(TrainOptions options) {
  options.quiet = true;
  options.threads = 1;
  Trained trained;
  options.onStep = [&trained, onStep = options.onStep](const StepReport &report) {
    trained.losses.push_back(report.loss);
    return !onStep || onStep(report);
  };
  auto summary = gradc::runtime::train(artifact, options);
  if (!summary)
    return summary.status();
  static_cast<TrainSummary &>(trained) = std::move(*summary);
  return trained;
}

int TrainTest::main(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "trainer");
  std::vector<char *> raw;
  for (std::string &argument : arguments)
    raw.push_back(argument.data());
  return trainerMain(int(raw.size()), raw.data(), artifact);
}

pid_t TrainTest::start(std::vector<std::string> arguments, const std::function<void()> &prepare) {
  pid_t process = fork();
  if (process)
    return process;
  prctl(PR_SET_PDEATHSIG, SIGKILL); // otherwise it would continue to train after the test is killed
  std::signal(SIGINT, SIG_DFL); // the test may run in a shell's background job, which ignores it
  if (prepare)
    prepare();
  int code = main(std::move(arguments));
  std::fflush(stderr);
  _exit(code);
}

int TrainTest::wait(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

void TrainTest::waitForCheckpoint(const std::string &run, int64_t step) {
  CheckpointFolder checkpoints(run);
  auto hasOne = [&] {
    auto steps = checkpoints.steps();
    return !steps.empty() && steps.back() > step;
  };
  for (auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1); !hasOne();
       usleep(200))
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "no checkpoint after step " << step;
}
