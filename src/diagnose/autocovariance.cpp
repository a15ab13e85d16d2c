// Copyright (c) the mlo authors. BSD-3-Clause.
#include "diagnose/autocovariance.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <unsupported/Eigen/FFT>

namespace mlo::diagnostics {
namespace {

// The smallest 2^a 3^b 5^c that is at least n: lengths for which the transform is fast.
std::size_t fast_length(std::size_t n) {
  for (;; ++n) {
    std::size_t rest = n;
    for (const std::size_t factor : {2, 3, 5}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return n;
  }
}

}  // namespace

// By Wiener-Khinchin, in O(n log n) however slowly the chain mixes. The transform is linear and we want a
// mean, so the power spectra are added first and transformed back once. Two halves a and b go through it as z
// = a + ib, because Re sum_s z_s conj(z_{s+t}) is the sum of both autocovariances.
std::vector<double> mean_autocovariance(const Halves& halves) {
  using Complex = std::complex<double>;
  const std::size_t n = halves.length;
  const std::size_t padded = fast_length(2 * n);  // zeros, so that the end does not wrap onto the beginning
  const auto transform_length = static_cast<Eigen::Index>(padded);
  Eigen::FFT<double> fft;
  std::vector<Complex> series(padded);
  std::vector<Complex> spectrum(padded);
  std::vector<Complex> power(padded);
  for (std::size_t half = 0; half < halves.count(); half += 2) {
    const std::span<const double> a = halves[half];
    const std::span<const double> b = halves[half + 1];
    const double mean_a = mean(a);
    const double mean_b = mean(b);
    for (std::size_t i = 0; i < n; ++i) series[i] = {a[i] - mean_a, b[i] - mean_b};
    fft.fwd(spectrum.data(), series.data(), transform_length);
    for (std::size_t k = 0; k < padded; ++k) power[k] += std::norm(spectrum[k]);
  }
  // The spectrum is real: forward and inverse transform differ only in the sign of the imaginary part.
  fft.fwd(spectrum.data(), power.data(), transform_length);

  const double scale = 1 / (static_cast<double>(padded) * static_cast<double>(halves.values.size()));
  std::vector<double> covariance(n);
  for (std::size_t lag = 0; lag < n; ++lag) covariance[lag] = scale * spectrum[lag].real();
  return covariance;
}

}  // namespace mlo::diagnostics
