# Copyright (c) the mlo authors. BSD-3-Clause.
# The fit of docs/benchmarks.md with factors, by R: I(delay > 15) ~ factor(month) + hour + log(distance) + origin.
# mgcv's bam and glm, on every 30th row unless stated otherwise: on all 3,000,000, bam had not finished after ten minutes, and glm's
# design matrix does not fit the memory. Both give a point estimate with standard errors.
#   Debian: apt-get install r-cran-mgcv r-cran-data.table
#   Rscript bench/peers_factors.R flights3m.csv [every]
arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) < 1) stop("usage: Rscript bench/peers_factors.R flights3m.csv [every]")
every <- if (length(arguments) > 1) as.integer(arguments[2]) else 30L
formula <- late ~ factor(month) + hour + log(distance) + origin

report <- function(name, fit, rows) {
  seconds <- system.time(model <- fit())
  peak <- sum(gc()[, 6])
  cat(sprintf("%-28s %9d rows  %4d coefficients  %7.1f s elapsed  %7.1f s CPU  %6.0f MB peak\n", name, rows,
              length(coef(model)), seconds[["elapsed"]], seconds[["user.self"]] + seconds[["sys.self"]], peak))
  print(round(coef(model)[c("(Intercept)", "hour", "log(distance)")], 5))
}

seconds <- system.time(data <- data.table::fread(arguments[1], nThread = 2, data.table = FALSE))[["elapsed"]]
cat(sprintf("%-28s %9d rows  %7.1f s elapsed\n", "data.table::fread", nrow(data), seconds))
data$late <- as.integer(data$delay > 15)
data$origin <- factor(data$origin)
data <- data[c("late", "month", "hour", "distance", "origin")]
data <- data[seq(1, nrow(data), by = every), ]
data$origin <- droplevels(data$origin)
invisible(gc(reset = TRUE))
if (requireNamespace("mgcv", quietly = TRUE))
  report("mgcv::bam, discrete", function() mgcv::bam(formula, family = binomial(), data = data, discrete = TRUE), nrow(data))
invisible(gc(reset = TRUE))
report("glm", function() glm(formula, family = binomial(), data = data), nrow(data))
