# Copyright (c) the mlo authors. BSD-3-Clause.
# A mixed model by R, for bench/groups: lme4's lmer or glmer (nAGQ = 0 and 1), mgcv's bam, rstanarm (stan_glmer) and bench/groups.stan by
# rstan (stan), those that are installed.
#   Debian: apt-get install r-cran-lme4 r-cran-mgcv
#   Rscript bench/groups.R DATA.csv FAMILY FORMULA FITTERS [--modes] [--priors=NUMBERS]
#   Rscript bench/groups.R sleepstudy|cbpp|Penicillin|grouseticks OUT.csv          # writes a data set of lme4
# FAMILY is gaussian, binomial or poisson; FORMULA is lme4's; FITTERS is a list such as glmer0,glmer1,bam,stan_glmer.
# NUMBERS are five with commas between them: mean and sd of the intercept's normal prior, sd of the other coefficients', scale of
# the sds' half student_t(3), rate of sigma's exponential prior. rstanarm has another prior of covariances, decov: an sd (of gaussian
# responses in units of sigma) has the law exponential(1), that of two effects a trace with such a root; and its intercept is the one at
# the columns' means.
# Prints lines of five fields with tabs between them: fitter, quantity, value, standard error, Monte Carlo error. Quantities are "cpu"
# (seconds of the fit alone), b_NAME, sd_GROUP__EFFECT, cor_GROUP__EFFECT__EFFECT as brms names them, with --modes also
# r_GROUP[LEVEL,EFFECT], and
# "missing" for a fitter whose package is not installed.
arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) == 2) {
  if (!requireNamespace("lme4", quietly = TRUE)) stop("the package lme4 is not installed")
  data <- as.data.frame(get(data(list = arguments[1], package = "lme4")))
  write.csv(data, arguments[2], row.names = FALSE, quote = FALSE)
  quit()
}
if (length(arguments) < 4)
  stop("usage: Rscript bench/groups.R DATA.csv gaussian|binomial|poisson FORMULA FITTERS [--modes] [--priors=NUMBERS]")
family <- switch(arguments[2], gaussian = gaussian(), binomial = binomial(), poisson = poisson(), stop("unknown family"))
formula <- as.formula(arguments[3])
modes <- "--modes" %in% arguments
priors <- as.list(as.numeric(strsplit(sub("--priors=", "", grep("^--priors=", arguments, value = TRUE)), ",")[1][[1]]))
if (length(priors) > 0) names(priors) <- c("intercept_mean", "intercept_sd", "slope_sd", "sd_scale", "sigma_rate")
reader <- if (requireNamespace("data.table", quietly = TRUE))
  function(file) data.table::fread(file, data.table = FALSE, stringsAsFactors = TRUE) else
  function(file) read.csv(file, stringsAsFactors = TRUE)
data <- reader(arguments[1])

# The group terms as lists: what varies, and the name of the grouping.
bars <- if (requireNamespace("lme4", quietly = TRUE)) lme4::findbars(formula) else list()
for (bar in bars) for (name in all.vars(bar[[3]])) data[[name]] <- factor(data[[name]])

emit <- function(fitter, quantity, value, error = NA, mcse = NA)
  cat(sprintf("%s\t%s\t%.8g\t%.6g\t%.4g\n", fitter, quantity, value, error, mcse), sep = "")
plain <- function(name) gsub("(Intercept)", "Intercept", name, fixed = TRUE)
timed <- function(fitter, fit) {
  invisible(gc())
  seconds <- system.time(model <- fit())
  emit(fitter, "cpu", seconds[["user.self"]] + seconds[["sys.self"]])
  model
}
lme4_results <- function(fitter, model) {
  emit(fitter, paste0("b_", plain(names(lme4::fixef(model)))), lme4::fixef(model), sqrt(diag(as.matrix(vcov(model)))))
  for (row in split(as.data.frame(lme4::VarCorr(model)), seq_len(nrow(as.data.frame(lme4::VarCorr(model)))))) {
    group <- sub("\\.[0-9]+$", "", row$grp)
    if (group == "Residual") emit(fitter, "sigma", row$sdcor)
    else if (is.na(row$var2)) emit(fitter, paste0("sd_", group, "__", plain(row$var1)), row$sdcor)
    else emit(fitter, paste0("cor_", group, "__", plain(row$var1), "__", plain(row$var2)), row$sdcor)
  }
  if (modes) for (group in names(lme4::ranef(model))) {
    table <- lme4::ranef(model, condVar = TRUE)[[group]]
    variances <- attr(table, "postVar")
    for (effect in seq_along(table))
      emit(fitter, sprintf("r_%s[%s,%s]", group, rownames(table), plain(names(table)[effect])), table[[effect]],
           if (is.array(variances)) sqrt(variances[effect, effect, ]) else NA)
  }
}
# bam's smooths of groups: one for each effect, without correlations.
bam_formula <- function() {
  fixed <- lme4::nobars(formula)
  if (!inherits(fixed, "formula")) fixed <- as.formula(paste(deparse(formula[[2]]), "~ 1"))
  smooths <- character()
  for (bar in bars) {
    group <- deparse(bar[[3]])
    if (grepl("[:/(]", group)) stop("bam: a grouping must be one column")
    terms <- terms(as.formula(paste("~", paste(deparse(bar[[2]]), collapse = " "))))
    if (attr(terms, "intercept") == 1) smooths <- c(smooths, sprintf("s(%s, bs = 're')", group))
    smooths <- c(smooths, sprintf("s(%s, %s, bs = 're')", attr(terms, "term.labels"), group)[seq_along(attr(terms, "term.labels"))])
  }
  as.formula(paste(paste(deparse(fixed), collapse = " "), "+", paste(smooths, collapse = " + ")))
}
bam_results <- function(model) {
  number <- summary(model, re.test = FALSE)
  emit("bam", paste0("b_", plain(rownames(number$p.table))), number$p.table[, 1], number$p.table[, 2])
  invisible(capture.output(components <- mgcv::gam.vcomp(model, rescale = TRUE)))
  if (is.list(components) && !is.data.frame(components)) components <- components$vc
  components <- as.matrix(components)
  for (smooth in model$smooth) {
    label <- smooth$label
    group <- smooth$term[length(smooth$term)]
    effect <- if (length(smooth$term) > 1) smooth$term[1] else "Intercept"
    emit("bam", paste0("sd_", group, "__", effect), components[label, 1])
  }
  if (family$family == "gaussian") emit("bam", "sigma", sqrt(model$sig2))
}
# draws: of each quantity a matrix, iteration x chain.
draws_results <- function(fitter, draws) for (name in names(draws))
  emit(fitter, name, mean(draws[[name]]), sd(draws[[name]]), posterior::mcse_mean(draws[[name]]))
rstanarm_results <- function(fitter, model) {
  array <- as.array(model)
  draws <- list()
  for (name in names(lme4::fixef(model))) draws[[paste0("b_", plain(name))]] <- array[, , name]
  if ("sigma" %in% dimnames(array)[[3]]) draws$sigma <- array[, , "sigma"]
  for (group in names(lme4::VarCorr(model))) {
    effects <- colnames(lme4::VarCorr(model)[[group]])
    variance <- function(i, j) array[, , sprintf("Sigma[%s:%s,%s]", group, effects[i], effects[j])]
    for (i in seq_along(effects)) draws[[paste0("sd_", group, "__", plain(effects[i]))]] <- sqrt(variance(i, i))
    for (i in seq_along(effects)) for (j in seq_len(i - 1))
      draws[[paste0("cor_", group, "__", plain(effects[j]), "__", plain(effects[i]))]] <-
        variance(i, j) / sqrt(variance(i, i) * variance(j, j))
  }
  draws_results(fitter, draws)
}
stan_results <- function(fitter, iterations = 6000) {
  fixed <- lme4::nobars(formula)
  if (!inherits(fixed, "formula")) fixed <- as.formula(paste(deparse(formula[[2]]), "~ 1"))
  frame <- model.frame(fixed, data)
  x <- model.matrix(fixed, frame)[, -1, drop = FALSE]
  y <- as.matrix(model.response(frame))
  groups <- lapply(bars, function(bar) data[[deparse(bar[[3]])]])
  z <- lapply(bars, function(bar) model.matrix(as.formula(paste("~", deparse(bar[[2]]))), data))
  known <- list(family = match(family$family, c("gaussian", "binomial", "poisson")), N = nrow(x), P = ncol(x), X = x, y = y[, 1],
                count = if (family$family == "gaussian") integer(nrow(x)) else as.integer(y[, 1]),
                trials = if (ncol(y) == 2) as.integer(rowSums(y)) else rep(1L, nrow(x)),
                K = length(bars), J = as.array(sapply(groups, nlevels)), D = as.array(sapply(z, ncol)),
                level = sapply(groups, as.integer), z = sapply(z, function(m) if (ncol(m) == 2) m[, 2] else numeric(nrow(m))))
  stopifnot(length(priors) == 5, sapply(z, ncol) <= 2)
  place <- dirname(sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
  # Debian's package BH has no files of its own.
  if (!file.exists(rstan::rstan_options("boost_lib"))) rstan::rstan_options(boost_lib = "/usr/include")
  if (!file.exists(rstan::rstan_options("eigen_lib"))) rstan::rstan_options(eigen_lib = "/usr/include/eigen3")
  program <- rstan::stan_model(file.path(place, "groups.stan"))
  fit <- timed(fitter, function() rstan::sampling(program, data = c(known, priors), iter = iterations, warmup = 1000, chains = 4, cores = 1,
                                                  seed = 1, refresh = 0, pars = c("w", "lp__"), include = FALSE,
                                                  control = list(adapt_delta = 0.95)))
  array <- as.array(fit)
  draws <- list(b_Intercept = array[, , "a"])
  for (j in seq_len(ncol(x))) draws[[paste0("b_", colnames(x)[j])]] <- array[, , sprintf("b[%d]", j)]
  if (known$family == 1) draws$sigma <- array[, , "sigma[1]"]
  at <- 0
  correlation <- 0
  for (k in seq_along(bars)) {
    group <- deparse(bars[[k]][[3]])
    effects <- plain(colnames(z[[k]]))
    for (effect in effects) draws[[paste0("sd_", group, "__", effect)]] <- array[, , sprintf("spread[%d]", at <- at + 1)]
    if (length(effects) == 2)
      draws[[paste0("cor_", group, "__", effects[1], "__", effects[2])]] <- array[, , sprintf("cor[%d]", correlation <- correlation + 1)]
  }
  draws_results(fitter, draws)
}

for (fitter in strsplit(arguments[4], ",")[[1]]) {
  package <- switch(fitter, bam = "mgcv", stan_glmer = "rstanarm", stan = "rstan", "lme4")
  if (!requireNamespace(package, quietly = TRUE)) {
    emit(fitter, "missing", NA)
    next
  }
  if (fitter == "bam") {
    suppressPackageStartupMessages(library(mgcv))
    bam_results(timed("bam", function() mgcv::bam(bam_formula(), family = family, data = data, discrete = TRUE)))
  } else if (fitter == "stan_glmer") {
    how <- list(formula, family = family, data = data, cores = 1, seed = 1, refresh = 0)
    if (length(priors) > 0) {
      how <- c(how, list(prior_intercept = rstanarm::normal(priors$intercept_mean, priors$intercept_sd, autoscale = FALSE), iter = 6000,
                         warmup = 1000, adapt_delta = 0.95))
      if (length(attr(terms(lme4::nobars(formula)), "term.labels")) > 0)
        how$prior <- rstanarm::normal(0, priors$slope_sd, autoscale = FALSE)
      if (family$family == "gaussian") how$prior_aux <- rstanarm::exponential(priors$sigma_rate, autoscale = FALSE)
    }
    rstanarm_results(fitter, timed(fitter, function() do.call(rstanarm::stan_glmer, how)))
  } else if (fitter == "stan") {
    stan_results(fitter)
  } else if (fitter == "lmer") {
    lme4_results(fitter, timed(fitter, function() lme4::lmer(formula, data = data)))
  } else {
    nodes <- if (fitter == "glmer0") 0L else 1L
    lme4_results(fitter, timed(fitter, function() lme4::glmer(formula, family = family, data = data, nAGQ = nodes)))
  }
}
