// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/chain/draws.hpp"

namespace mlo {

void ChainAccount::sample_rows(std::uint64_t rows) {
  constexpr std::size_t capacity = 1 << 14;
  if (rows_sample.size() == capacity) {
    for (std::size_t k = 0; k < capacity / 2; ++k) rows_sample[k] = rows_sample[2 * k];
    rows_sample.resize(capacity / 2);
    rows_stride *= 2;
  }
  if (counted % rows_stride == 0) rows_sample.push_back(rows);
}

std::vector<double> ChainDraws::parameter(std::size_t j) const {
  std::vector<double> out(size());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = draws[k * dim + j];
  return out;
}

}  // namespace mlo
