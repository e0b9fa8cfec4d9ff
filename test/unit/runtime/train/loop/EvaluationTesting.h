// Trainings with evaluations, and what their logs say.
#ifndef TEST_UNIT_RUNTIME_TRAIN_LOOP_EVALUATIONTESTING_H
#define TEST_UNIT_RUNTIME_TRAIN_LOOP_EVALUATIONTESTING_H

#include "test/unit/runtime/train/TrainModel.h"

#include <algorithm>

namespace gradc::runtime::test {

class EvaluationTesting : public TrainTest {
protected:
  /// digitsJob with these fields in its evaluation, and further blocks; `ballast` as for the model.
  void makeWith(const std::string &evaluation, const std::string &more, const char *rate = "0.02",
                int64_t ballast = 0) {
    std::string job = digitsJob;
    job.replace(job.find("evaluation { "), 13, "evaluation { " + evaluation + " ");
    job.replace(job.find("0.02"), 4, rate);
    make({.job = job + " " + more, .ballast = ballast});
  }
  /// Values in the log's lines of one event: the text after `"key":`.
  std::vector<std::string> logged(const std::string &file, const std::string &event,
                                  const std::string &key) {
    std::vector<std::string> found;
    for (const std::string &line : linesOf(file))
      if (line.find("{\"event\":\"" + event + "\"") == 0) {
        size_t begin = line.find("\"" + key + "\":");
        begin = begin == line.npos ? begin : begin + key.size() + 3;
        found.push_back(
            begin == line.npos ? "" : line.substr(begin, line.find_first_of(",}", begin) - begin));
      }
    return found;
  }
  /// The index of the first lowest of these values, as logged; values before `from` do not count.
  static size_t lowest(const std::vector<std::string> &values, size_t from = 0) {
    auto first = values.begin() + std::min(from, values.size());
    return std::ranges::min_element(first, values.end(), {},
                                    [](const std::string &value) { return std::stod(value); }) -
           values.begin();
  }
};

} // namespace gradc::runtime::test

#endif
