// Copyright (c) the mlo authors. BSD-3-Clause.
// Whitened rows as the beginnings of records.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "mlo/model/whitening.hpp"

namespace mlo {

// Rows first..first+count-1 of one block: direction[k] w_k in the first dim() floats of record k, zeros up to
// its `stride`. load(white) must load the rows before their directions are read, and whiten them into
// `white`, unless that is empty.
template <class Load>
void write_white_records(const Whitening& whitening, std::size_t first, std::size_t count, std::size_t stride,
                         const double* direction, float* records, const Load& load) {
  const std::size_t p = whitening.dim();
  const bool by_rows = whitening.by_rows();
  const std::size_t room = by_rows ? p : p * Whitening::batch, step = by_rows ? 1 : Whitening::batch;
  const auto white = std::make_unique_for_overwrite<double[]>(room);
  load(by_rows ? std::span<double>() : std::span(white.get(), room));
  for (std::size_t k = 0; k < count; ++k) {
    float* record = records + k * stride;
    if (by_rows) whitening.row(first + k, {white.get(), p});
    const double* w = white.get() + (by_rows ? 0 : k);
    for (std::size_t j = 0; j < p; ++j) record[j] = static_cast<float>(direction[k] * w[j * step]);
    std::fill(record + p, record + stride, 0.0F);
  }
}

}  // namespace mlo
