// The keys of kernels' machine code, and the storage of cached code.
#include "compiler/codegen/KernelCache.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "gmock/gmock.h"

#include <csignal>
#include <sys/resource.h>

using namespace mlir;
using namespace gradc;

namespace {

class KernelCacheTest : public ::testing::Test {
protected:
  KernelCacheTest() {
    DialectRegistry registry;
    registry.insert<exec::ExecDialect, arith::ArithDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("kernel-cache-test", folder));
  }
  ~KernelCacheTest() override { llvm::sys::fs::remove_directories(folder); }

  /// The key of a kernel that returns the constant, in a cache in the folder.
  std::string key(const std::string &constant, StringRef level = "x86-64-v3",
                  const CodegenOptions &options = {}, StringRef name = "k") {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>("exec.kernel @" + name.str() + "() { %c = arith.constant " +
                                        constant + " exec.yield %c : tensor<2xf32> }",
                                    &context);
    EXPECT_TRUE(module);
    return KernelCache(folder).keyOf(*module->getOps<exec::KernelOp>().begin(),
                                     *exec::findLevel(level), options);
  }

  MLIRContext context;
  llvm::SmallString<64> folder;
};

TEST_F(KernelCacheTest, EverythingThatCodeFollowsFromIsInItsKey) {
  CodegenOptions other, features;
  other.cpu = "znver3";
  features.features = "+fma";
  std::set<std::string> keys = {
      key("dense<[1.0, 2.0]> : tensor<2xf32>"),
      key("dense<[1.0, 3.0]> : tensor<2xf32>"),
      key("dense<[1.0, 2.0]> : tensor<2xf32>", "x86-64-v4"),
      key("dense<[1.0, 2.0]> : tensor<2xf32>", "x86-64-v3", other),
      key("dense<[1.0, 2.0]> : tensor<2xf32>", "x86-64-v3", features),
      key("dense<[1.0, 2.0]> : tensor<2xf32>", "x86-64-v3", {}, "other"),
  };
  EXPECT_EQ(keys.size(), 6u);
  EXPECT_EQ(keys.count(""), 0u);
  EXPECT_EQ(key("dense<[1.0, 2.0]> : tensor<2xf32>"), key("dense<[1.0, 2.0]> : tensor<2xf32>"));
}

TEST_F(KernelCacheTest, AKernelWhoseNumbersAreElsewhereIsNotKept) {
  context.getOrLoadDialect<arith::ArithDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "exec.kernel @k() { %c = arith.constant dense_resource<r> : tensor<2xf32> "
      "exec.yield %c : tensor<2xf32> } "
      "{-# dialect_resources: { builtin: { r: \"0x0400000000000000000000\" } } #-}",
      &context);
  ASSERT_TRUE(module);
  KernelCache cache(folder);
  std::string key =
      cache.keyOf(*module->getOps<exec::KernelOp>().begin(), *exec::findLevel("x86-64-v3"), {});
  EXPECT_EQ(key, "");
  cache.store(key, "object");
  EXPECT_EQ(cache.find(key), std::nullopt);
}

TEST_F(KernelCacheTest, FindsWhatWasStored) {
  KernelCache cache(folder);
  EXPECT_EQ(cache.find("aa"), std::nullopt);
  cache.store("aa", "object");
  cache.store("bb", "");
  EXPECT_EQ(cache.find("aa"), "object");
  EXPECT_EQ(KernelCache(folder).find("bb"), "");
}

TEST_F(KernelCacheTest, ADamagedFileIsNotFound) {
  KernelCache cache(folder);
  cache.store("aa", "object");
  std::string path = (folder + "/llvmcache-aa").str();
  for (const char *content : {"objecT", "", "short"}) {
    ASSERT_FALSE(llvm::errorToBool(llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
      stream << content;
      return llvm::Error::success();
    })));
    EXPECT_EQ(cache.find("aa"), std::nullopt) << content;
  }
}

// A cache that cannot be written is no reason to fail.
TEST_F(KernelCacheTest, AFullDiskLeavesAKernelOut) {
  KernelCache cache(folder);
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit little = {100, before.rlim_max}; // bytes per file
  setrlimit(RLIMIT_FSIZE, &little);
  cache.store("aa", std::string(1000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(cache.find("aa"), std::nullopt);
  std::error_code error;
  EXPECT_EQ(llvm::sys::fs::directory_iterator(folder, error), llvm::sys::fs::directory_iterator());
  cache.store("aa", "object");
  EXPECT_EQ(cache.find("aa"), "object");
}

TEST_F(KernelCacheTest, AFolderThatOthersWriteToIsNotUsed) {
  EXPECT_EQ(KernelCache(folder).folder(), folder.str());
  ASSERT_FALSE(llvm::sys::fs::setPermissions(folder, llvm::sys::fs::all_all));
  KernelCache cache(folder);
  EXPECT_EQ(cache.folder(), "");
  cache.store("aa", "object");
  EXPECT_EQ(cache.find("aa"), std::nullopt);
  EXPECT_FALSE(llvm::sys::fs::exists(folder + "/llvmcache-aa"));
  EXPECT_FALSE(llvm::sys::fs::exists("llvmcache-aa"));
  EXPECT_EQ(KernelCache("").folder(), "");
}

} // namespace
