# Copyright (c) the mlo authors. BSD-3-Clause.
# Makes the files of this folder: R's answers, which tests compare with. R 4.2; nothing but base R, splines and nnet.
#   cd tests/data/r && Rscript make.R            all but the one of the next line
#   cd tests/data/r && Rscript make.R fremtplfreq.csv.gz     fits/fremtplfreq.txt, from a file that is not in the repository
#
# a.csv, b.csv, c.csv: three small tables with the usual trouble.
# NN.txt: a design. Lines: the R line, the formula, the table, the column names of model.matrix (tabs between them), the
#   rows. Then "# response" and its names, its rows; "# offset", its rows, if there is one; "# rows", the numbers of the
#   rows that were kept, 1-based.
# basis.txt, breaks.txt: scale, poly, bs, ns and cut of vectors. See there.
# fits/NAME.txt: the R line, the formula, the table, the family (a tab and the column of weights), then a coefficient per line: name, tab, value.
library(splines)
invisible(Sys.setlocale("LC_ALL", "C"))
options(contrasts = c("contr.treatment", "contr.poly"), na.action = "na.omit", warn = 1)

number <- function(x) ifelse(is.na(x), "NA", sprintf("%.17g", x))
tabs <- function(...) paste(..., sep = "\t", collapse = "\t")
read <- function(name) read.csv(name, stringsAsFactors = TRUE, check.names = FALSE, na.strings = c("NA", ""))

# Functions of dates that base R does not have, as lubridate defines them; days() is ours.
clock <- function(x) as.POSIXlt(sub("T", " ", as.character(x)), tz = "UTC",
                                tryFormats = c("%Y-%m-%d %H:%M:%OS", "%Y-%m-%d %H:%M", "%Y-%m-%d"))
year <- function(x) clock(x)$year + 1900
month <- function(x) clock(x)$mon + 1
mday <- function(x) clock(x)$mday
yday <- function(x) clock(x)$yday + 1
wday <- function(x) clock(x)$wday + 1
hour <- function(x) clock(x)$hour
minute <- function(x) clock(x)$min
days <- function(x) as.numeric(as.POSIXct(clock(x))) / 86400

# ---- tables

tables <- function() {
  set.seed(20240229)
  some <- function(x, k) { x[sample(length(x), k)] <- NA; x }
  n <- 40
  a <- data.frame(
    y = some(round(rnorm(n, 3, 2), 2), 2),
    x = some(round(runif(n, 0, 10), 1), 3),
    z = round(rexp(n) + 0.1, 3),
    u = round(rnorm(n, 50, 12), 1),
    n = sample(1:6, n, TRUE),
    s = rpois(n, 4), f = rpois(n, 3) + 1,
    g = some(sample(c("a", "b", "c", "d"), n, TRUE, c(4, 3, 2, 1)), 2),
    h = sample(c("low", "mid", "high"), n, TRUE),
    k = sample(c("B", "a", "Z", "c", "10", "9"), n, TRUE),
    sex = some(sample(c("F", "M"), n, TRUE), 1),
    check.names = FALSE)
  a[["my col"]] <- round(rnorm(n), 2)
  a$x[5] <- 3       # ties with what the formulas compare with
  a$x[6] <- 5
  write.csv(a, "a.csv", row.names = FALSE, quote = FALSE)

  n <- 60
  b <- data.frame(
    claims = rpois(n, 0.4),
    exposure = round(runif(n, 0.05, 1), 2),
    power = sample(letters[4:9], n, TRUE, c(3, 3, 3, 2, 1, 1)),
    car_age = sample(0:20, n, TRUE),
    driver_age = sample(18:85, n, TRUE),
    brand = sample(c("Fiat", "Opel, General Motors or Ford", "Renault, Nissan or Citroen", "other"), n, TRUE),
    gas = sample(c("Diesel", "Regular"), n, TRUE),
    region = sample(c("R11", "R24", "R31", "R52", "R72"), n, TRUE, c(3, 5, 2, 2, 1)),
    density = round(exp(rnorm(n, 5, 1.5))),
    policies = sample(1:4, n, TRUE),
    check.names = FALSE)
  b$car_age[sample(n, 12)] <- 0
  b$driver_age[17] <- NA
  b$gas[23] <- NA
  b[["claim cost"]] <- round(rgamma(n, 2, 0.01), 2)
  write.csv(b, "b.csv", row.names = FALSE, quote = which(names(b) == "brand"))

  n <- 48
  c <- data.frame(
    day = as.character(as.Date("2023-12-20") + cumsum(sample(0:14, n, TRUE))),
    stamp = format(as.POSIXct("2024-02-27 22:15", tz = "UTC") + 60 * cumsum(sample(5:300, n, TRUE)), "%Y-%m-%d %H:%M"),
    flag = sample(c(TRUE, FALSE), n, TRUE, c(1, 2)),
    p = sample(c("p1", "p2", "p3"), n, TRUE, c(6, 3, 1)),
    q = sample(c("q1", "q2", "q3", "q4"), n, TRUE, c(8, 4, 2, 2)),
    site = rep(c("north", "south"), c(30, 18)),
    plot = sample(1:3, n, TRUE),
    v = round(rnorm(n), 2), w = round(rnorm(n), 1),
    r = round(rnorm(n, 10, 3), 1),
    trials = sample(1:9, n, TRUE), weight = sample(1:5, n, TRUE))
  c$q[c$p == "p3" & c$q == "q2"] <- "q1"    # an interaction that never occurs
  c$day[1] <- "2024-02-29"
  c$w[3] <- c$v[3]
  c$p[10] <- NA
  c$stamp[7] <- NA
  c$won <- rbinom(n, c$trials, plogis(0.4 * c$v))
  write.csv(c, "c.csv", row.names = FALSE, quote = FALSE)
}

# ---- designs

formulas <- rbind(
  # numbers
  c("a", 'y ~ 1'),
  c("a", 'y ~ x + z'),
  c("a", 'y ~ 0 + x + z'),
  c("a", 'y ~ x * z - x'),
  c("a", 'y ~ log(z) + exp(-z) + sqrt(z) + abs(x - 5) + I(x^2) + I(x/z)'),
  c("a", 'y ~ log1p(z) + log2(z) + log10(x + 1) + log(u, 3) + floor(x) + x:z'),
  c("a", 'y ~ (x + z)^2 + I((x + z)^3)'),
  c("a", 'y ~ ceiling(x) + trunc(z) + round(u) + round(z, 1) + sign(`my col`) + sin(x) + cos(x) + expm1(-z)'),
  c("a", 'y ~ I(100000 * x) + I(.0001 * z^2) + I(-x^2) + I((x + 1) * (z - 2)) + I(123456 * z^3) + I(x - (z - u))'),
  c("a", 'y ~ I(n %% 4) + I(-n %% 4) + I(u %/% 7) + I(x^-1)'),
  c("a", 'y ~ pmin(x, 5) + pmax(x, z) + ifelse(x > 5, x - 5, 0)'),
  c("a", 'y ~ is.na(x) + ifelse(is.na(x), 0, x) + z'),
  c("a", 'y ~ `my col` + I(`my col`^2) + `my col`:g'),
  # comparisons
  c("a", 'y ~ (x > 3) + z'),
  c("a", 'y ~ 0 + (x > 3) + z'),
  c("a", 'y ~ (sex == "F") * z'),
  c("a", 'y ~ I(g %in% c("a", "c")) + I(n %in% c(1, 4))'),
  c("a", 'y ~ I(x %in% c(3, 5)) * (h != "mid")'),
  c("a", 'y ~ (is.na(x) | x > 3) + !(z > 1 & x < 5)'),
  c("a", 'y ~ (x > 3) + g - 1'),
  c("a", 'y ~ (x > 3 & z < 1) + (x >= 5 | z == 0.5) + (x > 3):z'),
  c("c", 'r ~ (v >= w) + (flag == TRUE) + (flag == TRUE):v'),
  c("c", 'r ~ 0 + (flag == 1) + (v < 0):(flag == 1)'),
  # factors
  c("a", 'y ~ g'),
  c("a", 'y ~ k + sex'),
  c("a", 'y ~ 0 + g'),
  c("a", 'y ~ g + h - 1'),
  c("a", 'y ~ z + h + 0 + g'),
  c("a", 'y ~ factor(n)'),
  c("a", 'y ~ factor(n, levels = c(3, 1, 2, 4, 5, 6)) + x'),
  c("a", 'y ~ factor(g, levels = c("c", "a", "b"))'),
  c("a", 'y ~ relevel(factor(h), ref = "low") + relevel(g, ref = "b")'),
  c("a", 'y ~ C(factor(n), contr.sum) + z'),
  c("a", 'y ~ C(g, contr.sum) * h'),
  c("a", 'y ~ C(g, contr.helmert) + C(h, treatment) + C(factor(n), contr.sum):z'),
  c("a", 'y ~ 0 + C(g, contr.sum) + C(h, contr.sum)'),
  c("a", 'y ~ factor(0.1 * n) + factor(100000 * (n > 3)) + factor(h, labels = c("x", "y", "z"))'),
  c("a", 'y ~ factor(-n) + factor(round(z))'),
  c("a", 'y ~ relevel(factor(n), ref = "3") + relevel(cut(x, c(0, 3, 6, 10)), ref = "(3,6]")'),
  c("a", 'y ~ as.factor(n) + as.numeric(x)'),
  c("a", 'y ~ factor(x > 5) + factor(sex == "M"):z'),
  # interactions of factors
  c("a", 'y ~ g * h'),
  c("a", 'y ~ g:h'),
  c("a", 'y ~ 0 + g:h'),
  c("a", 'y ~ g + g:h'),
  c("a", 'y ~ h + g:h'),
  c("a", 'y ~ g * h - g'),
  c("a", 'y ~ g * h - h - 1'),
  c("a", 'y ~ sex * h * (x > 5)'),
  c("a", 'y ~ (g + h + sex)^2'),
  c("a", 'y ~ sex:h + sex:factor(n > 3) + h'),
  c("c", 'r ~ p * q'),
  c("c", 'r ~ p:q + v'),
  # factors and numbers
  c("a", 'y ~ g * z'),
  c("a", 'y ~ z:g'),
  c("a", 'y ~ g:z'),
  c("a", 'y ~ z + z:g'),
  c("a", 'y ~ 0 + g + g:z'),
  c("a", 'y ~ 0 + z:g'),
  c("a", 'y ~ h:z:x + h'),
  c("a", 'y ~ (h + z + x)^2 - z:x'),
  c("a", 'y ~ (sex + h + z)^3 - sex:h:z'),
  c("a", 'y ~ sex * h * z'),
  c("a", 'y ~ z * sex + sex:h:z'),
  c("a", 'y ~ C(h, contr.sum):z + C(h, contr.sum)'),
  c("a", 'y ~ 0 + z + g:h + h'),
  c("a", 'y ~ 0 + g:z + h'),
  c("a", 'y ~ 0 + sex:h:z + x'),
  c("a", 'y ~ factor(h, levels = c("low", "mid", "high")) * x:z'),
  # nested
  c("c", 'r ~ site/plot'),
  c("c", 'r ~ site/factor(plot)'),
  c("c", 'r ~ site + factor(plot) %in% site'),
  c("c", 'r ~ p/(v + w)'),
  c("c", 'r ~ p/q - 1'),
  c("c", 'r ~ q %in% p'),
  # functions of a column
  c("a", 'y ~ poly(u, 3)'),
  c("a", 'y ~ poly(u, 2, raw = TRUE) + poly(log(z), 2)'),
  c("a", 'y ~ poly(u, degree = 2) * sex'),
  c("a", 'y ~ scale(x) + scale(u, scale = FALSE) + scale(z, center = FALSE)'),
  c("a", 'y ~ bs(x, df = 5)'),
  c("a", 'y ~ bs(u, knots = c(45, 55), degree = 2) + x'),
  c("a", 'y ~ 0 + bs(u, df = 5, intercept = TRUE)'),
  c("a", 'y ~ bs(u, df = 4):h + h'),
  c("a", 'y ~ ns(x, df = 4)'),
  c("a", 'y ~ ns(u, knots = c(40, 50, 60), Boundary.knots = c(30, 70))'),
  c("a", 'y ~ ns(log(z), df = 3) * sex'),
  c("a", 'y ~ sex:ns(x, 2) - 1'),
  c("b", 'claims ~ ns(driver_age, df = 3) + bs(density, df = 4) + offset(log(exposure))'),
  c("a", 'y ~ poly(u, 2):bs(z, df = 3) + ns(x, 2)'),
  c("a", 'y ~ ns(u, 2):z:sex + ns(u, 2):sex'),
  c("a", 'y ~ cut(x, c(0, 2.5, 5, 10))'),
  c("a", 'y ~ cut(x, 3) + z'),
  c("a", 'y ~ cut(u, breaks = c(0, 40, 50, 60, 100), labels = c("A", "B", "C", "D")) * z'),
  c("a", 'y ~ 0 + cut(x, c(0, 3, 5, 10), right = FALSE, include.lowest = TRUE) + sex'),
  c("b", 'claims ~ cut(driver_age, c(17, 25, 40, 60, Inf)) + cut(density, 4):gas'),
  # insurance
  c("b", 'claims ~ power + car_age + driver_age + brand + gas + region + log(density) + offset(log(exposure))'),
  c("b", 'claims ~ . - brand - power'),
  c("b", 'claims ~ gas * (car_age + log(density)) + offset(log(exposure)) + offset(0.1 * car_age)'),
  c("b", '`claim cost` ~ brand + gas:power'),
  c("b", 'log(`claim cost`) ~ region * gas + poly(car_age, 2)'),
  # dates
  c("c", 'r ~ year(day) + factor(month(day)) + mday(day)'),
  c("c", 'r ~ yday(day) + factor(wday(day)) + days(day)'),
  c("c", 'r ~ hour(stamp) + minute(stamp) + I(days(stamp) - 19780) + (hour(stamp) >= 12)'),
  # responses
  c("a", 'log(z) ~ x + h'),
  c("a", 'I(y > 2) ~ x'),
  c("a", 'sex == "F" ~ x + h'),
  c("a", 'y > 2 & x < 8 ~ z'),
  c("a", 'cbind(s, f) ~ x + sex'),
  c("c", 'cbind(won, trials - won) ~ p + v'),
  c("a", 'I(s/(s + f)) ~ g:sex'),
  # logicals
  c("c", 'r ~ flag + v'),
  c("c", 'r ~ 0 + flag'),
  c("c", 'r ~ flag * v + flag:p'),
  c("c", 'r ~ v:flag + site'),
  c("c", 'r ~ I(flag) + factor(flag):w'),
  c("c", 'r ~ I(flag + w) + I(2 * flag) + ifelse(flag, v, w) + pmax(flag, v)'),
  c("c", 'r ~ I(!flag) + (flag & v > 0) + I(-flag)'),
  c("c", 'flag ~ v + p')
)

design <- function(at, table, text) {
  formula <- as.formula(text, env = globalenv())
  data <- read(paste0(table, ".csv"))
  frame <- model.frame(formula, data, na.action = na.omit, drop.unused.levels = TRUE)
  x <- model.matrix(formula, frame)
  y <- model.response(frame)
  y <- if (is.matrix(y)) y else matrix(as.numeric(y), dimnames = list(NULL, "y"))
  offset <- model.offset(frame)
  dropped <- attr(frame, "na.action")
  rows <- setdiff(seq_len(nrow(data)), dropped)
  rows_of <- function(m) apply(matrix(number(m), nrow = nrow(m)), 1, paste, collapse = "\t")
  writeLines(c(
    sprintf('model.matrix(%s, model.frame(%s, read.csv("%s.csv", stringsAsFactors = TRUE, check.names = FALSE), drop.unused.levels = TRUE))', text, text, table),
    text, paste0(table, ".csv"), tabs(colnames(x)), rows_of(x),
    "# response", tabs(if (is.null(colnames(y))) seq_len(ncol(y)) else colnames(y)), rows_of(y),
    if (!is.null(offset)) c("# offset", number(offset)),
    "# rows", tabs(rows)), sprintf("%02d.txt", at))
}

# ---- functions of vectors
# basis.txt, per case: the R line; the function and its arguments as NAME=VALUE; the values that are learnt from; the
# values that it is applied to; the number of columns; the columns; an empty line.

basis <- function() {
  set.seed(7)
  skewed <- round(rexp(41)^1.5 + 1e-3, 4)
  even <- seq(-3, 12, length.out = 31)
  tied <- c(0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 4, 5, 7, 7, 9, 12)
  late <- 1.7e9 + c(3, 1, 4, 1.5, 9, 2, 6, 5, 3.5, 8)
  new <- c(-2.5, 0, 0.125, 1, 2, 3.75, 7, 12, 13, 40, NA, 1e-3)
  out <- character()
  show <- function(line, x, at, shift = 0) {
    made <- suppressWarnings(eval(parse(text = line), list(x = x - shift)))
    m <- suppressWarnings(unclass(predict(made, at - shift)))   # that values lie beyond the boundary knots is on purpose
    m <- matrix(m, nrow = length(at))
    m[is.na(at), ] <- NA
    call <- parse(text = line)[[1]]
    arguments <- as.list(call)[-(1:2)]
    plain <- vapply(arguments, function(v) paste(number(as.numeric(eval(v))), collapse = ","), "")
    out <<- c(out, line, paste(c(as.character(call[[1]]), sprintf("%s=%s", names(arguments), plain)), collapse = " "),
              tabs(number(x)), tabs(number(at)), ncol(m), apply(matrix(number(m), nrow = nrow(m)), 2, paste, collapse = "\t"), "")
  }
  for (x in list(skewed, tied)) {
    at <- c(new, x[c(1, 5, 17)])
    for (line in c("bs(x, df = 5)", "bs(x, df = 3)", "bs(x, knots = c(2, 5))", "bs(x, knots = c(2, 2, 3), degree = 2)",
                   "bs(x, df = 6, degree = 1)", "bs(x, df = 7, intercept = TRUE)", "bs(x, knots = 4, degree = 5, intercept = TRUE)",
                   "bs(x, df = 6, Boundary.knots = c(-4, 20))", "bs(x, df = 4, Boundary.knots = c(0.5, 6))",
                   "ns(x, df = 1)", "ns(x, df = 2)", "ns(x, df = 4)", "ns(x, df = 9)", "ns(x, df = 2, intercept = TRUE)",
                   "ns(x, df = 5, intercept = TRUE)", "ns(x, knots = c(1, 3, 5))", "ns(x, knots = c(2, 2))",
                   "ns(x, df = 3, Boundary.knots = c(-5, 15))", "ns(x, df = 4, Boundary.knots = c(0.5, 6))")) {
      made <- suppressWarnings(eval(parse(text = line), list(x = x)))
      knots <- attr(made, "knots")
      limits <- attr(made, "Boundary.knots")
      fine <- all(knots > limits[1] & knots < limits[2]) && max(0, table(knots)) <= attr(made, "degree")
      if (fine) show(line, x, at)   # the others have columns of zeros
    }
    for (line in c("poly(x, degree = 1)", "poly(x, degree = 3)", "poly(x, degree = 6)")) show(line, x, at)
  }
  # A shift changes nothing, but at 1.7e9 R itself has errors of 1e-8.
  show("poly(x, degree = 4)", late, late[c(2, 4, 6)] + 0.25, 1.7e9)
  show("poly(x, degree = 10)", even, c(even[c(1, 8, 31)], 0.3))
  writeLines(out, "basis.txt")
}

# breaks.txt, per case: the R line; the arguments as NAME=VALUE; the values; the labels; the codes, 1-based or NA; an empty line.
breaks <- function() {
  x <- c(0, 0.5, 1, 1.5, 2, 2.25, 3, 4.75, 5, 7, 9.99, 10, NA, -1, 11)
  out <- character()
  for (line in c("cut(x, breaks = 3)", "cut(x, breaks = 4)", "cut(x, breaks = 7)", "cut(x, breaks = 12)", "cut(x, breaks = 2, dig.lab = 5)",
                 "cut(x, breaks = c(0, 1, 2, 5, 10))", "cut(x, breaks = c(10, 0, 5))", "cut(x, breaks = c(0, 1, 2, 5, 10), right = FALSE)",
                 "cut(x, breaks = c(0, 1, 2, 5, 10), include.lowest = TRUE)",
                 "cut(x, breaks = c(0, 1, 2, 5, 10), right = FALSE, include.lowest = TRUE)",
                 "cut(x, breaks = c(-Inf, 0, 2.25, Inf))", "cut(x, breaks = c(-Inf, 0, Inf), right = FALSE)",
                 "cut(x, breaks = c(0, 1.0001, 1.0002, 5))", "cut(x, breaks = c(0, 1234.5, 1234567, 1e10))",
                 "cut(x, breaks = c(1, 1.00000000000001, 2))", "cut(x, breaks = c(-1e-20, 0, 1/3, 2/3, 1))", "cut(x, breaks = c(0, 1, 1e-5, 123456789))",
                 "cut(x * 0 + 5, breaks = 3)", "cut(x * 0, breaks = 2)", "cut(x * 0 - 2, breaks = 4)", "cut(x / 7, breaks = 5)",
                 "cut(x * 1e6 + 0.1, breaks = 3)", "cut(x * 0.1, breaks = 11)", "cut(x + 1e7, breaks = 6)")) {
    call <- parse(text = line)[[1]]
    values <- eval(call[[2]])
    code <- eval(call)
    arguments <- as.list(call)[-(1:2)]
    plain <- vapply(arguments, function(v) paste(number(as.numeric(eval(v))), collapse = ","), "")
    out <- c(out, line, paste(sprintf("%s=%s", names(arguments), plain), collapse = " "),
             tabs(number(values)), tabs(levels(code)), tabs(as.integer(code)), "")
  }
  writeLines(out, "breaks.txt")
}

# ---- fits

fit <- function(name, table, formula, family, extra = "") {
  line <- sprintf('glm(%s, %s, data%s, control = glm.control(epsilon = 1e-14, maxit = 100))', formula, family, extra)
  data <- if (file.exists(table)) read(table) else stop(table)
  beta <- coef(eval(parse(text = line), list(data = data)))
  source <- sprintf('data <- read.csv("%s", stringsAsFactors = TRUE, check.names = FALSE); ', basename(table))
  writeLines(c(paste0(source, line), formula, basename(table), paste0(family, sub(", weights = ", "\t", extra)),
               paste(names(beta), ifelse(is.na(beta), "NA", sprintf("%.15g", beta)), sep = "\t")), sprintf("fits/%s.txt", name))
}

fits <- function() {
  fit("poisson_offset", "b.csv", "claims ~ brand + car_age + gas + log(density) + offset(log(exposure))", "poisson()")
  fit("poisson_interaction", "b.csv", "claims ~ gas * car_age + region", "poisson()")
  fit("poisson_weights", "b.csv", "claims ~ gas + ns(driver_age, df = 3)", "poisson()", ", weights = policies")
  fit("binomial_cbind", "c.csv", "cbind(won, trials - won) ~ p + v + site:w", "binomial()")
  fit("binomial_cbind_factor", "a.csv", "cbind(s, f) ~ g + poly(u, 2) + sex", "binomial()")
  fit("binomial_text", "a.csv", "(sex == \"F\") ~ x + h", "binomial()")
  fit("binomial_weights", "a.csv", "(x > 5) ~ z + h", "binomial()", ", weights = n")
  fit("gaussian", "c.csv", "r ~ p * v + factor(plot)", "gaussian()")
  fit("gaussian_weights", "c.csv", "r ~ q + bs(v, df = 4)", "gaussian()", ", weights = weight")
  fit("gaussian_sum", "a.csv", "y ~ C(g, contr.sum) + z:h", "gaussian()")
  fit("probit", "c.csv", "(won > 2) ~ site + w", "binomial(\"probit\")")
}

# Names as ours: level, colon, term. nnet stops where the criterion no longer changes; coefficients are good to 6 digits or more.
multinomial <- function(name, table, formula, extra = "") {
  line <- sprintf('nnet::multinom(%s, data%s, maxit = 10000, reltol = 1e-15, abstol = 1e-15, trace = FALSE)', formula, extra)
  beta <- coef(eval(parse(text = line), list(data = read(table))))
  source <- sprintf('data <- read.csv("%s", stringsAsFactors = TRUE, check.names = FALSE); ', table)
  names <- outer(rownames(beta), colnames(beta), paste, sep = ":")
  writeLines(c(paste0(source, line), formula, table, paste0("softmax", sub(", weights = ", "\t", extra)),
               paste(t(names), sprintf("%.15g", t(beta)), sep = "\t")), sprintf("fits/%s.txt", name))
}

multinomials <- function() {
  multinomial("softmax_text", "c.csv", "p ~ v + w")
  multinomial("softmax_numbers", "c.csv", "plot ~ v + site")
  multinomial("softmax_weights", "b.csv", "brand ~ driver_age + gas", ", weights = policies")
}

big <- commandArgs(TRUE)
if (length(big) == 0) {
  tables()
  for (at in seq_len(nrow(formulas))) design(at, formulas[at, 1], formulas[at, 2])
  basis()
  breaks()
  fits()
  multinomials()
} else {
  fit("fremtplfreq", big[1], "ClaimNb ~ Power + CarAge + DriverAge + Brand + Gas + Region + log(Density) + offset(log(Exposure))", "poisson()")
}
