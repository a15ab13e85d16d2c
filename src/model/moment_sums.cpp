// Copyright (c) the mlo authors. BSD-3-Clause.
// Gradients and information matrices of designs with factors. The sums are taken over cells, as if each cell
// had a column of its own; finish() turns them into those of the working columns, which are centred and
// scaled combinations of cells.
#include <algorithm>

#include "mlo/model/row_store.hpp"
#include "model/linear.hpp"

namespace mlo {

MomentSums::MomentSums(const RowStore& store, bool with_information)
    : store_(&store), with_information_(with_information) {
  const Design& design = store.design();
  const std::size_t q = dense();
  gradient_.assign(q, 0);
  if (with_information) information_.assign(q * q, 0);
  if (design.blocks.empty()) return;
  cell_sums_.assign(store.cells(), 0);
  if (!with_information) return;
  cell_weights_.assign(store.cells(), 0);
  cell_squares_.assign(store.cells(), 0);
  cell_dense_.assign(store.cells() * q, 0);
  for (std::size_t b = 1; b < design.blocks.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      tables_.emplace_back(design.blocks[a].cells * design.blocks[b].cells, 0.0);
}

void MomentSums::add(Rows rows, std::span<const double> u, std::span<const double> v) {
  const Design& design = store_->design();
  linear::RowStoreView x{design.x.data(), design.stride, dense()};
  std::size_t first = rows.size() > 0 ? rows[0] : 0;
  std::vector<double> packed;  // scattered rows, side by side
  if (!rows.contiguous()) {
    packed.assign(rows.size() * x.stride + linear::padding, 0.0);
    for (std::size_t k = 0; k < rows.size(); ++k)
      std::copy_n(design.row(rows[k]), x.stride, packed.data() + k * x.stride);
    x.data = packed.data();
    first = 0;
  }
  linear::add_moments(x, first, rows.size(), u.data(), with_information_ ? v.data() : nullptr,
                      gradient_.data(), with_information_ ? information_.data() : nullptr);
  if (!design.blocks.empty()) add_cells(rows, u, v);
}

void MomentSums::add_cells(Rows rows, std::span<const double> u, std::span<const double> v) {
  const Design& design = store_->design();
  const std::size_t q = dense(), blocks = design.blocks.size();
  std::vector<std::size_t> cell(blocks);
  std::vector<double> m(blocks);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const double* const row = design.row(rows[k]);
    total_ += u[k];
    for (std::size_t b = 0; b < blocks; ++b) {
      cell[b] = design.blocks[b].cell(row);
      m[b] = design.blocks[b].factor(row);
      cell_sums_[store_->first_cell(b) + cell[b]] += u[k] * m[b];
    }
    if (!with_information_) continue;
    weight_ += v[k];
    auto table = tables_.begin();
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t c = store_->first_cell(b) + cell[b];
      const double w = v[k] * m[b];
      cell_weights_[c] += w;
      cell_squares_[c] += w * m[b];
      double* const out = cell_dense_.data() + c * q;
      for (std::size_t d = 0; d < q; ++d) out[d] += w * row[d];
      for (std::size_t a = 0; a < b; ++a, ++table)
        (*table)[cell[a] * design.blocks[b].cells + cell[b]] += w * m[a];
    }
  }
}

// With z the row of dense columns and cells, the working row is A z - c: A holds the blocks' values over
// their divisors, c the shifts over theirs. So the sums are A (sum u z) - c sum u, and A (sum v z z') A' - (A
// sum v z) c' - c (A sum v z)' + c c' sum v.
void MomentSums::finish(std::span<double> gradient, std::span<double> information) const {
  const Design& design = store_->design();
  const std::size_t p = store_->dim(), q = dense();
  for (std::size_t d = 0; d < q; ++d) gradient[design.dense[d]] += gradient_[d];
  std::vector<double> c(p, 0);
  if (!design.blocks.empty())
    for (std::size_t j = 0; j < p; ++j) c[j] = design.shift[j] / design.divisor[j];

  const auto entries = [&](std::size_t b, std::size_t cell, const auto& visit) {
    const LevelBlock& block = design.blocks[b];
    for (std::size_t e = block.starts[cell]; e < block.starts[cell + 1]; ++e)
      visit(std::size_t{block.columns[e]}, block.values[e] / design.divisor[block.columns[e]]);
  };
  for (std::size_t b = 0; b < design.blocks.size(); ++b)
    for (std::size_t cell = 0; cell < design.blocks[b].cells; ++cell)
      entries(b, cell,
              [&](std::size_t j, double a) { gradient[j] += a * cell_sums_[store_->first_cell(b) + cell]; });
  if (total_ != 0)
    for (std::size_t j = 0; j < p; ++j) gradient[j] -= c[j] * total_;
  if (!with_information_) return;

  const auto add = [&](std::size_t j, std::size_t k, double value) {
    information[std::min(j, k) * p + std::max(j, k)] += value;
  };
  for (std::size_t d = 0; d < q; ++d)
    for (std::size_t e = d; e < q; ++e) add(design.dense[d], design.dense[e], information_[d * q + e]);
  if (design.blocks.empty()) return;

  std::vector<double> sums(p, 0);  // A sum v z; of dense columns, only needed beside an intercept: row 0
  if (design.intercept)
    for (std::size_t d = 0; d < q; ++d) sums[design.dense[d]] = information_[d];
  for (std::size_t b = 0; b < design.blocks.size(); ++b)
    for (std::size_t cell = 0; cell < design.blocks[b].cells; ++cell) {
      const std::size_t place = store_->first_cell(b) + cell;
      entries(b, cell, [&](std::size_t j, double a) {
        sums[j] += a * cell_weights_[place];
        for (std::size_t d = 0; d < q; ++d) add(design.dense[d], j, a * cell_dense_[place * q + d]);
        entries(b, cell, [&](std::size_t k, double other) {
          if (j <= k) add(j, k, a * other * cell_squares_[place]);
        });
      });
    }
  auto table = tables_.begin();
  for (std::size_t b = 1; b < design.blocks.size(); ++b)
    for (std::size_t a = 0; a < b; ++a, ++table)
      for (std::size_t i = 0; i < design.blocks[a].cells; ++i)
        for (std::size_t k = 0; k < design.blocks[b].cells; ++k) {
          const double value = (*table)[i * design.blocks[b].cells + k];
          if (value == 0) continue;
          entries(a, i, [&](std::size_t j, double left) {
            entries(b, k, [&](std::size_t m, double right) { add(j, m, left * right * value); });
          });
        }
  for (std::size_t j = 0; j < p; ++j)
    for (std::size_t k = j; k < p; ++k)
      information[j * p + k] += c[j] * c[k] * weight_ - sums[j] * c[k] - c[j] * sums[k];
}

}  // namespace mlo
