// Operators of ONNX Runtime's domain on weights in blocks. Expected numbers are those of ONNX
// Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

/// TensorProto's numbers of narrow types.
enum { UINT4 = 21, INT4 = 22, FLOAT4 = 23 };

class QuantizedBlocksTest : public OneNodeTest {};

/// Codes that differ.
std::vector<uint8_t> someBytes(unsigned count) {
  std::vector<uint8_t> bytes(count);
  for (unsigned i = 0; i < count; ++i)
    bytes[i] = uint8_t(i * 37);
  return bytes;
}

/// [1, 20] times the transpose of [2, 20] in blocks of 16: the second block of a row is partly
/// used.
OneNode blocks(int64_t bits) {
  OneNode one = contrib("MatMulNBits");
  std::vector<float> x(20);
  for (unsigned i = 0; i < 20; ++i)
    x[i] = float(i % 5) - 2;
  one.input({1, 20}, x).bytes({2, 2, 2 * bits}, someBytes(8 * unsigned(bits)));
  one.floats({2, 2}, {0.5, 1, 2, 0.25}).set("K", int64_t(20)).set("N", int64_t(2));
  return one.set("bits", bits).set("block_size", int64_t(16)).set("accuracy_level", int64_t(4));
}

TEST_F(QuantizedBlocksTest, MultipliesByCodesInBlocks) {
  expect(blocks(4), {1, 2}, {10.5, 35.75});
  expect(blocks(8), {1, 2}, {200, 322});
  expect(blocks(4).bytes({2, 1}, {0x3a, 0xf0}).nothing().floats({2}, {1, 2}), {1, 2}, {23.5, 2.25});
  expect(blocks(4).floats({2, 2}, {1, 2, 3, 4}), {1, 2}, {15.5, 17.75});
}

TEST_F(QuantizedBlocksTest, BlocksSayWhatTheyExpect) {
  expectFails(blocks(4).nothing().input({20}, {}, INT32), {"cannot take g_idx, found operand 4"});
  expectFails(blocks(4).set("weight_prepacked", int64_t(1)),
              {"cannot take weights in another order than ONNX's"});
  expectFails(blocks(4).nothing().nothing().floats({3}, {1, 2, 3}),
              {"expected a bias of 2 elements, found operand 5"});
  expectFails(blocks(4).bytes({3}, {1, 2, 3}), {"expected 2 bytes of codes, found operand 3"});
  expectFails(blocks(4).floats({3}, {1, 2, 3}),
              {"expected 4 numbers, one for each block, found operand 3"});
  expectFails(contrib("MatMulNBits")
                  .input({1, 32})
                  .input({2, 1, 16}, {}, UINT8)
                  .floats({2}, {1, 1})
                  .set("K", int64_t(32))
                  .set("N", int64_t(2))
                  .set("block_size", int64_t(32)),
              {"expected codes that are known at compile time, found operand 1"});
  OneNode wrong = contrib("MatMulNBits").input({1, 32}).bytes({2, 1, 16}, someBytes(32));
  wrong.floats({2}, {1, 1});
  expectFails(wrong, {"expected a block_size that is a power of 2 from 16 to 1048576, found 0"});
  wrong.set("block_size", int64_t(32));
  expectFails(wrong, {"expected K of the last dim of operand 0, and N, found 0 and 0"});
  expectFails(wrong.set("bits", int64_t(3)), {"expected codes of 2, 4 or 8 bits, found 3"});
}

/// [2, 5] times the transpose of [7, 5] in blocks of 16, which go over the ends of rows.
OneNode numbered(int64_t type) {
  OneNode one = contrib("MatMulBnb4").input({2, 5}, {1, -1, 2, 0, 1, 3, 1, 0, -2, 0.5});
  one.bytes({18}, someBytes(18)).floats({3}, {0.5, 2, 4}).set("quant_type", type);
  return one.set("K", int64_t(5)).set("N", int64_t(7)).set("block_size", int64_t(16));
}

TEST_F(QuantizedBlocksTest, CodesNumberValuesOfATable) {
  expect(numbered(0), {2, 7},
         {0.8333334f, -0.5f, -0.9973959f, -1.833333f, -2.854167f, 0.02083334f, 8.333334f,
          -0.4166667f, -0.8281251f, -1.335938f, 1, 0.8333335f, -2.166667f, 2.5f});
  expect(numbered(1), {2, 7},
         {-0.6672937f, 1.02636f, 0.1511095f, 2.296243f, 2.369698f, -3.531365f, -3.204164f,
          -1.886337f, 0.0916029f, -0.3856189f, 0.0578602f, -0.7122309f, 7.999123f, 5.525392f});
}

TEST_F(QuantizedBlocksTest, NumberedValuesSayWhatTheyExpect) {
  expectFails(numbered(2), {"expected quant_type 0 (FP4) or 1 (NF4), found 2"});
  expectFails(numbered(1).set("transB", int64_t(0)),
              {"expected transB 1 (rows of K codes), found 0"});
  OneNode block = numbered(1), size = block, bytes = contrib("MatMulBnb4").input({1, 32});
  block.node().mutable_attribute(3)->set_i(24);
  expectFails(block, {"expected a block_size that is a power of 2 from 16 to 1048576, found 24"});
  size.node().mutable_attribute(1)->set_i(6);
  expectFails(size, {"expected K of the last dim of operand 0, and N, found 6 and 7"});
  bytes.set("K", int64_t(32)).set("N", int64_t(2)).set("block_size", int64_t(16));
  bytes.set("quant_type", int64_t(1));
  expectFails(OneNode(bytes).bytes({31}, someBytes(31)).floats({4}, {1, 1, 1, 1}),
              {"expected 32 bytes of codes, found operand 1"});
  expectFails(OneNode(bytes).input({32}, {}, UINT8).floats({4}, {1, 1, 1, 1}),
              {"expected codes that are known at compile time, found operand 1"});
  expectFails(OneNode(bytes).bytes({32}, someBytes(32)).floats({3}, {1, 1, 1}),
              {"expected 4 numbers, one for each block, found operand 2"});
  expectFails(OneNode(bytes).bytes({32}, someBytes(32)).input({4}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
}

TEST_F(QuantizedBlocksTest, BlocksHaveTheirTypes) {
  auto product = [](int32_t type = FLOAT) {
    OneNode one = contrib("MatMulNBits").input({1, 32}, {}, type);
    one.bytes({2, 1, 16}, someBytes(32)).set("K", int64_t(32)).set("N", int64_t(2));
    return one.set("block_size", int64_t(32));
  };
  expectFails(product(INT32).floats({2}, {1, 1}), {"expected a float as operand 0"});
  expectFails(product().input({2}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
  expectFails(product().floats({2}, {1, 1}).nothing().nothing().input({2}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
  OneNode codes = contrib("MatMulNBits").input({1, 32}).input({32}, {}, INT8).floats({2}, {1, 1});
  codes.set("K", int64_t(32)).set("N", int64_t(2)).set("block_size", int64_t(32));
  expectFails(codes, {"expected 32 bytes of codes, found operand 1"});
}

TEST_F(QuantizedBlocksTest, LooksUpRowsOfCodesInBlocks) {
  auto table = [] {
    OneNode one = contrib("GatherBlockQuantized").bytes({3, 8}, someBytes(24));
    return one.set("block_size", int64_t(16));
  };
  expect(table().ints({2, 0}).floats({3, 1}, {1, 0.5, 2}), {2, 16},
         {-16, -6, -6, -2, 4, 2,  14, 6,  -8, 12, 2, -16, 12, -12, -10, -6,
          -8,  -8, -3, -6, 2, -4, 7,  -2, -4, 1,  1, 3,   6,  5,   -5,  -8});
  expect(table().ints({2}).floats({3, 1}, {1, 0.5, 2}).bytes({3, 1}, {1, 2, 3}), {1, 16},
         {-6, 4, 4, 8, 14, 12, 24, 16, 2, 22, 12, -6, 22, -2, 0, 4});
  for (StringRef axis : {"gather_axis", "quantize_axis"}) {
    expectFails(table().ints({2}).floats({3}, {1, 1, 1}).set(axis, int64_t(axis == "gather_axis")),
                {"expected a table whose dim 0 is indexed and whose last dim has blocks"});
    expectFails(table().ints({2}).floats({3}, {1, 1, 1}).set(axis, int64_t(2)),
                {"expected an axis from -2 to 1, found 2"});
  }
  expectFails(table().ints({2}).floats({3}, {1, 1, 1}).set("bits", int64_t(3)),
              {"expected codes of 2, 4 or 8 bits, found 3"});
  expectFails(table().input({1}).floats({3}, {1, 1, 1}), {"expected an integer as operand 1"});
  expectFails(table().ints({3}).floats({3}, {1, 1, 1}),
              {"expected indices from -3 to 2 for dim 0 of operand 0"});
  expectFails(table().ints({2}).input({3}, {}, INT32), {"expected a float as operand 2"});
  expectFails(table().ints({2}).floats({2}, {1, 1}),
              {"expected 3 numbers, one for each block, found operand 2"});
  expectFails(table().ints({2}).floats({3}, {1, 1, 1}).bytes({2}, {1, 2}),
              {"expected 3 bytes of codes, found operand 3"});
}

TEST_F(QuantizedBlocksTest, RowsMayHaveCodesAsElements) {
  auto table = [](int32_t type) {
    OneNode one = contrib("GatherBlockQuantized").bytes({3, 16}, someBytes(24), type);
    return one.set("block_size", int64_t(16));
  };
  // Unlike codes in bytes, they represent themselves if there are no zero points.
  expect(table(INT4).ints({2, 0}).floats({3, 1}, {1, 0.5, 2}), {2, 16},
         {0, 10, 10, 14, -12, -14, -2, -10, 8, -4, -14, 0,  -4, 4,  6, 10,
          0, 0,  5,  2,  -6,  4,   -1, 6,   4, -7, -7,  -5, -2, -3, 3, 0});
  expect(table(UINT4).ints({2, 0}).floats({3, 1}, {1, 0.5, 2}), {2, 16},
         {0, 10, 10, 14, 20, 18, 30, 22, 8, 28, 18, 0,  28, 4,  6, 10,
          0, 0,  5,  2,  10, 4,  15, 6,  4, 9,  9,  11, 14, 13, 3, 0});
  expect(table(INT4).ints({2}).floats({3, 1}, {1, 0.5, 2}).bytes({3, 1}, {0xd1, 3}, INT4), {1, 16},
         {-6, 4, 4, 8, -18, -20, -8, -16, 2, -10, -20, -6, -10, -2, 0, 4});
  expect(table(INT4).ints({1}).floats({3, 1}, {1, 0.5, 2}).bytes({3, 1}, {0xd1, 3}, INT4), {1, 16},
         {-2.5, 2.5, 0, 3.5, 2.5, 5, 5, -2, -0.5, -1, 2, 0.5, 4.5, 1.5, -1, 2.5});
  expect(table(UINT4).ints({2}).floats({3, 1}, {1, 0.5, 2}).bytes({3, 1}, {0x21, 3}, UINT4),
         {1, 16}, {-6, 4, 4, 8, 14, 12, 24, 16, 2, 22, 12, -6, 22, -2, 0, 4});
}

TEST_F(QuantizedBlocksTest, CodesThatAreElementsHaveTheirTypes) {
  auto table = [](int32_t type) {
    OneNode one = contrib("GatherBlockQuantized").bytes({3, 16}, someBytes(24), type);
    return one.set("block_size", int64_t(16));
  };
  expectFails(table(FLOAT4).ints({2}).floats({3}, {1, 1, 1}),
              {"expected bytes, or integers of 4 bits, found operand 0"});
  expectFails(table(INT4).ints({2}).floats({3}, {1, 1, 1}).set("bits", int64_t(8)),
              {"expected bytes, or integers of 8 bits, found operand 0"});
  expectFails(table(INT4).bytes({2}, {0x10}, INT4).floats({3}, {1, 1, 1}),
              {"expected indices of 32 or 64 bits, found operand 1"});
  expectFails(table(INT4).ints({2}).bytes({3}, {0x11, 1}, INT4), {"expected a float as operand 2"});
  expectFails(table(INT4).ints({2}).floats({3}, {1, 1, 1}).bytes({3}, {0x21, 3}, UINT4),
              {"expected 3 codes of operand 0's type, found operand 3"});
  expectFails(table(INT4).ints({2}).floats({3}, {1, 1, 1}).bytes({3}, {1, 2, 3}),
              {"expected 3 codes of operand 0's type, found operand 3"});
  expectFails(table(INT4).ints({2}).floats({3}, {1, 1, 1}).bytes({2}, {1}, INT4),
              {"expected 3 codes of operand 0's type, found operand 3"});
}

} // namespace
