// The checks of an artifact's records: a message for each kind of impossible content under a valid
// hash.
#include "test/unit/runtime/core/artifact/ArtifactTesting.h"

#include <functional>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// The message after changing one record of the test model.
template <typename Record>
std::string errorAfter(const std::function<gradc_range(const Artifact &)> &where, size_t index,
                       const std::function<void(Record &)> &change) {
  Bytes blob = makeTestModel();
  auto artifact = openBytes(blob);
  gradc_range range = where(**artifact);
  EXPECT_LT(index, range.count);
  change(reinterpret_cast<Record *>(blob.data() + range.offset)[index]);
  sealHash(blob);
  return errorOf(blob);
}

template <typename Record>
std::string errorInLevel(gradc_range gradc_artifact_level::*member, size_t index,
                         const std::function<void(Record &)> &change) {
  return errorAfter<Record>([&](const Artifact &a) { return a.levels()[0].*member; }, index,
                            change);
}

/// Entry 0 is "train", whose launch 1 reads the arena and a buffer, and writes the buffer.
std::string errorInLaunch(const std::function<void(gradc_artifact_node &)> &change) {
  auto where = [](const Artifact &a) {
    return a.elements<gradc_artifact_entry>(a.levels()[0].entries)[0].nodes;
  };
  return errorAfter<gradc_artifact_node>(where, 1, change);
}

std::string errorInSlice(size_t index, const std::function<void(gradc_artifact_slice &)> &change) {
  auto where = [](const Artifact &a) {
    auto &entry = a.elements<gradc_artifact_entry>(a.levels()[0].entries)[0];
    return a.elements<gradc_artifact_node>(entry.nodes)[1].slices;
  };
  return errorAfter<gradc_artifact_slice>(where, index, change);
}

std::string errorInOutput(const std::function<void(gradc_artifact_port &)> &change) {
  auto where = [](const Artifact &a) {
    return a.elements<gradc_artifact_entry>(a.levels()[0].entries)[0].outputs;
  };
  return errorAfter<gradc_artifact_port>(where, 0, change);
}

TEST(Artifact, ChecksStates) {
  auto states = [](const Artifact &a) { return a.header().states; };
  auto error = [&](const std::function<void(gradc_artifact_state &)> &change) {
    return errorAfter<gradc_artifact_state>(states, 1, change);
  };
  const std::string prefix = "corrupt artifact: state 1: ";
  EXPECT_EQ(error([](auto &s) { s.tensor.dtype = 8; }), prefix + "unknown element type 8");
  EXPECT_EQ(error([](auto &s) { s.tensor.bytes = 95; }),
            prefix + "expected a tensor size of 96, found 95");
  EXPECT_EQ(error([](auto &s) { s.kind = 6; }), prefix + "unknown kind 6");
  EXPECT_EQ(error([](auto &s) { s.kind = GRADC_STATE_DERIVED; }),
            prefix + "a derived state that is sharded, or in the model");
  EXPECT_EQ(error([](auto &s) { s.initial.count = 4; }),
            prefix + "expected initial values of 96, found 4");
  auto places = [](const Artifact &a) { return a.states()[1].places; };
  auto placeError = [&](const std::function<void(gradc_artifact_place &)> &change) {
    return errorAfter<gradc_artifact_place>(places, 1, change);
  };
  EXPECT_EQ(placeError([](auto &p) { p.offset = 97; }),
            prefix + "its place in the model lies outside the model");
  EXPECT_EQ(placeError([](auto &p) { p.offset = ~uint64_t(0); }),
            prefix + "its place in the model lies outside the model");
  EXPECT_EQ(placeError([](auto &p) { p.dtype = GRADC_I16; }),
            prefix + "a place in the model of element type 5");
  EXPECT_EQ(placeError([](auto &p) { p.dtype = GRADC_BF16; }), // the other place has f32
            prefix + "a place in the model of element type 16");
  // Half as many bytes fit further behind.
  auto shortError = [&](uint64_t offset) {
    return errorAfter<gradc_artifact_place>(places, 0, [&](gradc_artifact_place &first) {
      gradc_artifact_place &second = (&first)[1];
      first.dtype = second.dtype = GRADC_BF16;
      second.offset = offset;
    });
  };
  EXPECT_EQ(shortError(144), "");
  EXPECT_EQ(shortError(145), prefix + "its place in the model lies outside the model");
  EXPECT_EQ(error([](auto &s) {
              s.tensor.shape.count = 1;
              s.tensor.bytes = 24;
              s.initial.count = 24;
            }),
            prefix + "a transposed place of a state of rank 1");
  EXPECT_NE(error([](auto &s) {
              s.places.count = uint64_t(1) << 62;
            }).find(prefix + "places in the model lie outside"),
            std::string::npos);
  EXPECT_EQ(error([](auto &s) { s.tensor.name = 1 << 30; }),
            prefix + "name lies outside the strings");
  EXPECT_EQ(error([](auto &s) { s.rule = 1 << 30; }), prefix + "rule lies outside the strings");
  EXPECT_NE(error([](auto &s) {
              s.tensor.shape.count = uint64_t(1) << 62;
            }).find(prefix + "dims lie outside the artifact"),
            std::string::npos);
}

TEST(Artifact, DerivedStatesAreLastAndHidden) {
  Bytes blob = makeTestModel();
  gradc_range records = (*openBytes(blob))->header().states;
  auto errorOfDerived = [&](std::initializer_list<size_t> derived) {
    Bytes changed = blob;
    auto *states = reinterpret_cast<gradc_artifact_state *>(changed.data() + records.offset);
    for (size_t i : derived) {
      states[i].kind = GRADC_STATE_DERIVED;
      states[i].places.count = 0;
    }
    sealHash(changed);
    auto artifact = openBytes(changed);
    if (artifact) {
      EXPECT_EQ((*artifact)->states().size(), 3 - derived.size());
      EXPECT_EQ((*artifact)->storedStates().size(), 3u);
      EXPECT_FALSE((*artifact)->findState("unused"));
    }
    return artifact.status().message();
  };
  EXPECT_EQ(errorOfDerived({2}), "");
  EXPECT_EQ(errorOfDerived({0}), "corrupt artifact: state 1: expected it before derived states");
  EXPECT_EQ(
      errorOfDerived({1, 2}), // level 0 has buffers of state 1
      "corrupt artifact: level x86-64-v3: expected an entry derive: without inputs and outputs");
}

TEST(Artifact, ChecksTheJob) {
  auto job = [](const Artifact &a) { return a.header().job; };
  auto error = [&](size_t i, const std::function<void(gradc_artifact_value &)> &change) {
    return errorAfter<gradc_artifact_value>(job, i, change);
  };
  EXPECT_EQ(error(1, [](auto &v) { v.next_sibling = 0; }),
            "corrupt artifact: job: value 1 links to value 0");
  EXPECT_EQ(error(2, [](auto &v) { v.first_child = 3; }),
            "corrupt artifact: job: value 2 links to value 3");
  EXPECT_EQ(error(0, [](auto &v) { v.kind = 9; }),
            "corrupt artifact: job: unknown kind of value 9");
  EXPECT_EQ(error(2, [](auto &v) { v.as.string = uint64_t(1) << 40; }),
            "corrupt artifact: job: text lies outside the strings");
}

TEST(Artifact, ChecksBuffersAndKernels) {
  const std::string prefix = "corrupt artifact: level x86-64-v3: ";
  auto buffer = [](size_t i, const std::function<void(gradc_artifact_buffer &)> &change) {
    return errorInLevel<gradc_artifact_buffer>(&gradc_artifact_level::buffers, i, change);
  };
  EXPECT_EQ(buffer(0, [](auto &b) { b.state = 9; }), prefix + "a buffer of state 9 of 3");
  EXPECT_EQ(buffer(0, [](auto &b) { b.bytes = 64; }),
            prefix + "expected a buffer of 4096, found 64");
  EXPECT_EQ(buffer(1, [](auto &b) { b.kind = GRADC_BUFFER_MIRROR; }),
            prefix + "expected one primary buffer before the mirrors of state weight");
  EXPECT_EQ(buffer(1, [](auto &b) { b.kind = 3; }), prefix + "a buffer of unknown kind 3");
  EXPECT_EQ(buffer(0, [](auto &b) { b.cut = 1; }),
            prefix + "expected a cut of as many elements as state total stores");
  auto kernel = [](const std::function<void(gradc_artifact_kernel &)> &change) {
    return errorInLevel<gradc_artifact_kernel>(&gradc_artifact_level::kernels, 0, change);
  };
  EXPECT_EQ(kernel([](auto &k) { k.units = -1; }),
            prefix + "kernel double_rows: impossible units -1 or grain 4");
  EXPECT_EQ(kernel([](auto &k) { k.rows = -1; }),
            prefix + "kernel double_rows: impossible rows -1 or tile 0");
  EXPECT_EQ(kernel([](auto &k) { k.rows = 1; }),
            prefix + "kernel double_rows: impossible rows 1 or tile 0");
  EXPECT_EQ(kernel([](auto &k) { k.rows = k.tile = k.per = 1; }),
            prefix + "kernel double_rows: impossible units of rows: 0 times, 1 together");
  EXPECT_EQ(kernel([](auto &k) { k.rows = k.tile = k.per = 2, k.times = int64_t(1) << 31; }),
            prefix + "kernel double_rows: impossible units of rows: 2147483648 times, 2 together");
  EXPECT_EQ(kernel([](auto &k) { k.rows = k.tile = k.times = 1; }),
            prefix + "kernel double_rows: impossible units of rows: 1 times, 0 together");
  EXPECT_EQ(kernel([](auto &k) { k.symbol = 1 << 30; }),
            prefix + "kernel symbol lies outside the strings");
}

TEST(Artifact, ChecksEntries) {
  const std::string prefix = "corrupt artifact: level x86-64-v3: entry train: ";
  EXPECT_EQ(errorInLaunch([](auto &l) { l.as.launch.kernel = 99; }),
            prefix + "a launch of kernel 99 of 10");
  EXPECT_EQ(errorInLaunch([](auto &l) { l.operands = 4; }),
            prefix + "expected operands at most of 3, found 4");
  EXPECT_EQ(errorInLaunch([](auto &l) { l.operands = 3; }),
            prefix + "kernel accumulate_rows writes nothing");
  EXPECT_EQ(errorInSlice(0, [](auto &s) { s.offset = 128; }),
            prefix + "a slice lies outside arena 0 (4096 bytes at 128 of 4160)");
  EXPECT_EQ(errorInSlice(0, [](auto &s) { s.offset = 32; }),
            prefix + "kernel accumulate_rows: a slice at byte 32, expected a multiple of 64");
  EXPECT_EQ(errorInSlice(1, [](auto &s) { s.index = 3; }), prefix + "a slice of buffer 3 of 3");
  EXPECT_EQ(errorInSlice(1, [](auto &s) { s.space = 4; }), prefix + "a slice of unknown space 4");
  EXPECT_EQ(errorInSlice(1, [](auto &s) { s.dtype = 0; }),
            prefix + "a slice of unknown element type 0");
  EXPECT_EQ(errorInSlice(1, [](auto &s) { s.bytes = 5; }), prefix + "a slice of f32 of 5 bytes");
  EXPECT_EQ(errorInSlice(2, [](auto &s) { s.space = GRADC_SPACE_INPUT, s.index = 0; }),
            prefix + "kernel accumulate_rows writes an input");
  EXPECT_EQ(errorInOutput([](auto &p) { p.role = 77; }), prefix + "unknown role 77");
  auto spoilLimit = [](auto &p) {
    p.role = GRADC_ROLE_INDICES;
    p.classes = -3;
  };
  EXPECT_TRUE(errorInOutput(spoilLimit).starts_with(prefix + "impossible limit -3 of "));
  EXPECT_EQ(errorInOutput([](auto &p) { p.text = 1; }),
            prefix + "expected strings of loss to be bytes");
  EXPECT_EQ(errorInOutput([](auto &p) { p.role = GRADC_ROLE_PROCEED; }),
            prefix + "expected loss to be one bool");
  EXPECT_EQ(errorInOutput([](auto &p) { p.batched = 1; }),
            prefix + "expected loss to be a batch of 64 rows, found 4 bytes");
  EXPECT_EQ(errorInOutput([](auto &p) { p.slice.bytes = 8; }),
            prefix + "expected an output slice of 4, found 8");
  EXPECT_EQ(errorInLevel<gradc_artifact_entry>(&gradc_artifact_level::entries, 0,
                                               [](auto &e) { e.row_unit = 16, e.least_rows = 5; }),
            prefix + "impossible rows: a batch of 64, at least 5 groups of 16");
}

TEST(Artifact, ChecksBuckets) {
  auto error = [](const std::function<void(gradc_artifact_entry &, uint32_t &)> &change) {
    TestModelOptions options;
    options.anyRows = options.bucket = true;
    Bytes blob = makeTestModel(options);
    gradc_range all = (*openBytes(blob))->levels()[0].entries;
    auto entries = reinterpret_cast<gradc_artifact_entry *>(blob.data() + all.offset);
    gradc_artifact_entry &some = entries[all.count - 2], &few = entries[all.count - 1];
    change(few, *reinterpret_cast<uint32_t *>(blob.data() + some.buckets.offset));
    sealHash(blob);
    return errorOf(blob);
  };
  const std::string prefix = "corrupt artifact: level x86-64-v3: entry some: ";
  EXPECT_EQ(error([](auto &, auto &) {}), "");
  EXPECT_EQ(error([](auto &, auto &index) { index = 77; }), prefix + "a bucket of entry 77 of 9");
  std::string expected =
      prefix + "expected entry some.rows.4 to run in place of some on fewer rows";
  EXPECT_EQ(error([](auto &few, auto &) { few.batch = 64; }), expected);
  EXPECT_EQ(error([](auto &few, auto &) { few.inputs.count = 1; }), expected);
  EXPECT_EQ(error([](auto &few, auto &) { few.outputs.offset = few.inputs.offset; }), expected);
  EXPECT_EQ(error([](auto &few, auto &) { few.any_rows = 0; }), expected);
  EXPECT_EQ(error([](auto &few, auto &) { few.batch = 2; }), expected); // of other bytes a row
  // Indices that are constant for few rows are not checked there.
  TestModelOptions checks;
  checks.anyRows = checks.bucket = checks.checks = true;
  EXPECT_EQ(errorOf(makeTestModel(checks)), "");
  auto eachRow = [](auto &few, auto &) { few.each_row = 1; };
  EXPECT_EQ(error(eachRow), "corrupt artifact: level x86-64-v3: entry some.rows.4: expected entry "
                            "some.rows.4 to run a bucket of one row for each row");
}

TEST(Artifact, ChecksLibraryCalls) {
  auto error = [](const std::function<void(gradc_artifact_call &)> &change) {
    gradc_library_tensor square{0, 0, {1, 1, 8, 8}, {64, 64, 8, 1}};
    gradc_artifact_call call{};
    call.bias = call.kept = GRADC_NONE;
    call.lhs = call.rhs = call.result = square;
    call.result.slice = 2;
    change(call);
    TestModelOptions options;
    options.call = call;
    return errorOf(makeTestModel(options));
  };
  const std::string level = "corrupt artifact: level x86-64-v3: ";
  const std::string outside = level + "entry train: kernel accumulate_rows: a library call touches "
                                      "more than the slices of its launch";
  EXPECT_EQ(error([](auto &) {}), "");
  EXPECT_EQ(error([](auto &c) { c.role = 9; }),
            level + "kernel accumulate_rows: unknown library call 9");
  EXPECT_EQ(error([](auto &c) { c.role = GRADC_LIBRARY_CONVOLUTION; }),
            level + "kernel accumulate_rows: a library call with an impossible window");
  EXPECT_EQ(error([](auto &c) { c.lhs.slice = 3; }), outside);
  EXPECT_EQ(error([](auto &c) { c.rhs.sizes[3] = int64_t(1) << 62; }), outside);
  EXPECT_EQ(error([](auto &c) { c.result.strides[2] = -1; }), outside);
  const std::string kernel = level + "kernel accumulate_rows: ";
  EXPECT_EQ(error([](auto &c) { c.summed[0] = {-1, 1}; }),
            kernel + "a library call with impossible rows -1 in 1 pieces");
  EXPECT_EQ(error([](auto &c) { c.summed[1] = {8, 0}; }),
            kernel + "a library call with impossible rows 8 in 0 pieces");
  EXPECT_EQ(error([](auto &c) { c.epilogue = GRADC_EPILOGUE_BIAS; }),
            kernel + "a library call of epilogue 1 without a bias");
  EXPECT_EQ(error([](auto &c) { c.bias = 1; }),
            kernel + "a library call of epilogue 0 with a bias");
  EXPECT_EQ(error([](auto &c) { c.epilogue = GRADC_EPILOGUE_BIAS, c.bias = 3; }), outside);
  // Only GELU has an auxiliary matrix, and its gradient requires one.
  EXPECT_EQ(error([](auto &c) { c.epilogue = 6; }),
            kernel + "unknown epilogue 6 of library call 0");
  EXPECT_EQ(error([](auto &c) {
              c.epilogue = GRADC_EPILOGUE_GELU, c.role = GRADC_LIBRARY_FILTER_GRADIENT;
            }),
            kernel + "unknown epilogue 4 of library call 3");
  EXPECT_EQ(error([](auto &c) { c.epilogue = GRADC_EPILOGUE_GELU; }), "");
  EXPECT_EQ(error([](auto &c) { c.epilogue = GRADC_EPILOGUE_GELU, c.kept = 0; }), "");
  EXPECT_EQ(error([](auto &c) { c.epilogue = GRADC_EPILOGUE_RELU, c.kept = 0; }),
            kernel + "a library call of epilogue 2 with a matrix beside its result");
  EXPECT_EQ(error([](auto &c) { c.epilogue = GRADC_EPILOGUE_GELU_GRAD; }),
            kernel + "a library call of epilogue 8 without a matrix beside its result");
  EXPECT_EQ(error([](auto &c) { c.epilogue = GRADC_EPILOGUE_GELU_GRAD, c.kept = 3; }), outside);
}

TEST(Artifact, ExpectsEntriesThatConvertPackedStates) {
  for (const char *name : {"pack:weight", "unpack:weight"}) {
    TestModelOptions options;
    options.lacking = name;
    EXPECT_EQ(errorOf(makeTestModel(options)),
              "corrupt artifact: level x86-64-v3: expected an entry " + std::string(name));
  }
}

} // namespace
