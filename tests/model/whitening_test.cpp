// Copyright (c) the mlo authors. BSD-3-Clause.
// Whitened rows against plain sums in long double, on every instruction set this machine has.
#include "mlo/model/whitening.hpp"

#include "support/simd_targets.hpp"

namespace mlo {
namespace {

using testing::ReferenceSum;
using testing::signed_numbers;
using testing::within_roundings;

constexpr long double unit = 0x1p-53L;

Eigen::MatrixXd upper_of(std::size_t dim) {
  const std::vector<double> numbers = signed_numbers<double>(dim * dim, 7 + dim);
  Eigen::MatrixXd upper = Eigen::MatrixXd::Constant(static_cast<Eigen::Index>(dim),
                                                    static_cast<Eigen::Index>(dim), 1e30);  // below: not used
  for (std::size_t j = 0; j < dim; ++j)
    for (std::size_t i = 0; i <= j; ++i)
      upper(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = numbers[i * dim + j];
  return upper;
}

class WhiteningOnTarget : public testing::OnTarget {};

TEST_P(WhiteningOnTarget, IsAProductWithATriangle) {
  for (const std::size_t dim : {1U, 2U, 3U, 4U, 5U, 11U, 33U, 70U})
    for (const std::size_t count : {1U, 3U, 16U, 63U, 64U})
      for (const bool some : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << "dim " << dim << ", " << count << " rows, some columns " << some);
        const std::size_t stride = 2 * dim + 2;
        const std::vector<double> x = signed_numbers<double>(count * stride, dim + count);
        std::vector<std::size_t> columns;
        for (std::size_t j = 0; j < dim && some; ++j) columns.push_back(2 * j + 1);
        const Eigen::MatrixXd upper = upper_of(dim);
        const Whitening whitening(upper, columns);
        ASSERT_EQ(whitening.dim(), dim);
        std::vector<double> squares(count + 1, -7), white(dim * Whitening::batch), again(count);
        whitening({x.data(), stride, count}, std::span(squares).first(count), white);
        whitening({x.data(), stride, count}, again);
        for (std::size_t k = 0; k < count; ++k) {
          ReferenceSum square;
          for (std::size_t j = 0; j < dim; ++j) {
            ReferenceSum w;
            for (std::size_t i = 0; i <= j; ++i)
              w.add(static_cast<long double>(x[k * stride + (some ? columns[i] : i)]) *
                    static_cast<long double>(
                        upper(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j))));
            const double got = white[j * Whitening::batch + k];
            EXPECT_TRUE(within_roundings(got, w, dim + 1, unit));
            square.add(static_cast<long double>(got) * static_cast<long double>(got));
          }
          EXPECT_TRUE(within_roundings(squares[k], square, dim + 1, unit));
          EXPECT_EQ(squares[k], again[k]);
        }
        EXPECT_EQ(squares[count], -7) << "written past the end";
      }
}

TEST_P(WhiteningOnTarget, OfARowDoesNotDependOnTheRowsBesideIt) {
  constexpr std::size_t dim = 6, rows = 64, stride = 8;
  const std::vector<double> x = signed_numbers<double>(rows * stride, 3);
  const Whitening whitening(upper_of(dim));
  std::vector<double> all(rows);
  whitening({x.data(), stride, rows}, all);
  for (std::size_t first = 0; first < rows; ++first)
    for (std::size_t count = 1; first + count <= rows; count += 5) {
      std::vector<double> some(count);
      whitening({x.data() + first * stride, stride, count}, some);
      for (std::size_t k = 0; k < count; ++k) EXPECT_EQ(some[k], all[first + k]);
    }
}

MLO_ON_EVERY_TARGET(WhiteningOnTarget);

}  // namespace
}  // namespace mlo
