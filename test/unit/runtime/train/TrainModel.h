// An artifact that trains, and a folder with its data.
#ifndef TEST_UNIT_RUNTIME_TRAIN_TRAINMODEL_H
#define TEST_UNIT_RUNTIME_TRAIN_TRAINMODEL_H

#include "runtime/train/Trainer.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <functional>

namespace gradc::runtime::test {

struct TrainModelOptions {
  std::string job = {};     ///< protobuf text; {} stands for the folder of the data
  std::string weight = "w"; ///< name of the one state
  uint64_t modelHash = 42;
  bool tails = true; ///< entries for smaller last batches
  bool carriesModel = true;
  int64_t ballast = 0;   ///< elements of a second state, a slot, which makes checkpoints large
  std::string rule = {}; ///< of the slot
  std::vector<std::string> levels = {"x86-64-v3"};
  std::vector<std::string> evaluateOne = {}; ///< names of entries like evaluate, for one row
};

/// State w f32[4] (0.1, 0.2, 0.3, 0.4). Entries train (8 rows), train.tail (3), evaluate (8), and
/// evaluate.tail (1) over images f32 [2, 2] and labels i64 of 10 classes; kernels.c contains the
/// arithmetic. The "ONNX model" is "before " + w + " after".
Bytes makeTrainModel(const TrainModelOptions &options);

/// A job over digits.npz: 43 training rows, 17 rows to evaluate on.
constexpr const char *digitsJob = R"(
  directory: "{}"
  optimizer { sgd { learning_rate: 0.02 } }
  data { source { npz { path: "digits.npz" rows { end: 43 } } }
         map { field: "images" cast: F32 scale: 0.01 }
         shuffle { } batch { size: 8 } prefetch { } }
  evaluation { data { source { npz { path: "digits.npz" rows { begin: 43 } } }
                      map { field: "images" cast: F32 scale: 0.01 } batch { size: 8 } } }
  epochs: 4 seed: 7)";

/// The job with further fields.
inline std::string digitsJobWith(std::string_view more) { return digitsJob + std::string(more); }

/// A training, with the loss of each step.
struct Trained : TrainSummary {
  std::vector<float> losses;
};

/// A model, its data, and trainings of it.
class TrainTest : public testing::Test {
protected:
  TrainTest();

  /// Uses the job of the options unchanged, or `digitsJob`.
  void make(TrainModelOptions model = {});
  /// Trains quietly on one thread with these options.
  Result<Trained> train(TrainOptions options = {});
  /// Runs trainerMain with these arguments in this process.
  int main(std::vector<std::string> arguments);
  /// Runs it in a separate process, which `prepare` may limit; returns the process id.
  pid_t start(std::vector<std::string> arguments, const std::function<void()> &prepare = {});
  /// The exit code, or 1000 + the number of the signal that killed the process.
  static int wait(pid_t process);
  /// Waits until `run` contains a checkpoint of a later step than `step`. That may take long on a
  /// slow machine: only a minute without a checkpoint is a failure.
  static void waitForCheckpoint(const std::string &run, int64_t step = 0);

  std::shared_ptr<const Artifact> artifact;
  Bytes blob;
  TemporaryFolder folder;
};

} // namespace gradc::runtime::test

#endif
