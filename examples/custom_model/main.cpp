// Copyright (c) the mlo authors. BSD-3-Clause.
// Weibull survival regression with censoring: t_i ~ Weibull(shape, exp(x_i' beta)), each observed until its
// own censoring time. Fitted on all rows, and by `difference`, which reads some twenty rows per step.
#include <cmath>
#include <cstdio>
#include <random>

#include "mlo/diagnose/summary.hpp"
#include "mlo/method/sample.hpp"
#include "mlo/model/autodiff.hpp"

struct Weibull {
  std::vector<double> x, time, event;  // event: 1 if observed, 0 if censored
  std::vector<std::string> names() const { return {"intercept", "slope", "log_shape"}; }
  std::size_t rows() const { return time.size(); }
  template <class Scalar>
  Scalar log_prior(std::span<const Scalar> theta) const {
    using namespace mlo::ad;
    return -0.5 * (square(theta[0] / 10) + square(theta[1] / 2.5) + square(theta[2]));
  }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    using namespace mlo::ad;
    const Scalar z = exp(theta[2]) * (std::log(time[i]) - theta[0] - theta[1] * x[i]);
    return event[i] * (theta[2] + z) - exp(z);  // log hazard (+ constant) if observed - cumulative hazard
  }
};

int main() try {
  Weibull data;
  std::mt19937_64 random(1);
  for (int i = 0; i < 50'000; ++i) {
    const double x = std::normal_distribution<>()(random);
    const double end = std::weibull_distribution<>(1.5, std::exp(1 - 0.5 * x))(random);
    const double last = std::exponential_distribution<>(0.2)(random);
    data.x.push_back(x);
    data.time.push_back(std::min(end, last));
    data.event.push_back(end < last ? 1 : 0);
  }
  const mlo::AutodiffModel model(std::move(data));
  const auto draw = [&](const char* method, std::uint64_t seed) {
    const mlo::MethodOptions how{.method = method, .warmup = 100, .draws = 500, .seed = seed, .threads = 2};
    return mlo::summarise(model.names(), mlo::sample(model, how).chains);
  };
  const auto full = draw("full", 1), some = draw("difference", 2);
  bool agree = true;
  std::printf("%-10s %19s %19s\n", "", "full", "difference");
  for (std::size_t j = 0; j < full.size(); ++j) {
    const auto &a = full[j], &b = some[j];
    std::printf("%-10s %9.5f (%.5f) %9.5f (%.5f)\n", a.name.c_str(), a.mean, a.sd, b.mean, b.sd);
    agree = agree && std::abs(a.mean - b.mean) < 4 * std::hypot(a.mcse_mean, b.mcse_mean);
  }
  return agree ? 0 : 1;
} catch (const mlo::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return static_cast<int>(error.code());
}
