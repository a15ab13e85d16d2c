// Copyright (c) the mlo authors. BSD-3-Clause.
// Whitened rows against plain sums in long double over the rows written out, on every instruction set this
// machine has.
#include "mlo/model/whitening.hpp"

#include <algorithm>
#include <string>

#include "support/designs.hpp"
#include "support/simd_targets.hpp"

namespace mlo {
namespace {

using testing::ReferenceSum;
using testing::signed_numbers;
using testing::within_roundings;

constexpr long double unit = 0x1p-53L;
constexpr std::size_t n = 150;

Eigen::MatrixXd upper_of(std::size_t dim) {
  const std::vector<double> numbers = signed_numbers<double>(dim * dim, 7 + dim);
  Eigen::MatrixXd upper = Eigen::MatrixXd::Constant(static_cast<Eigen::Index>(dim),
                                                    static_cast<Eigen::Index>(dim), 1e30);  // below: not used
  for (std::size_t j = 0; j < dim; ++j)
    for (std::size_t i = 0; i <= j; ++i)
      upper(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = numbers[i * dim + j];
  return upper;
}

// Dense columns, and two factors.
RowStore store_of(std::size_t columns, const std::string& factors = "") {
  Table table =
      testing::regression_table(n, 0.4, std::vector<double>(columns, 0.2), 5, testing::draw_gaussian);
  Text f{.levels = {"b", "a", "c"}, .codes = {}}, g{.levels = {"u", "v"}, .codes = {}};
  for (std::uint32_t i = 0; i < n; ++i) {
    f.codes.push_back((i * 7 + i / 11) % 3);
    g.codes.push_back((i * 5 + i / 7) % 2);
  }
  table.columns.emplace_back("f", f);
  table.columns.emplace_back("g", g);
  std::string formula = "y ~ 1" + factors;
  for (std::size_t j = 0; j < columns; ++j) formula += " + x" + std::to_string(j + 1);
  return RowStore(testing::design_of(std::move(table), formula));
}

std::vector<RowStore> stores() {
  std::vector<RowStore> out;
  for (const std::size_t columns : {1U, 2U, 3U, 10U, 40U}) out.push_back(store_of(columns));
  out.push_back(store_of(2, " + f"));
  out.push_back(store_of(2, " + f*g + x1:f"));
  return out;
}

class WhiteningOnTarget : public testing::OnTarget {};

// A product of a row with a triangle: the row itself, for a factor, has three roundings per number.
TEST_P(WhiteningOnTarget, IsAProductWithATriangle) {
  for (const RowStore& store : stores())
    for (const std::size_t count : {1U, 3U, 16U, 63U, 64U})
      for (const bool some : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << store.dim() << " columns, " << count << " rows, some columns " << some);
        std::vector<std::size_t> columns;
        for (std::size_t j = 0; j < store.dim() && some; j += 2) columns.push_back(j);
        const std::size_t dim = some ? columns.size() : store.dim(), first = 37;
        const Eigen::MatrixXd upper = upper_of(dim);
        const Whitening whitening(store, upper, columns);
        ASSERT_EQ(whitening.dim(), dim);
        std::vector<double> squares(count + 1, -7), white(dim * Whitening::batch), again(count);
        whitening(first, count, std::span(squares).first(count), white);
        whitening(first, count, again);
        std::vector<double> x(store.dim());
        for (std::size_t k = 0; k < count; ++k) {
          store.design().working_row(first + k, x);
          ReferenceSum square;
          for (std::size_t j = 0; j < dim; ++j) {
            ReferenceSum w;
            for (std::size_t i = 0; i <= j; ++i)
              w.add(static_cast<long double>(x[some ? columns[i] : i]) *
                    static_cast<long double>(
                        upper(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j))));
            const double got = white[j * Whitening::batch + k];
            // Sums over a factor's columns cancel in another order: those of all of its levels count.
            w.size += store.design().blocks.empty() ? 0 : 10;
            EXPECT_TRUE(within_roundings(got, w, 4 * (dim + 1), unit));
            square.add(static_cast<long double>(got) * static_cast<long double>(got));
          }
          // With factors, a sum of products of parts: one for each pair of the row's columns and cells.
          square.size += store.design().blocks.empty() ? 0 : 10;
          EXPECT_TRUE(within_roundings(squares[k], square, 4 * (dim + 1), unit));
          EXPECT_EQ(squares[k], again[k]);
          if (!whitening.by_rows()) continue;
          std::vector<double> alone(dim);
          whitening.row(first + k, alone);
          for (std::size_t j = 0; j < dim; ++j) EXPECT_EQ(alone[j], white[j * Whitening::batch + k]);
        }
        EXPECT_EQ(squares[count], -7) << "written past the end";
      }
}

TEST_P(WhiteningOnTarget, OfARowDoesNotDependOnTheRowsBesideIt) {
  for (const RowStore& store : stores()) {
    const Whitening whitening(store, upper_of(store.dim()));
    std::vector<double> all(64);
    whitening(0, 64, all);
    for (std::size_t first = 0; first < 64; ++first)
      for (std::size_t count = 1; first + count <= 64; count += 5) {
        std::vector<double> some(count);
        whitening(first, count, some);
        for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(some[k], all[first + k]);
      }
  }
}

MLO_ON_EVERY_TARGET(WhiteningOnTarget);

}  // namespace
}  // namespace mlo
