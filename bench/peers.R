# Copyright (c) the mlo authors. BSD-3-Clause.
# What R's samplers reach on the data sets of docs/benchmarks.md: effective draws per second of the slowest
# parameter (posterior::ess_bulk), sampling only, one chain. Runs those of rstan and MCMCpack that are
# installed.
#   Debian: apt-get install r-cran-posterior r-cran-rstan r-cran-mcmcpack
#   build/release/mlo simulate logistic --rows 100000 --coefficients 1,0.5 --seed 1 --out d1.csv
#   Rscript bench/peers.R d1.csv
arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) < 1) stop("usage: Rscript bench/peers.R DATA.csv [draws]")
data <- read.csv(arguments[1])
draws <- if (length(arguments) > 1) as.integer(arguments[2]) else 1000L
y <- data$y
x <- as.matrix(data[, setdiff(names(data), "y"), drop = FALSE])

report <- function(name, samples, seconds) {
  ess <- min(apply(samples, 2, posterior::ess_bulk))
  cat(sprintf("%-28s %8.1f s  ESS %8.0f  %10.2f ESS/s\n", name, seconds, ess, ess / seconds))
}

if (requireNamespace("MCMCpack", quietly = TRUE)) {
  start <- glm.fit(x, y, family = binomial())$coefficients
  seconds <- system.time(
    fit <- MCMCpack::MCMClogit(y ~ 0 + x, burnin = 100, mcmc = draws, beta.start = start, b0 = 0, B0 = 0.1,
                               tune = 1.7, seed = 1))[["elapsed"]]
  report("MCMCpack MCMClogit", as.matrix(fit), seconds * draws / (draws + 100))
}

if (requireNamespace("rstan", quietly = TRUE)) {
  model <- rstan::stan_model(model_code = "
    data { int n; int p; int<lower=0, upper=1> y[n]; matrix[n, p] x; }
    parameters { vector[p] beta; }
    model { beta ~ normal(0, sqrt(10)); y ~ bernoulli_logit_glm(x, 0, beta); }",
    boost_lib = "/usr/include")  # where Debian keeps it
  fit <- rstan::sampling(model, data = list(n = nrow(x), p = ncol(x), y = y, x = x), chains = 1, seed = 1,
                         warmup = 500, iter = 500 + draws, refresh = 0)
  samples <- as.matrix(fit, pars = "beta")
  report("rstan NUTS", samples, rstan::get_elapsed_time(fit)[1, "sample"])
}
