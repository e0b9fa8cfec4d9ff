// The CPUs of a rank among those of the other ranks on its host.
#ifndef RUNTIME_RANKS_CPUSHARE_H
#define RUNTIME_RANKS_CPUSHARE_H

#include <span>
#include <string>
#include <string_view>

namespace gradc::runtime {

/// The CPUs that this process may use, as a mask: one digit, 0 or 1, per CPU of the host.
std::string availableCpus();

/// A rank's number of CPUs if each CPU is shared evenly by the ranks in `all` whose masks allow it;
/// at least 1.
int shareOfCpus(std::string_view own, std::span<const std::string_view> all);

} // namespace gradc::runtime

#endif
