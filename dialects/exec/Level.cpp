// Tiles: 6x2 vectors of 8 reach 93-98 % of FMA peak on AVX2, 8x2 of 16 97-99 % on AVX-512, where
// 8x3 is equal but wastes more on widths that are no multiple of 48.
#include "dialects/exec/Level.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir::exec;

static const Level table[] = {
    {"x86-64-v3", "x86-64-v3", "", 32, 6, 2, 32, false},
    {"x86-64-v4", "x86-64-v4", "-prefer-256-bit", 64, 8, 2, 32, false},
    {"x86-64-v4+bf16", "x86-64-v4", "-prefer-256-bit,+avx512bf16", 64, 8, 2, 32, true},
    // A thread's widest access is 128 bits, and its contraction tile four of those: 16
    // accumulators.
    {"cuda:sm_80", "sm_80", "+ptx80", 16, 4, 1, 0, false, 80},
    {"cuda:sm_90", "sm_90", "+ptx80", 16, 4, 1, 0, false, 90},
};

llvm::ArrayRef<Level> mlir::exec::levels() { return table; }

const Level *mlir::exec::findLevel(llvm::StringRef name) {
  const Level *found = llvm::find_if(table, [&](const Level &l) { return l.name == name; });
  return found == std::end(table) ? nullptr : found;
}

const Level *mlir::exec::nativeLevel() {
  auto features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](llvm::ArrayRef<const char *> names) {
    return llvm::all_of(names, [&](const char *n) { return features.lookup(n); });
  };
  if (!hasAll({"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"}))
    return nullptr;
  if (!hasAll({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}))
    return &table[0];
  return hasAll({"avx512bf16"}) ? &table[2] : &table[1];
}

bool mlir::exec::runsHere(const Level &level) {
  const Level *native = nativeLevel();
  return native && &level <= native;
}
