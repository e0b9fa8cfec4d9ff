// A training loop of one's own in C++: two optimizers on two groups, one by the job's schedule, the
// other by one of the program's, which halves the rate whenever the loss has stopped falling.
#include "gradc/gradc.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

namespace {

constexpr int batch = 32, pixels = 64, classes = 10, steps = 200, window = 25;

void check(gradc_status status) {
  if (status == GRADC_OK)
    return;
  std::fprintf(stderr, "error: %s\n", gradc_last_error());
  std::exit(int(status));
}

/// Class c is a bright diagonal that begins in pixel 5c, in noise.
struct Batch {
  std::vector<float> images = std::vector<float>(batch * pixels);
  std::vector<int64_t> labels = std::vector<int64_t>(batch);

  void fill(std::mt19937 &random) {
    std::uniform_real_distribution<float> noise(0, 0.3f);
    for (int n = 0; n < batch; ++n) {
      labels[n] = int64_t(random() % classes);
      for (int p = 0; p < pixels; ++p)
        images[n * pixels + p] = noise(random);
      for (int p = 5 * int(labels[n]); p < pixels; p += 9)
        images[n * pixels + p] += 0.7f;
    }
  }
};

/// A rate that is halved after a window of steps that is no better than the one before.
class Halving {
public:
  explicit Halving(float rate) : now(rate) {}
  float rate() const { return now; }
  void observe(float loss) {
    sum += loss;
    if (++count < window)
      return;
    if (!(sum < 0.9 * best))
      now /= 2;
    best = std::min(best, sum);
    sum = count = 0;
  }

private:
  float now;
  double sum = 0, best = INFINITY;
  int count = 0;
};

} // namespace

int main(int argc, char **argv) {
  gradc_model *opened = nullptr;
  gradc_session *made = nullptr;
  check(gradc_open(nullptr, &opened)); // the one in the library that this program links
  std::unique_ptr<gradc_model, decltype(&gradc_close)> model(opened, gradc_close);
  check(gradc_session_create(opened, nullptr, &made));
  std::unique_ptr<gradc_session, decltype(&gradc_session_free)> session(made, gradc_session_free);

  std::mt19937 random(7);
  Batch rows;
  Halving biases(0.05f);
  for (int step = 0; step < steps; ++step) {
    rows.fill(random);
    gradc_step_options options = {};
    options.size = sizeof options;
    gradc_rate_query query = {};
    query.size = sizeof query;
    query.steps = step;
    query.run_steps = steps;
    check(gradc_learning_rate(opened, &query, &options.learning_rate));
    options.learning_rate = std::max(options.learning_rate, 1e-6f); // a warm-up begins at 0
    gradc_group_rate rate = {sizeof rate, "*.bias", biases.rate()};
    options.rates = &rate;
    options.rate_count = 1;

    const void *data[] = {rows.images.data(), rows.labels.data()};
    gradc_step_result result = {};
    result.size = sizeof result;
    check(gradc_train_step_with(made, &options, data, 2, &result));
    biases.observe(result.loss);
    if (result.step == 1 || result.step % 50 == 0)
      std::printf("step %3lld  loss %.4f  weights %.1e  biases %.1e\n",
                  static_cast<long long>(result.step), double(result.loss),
                  double(options.learning_rate), double(rate.learning_rate));
  }
  if (argc > 1)
    check(gradc_export_onnx(made, argv[1]));
}
