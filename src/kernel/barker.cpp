// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/barker.hpp"

#include <array>

namespace mlo {
namespace {

// Fitted on a lattice out to 20 in steps of 1/2: probabilities >= 0 with the least squared error in the
// distribution function of the sum with N(0, 1), the squares reweighted (Lawson) until the largest error was
// smallest, 9.7e-8. A finer lattice gives 5e-8, one with steps of 1 gives 3.7e-6. Most points of the lattice
// get probability 0.
constexpr std::array<Atom, 18> atoms{{
    {0, 0.403621188192},
    {1, 0.137635181852},
    {1.5, 0.078555001679},
    {2, 0.000618053026},
    {2.5, 0.055179400033},
    {3.5, 0.010516213358},
    {4, 0.009498030629},
    {5, 0.002769565314},
    {5.5, 0.002074183416},
    {6.5, 0.000472237913},
    {7, 0.000618585060},
    {8.5, 0.000206806230},
    {10, 0.000015149633},
    {10.5, 0.000025654595},
    {12.5, 0.000003447090},
    {13, 0.000001645476},
    {16.5, 0.000000138020},
    {17, 0.000000112580},
}};

// Cumulative probabilities of the absolute value.
constexpr auto cumulated = [] {
  std::array<double, atoms.size()> out{};
  double sum = 0;
  for (std::size_t k = 0; k < atoms.size(); ++k) {
    sum += (k == 0 ? 1 : 2) * atoms[k].probability;
    out[k] = sum;
  }
  return out;
}();

}  // namespace

std::span<const Atom> logistic_correction_atoms() noexcept { return atoms; }

double logistic_correction(Stream& stream) noexcept {
  const double u = 2 * uniform(stream) - 1;  // its sign and its absolute value are independent
  const double size = std::abs(u);
  // Three comparisons on average, because the probabilities fall geometrically. The last value gets what
  // rounding leaves.
  std::size_t k = 0;
  while (k + 1 < atoms.size() && size > cumulated[k]) ++k;
  return std::copysign(atoms[k].value, u);
}

}  // namespace mlo
