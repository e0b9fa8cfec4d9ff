// Builds, runs and compares the trainings.
#include "test/unit/compiler/RanksTesting.h"

#include "runtime/core/artifact/Shards.h"

#include <regex>
#include <sstream>

using namespace gradc;
using namespace gradc::test;

const int gradc::test::steps =
    std::getenv("GRADC_TEST_STEPS") ? std::atoi(std::getenv("GRADC_TEST_STEPS")) : 3;

std::string gradc::test::specOf(const Case &wanted) {
  bool isPath = wanted.example.front() == '/';
  std::string folder = (isPath ? "" : GRADC_EXAMPLES "/") + wanted.example;
  std::ifstream file(folder + "/train.textproto");
  std::stringstream text;
  text << file.rdbuf();
  std::string spec = std::regex_replace(text.str(), std::regex("(path|model): \"([^/])"),
                                        "$1: \"" + folder + "/$2");
  if (!wanted.drop.empty())
    spec = std::regex_replace(spec, std::regex(wanted.drop), "");
  if (!wanted.edit.first.empty())
    spec = std::regex_replace(spec, std::regex(wanted.edit.first), wanted.edit.second);
  return spec + wanted.add + "\n";
}

std::shared_ptr<const Artifact> gradc::test::open(const Compiled &compiled) {
  auto artifact =
      Artifact::fromMemory(std::as_bytes(std::span(compiled.bytes.data(), compiled.bytes.size())));
  EXPECT_TRUE(artifact) << compiled.said << artifact.status().message();
  return artifact ? *artifact : nullptr;
}

/// The largest difference between the numbers of two steps, relative to the largest of each tensor.
static double worstOf(const std::vector<std::vector<double>> &found,
                      const std::vector<std::vector<double>> &expected,
                      const std::vector<std::string> &names, std::string &where) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double scale = 1e-3, error = 0;
    for (double v : expected[i])
      scale = std::max(scale, std::abs(v));
    for (size_t k = 0; k < expected[i].size(); ++k) {
      double distance = std::abs(found[i][k] - expected[i][k]) / scale;
      error = std::isnan(distance) ? INFINITY : std::max(error, distance);
    }
    if (error > worst) {
      worst = error;
      where = names[i];
    }
  }
  return worst;
}

void gradc::test::expectTheSame(const Case &alone, const Case &wanted,
                                const std::vector<std::vector<int64_t>> &splits, double tolerance) {
  Compiled compiled(specOf(wanted), wanted.isF64), single(specOf(alone), alone.isF64);
  auto artifact = open(compiled), one = open(single);
  ASSERT_TRUE(artifact);
  ASSERT_TRUE(one);
  ASSERT_EQ(shardsOf(*artifact), uint64_t(wanted.modelRanks));
  for (const std::vector<int64_t> &rows : splits) {
    Rank whole(one, 1);
    whole.learningRate = alone.learningRate;
    std::vector<std::unique_ptr<Rank>> parts;
    ThreadRanks world(int(rows.size()) * wanted.modelRanks, wanted.servers, wanted.modelRanks);
    for (int i = 0; i < int(rows.size()) * wanted.modelRanks; ++i)
      parts.push_back(std::make_unique<Rank>(
          artifact, 1 + i % 2, wanted.modelRanks > 1 ? world.communicator(i) : nullptr));
    for (const std::unique_ptr<Rank> &part : parts)
      part->learningRate = wanted.learningRate;
    for (int step = 1; step <= steps; ++step) {
      ASSERT_EQ(whole.run(step, 0, whole.batch(), nullptr).message(), "");
      world.run([&](int rank) {
        int64_t begin = 0;
        auto replica = size_t(rank / wanted.modelRanks);
        for (size_t before = 0; before < replica; ++before)
          begin += rows[before];
        EXPECT_EQ(parts[size_t(rank)]
                      ->run(step, begin, begin + rows[replica], world.communicator(rank))
                      .message(),
                  "");
      });
      std::vector<std::vector<std::vector<double>>> found(parts.size());
      // All ranks together, since reading divided states is collective.
      world.run([&](int rank) { found[size_t(rank)] = parts[size_t(rank)]->values(); });
      std::string where;
      double worst = worstOf(found[0], whole.values(), whole.names(), where);
      EXPECT_LT(worst, tolerance) << where << " in step " << step;
      for (size_t i = 1; i < parts.size(); ++i)
        EXPECT_EQ(found[i], found[0]) << "rank " << i;
    }
  }
}

void gradc::test::expectTheSame(const Case &wanted, const std::vector<std::vector<int64_t>> &splits,
                                double tolerance) {
  expectTheSame(wanted, wanted, splits, tolerance);
}
