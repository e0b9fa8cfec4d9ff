// The table of all ops but optimizers. An op has several samples if its attributes or operand types
// lead to different code.
#include "Samples.h"

#include "llvm/ADT/STLExtras.h"
#include <deque>

using namespace gradc::test;

static const std::vector<const char *> floats = {"f64", "f32", "f16", "bf16"};
static const std::vector<const char *> numbers = {"f64", "f32", "f16",  "bf16", "i64",
                                                  "i32", "i8",  "ui64", "ui32", "ui8"};
static const std::vector<const char *> elements = {"f64", "f32", "f16", "bf16",
                                                   "i64", "i32", "ui8", "i1"};
static const std::vector<const char *> bits = {"i1", "i64", "i32", "i8", "ui64", "ui8"};
static const std::vector<const char *> ints = {"i64", "i32", "i8", "ui8"};

static Sample unary(const char *ir, std::vector<const char *> types, Domain domain = Domain::any) {
  return {ir, {{"tensor<2x5xT>", domain}}, types};
}
static Sample binary(const char *ir, std::vector<const char *> types, Domain lhs = Domain::any,
                     Domain rhs = Domain::any) {
  return {ir, {{"tensor<2x5xT>", lhs}, {"tensor<2x5xT>", rhs}}, types};
}

const char *gradc::test::keep(const std::string &text) {
  static std::deque<std::string> kept;
  return kept.emplace_back(text).c_str();
}
static Sample convolution(const std::string &dims, const char *lhs, const char *rhs,
                          const std::string &window, std::vector<const char *> types = {"f64"}) {
  return {keep("grad.convolution %0, %1 dims \"" + dims + "\" window " + window + " : " + lhs +
               ", " + rhs),
          {{lhs}, {rhs}},
          types};
}

static Sample pool(const std::string &op, const char *type, const std::string &window,
                   std::vector<const char *> types = {"f64"}) {
  return {keep("grad." + op + " %0 window " + window + " : " + type), {{type}}, types};
}

static const SampleOperand indices = {"tensor<2x4xi64>", Domain::indices};
static const SampleOperand side = {"tensor<2x6xT>", Domain::positive}; // of boxes

/// A scatter with duplicates among its indices: there are more updates than targets.
static Sample scatter(const std::string &how, std::vector<const char *> types) {
  return {keep("grad.scatter %0[%1] " + how +
               " %2 dims [-1, 1] index_dims [0] : tensor<5x3xT>, tensor<8x3xT>, tensor<8xi64>"),
          {{"tensor<5x3xT>"}, {"tensor<8xi64>", Domain::indices}, {"tensor<8x3xT>"}},
          types};
}

static const std::vector<Sample> table = {
    // Elementwise
    unary("grad.neg %0 : tensor<2x5xT>", numbers),
    unary("grad.abs %0 : tensor<2x5xT>", numbers),
    unary("grad.sign %0 : tensor<2x5xT>", numbers),
    unary("grad.floor %0 : tensor<2x5xT>", floats),
    unary("grad.ceil %0 : tensor<2x5xT>", floats),
    unary("grad.round %0 : tensor<2x5xT>", floats),
    unary("grad.exp %0 : tensor<2x5xT>", floats),
    unary("grad.expm1 %0 : tensor<2x5xT>", floats),
    unary("grad.log %0 : tensor<2x5xT>", floats, Domain::positive),
    unary("grad.log1p %0 : tensor<2x5xT>", floats, Domain::positive),
    unary("grad.sqrt %0 : tensor<2x5xT>", floats, Domain::positive),
    unary("grad.rsqrt %0 : tensor<2x5xT>", floats, Domain::positive),
    unary("grad.reciprocal %0 : tensor<2x5xT>", floats),
    unary("grad.sin %0 : tensor<2x5xT>", floats),
    unary("grad.cos %0 : tensor<2x5xT>", floats),
    unary("grad.tanh %0 : tensor<2x5xT>", floats),
    unary("grad.atan %0 : tensor<2x5xT>", floats),
    unary("grad.erf %0 : tensor<2x5xT>", floats),
    unary("grad.sigmoid %0 : tensor<2x5xT>", floats),
    unary("grad.relu %0 : tensor<2x5xT>", numbers),
    unary("grad.not %0 : tensor<2x5xT>", bits),
    binary("grad.add %0, %1 : tensor<2x5xT>", numbers),
    binary("grad.sub %0, %1 : tensor<2x5xT>", numbers),
    binary("grad.mul %0, %1 : tensor<2x5xT>", numbers),
    binary("grad.div %0, %1 : tensor<2x5xT>", numbers),
    binary("grad.div %0, %1 : tensor<2x5xT>", ints, Domain::any, Domain::zero),
    binary("grad.rem %0, %1 : tensor<2x5xT>", numbers),
    binary("grad.rem %0, %1 : tensor<2x5xT>", ints, Domain::any, Domain::zero),
    binary("grad.pow %0, %1 : tensor<2x5xT>", floats, Domain::positive),
    binary("grad.maximum %0, %1 : tensor<2x5xT>", numbers),
    binary("grad.minimum %0, %1 : tensor<2x5xT>", numbers),
    binary("grad.and %0, %1 : tensor<2x5xT>", bits),
    binary("grad.or %0, %1 : tensor<2x5xT>", bits),
    binary("grad.xor %0, %1 : tensor<2x5xT>", bits),
    binary("grad.shift_left %0, %1 : tensor<2x5xT>", ints),
    binary("grad.shift_left %0, %1 : tensor<2x5xT>", ints, Domain::any, Domain::zero),
    binary("grad.shift_right %0, %1 : tensor<2x5xT>", ints),
    binary("grad.shift_right %0, %1 : tensor<2x5xT>", ints, Domain::any, Domain::zero),
    binary("grad.compare eq %0, %1 : tensor<2x5xT>", elements),
    binary("grad.compare ne %0, %1 : tensor<2x5xT>", elements),
    binary("grad.compare lt %0, %1 : tensor<2x5xT>", elements),
    binary("grad.compare le %0, %1 : tensor<2x5xT>", elements),
    binary("grad.compare gt %0, %1 : tensor<2x5xT>", elements),
    binary("grad.compare ge %0, %1 : tensor<2x5xT>", elements),
    {"grad.select %0, %1, %2 : tensor<2x5xT>",
     {{"tensor<2x5xi1>"}, {"tensor<2x5xT>"}, {"tensor<2x5xT>"}},
     elements},
    unary("grad.cast %0 : tensor<2x5xT> -> tensor<2x5xf64>", elements),
    unary("grad.cast %0 : tensor<2x5xT> -> tensor<2x5xf32>", elements),
    unary("grad.cast %0 : tensor<2x5xT> -> tensor<2x5xbf16>", {"f32", "i64", "i32"}),
    unary("grad.cast %0 : tensor<2x5xT> -> tensor<2x5xi32>", elements),
    unary("grad.cast %0 : tensor<2x5xT> -> tensor<2x5xui8>", elements, Domain::positive),
    unary("grad.cast %0 : tensor<2x5xT> -> tensor<2x5xi1>", elements, Domain::zero),
    unary("grad.bit_cast %0 : tensor<2x5xT> -> tensor<2x5xi64>", {"f64", "i64", "ui64"}),
    unary("grad.bit_cast %0 : tensor<2x5xT> -> tensor<2x5xui32>", {"f32", "i32"}),
    unary("grad.bit_cast %0 : tensor<2x5xT> -> tensor<2x5xf32>", {"i32", "ui32"}),
    unary("grad.bit_cast %0 : tensor<2x5xT> -> tensor<2x5xi16>", {"f16", "bf16"}),
    unary("grad.bit_cast %0 : tensor<2x5xT> -> tensor<2x5xui8>", {"i8"}),
    unary("grad.clamp %0, -1.0, 1.0 : tensor<2x5xT>",
          {"f64", "f32", "f16", "bf16", "i64", "i32", "i8"}),
    unary("grad.gelu %0 : tensor<2x5xT>", floats),
    unary("grad.gelu %0 {approximate} : tensor<2x5xT>", floats),
    binary("grad.gelu_grad %0, %1 : tensor<2x5xT>", floats),
    binary("grad.gelu_grad %0, %1 {approximate} : tensor<2x5xT>", floats),
    unary("grad.silu %0 : tensor<2x5xT>", floats),
    unary("grad.swish %0 slope 1.702 : tensor<2x5xT>", floats),
    unary("grad.mish %0 : tensor<2x5xT>", floats),
    binary("grad.straight_through %0, %1 : tensor<2x5xT>", floats),
    unary("grad.is_finite %0 : tensor<2x5xT>", floats),

    // Contraction
    {"grad.matmul %0, %1 : tensor<2x3xT>, tensor<3x4xT>",
     {{"tensor<2x3xT>"}, {"tensor<3x4xT>"}},
     numbers},
    {"grad.matmul %0, %1 transpose_lhs : tensor<3x2xT>, tensor<3x4xT>",
     {{"tensor<3x2xT>"}, {"tensor<3x4xT>"}},
     numbers},
    {"grad.matmul %0, %1 transpose_rhs : tensor<2x3xT>, tensor<4x3xT>",
     {{"tensor<2x3xT>"}, {"tensor<4x3xT>"}},
     numbers},
    {"grad.matmul %0, %1 transpose_lhs transpose_rhs : tensor<5x3x2xT>, tensor<5x4x3xT>",
     {{"tensor<5x3x2xT>"}, {"tensor<5x4x3xT>"}},
     numbers},

    // Convolution
    convolution("nc,co->no", "tensor<7x2x3xT>", "tensor<3x3x4xT>", "<[3]>", numbers),
    convolution("nc,co->no", "tensor<4x5x2x3xT>", "tensor<3x2x3x4xT>", "<[3, 2]>", numbers),
    convolution("nc,oc->no", "tensor<4x5x1x13xT>", "tensor<1x1x5x13xT>", "<[1, 1]>", floats),
    convolution("tnk,tno->ko", "tensor<3x2x4xT>", "tensor<3x2x5xT>", "<[]>", numbers),
    convolution("tnk,ko->tno", "tensor<3x2x4xT>", "tensor<4x5xT>", "<[]>"),
    convolution("cn,co->on", "tensor<4x3x2xT>", "tensor<2x3x5xT>", "<[2] low [1] high [1]>"),
    convolution("nc,no->co", "tensor<5x4x3x2xT>", "tensor<3x3x3x2xT>", "<[3, 3] low [1, 1]>"),
    convolution("nc,co->no", "tensor<4x3x3x2x2xT>", "tensor<2x2x3x2x3xT>",
                "<[2, 2, 3] stride [2, 1, 1] low [0, 1, 1] high [0, 0, 1]>"),
    convolution("nc,co->no", "tensor<7x6x2x2xT>", "tensor<3x3x2x3xT>",
                "<[3, 3] stride [2, 2] low [1, 0] high [1, 2]>", numbers),
    convolution("nc,co->no", "tensor<8x2x2xT>", "tensor<3x2x3xT>", "<[3] low [-1] high [-2]>"),
    convolution("nc,co->no", "tensor<8x2x2xT>", "tensor<3x2x3xT>", "<[3] low [-2] high [1]>"),
    convolution("nc,co->no", "tensor<8x2x2xT>", "tensor<3x2x3xT>", "<[3] low [2] high [-3]>"),
    convolution("nc,co->no", "tensor<2x2x2xT>", "tensor<1x2x3xT>",
                "<[1] stride [3] low [-2] high [3]>"),
    convolution("nc,co->no", "tensor<8x2x2xT>", "tensor<3x2x3xT>",
                "<[3] low [2] high [2] dilation [2]>"),
    convolution("nc,co->no", "tensor<4x3x2x2xT>", "tensor<3x3x2x3xT>",
                "<[3, 3] low [2, 1] high [1, 2] base [2, 3]>", numbers),
    convolution("nc,co->no", "tensor<5x2x2xT>", "tensor<3x2x3xT>",
                "<[3] stride [2] low [-3] high [4] base [2] dilation [2]>"),
    convolution("nc,co->no", "tensor<6x5x2x2xT>", "tensor<3x2x2x3xT>", "<[3, 2] reversed>",
                numbers),
    convolution("nc,co->no", "tensor<5x2x2xT>", "tensor<3x2x3xT>",
                "<[3] stride [3] low [1] high [3] base [2] dilation [2] reversed>"),
    convolution("nc,co->no", "tensor<4x3x2x3xT>", "tensor<4x3x3x2xT>",
                "<[4, 3] low [2, 1] high [2, 2] base [2, 2] reversed>", numbers),
    convolution("nc,oc->no", "tensor<3x2x2xT>", "tensor<4x3x2xT>",
                "<[4] low [-2] high [4] base [5] dilation [2] reversed>"),
    convolution("nc,co->no", "tensor<4x2x3xT>", "tensor<2x3x2xT>",
                "<[2] low [3] high [2] base [2] reversed>"),
    convolution("nc,co->no", "tensor<4x2x3xT>", "tensor<3x3x2xT>",
                "<[3] stride [2] low [1] high [3] base [5]>"),
    convolution("ngc,gco->ngo", "tensor<4x2x3x2xT>", "tensor<4x3x2x2xT>",
                "<[4] low [2] high [3] base [2] reversed>"),
    convolution("nc,c->nc", "tensor<3x4x2x3xT>", "tensor<4x4x3xT>",
                "<[4, 4] low [2, 1] high [2, 2] base [3, 2] reversed>"),
    convolution("ngc,gco->ngo", "tensor<5x5x2x3x2xT>", "tensor<3x3x3x2x2xT>",
                "<[3, 3] stride [2, 2] low [1, 1] high [1, 1]>", numbers),
    convolution("nc,c->nc", "tensor<5x4x2x3xT>", "tensor<3x3x3xT>",
                "<[3, 3] low [1, 1] high [1, 1]>"),
    convolution("ncm,cm->nc", "tensor<5x2x3x2xT>", "tensor<2x3x2xT>", "<[2]>"),
    convolution(",->", "tensor<9xT>", "tensor<4xT>", "<[4] low [1] high [1]>", numbers),
    convolution("nc,co->no", "tensor<2x3xT>", "tensor<3x4xT>", "<[]>", floats),

    // Pooling
    pool("window_sum", "tensor<7x2xT>", "<[3]>", numbers),
    pool("window_sum", "tensor<5x4x3x2xT>", "<[3, 2] stride [2, 2] low [1, 0] high [1, 1]>",
         floats),
    pool("window_sum", "tensor<7x2xT>", "<[3]> wide", floats),
    pool("window_sum", "tensor<4x3x4x2xT>", "<[2, 1, 2] stride [1, 2, 1] low [1, 0, 0]>"),
    pool("window_sum", "tensor<5x3xT>", "<[3] low [-1] high [2] base [2] dilation [2] reversed>",
         numbers),
    pool("window_max", "tensor<7x2xT>", "<[3]>", numbers),
    pool("window_max", "tensor<6x5x3xT>", "<[3, 3] stride [2, 2] low [1, 1] high [1, 1]>", numbers),
    pool("window_max", "tensor<5x4xT>", "<[2] low [3] high [2] dilation [2]>",
         {"f32", "bf16", "i64", "i8", "ui8"}), // a window on nothing is infinite: no differences
    pool("window_max", "tensor<8x2xT>", "<[3] stride [2] low [-1] high [1]>", {"f64"}),
    pool("window_max", "tensor<14x13x2xT>", "<[12, 12]>", {"f64"}),
    {"grad.window_gather %0, %1 window <[4]> : tensor<7x2xT>, tensor<4x2xi8>",
     {{"tensor<7x2xT>"}, {"tensor<4x2xi8>", Domain::labels}},
     numbers},
    {"grad.window_gather %0, %1 window <[2, 2] stride [2, 1] low [1, 1]> : tensor<5x4x3xT>, "
     "tensor<3x4x3xi8>",
     {{"tensor<5x4x3xT>"}, {"tensor<3x4x3xi8>", Domain::labels}},
     floats},
    {"grad.window_gather %0, %1 window <[3] high [2] base [2] reversed> : tensor<5x3xT>, "
     "tensor<9x3xi8>",
     {{"tensor<5x3xT>"}, {"tensor<9x3xi8>", Domain::labels}},
     floats},
    {"grad.window_scatter %0, %1 size [7] window <[4]> : tensor<4x2xT>, tensor<4x2xi8>",
     {{"tensor<4x2xT>"}, {"tensor<4x2xi8>", Domain::labels}},
     numbers},
    {"grad.window_scatter %0, %1 size [5, 4] window <[2, 2] stride [2, 1] low [1, 1]> : "
     "tensor<3x4x3xT>, tensor<3x4x3xi8>",
     {{"tensor<3x4x3xT>"}, {"tensor<3x4x3xi8>", Domain::labels}},
     floats},
    {"grad.window_scatter %0, %1 size [5] window <[3] high [2] base [2] reversed> : "
     "tensor<9x3xT>, tensor<9x3xi8>",
     {{"tensor<9x3xT>"}, {"tensor<9x3xi8>", Domain::labels}},
     floats},

    // Reduction
    unary("grad.reduce_sum %0 dims [1] : tensor<2x5xT>", numbers),
    unary("grad.reduce_sum %0 dims [0, 1] : tensor<2x5xT>", numbers),
    unary("grad.reduce_prod %0 dims [1] : tensor<2x5xT>", numbers),
    unary("grad.reduce_prod %0 dims [0] : tensor<2x5xT>", numbers),
    unary("grad.reduce_prod %0 dims [0, 1] : tensor<2x5xT>", {"f64"}, Domain::zero),
    unary("grad.reduce_max %0 dims [1] : tensor<2x5xT>", numbers),
    unary("grad.reduce_max %0 dims [0, 1] : tensor<2x5xT>", numbers),
    unary("grad.reduce_min %0 dims [0] : tensor<2x5xT>", numbers),
    unary("grad.reduce_mean %0 dims [1] : tensor<2x5xT>", floats),
    unary("grad.count %0 dims [1] : tensor<2x5xT>", {"f64", "f32", "i1"}),
    unary("grad.cumulative sum %0 dim 1 : tensor<2x5xT>", numbers),
    unary("grad.cumulative sum %0 dim 0 exclusive reverse : tensor<2x5xT>", floats),
    unary("grad.cumulative prod %0 dim 1 exclusive : tensor<2x5xT>", numbers),
    unary("grad.cumulative prod %0 dim 1 reverse : tensor<2x5xT>", {"f64"}, Domain::zero),
    {"grad.fourier %0 : tensor<2x6x2xT> -> tensor<2x6x2xT>", {{"tensor<2x6x2xT>"}}, floats},
    {"grad.fourier %0 inverse : tensor<2x75x2xT> -> tensor<2x75x2xT>",
     {{"tensor<2x75x2xT>"}},
     {"f64"}},
    {"grad.fourier %0 : tensor<2x6x1xT> -> tensor<2x4x2xT>", {{"tensor<2x6x1xT>"}}, floats},
    {"grad.fourier %0 inverse : tensor<2x4x2xT> -> tensor<2x6x1xT>", {{"tensor<2x4x2xT>"}}, floats},
    unary("grad.argmax %0 dim 0 : tensor<2x5xT>", numbers),
    unary("grad.argmax %0 dim 1 : tensor<2x5xT>", numbers),

    // Shape
    {"grad.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xT>", {}, {"i64", "i32", "ui8"}},
    {"grad.constant dense<[[1.5, -2.0], [0.0, 4.0]]> : tensor<2x2xT>", {}, floats},
    {"grad.iota dim 1 : tensor<3x4xT>", {}, numbers},
    unary("grad.reshape %0 : tensor<2x5xT> -> tensor<5x2x1xT>", elements),
    unary("grad.optimization_barrier \"name\" %0 : tensor<2x5xT>", floats),
    unary("grad.transpose %0 permutation [1, 0] : tensor<2x5xT>", elements),
    {"grad.transpose %0 permutation [2, 0, 1] : tensor<2x3x4xT>", {{"tensor<2x3x4xT>"}}, elements},
    {"grad.broadcast %0 dims [1] : tensor<5xT> -> tensor<2x5xT>", {{"tensor<5xT>"}}, elements},
    {"grad.broadcast %0 dims [] : tensor<T> -> tensor<2x5xT>", {{"tensor<T>"}}, elements},
    unary("grad.slice %0 starts [0, 1] sizes [2, 2] strides [1, 3] : tensor<2x5xT>", elements),
    unary("grad.slice %0 starts [1, 4] sizes [2, 3] strides [-1, -2] : tensor<2x5xT>", elements),
    unary("grad.slice %0 starts [0, 0] sizes [1, 3] strides [1, 1] : tensor<2x5xT>", elements),
    unary("grad.pad %0 low [1, 0] high [0, 2] interior [1, 0] {value = 2.0 : f64} : tensor<2x5xT>",
          numbers),
    {"grad.concatenate %0, %1 dim 1 : tensor<2x5xT>, tensor<2x1xT>",
     {{"tensor<2x5xT>"}, {"tensor<2x1xT>"}},
     elements},

    // Index
    {"grad.gather %0[%1] dims [-1, 1] index_dims [0] : tensor<5x3xT>, tensor<4xi64>",
     {{"tensor<5x3xT>"}, {"tensor<4xi64>", Domain::indices}},
     elements},
    {"grad.gather %0[%1] dims [0, -1, 2] index_dims [0, 1, 2] : tensor<2x5x3xT>, tensor<2x4x3xi32>",
     {{"tensor<2x5x3xT>"}, {"tensor<2x4x3xi32>", Domain::indices}},
     floats},
    {"grad.gather %0[%1, %2] dims [0, -2, 2, -1] index_dims [0, 1] : tensor<2x5x3x6xT>, "
     "tensor<2x4xi64>, tensor<2x4xi64>",
     {{"tensor<2x5x3x6xT>"}, indices, indices},
     floats},
    {"grad.gather %0[%1] dims [0, -1] index_dims [] : tensor<3x5xT>, tensor<i64>",
     {{"tensor<3x5xT>"}, {"tensor<i64>", Domain::indices}},
     floats},
    {"grad.set_rows %0[%1], %2 : tensor<5x3xT>, tensor<4x3xT>, tensor<4xi64>",
     {{"tensor<5x3xT>"}, {"tensor<4xi64>", Domain::indices}, {"tensor<4x3xT>"}},
     elements},
    {"grad.set_rows %0[%1], %2 : tensor<5xT>, tensor<3xT>, tensor<3xi32>",
     {{"tensor<5xT>"}, {"tensor<3xi32>", Domain::indices}, {"tensor<3xT>"}},
     floats},
    unary("grad.argsort %0 dim 1 : tensor<2x5xT> -> tensor<2x5xi64>", numbers),
    unary("grad.argsort %0 dim 0 descending : tensor<2x5xT> -> tensor<1x5xi64>", numbers),
    {"grad.positions %0 : tensor<2x5xi1> -> tensor<2x10xi64>", {{"tensor<2x5xi1>"}}, {"f64"}},
    {"grad.positions %0 : tensor<3x2x4xi1> -> tensor<3x5xi64>", {{"tensor<3x2x4xi1>"}}, {"f64"}},
    {"grad.positions %0 : tensor<7xi1> -> tensor<1x7xi64>", {{"tensor<7xi1>"}}, {"f64"}},
    {"grad.non_max_suppression %0, %1, %2, %3, %4 order %5 candidates %6 threshold %7 limit %8 : "
     "tensor<2x6xT>, tensor<2x3x6xi64>, tensor<2x3x6xi1>, tensor<T>, tensor<i64>",
     {{"tensor<2x6xT>"},
      {"tensor<2x6xT>"},
      side,
      side,
      side,
      {"tensor<2x3x6xi64>", Domain::labels},
      {"tensor<2x3x6xi1>"},
      {"tensor<T>", Domain::unit},
      {"tensor<i64>", Domain::labels}},
     floats},
    scatter("replace", elements),
    scatter("add", numbers),
    scatter("mul", numbers),
    scatter("max", numbers),
    scatter("min", numbers),
    {"grad.scatter %0[%1] add %2 dims [0, -1, 2] index_dims [0, 1, 2] : tensor<2x5x3xT>, "
     "tensor<2x4x3xT>, tensor<2x4x3xi32>",
     {{"tensor<2x5x3xT>"}, {"tensor<2x4x3xi32>", Domain::indices}, {"tensor<2x4x3xT>"}},
     floats},
    {"grad.scatter %0[%1, %2] replace %3 dims [0, -2, 2, -1] index_dims [0, 1] : "
     "tensor<2x5x3x6xT>, tensor<2x4x3xT>, tensor<2x4xi64>, tensor<2x4xi64>",
     {{"tensor<2x5x3x6xT>"}, indices, indices, {"tensor<2x4x3xT>"}},
     floats},
    {"grad.scatter %0[%1] mul %2 dims [0, -1] index_dims [] : tensor<3x5xT>, tensor<3xT>, "
     "tensor<i64>",
     {{"tensor<3x5xT>"}, {"tensor<i64>", Domain::indices}, {"tensor<3xT>"}},
     floats},

    // Normalization
    unary("grad.softmax %0 dim 1 : tensor<2x5xT>", floats),
    unary("grad.softmax %0 dim 0 : tensor<2x5xT>", floats),
    unary("grad.log_softmax %0 dim 1 : tensor<2x5xT>", floats),

    unary("grad.normalize %0 dims [1] epsilon 1.0e-3 : tensor<2x5xT>", floats),
    unary("grad.normalize %0 dims [0, 1] epsilon 0.0 : tensor<2x5xT>", floats),
    {"grad.normalize %0 dims [0, 2] epsilon 1.0e-5 : tensor<3x2x4xT>",
     {{"tensor<3x2x4xT>"}},
     floats},

    // Attention
    {"grad.attention %0, %1, %2 {causal = 1 : i64, scale = 0.7 : f64} : tensor<2x4x3x2xT>, "
     "tensor<2x2x4x2xT>, "
     "tensor<2x2x4x3xT>",
     {{"tensor<2x4x3x2xT>"}, {"tensor<2x2x4x2xT>"}, {"tensor<2x2x4x3xT>"}},
     {"f64", "f32"}},
    {"grad.attention %0, %1, %2 mask %3 : tensor<1x2x1x4xi1> order [0, 2, 1, 3] {scale = 0.7 : "
     "f64} : "
     "tensor<1x2x2x2xT>, tensor<1x4x2x2xT>, tensor<1x4x2x3xT>",
     {{"tensor<1x2x2x2xT>"},
      {"tensor<1x4x2x2xT>"},
      {"tensor<1x4x2x3xT>"},
      {"tensor<1x2x1x4xi1>", Domain::one}},
     {"f64", "f32"}},
    {"grad.attention %0, %1, %2 mask %3 : tensor<2x1x1x4xT> {scale = 0.7 : f64} : "
     "tensor<2x2x3x2xT>, tensor<2x2x4x2xT>, "
     "tensor<2x2x4x2xT>",
     {{"tensor<2x2x3x2xT>"}, {"tensor<2x2x4x2xT>"}, {"tensor<2x2x4x2xT>"}, {"tensor<2x1x1x4xT>"}},
     {"f64", "f32"}},
    {"grad.attention %0, %1, %2 dropout %3, %4 : tensor<i32>, tensor<i32> {scale = 0.7 : f64, "
     "stream = 3 : i32, ratio = 0.3 : f64} : tensor<2x2x3x2xT>, tensor<2x1x4x2xT>, "
     "tensor<2x1x4x2xT>",
     {{"tensor<2x2x3x2xT>"},
      {"tensor<2x1x4x2xT>"},
      {"tensor<2x1x4x2xT>"},
      {"tensor<i32>"},
      {"tensor<i32>"}},
     {"f64", "f32"}},
    {"grad.attention_grad %0, %1, %2, %3, %4, %5 dropout %6, %7 : tensor<i32>, tensor<i32> "
     "{scale = 0.7 : f64, stream = 3 : i32, ratio = 0.3 : f64} : tensor<1x2x3x2xT>, "
     "tensor<1x2x4x2xT>, tensor<1x2x4x3xT>, tensor<1x2x3x3xT>, tensor<1x2x3x2xT>, "
     "tensor<1x2x3x3xT>",
     {{"tensor<1x2x3x2xT>"},
      {"tensor<1x2x4x2xT>"},
      {"tensor<1x2x4x3xT>"},
      {"tensor<1x2x3x3xT>"},
      {"tensor<1x2x3x2xT>"},
      {"tensor<1x2x3x3xT>"},
      {"tensor<i32>"},
      {"tensor<i32>"}},
     {"f64", "f32"}},
    {"grad.attention_grad %0, %1, %2, %3, %4, %5 {causal = 1 : i64, scale = 0.7 : f64} : "
     "tensor<2x4x3x2xT>, "
     "tensor<2x2x4x2xT>, tensor<2x2x4x3xT>, tensor<2x4x3x3xT>, tensor<2x4x3x2xT>, "
     "tensor<2x4x3x3xT>",
     {{"tensor<2x4x3x2xT>"},
      {"tensor<2x2x4x2xT>"},
      {"tensor<2x2x4x3xT>"},
      {"tensor<2x4x3x3xT>"},
      {"tensor<2x4x3x2xT>"},
      {"tensor<2x4x3x3xT>"}},
     {"f64", "f32"}},

    // Loss
    {"grad.softmax_cross_entropy %0, %1 : tensor<3x4xT>, tensor<3xi64>",
     {{"tensor<3x4xT>"}, {"tensor<3xi64>", Domain::labels}},
     floats},
    {"grad.softmax_cross_entropy %0, %1 : tensor<2x1024xT>, tensor<2xi64>",
     {{"tensor<2x1024xT>"}, {"tensor<2xi64>", Domain::labels}},
     floats},
    {"grad.softmax_cross_entropy %0, %1 : tensor<3x4xT>, tensor<3xui8>",
     {{"tensor<3x4xT>"}, {"tensor<3xui8>", Domain::labels}},
     floats},
    {"grad.softmax_cross_entropy %0, %1 : tensor<3x4xT>, tensor<3x4xT>",
     {{"tensor<3x4xT>"}, {"tensor<3x4xT>", Domain::unit}},
     floats},
    {"grad.softmax_cross_entropy_grad %0, %1, %2 : tensor<3x4xT>, tensor<3xi32>, tensor<3xT>",
     {{"tensor<3x4xT>"}, {"tensor<3xi32>", Domain::labels}, {"tensor<3xT>"}},
     floats},
    {"grad.softmax_cross_entropy_grad %0, %1, %2 : tensor<3x4xT>, tensor<3x4xT>, tensor<3xT>",
     {{"tensor<3x4xT>"}, {"tensor<3x4xT>", Domain::unit}, {"tensor<3xT>"}},
     floats},
    binary("grad.binary_cross_entropy %0, %1 : tensor<2x5xT>", floats, Domain::any, Domain::unit),
    binary("grad.squared_error %0, %1 : tensor<2x5xT>", floats),

    // Random
    {"grad.random_bits %0, %1 stream 3 : tensor<T> -> tensor<2x5xui32>",
     {{"tensor<T>"}, {"tensor<T>"}},
     {"i32"}},
    {"grad.random_uniform %0, %1, -1.0, 2.0 stream 3 : tensor<i32> -> tensor<2x5xT>",
     {{"tensor<i32>"}, {"tensor<i32>"}},
     floats},
    {"grad.random_normal %0, %1, 1.0, 2.0 stream 3 : tensor<i32> -> tensor<2x5xT>",
     {{"tensor<i32>"}, {"tensor<i32>"}},
     floats},
    {"grad.dropout %0, %1, %2 stream 3 ratio 0.3 : tensor<2x5xT>, tensor<i32>",
     {{"tensor<2x5xT>"}, {"tensor<i32>"}, {"tensor<i32>"}},
     floats},
    // Ranks
    {"grad.all_reduce %0, %1 : tensor<2x3xT>, tensor<T>",
     {{"tensor<2x3xT>"}, {"tensor<T>"}},
     {"f64", "f32", "i64"}},
    {"grad.sum_shards %0, %1 : tensor<2x3xT>, tensor<T>",
     {{"tensor<2x3xT>"}, {"tensor<T>"}},
     {"f64", "f32", "i64"}},
    {"grad.fan_out %0 : tensor<2x3xT>", {{"tensor<2x3xT>"}}, floats},
    {"grad.reduce_scatter %0, %1 of [@v, @w] : tensor<2x3xT>, tensor<T>",
     {{"tensor<2x3xT>"}, {"tensor<T>"}},
     {"f64", "f32", "i64"}},
    {"grad.all_gather %0, %1 of [@v, @w] : tensor<2x3xT>, tensor<T>",
     {{"tensor<2x3xT>"}, {"tensor<T>"}},
     {"f64", "f32", "i64"}},

    // Control
    {"grad.if %0 with (%1, %2) : (tensor<3xT>, tensor<3xT>) -> tensor<3xT> {\n"
     "^bb0(%a: tensor<3xT>, %b: tensor<3xT>):\n"
     "  %s = grad.mul %a, %b : tensor<3xT>\n  grad.yield %s : tensor<3xT>\n"
     "} else {\n^bb0(%a: tensor<3xT>, %b: tensor<3xT>):\n  grad.yield %b : tensor<3xT>\n}",
     {{"tensor<i1>", Domain::one}, {"tensor<3xT>"}, {"tensor<3xT>"}},
     {"f64", "f32"}},
    {"grad.if %0 with (%1, %2) : (tensor<3xT>, tensor<3xT>) -> tensor<3xT> {\n"
     "^bb0(%a: tensor<3xT>, %b: tensor<3xT>):\n  grad.yield %b : tensor<3xT>\n"
     "} else {\n^bb0(%a: tensor<3xT>, %b: tensor<3xT>):\n"
     "  %s = grad.tanh %a : tensor<3xT>\n  grad.yield %s : tensor<3xT>\n}",
     {{"tensor<i1>", Domain::zero}, {"tensor<3xT>"}, {"tensor<3xT>"}},
     {"f64"}},
    {"grad.scan 4 from (%0, %1) over (%2) with (%3) : (tensor<2x3xT>, tensor<i64>, "
     "tensor<4x2x3xT>, "
     "tensor<3x3xT>) -> (tensor<2x3xT>, tensor<i64>, tensor<4x2x3xT>) {\n"
     "^bb0(%h: tensor<2x3xT>, %i: tensor<i64>, %x: tensor<2x3xT>, %w: tensor<3x3xT>):\n"
     "  %m = grad.matmul %h, %w : tensor<2x3xT>, tensor<3x3xT>\n"
     "  %s = grad.add %m, %x : tensor<2x3xT>\n  %t = grad.tanh %s : tensor<2x3xT>\n"
     "  %p = grad.mul %t, %x : tensor<2x3xT>\n  %j = grad.add %i, %i : tensor<i64>\n"
     "  grad.yield %t, %j, %p : tensor<2x3xT>, tensor<i64>, tensor<2x3xT>\n}",
     {{"tensor<2x3xT>"}, {"tensor<i64>"}, {"tensor<4x2x3xT>"}, {"tensor<3x3xT>"}},
     {"f64", "f32"}},
    // Backwards, swapping what it carries, around another loop
    {"grad.scan 3 reverse from (%0, %1) over (%2) with () : (tensor<2xT>, tensor<2xT>, "
     "tensor<3x5x2xT>) -> (tensor<2xT>, tensor<2xT>) {\n"
     "^bb0(%a: tensor<2xT>, %b: tensor<2xT>, %x: tensor<5x2xT>):\n"
     "  %s = grad.scan 5 from (%a) over (%x) with () : (tensor<2xT>, tensor<5x2xT>) -> tensor<2xT> "
     "{\n"
     "  ^bb0(%c: tensor<2xT>, %y: tensor<2xT>):\n"
     "    %p = grad.mul %c, %y : tensor<2xT>\n    %q = grad.sigmoid %p : tensor<2xT>\n"
     "    grad.yield %q : tensor<2xT>\n  }\n"
     "  grad.yield %b, %s : tensor<2xT>, tensor<2xT>\n}",
     {{"tensor<2xT>"}, {"tensor<2xT>"}, {"tensor<3x5x2xT>"}},
     {"f64", "f32"}},
};

llvm::ArrayRef<Sample> gradc::test::samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> samples = table;
    llvm::append_range(samples, optimizerSamples());
    return samples;
  }();
  return all;
}
