// The CPUs of a rank among those of the other ranks on its host.
#ifndef RUNTIME_RANKS_CPUSHARE_H
#define RUNTIME_RANKS_CPUSHARE_H

#include <span>
#include <string>
#include <string_view>

namespace gradc::runtime {

/// The CPUs that this process may use: a digit for each CPU of the host, 1 or 0.
std::string availableCpus();

/// How many CPUs a rank has to itself if each is divided among those of `all` ranks that may use
/// it; at least 1.
int shareOfCpus(std::string_view own, std::span<const std::string_view> all);

} // namespace gradc::runtime

#endif
