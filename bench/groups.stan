// Copyright (c) the mlo authors. BSD-3-Clause.
// A model with group effects and mlo's priors, for bench/groups: what Stan's own sampler says of the same posterior. Groupings have an
// intercept, or an intercept and one slope that are correlated; lkj(1) of two effects is a uniform law of their correlation.
data {
  int<lower=1, upper=3> family;  // gaussian, binomial with logit link, poisson with log link
  int<lower=1> N;
  int<lower=0> P;
  matrix[N, P] X;
  vector[N] y;
  int count[N];
  int trials[N];
  int<lower=1> K;  // groupings
  int<lower=1> J[K];
  int<lower=1, upper=2> D[K];  // effects per level
  int level[N, K];
  matrix[N, K] z;  // what multiplies the second effect
  real intercept_mean;
  real<lower=0> intercept_sd;  // where all columns are 0
  real<lower=0> slope_sd;
  real<lower=0> sd_scale;  // student_t(3, 0, sd_scale), the part above 0
  real<lower=0> sigma_rate;
}
transformed data {
  int effects = 0;
  int standard = 0;
  int correlated = 0;
  for (k in 1:K) {
    effects += D[k];
    standard += D[k] * J[k];
    correlated += D[k] - 1;
  }
}
parameters {
  real a;
  vector[P] b;
  real<lower=0> sigma[family == 1 ? 1 : 0];
  vector<lower=0>[effects] spread;
  vector<lower=-1, upper=1>[correlated] cor;
  vector[standard] w;
}
model {
  vector[N] eta = rep_vector(a, N);
  int at = 0;
  int e = 0;
  int c = 0;
  if (P > 0) eta += X * b;
  a ~ normal(intercept_mean, intercept_sd);
  b ~ normal(0, slope_sd);
  spread ~ student_t(3, 0, sd_scale);
  w ~ std_normal();
  for (k in 1:K) {
    vector[J[k]] first = spread[e + 1] * w[(at + 1):(at + J[k])];
    for (i in 1:N) eta[i] += first[level[i, k]];
    if (D[k] == 2) {
      vector[J[k]] second;
      c += 1;
      second = spread[e + 2] * (cor[c] * w[(at + 1):(at + J[k])] + sqrt(1 - square(cor[c])) * w[(at + J[k] + 1):(at + 2 * J[k])]);
      for (i in 1:N) eta[i] += z[i, k] * second[level[i, k]];
    }
    at += D[k] * J[k];
    e += D[k];
  }
  if (family == 1) {
    sigma ~ exponential(sigma_rate);
    y ~ normal(eta, sigma[1]);
  } else if (family == 2) {
    count ~ binomial_logit(trials, eta);
  } else {
    count ~ poisson_log(eta);
  }
}
