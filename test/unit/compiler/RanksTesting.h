// Trainings by several ranks, which are sessions in threads, beside the same training in one
// process.
#ifndef TEST_UNIT_COMPILER_RANKSTESTING_H
#define TEST_UNIT_COMPILER_RANKSTESTING_H

#include "dialects/Pch.h"

#include "compiler/Compiler.h"
#include "runtime/core/Session.h"
#include "test/unit/runtime/ThreadRanks.h"

#include "mlir/IR/Diagnostics.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

namespace gradc::test {

using namespace gradc::runtime;
using gradc::runtime::test::ThreadRanks;

/// The number of steps of each training; GRADC_TEST_STEPS sets it.
extern const int steps;

/// The spec of an example, or of another folder, from which text that matches `drop` is removed,
/// and to which `add` is appended.
struct Case {
  std::string example, drop, add;
  std::pair<std::string, std::string> edit = {}; ///< a pattern and its replacement
  bool isF64 = false;
  int servers = 0; ///< number of servers, which are the last ranks
  /// The number of ranks that have one replica of the model; a split is then over replicas.
  int modelRanks = 1;
  double learningRate = 0.125; ///< of all steps
};

/// The spec of a case, with absolute paths.
std::string specOf(const Case &wanted);

/// The artifact of a spec, or the compiler's messages if it fails.
struct Compiled {
  std::string bytes, said;

  explicit Compiled(const std::string &spec, bool isF64 = false) {
    auto context = createContext();
    mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
        said += diagnostic.str() + "\n";
      return mlir::success();
    });
    // A file of this process only, because shards of the tests run concurrently.
    std::string path = GRADC_TEST_SPECS "/ranks." + std::to_string(getpid()) + ".textproto";
    std::ofstream(path) << spec;
    CompileOptions options;
    options.retypeF64 = isF64;
    auto imported = importFile(*context, path, options);
    std::remove(path.c_str());
    if (failed(imported))
      return;
    if (isF64)
      imported->ranges.clear(); // the model, which stays f32, has no place for such states
    auto program = planProgram(std::move(*imported), options);
    if (failed(program))
      return;
    auto artifact = compileProgram(*program, GRADC_TEST_SPECS, options);
    if (succeeded(artifact))
      bytes = std::move(*artifact);
  }
};

using Bytes = std::vector<char>;

/// A rank's inputs and outputs of a step: one buffer per port.
class Rank {
public:
  Rank(std::shared_ptr<const Artifact> from, int threads, Communicator *ranks = nullptr)
      : artifact(std::move(from)) {
    auto made = Session::create(artifact, {threads, "", ranks});
    if (!made)
      throw std::runtime_error(made.status().message());
    session = std::move(*made);
    entry = session->findEntry("train");
    for (const auto &port : ports(entry->inputs))
      inputs.emplace_back(port.tensor.bytes);
    for (const auto &port : ports(entry->outputs))
      if (port.role != GRADC_ROLE_INDICES)
        outputs.emplace_back(port.tensor.bytes);
  }

  int64_t batch() const { return entry->batch; }
  int64_t wrongIndex = -1;     ///< in place of all integers, unless it is negative
  double learningRate = 0.125; ///< in place of the spec's

  /// Runs step `number` on rows [begin, end) of a batch that depends on the number alone.
  Status run(int number, int64_t begin, int64_t end, Communicator *ranks) {
    EXPECT_TRUE(session->setRanks(ranks).ok());
    std::mt19937 random{unsigned(number)};
    std::vector<const void *> in;
    std::vector<void *> out;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto &port = ports(entry->inputs)[i];
      fill(port, inputs[i], random, number);
      size_t row = port.batched ? inputs[i].size() / size_t(batch()) : 0;
      std::copy(inputs[i].begin() + long(row * size_t(begin)),
                inputs[i].begin() + long(row * size_t(end)), inputs[i].begin());
      in.push_back(gradc_role_counts_rows(port.role) ? nullptr : inputs[i].data());
    }
    for (Bytes &output : outputs)
      out.push_back(output.data());
    return session->run(*entry, in, out, end - begin);
  }

  /// The outputs of the last step, except those less exact than states, followed by all states. The
  /// error of a tensor is relative to its largest element.
  std::vector<std::vector<double>> values() {
    std::vector<std::vector<double>> all;
    size_t i = 0;
    for (const auto &port : ports(entry->outputs))
      if (isShown(port))
        all.push_back(numbers(port.tensor.dtype, outputs[i++]));
    for (size_t s = 0; s < artifact->states().size(); ++s) {
      Bytes bytes(artifact->states()[s].tensor.bytes);
      EXPECT_TRUE(session->readState(uint32_t(s), bytes.data()).ok());
      all.push_back(numbers(artifact->states()[s].tensor.dtype, bytes));
    }
    return all;
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const auto &port : ports(entry->outputs))
      if (isShown(port))
        all.emplace_back(artifact->string(port.tensor.name));
    for (const auto &state : artifact->states())
      all.emplace_back(artifact->string(state.tensor.name));
    return all;
  }

private:
  bool isShown(const gradc_artifact_port &port) const {
    return port.role != GRADC_ROLE_INDICES &&
           artifact->states()[0].tensor.dtype != uint32_t(GRADC_F64);
  }

  std::span<const gradc_artifact_port> ports(gradc_range range) const {
    return artifact->elements<gradc_artifact_port>(range);
  }

  void fill(const gradc_artifact_port &port, Bytes &bytes, std::mt19937 &random, int step) {
    auto set = [&](auto value) {
      using T = decltype(value());
      for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
        T one = value();
        std::memcpy(&bytes[i], &one, sizeof one);
      }
    };
    auto setReal = [&](auto value) {
      if (port.tensor.dtype == GRADC_F64)
        set([&] { return double(value()); });
      else
        set([&] { return float(value()); });
    };
    if (port.role == GRADC_ROLE_LEARNING_RATE)
      setReal([&] { return learningRate; });
    else if (port.role == GRADC_ROLE_STEP)
      setReal([&] { return step; });
    else if (port.role == GRADC_ROLE_COUNTER || port.role == GRADC_ROLE_SEED)
      set([&] { return int32_t(step); });
    else if (port.role == GRADC_ROLE_LOSS_SCALE)
      setReal([] { return 1024; });
    else if (port.tensor.dtype == GRADC_I64 && wrongIndex >= 0)
      set([&] { return int64_t(wrongIndex); });
    else if (port.tensor.dtype == GRADC_I64)
      set([&] { return int64_t(random() % uint64_t(port.classes ? port.classes : 10)); });
    else
      setReal([&] { return double(random() % 4096) / 1024 - 2; });
  }

  static std::vector<double> numbers(uint32_t dtype, const Bytes &bytes) {
    std::vector<double> all;
    auto read = [&](auto zero) {
      for (size_t i = 0; i + sizeof zero <= bytes.size(); i += sizeof zero) {
        std::memcpy(&zero, &bytes[i], sizeof zero);
        all.push_back(double(zero));
      }
    };
    switch (dtype) {
    case GRADC_F32:
      read(float());
      break;
    case GRADC_F64:
      read(double());
      break;
    case GRADC_BOOL:
      read(char());
      break;
    default:
      read(int64_t());
    }
    return all;
  }

  std::shared_ptr<const Artifact> artifact;
  std::unique_ptr<Session> session;
  const gradc_artifact_entry *entry;
  std::vector<Bytes> inputs, outputs;
};

std::shared_ptr<const Artifact> open(const Compiled &compiled);

/// Trains in one process, with the program of `alone`, and as ranks (or replicas of the model)
/// whose numbers of rows of each batch `splits` lists, and expects the same numbers.
void expectTheSame(const Case &alone, const Case &wanted,
                   const std::vector<std::vector<int64_t>> &splits, double tolerance);
void expectTheSame(const Case &wanted, const std::vector<std::vector<int64_t>> &splits,
                   double tolerance);

/// An optimizer with which a step's updates are its gradients, and a pattern of the text that it
/// replaces.
inline const std::string sgd = "optimizer { sgd { learning_rate: 1 } }\n";
inline const std::string dropped = "\\n(optimizer|micro_batches|ema|clip|group|schedule)[ :].*";

} // namespace gradc::test

#endif
