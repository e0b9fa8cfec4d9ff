// The hash is XXH64: published values, and the same for any cut of the stream.
#include "runtime/include/gradc/hash.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace {

uint64_t hashInPieces(std::string_view text, size_t piece) {
  gradc_hasher hasher = gradc_hash_begin();
  for (size_t at = 0; at < text.size(); at += piece) {
    std::string_view part = text.substr(at, piece);
    gradc_hash_add(&hasher, part.data(), part.size());
  }
  return gradc_hash_end(&hasher);
}

TEST(Hash, IsXxh64) {
  auto hash = [](std::string_view text) { return gradc_hash(text.data(), text.size()); };
  EXPECT_EQ(hash(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(hash("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(hash("abc"), 0x44BC2CF5AD770999u);
  // More than a stripe: all four lanes and every kind of remainder.
  EXPECT_EQ(hash("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(Hash, DoesNotDependOnTheCut) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += char(i * 7);
  for (size_t length : {1, 31, 32, 33, 63, 64, 65, 999, 1000})
    for (size_t piece : {1, 3, 31, 32, 33, 64, 999}) {
      std::string_view part = std::string_view(text).substr(0, length);
      EXPECT_EQ(hashInPieces(part, piece), gradc_hash(part.data(), part.size()))
          << length << " bytes in pieces of " << piece;
    }
}

} // namespace
