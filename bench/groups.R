# Copyright (c) the mlo authors. BSD-3-Clause.
# A mixed model by R, for bench/groups: lme4's lmer or glmer (nAGQ = 0 and 1), mgcv's bam and rstanarm, those that are installed.
#   Debian: apt-get install r-cran-lme4 r-cran-mgcv
#   Rscript bench/groups.R DATA.csv FAMILY FORMULA FITTERS [--modes]
#   Rscript bench/groups.R sleepstudy|cbpp OUT.csv          # writes a data set of lme4
# FAMILY is gaussian, binomial or poisson; FORMULA is lme4's; FITTERS is a list such as glmer0,glmer1,bam,stan_glmer.
# Prints lines of four fields with tabs between them: fitter, quantity, value, standard error. Quantities are "cpu" (seconds of the
# fit alone), b_NAME, sd_GROUP__EFFECT, cor_GROUP__EFFECT__EFFECT as brms names them, with --modes also r_GROUP[LEVEL,EFFECT], and
# "missing" for a fitter whose package is not installed.
arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) == 2) {
  if (!requireNamespace("lme4", quietly = TRUE)) stop("the package lme4 is not installed")
  data <- as.data.frame(get(data(list = arguments[1], package = "lme4")))
  write.csv(data, arguments[2], row.names = FALSE, quote = FALSE)
  quit()
}
if (length(arguments) < 4) stop("usage: Rscript bench/groups.R DATA.csv gaussian|binomial|poisson FORMULA FITTERS [--modes]")
family <- switch(arguments[2], gaussian = gaussian(), binomial = binomial(), poisson = poisson(), stop("unknown family"))
formula <- as.formula(arguments[3])
modes <- "--modes" %in% arguments
reader <- if (requireNamespace("data.table", quietly = TRUE))
  function(file) data.table::fread(file, data.table = FALSE, stringsAsFactors = TRUE) else
  function(file) read.csv(file, stringsAsFactors = TRUE)
data <- reader(arguments[1])

# The group terms as lists: what varies, and the name of the grouping.
bars <- if (requireNamespace("lme4", quietly = TRUE)) lme4::findbars(formula) else list()
for (bar in bars) for (name in all.vars(bar[[3]])) data[[name]] <- factor(data[[name]])

emit <- function(fitter, quantity, value, error = NA) cat(sprintf("%s\t%s\t%.8g\t%.4g\n", fitter, quantity, value, error), sep = "")
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

for (fitter in strsplit(arguments[4], ",")[[1]]) {
  package <- switch(fitter, bam = "mgcv", stan_glmer = "rstanarm", "lme4")
  if (!requireNamespace(package, quietly = TRUE)) {
    emit(fitter, "missing", NA)
    next
  }
  if (fitter == "bam") {
    suppressPackageStartupMessages(library(mgcv))
    bam_results(timed("bam", function() mgcv::bam(bam_formula(), family = family, data = data, discrete = TRUE)))
  } else if (fitter == "stan_glmer") {
    model <- timed(fitter, function() rstanarm::stan_glmer(formula, family = family, data = data, cores = 1, seed = 1, refresh = 0))
    lme4_results(fitter, model)
  } else if (fitter == "lmer") {
    lme4_results(fitter, timed(fitter, function() lme4::lmer(formula, data = data)))
  } else {
    nodes <- if (fitter == "glmer0") 0L else 1L
    lme4_results(fitter, timed(fitter, function() lme4::glmer(formula, family = family, data = data, nAGQ = nodes)))
  }
}
