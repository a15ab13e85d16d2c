// Copyright (c) the mlo authors. BSD-3-Clause.
// All there is to know about a chain: its draws, its counts and its state. A chain is continued from its
// record alone, so a checkpoint is a record on disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlo/chain/draws.hpp"
#include "mlo/kernel/kernel.hpp"

namespace mlo {

struct alignas(64) ChainRecord : ChainDraws {  // chains side by side do not share a cache line
  ChainState state;
  std::vector<double> kernel;  // what Kernel::save wrote
};

// Writes to a temporary name, syncs and renames: the file is the old record or the new one, never a mixture.
// `key` identifies the run (its options and data); reading a record with another key is refused. Both throw
// DataError, naming the file.
void write_checkpoint(const std::string& file, const ChainRecord& record, std::uint64_t key);
[[nodiscard]] ChainRecord read_checkpoint(const std::string& file, std::uint64_t key);

}  // namespace mlo
