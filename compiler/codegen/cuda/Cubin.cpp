// Reads sections .text.KERNEL, .nv.shared.KERNEL, and the attribute lists of .nv.info.
#include "compiler/codegen/cuda/Cubin.h"

#include "llvm/Object/ELF.h"

#include <algorithm>

using namespace llvm;
using object::ELF64LE;
using object::ELFFile;

namespace {

// Attributes of .nv.info with two words as a value: the number of a symbol, and a property of it.
constexpr uint8_t formatSized = 4;
constexpr uint8_t frameSize = 0x11, registerCount = 0x2f;
constexpr int64_t reservedShared = 1024; ///< of a block, by the system

uint32_t word(StringRef bytes, size_t at) { return support::endian::read32le(bytes.data() + at); }

/// Calls `each(attribute, symbol, value)` for each two-word attribute.
void forEachAttribute(StringRef info, function_ref<void(uint8_t, uint32_t, uint32_t)> each) {
  while (info.size() >= 4) {
    uint8_t format = info[0], attribute = info[1];
    size_t size = format == formatSized ? support::endian::read16le(info.data() + 2) : 0;
    if (info.size() < 4 + size)
      return;
    if (size == 8)
      each(attribute, word(info, 4), word(info, 8));
    info = info.drop_front(4 + size);
  }
}

} // namespace

Expected<StringMap<gradc::cuda::KernelCode>> gradc::cuda::readCubin(StringRef cubin) {
  auto file = ELFFile<ELF64LE>::create(cubin);
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  StringMap<KernelCode> kernels;
  std::vector<StringRef> symbols;
  std::vector<StringRef> infos;
  for (const auto &section : *sections) {
    auto name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    if (name->consume_front(".text."))
      kernels[*name].codeBytes = section.sh_size;
    else if (name->consume_front(".nv.shared.") && !name->starts_with("reserved"))
      kernels[*name].sharedBytes = std::max<int64_t>(0, int64_t(section.sh_size) - reservedShared);
    else if (*name == ".nv.info")
      infos.push_back(cubin.substr(section.sh_offset, section.sh_size));
    if (section.sh_type != ELF::SHT_SYMTAB)
      continue;
    auto table = file->symbols(&section);
    auto strings = file->getStringTableForSymtab(section);
    if (!table || !strings)
      return joinErrors(table.takeError(), strings.takeError());
    for (const auto &symbol : *table)
      symbols.push_back(cantFail(symbol.getName(*strings)));
  }
  for (StringRef info : infos)
    forEachAttribute(info, [&](uint8_t attribute, uint32_t symbol, uint32_t value) {
      auto kernel = symbol < symbols.size() ? kernels.find(symbols[symbol]) : kernels.end();
      if (kernel == kernels.end())
        return;
      if (attribute == registerCount)
        kernel->second.registers = value;
      if (attribute == frameSize)
        kernel->second.frameBytes = value;
    });
  return kernels;
}

/// Number of blocks of `threads` threads that are resident on a multiprocessor at once.
static int64_t blocksPerMultiprocessor(const gradc::cuda::KernelCode &code, int64_t threads,
                                       const mlir::exec::Gpu &gpu) {
  constexpr int64_t warp = mlir::exec::warpThreads;
  int64_t warpsOfBlock = divideCeil(threads, warp);
  // A warp takes registers from one of four schedulers, in multiples of 256.
  int64_t ofWarp = alignTo(std::max<int64_t>(code.registers, 1) * warp, 256);
  int64_t byRegisters = gpu.registers / 4 / ofWarp * 4 / warpsOfBlock;
  int64_t byShared = gpu.sharedBytes / int64_t(alignTo(code.sharedBytes + reservedShared, 128));
  return std::min({byRegisters, byShared, gpu.threads / warp / warpsOfBlock, gpu.blocks});
}

double gradc::cuda::occupancy(const KernelCode &code, int64_t threads, const mlir::exec::Gpu &gpu) {
  constexpr int64_t warp = mlir::exec::warpThreads;
  return double(blocksPerMultiprocessor(code, threads, gpu) * divideCeil(threads, warp) * warp) /
         double(gpu.threads);
}
