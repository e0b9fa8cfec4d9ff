// States whose initial values are codes: in pieces, through a session, and artifacts that say
// nonsense of them.
#include "runtime/core/artifact/StateCodes.h"
#include "runtime/core/Session.h"
#include "test/unit/runtime/ArtifactBuilder.h"
#include "test/unit/runtime/TestModel.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr uint32_t unused = 2; ///< the state of the test model that no entry reads

/// The test model, with codes 1, 2, 15 less 8 in that state.
Bytes modelOf(const std::function<void(gradc_artifact_state &)> &change = {}) {
  Bytes blob = makeTestModel();
  auto *header = reinterpret_cast<gradc_artifact_header *>(blob.data());
  auto &state =
      reinterpret_cast<gradc_artifact_state *>(blob.data() + header->states.offset)[unused];
  state.tensor.dtype = GRADC_I8;
  state.tensor.bytes = 3;
  state.initial.count = 2;
  state.codes = {4, 0, 3, {state.initial.offset + 4, 1}};
  constexpr uint8_t packed[] = {0x21, 0x0f, 0, 0, 8, 9};
  std::memcpy(blob.data() + state.initial.offset, packed, sizeof packed);
  if (change)
    change(state);
  sealHash(blob);
  return blob;
}

std::string errorAfter(const std::function<void(gradc_artifact_state &)> &change) {
  Bytes blob = modelOf(change);
  auto artifact = Artifact::fromMemory(blob);
  return artifact ? "" : artifact.status().message();
}

TEST(StateCodes, AreElementsToCallers) {
  Bytes blob = modelOf();
  auto artifact = Artifact::fromMemory(blob);
  ASSERT_TRUE(artifact) << artifact.status().message();
  auto session = Session::create(*artifact, {1, ""});
  ASSERT_TRUE(session) << session.status().message();
  using Elements = std::vector<int8_t>;
  Elements value(3), written = {1, 1, 1};
  EXPECT_TRUE((*session)->readState(unused, value.data()).ok());
  EXPECT_EQ(value, (Elements{-7, -6, 7}));
  EXPECT_TRUE((*session)->writeState(unused, written.data()).ok());
  EXPECT_TRUE((*session)->resetStates().ok());
  EXPECT_TRUE((*session)->readState(unused, value.data()).ok());
  EXPECT_EQ(value, (Elements{-7, -6, 7}));
}

TEST(StateCodes, AreTheSameInPieces) {
  constexpr uint64_t count = 107;
  for (uint32_t bits : {2u, 4u, 8u})
    for (uint64_t block : {uint64_t(4), uint64_t(20), count}) {
      gradc_artifact_codes form{bits, 1u << (bits - 1), block, {}};
      std::vector<uint8_t> packed(count), zeros, expected, whole(count), pieces(count);
      for (uint64_t i = 0; i < count; ++i)
        packed[i] = uint8_t(i * 37 + 11);
      for (uint64_t i = 0; i < count; i += block)
        zeros.push_back(uint8_t(3 * i + 1));
      for (uint64_t i = 0; i < count; ++i) {
        unsigned code = packed[i * bits / 8] >> i * bits % 8 & ((1u << bits) - 1);
        expected.push_back(uint8_t((code ^ form.flip) - zeros[i / block]));
      }
      StateCodes codes{form, packed.data(), zeros.data()};
      codes.unpack(0, count, whole.data());
      EXPECT_EQ(whole, expected) << bits << ' ' << block;
      for (uint64_t begin = 0; begin < count; begin += 12)
        codes.unpack(begin, std::min(begin + 12, count), pieces.data());
      EXPECT_EQ(pieces, expected) << bits << ' ' << block;
    }
}

TEST(StateCodes, FitTheState) {
  const std::string prefix = "corrupt artifact: state 2: ";
  EXPECT_EQ(errorAfter({}), "");
  EXPECT_EQ(errorAfter([](auto &s) { s.codes.bits = 3; }),
            prefix + "impossible codes of 3 bits in blocks of 3");
  EXPECT_EQ(errorAfter([](auto &s) { s.codes.flip = 16; }),
            prefix + "impossible codes of 4 bits in blocks of 3");
  EXPECT_EQ(errorAfter([](auto &s) { s.codes.block = 0; }),
            prefix + "impossible codes of 4 bits in blocks of 0");
  EXPECT_EQ(errorAfter([](auto &s) { s.codes.block = 1; }),
            prefix + "impossible codes of 4 bits in blocks of 1");
  EXPECT_EQ(errorAfter([](auto &s) { s.codes.block = 2; }),
            prefix + "expected zero points of 2, found 1");
  EXPECT_EQ(errorAfter([](auto &s) { s.codes.block = s.codes.zeros.count = 2; }), "");
  EXPECT_EQ(errorAfter([](auto &s) { s.codes.block = ~uint64_t(0); }), "");
  EXPECT_EQ(errorAfter([](auto &s) { s.initial.count = 3; }),
            prefix + "expected initial values of 2, found 3");
  EXPECT_EQ(errorAfter([](auto &s) { s.codes.bits = 2; }),
            prefix + "expected initial values of 1, found 2");
  EXPECT_EQ(errorAfter([](auto &s) { s.splat = 1; }),
            prefix + "codes of elements that are no 8-bit integers");
  EXPECT_EQ(errorAfter([](auto &s) { s.tensor.dtype = GRADC_BOOL; }),
            prefix + "codes of elements that are no 8-bit integers");
  EXPECT_NE(errorAfter([](auto &s) {
              s.codes.zeros.offset = ~uint64_t(0);
            }).find(prefix + "zero points lie outside the artifact"),
            std::string::npos);
}

} // namespace
