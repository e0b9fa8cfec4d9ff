// Models built from the text of their graphs, for nodes with subgraphs.
#ifndef TEST_UNIT_COMPILER_IMPORT_GRAPHTEXT_H
#define TEST_UNIT_COMPILER_IMPORT_GRAPHTEXT_H

#include "OneNode.h"

#include "google/protobuf/text_format.h"

namespace gradc::graph_text {

/// Builds models from the text of their graphs.
class GraphTextTest : public OneNodeTest {
protected:
  /// A model from the text of its graph.
  static OneNode model(const std::string &graph, int64_t opset = 17) {
    OneNode one("Identity", opset);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(graph, one.model.mutable_graph()));
    return one;
  }

  void expectError(const std::string &graph, llvm::StringRef what, int64_t opset = 17) {
    said.clear();
    EXPECT_TRUE(mlir::failed(import(model(graph, opset))));
    EXPECT_TRUE(llvm::StringRef(everything()).contains(what)) << everything();
  }
};

inline std::string number(const char *name, const char *type, const char *value) {
  return std::string("initializer { name: '") + name + "' " +
         (llvm::StringRef(type) == "i64"    ? "data_type: 7 int64_data: "
          : llvm::StringRef(type) == "bool" ? "data_type: 9 int32_data: "
                                            : "data_type: 1 float_data: ") +
         value + " } ";
}

inline std::string tensor(const char *kind, const char *name, const char *dims, int type = 1) {
  std::string shape;
  for (llvm::StringRef rest = dims; !rest.empty();) {
    auto [dim, others] = rest.split('x');
    shape += "dim { dim_value: " + dim.str() + " } ";
    rest = others;
  }
  return std::string(kind) + " { name: '" + name +
         "' type { tensor_type { elem_type: " + std::to_string(type) + " shape { " + shape +
         "} } } } ";
}

inline std::string node(const char *op, const char *inputs, const char *outputs,
                        std::string more = "") {
  std::string text = std::string("node { op_type: '") + op + "' name: '" + op + "' ";
  auto list = [&](const char *field, llvm::StringRef names) {
    while (!names.empty()) {
      auto [name, rest] = names.split(' ');
      text += std::string(field) + ": '" + (name == "-" ? "" : name.str()) + "' ";
      names = rest;
    }
  };
  list("input", inputs);
  list("output", outputs);
  return text + more + "} ";
}

inline std::string graph(const char *name, const std::string &body) {
  return std::string("attribute { name: '") + name + "' type: 5 g { " + body + "} } ";
}

inline const std::string output = "output { name: 'y' } ";

} // namespace gradc::graph_text

#endif
