# Copyright (c) the mlo authors. BSD-3-Clause.
# The files of draws as Stan's own tools read them: rstan::read_stan_csv, check_hmc_diagnostics, posterior and, where
# its source is at hand (MLO_CMDSTANR: a folder with R/csv.R), the reader of cmdstanr. Any warning is a failure.
#   MLO_COMMAND=build/release/mlo Rscript tests/r/stan_csv.R

skip <- function(words) {
  cat(words, "\n")
  quit(status = if (nzchar(Sys.getenv("MLO_REQUIRE_ALL"))) 1 else 77)
}
for (package in c("rstan", "posterior"))
  if (!suppressWarnings(suppressMessages(requireNamespace(package, quietly = TRUE))))
    skip(paste0("the files of draws are not read with R: there is no package ", package,
                "; ./setup --all-tests installs it"))
options(warn = 2, digits = 17)

command <- normalizePath(Sys.getenv("MLO_COMMAND"))
work <- tempfile("mlo-r-")
dir.create(work)
setwd(work)
mlo <- function(...) {
  out <- system2(command, shQuote(c(...)), stdout = TRUE, stderr = FALSE)
  if (!is.null(attr(out, "status"))) stop("mlo ", paste(...), ": exit code ", attr(out, "status"))
  paste(out, collapse = "\n")
}
equal <- function(found, expected, tolerance = 0) {
  same <- if (tolerance == 0) identical(found, expected) else isTRUE(all.equal(found, expected, tolerance = tolerance))
  if (!same) {
    print(found)
    print(expected)
    stop("not as expected: ", deparse(substitute(found)))
  }
}

# Names that need cleaning: an intercept, a factor, a power, an interaction.
set.seed(1)
n <- 400
data <- data.frame(hour = round(runif(n, 0, 24), 3), origin = sample(c("ATL", "JFK", "New York"), n, TRUE))
data$late <- rbinom(n, 1, plogis(-1 + 0.05 * data$hour + (data$origin == "JFK")))
data$delay <- round(5 + 0.3 * data$hour + rnorm(n, 0, 2), 4)
write.csv(data, "flights.csv", row.names = FALSE, quote = FALSE)

check <- function(run, formula, family, method, parameters, ran = method) {
  thin <- if (method %in% c("mlo", "difference")) "3" else "1"
  mlo("fit", "flights.csv", formula, "--family", family, "--method", method, "--thin", thin, "--warmup", "200",
      "--draws", "300", "--chains", "4", "--seed", "3", "--out", run, "--quiet")
  files <- file.path(run, sprintf("draws-%d.csv", 1:4))
  fit <- rstan::read_stan_csv(files)  # a warning is an error here
  equal(fit@model_pars, c(parameters, "lp__"))
  equal(dim(as.array(fit)), c(300L, 4L, length(parameters) + 1L))
  equal(sapply(fit@stan_args, function(a) a$mlo_method), rep(ran, 4))
  times <- rstan::get_elapsed_time(fit)
  stopifnot(dim(times) == c(4, 2), all(is.finite(times)), all(times >= 0), sum(times) > 0)

  # Every statistic is finite; acceptance and lp__ vary.
  for (chain in rstan::get_sampler_params(fit, inc_warmup = FALSE)) {
    stopifnot(all(is.finite(chain)), var(chain[, "accept_stat__"]) > 0 || all(chain[, "accept_stat__"] == 1))
    stopifnot(all(chain[, "divergent__"] == 0), all(chain[, "treedepth__"] == 0))
  }
  words <- character()
  capture.output(withCallingHandlers(rstan::check_hmc_diagnostics(fit), message = function(m) {
    words <<- c(words, conditionMessage(m))
    invokeRestart("muffleMessage")
  }))
  equal(words[1:2], c("0 of 1200 iterations ended with a divergence.\n",
                      "0 of 1200 iterations saturated the maximum tree depth of 10.\n"))
  stopifnot(length(words) == 3, grepl("^E-BFMI indicated no", words[3]))
  printed <- paste(capture.output(print(fit)), collapse = "\n")
  for (name in parameters) stopifnot(grepl(name, printed, fixed = TRUE))

  # The figures are those of mlo's summary, which follows posterior's conventions.
  draws <- posterior::as_draws_array(as.array(fit))
  summary <- posterior::summarise_draws(draws, "mean", "sd", "median", "rhat", "ess_bulk", "ess_tail", "mcse_mean")
  stopifnot(all(is.finite(as.matrix(summary[, -1]))))
  ours <- read.csv(file.path(run, "summary.csv"), check.names = FALSE)
  theirs <- as.data.frame(summary[match(parameters, summary$variable), ])
  for (figure in c("mean", "sd", "median", "rhat", "ess_bulk", "ess_tail", "mcse_mean"))
    equal(as.numeric(ours[[figure]]), as.numeric(theirs[[figure]]), tolerance = 1e-6)
  fit
}

flights <- c("b_Intercept", "b_hour", "b_originJFK", "b_originNewYork", "b_IhourE2", "b_hour_originJFK",
             "b_hour_originNewYork")
formula <- "late ~ hour * origin + I(hour^2)"
for (method in c("exact", "full", "difference", "mlo"))
  invisible(check(paste0("late-", method), formula, "logistic", method, flights))
invisible(check("auto", "late ~ hour", "logistic", "auto", c("b_Intercept", "b_hour"), ran = "exact"))
fit <- check("delay", "delay ~ hour", "gaussian", "full", c("b_Intercept", "b_hour", "sigma"))

# lp__ of `full` is Stan's: the log density with log(sigma) as the parameter, up to a constant. Priors: mlo's defaults,
# normal(0, 2.5 sd(y) / sd(x)) for the slope, normal(mean(y), 10 sd(y)) for the intercept at mean(x); sigma's is the
# one that the summary states.
flat <- mlo("fit", "flights.csv", "delay ~ hour", "--family", "gaussian", "--method", "full", "--prior", "flat",
            "--prior-intercept", "flat", "--prior-for", "sigma", "exponential(1)", "--warmup", "200", "--draws", "300",
            "--seed", "3", "--out", "flat", "--quiet")
one <- as.data.frame(rstan::read_stan_csv("flat/draws-1.csv"))
truth <- sapply(seq_len(nrow(one)), function(k)
  sum(dnorm(data$delay, one$b_Intercept[k] + one$b_hour[k] * data$hour, one$sigma[k], log = TRUE)) - one$sigma[k] +
    log(one$sigma[k]))
equal(one$lp__ - one$lp__[1], truth - truth[1], tolerance = 1e-9)

# cmdstanr's own reader, from its source.
source_of <- Sys.getenv("MLO_CMDSTANR")
if (nzchar(source_of) && all(sapply(c("checkmate", "data.table", "R6"), requireNamespace, quietly = TRUE))) {
  cmdstanr <- new.env()
  for (package in c("checkmate", "data.table")) suppressMessages(library(package, character.only = TRUE))
  for (class in c("CmdStanMCMC", "CmdStanMLE", "CmdStanVB", "CmdStanLaplace", "CmdStanPathfinder"))
    assign(class, R6::R6Class(class), cmdstanr)
  for (name in c("os_is_wsl", "os_is_windows")) assign(name, function(...) FALSE, cmdstanr)
  assign("assert_valid_draws_format", identity, cmdstanr)
  assign("as_draws_format_fun", function(format) getExportedValue("posterior", paste0("as_", format)), cmdstanr)
  sys.source(file.path(source_of, "R", "csv.R"), cmdstanr)
  files <- sprintf("late-exact/draws-%d.csv", 1:4)
  read <- cmdstanr$read_cmdstan_csv(files)
  equal(posterior::variables(read$post_warmup_draws), flights)
  equal(read$metadata$mlo_method, "exact")
  equal(dim(read$post_warmup_draws), c(300L, 4L, 7L))
  stopifnot(read$time$chains$sampling >= 0, is.null(read$post_warmup_sampler_diagnostics))
  cat("cmdstanr's reader agrees\n")
} else {
  cat("cmdstanr's reader was not tried: MLO_CMDSTANR does not name its source\n")
}
cat("rstan", format(packageVersion("rstan")), "and posterior", format(packageVersion("posterior")), "read the files\n")
