# Combine estimates of several synthetic data sets of a release into one, with an interval.
#
# Needs nothing but R. Estimate the same thing in each data set with ordinary software, and hand over the estimates
# and their squared standard errors:
#
#     source("combine.R")
#     combine(estimates = c(12.1, 12.4, 11.9), variances = c(0.04, 0.04, 0.05))
#
# rule    "u": the mean u of the variances, as if the data were real.
#         "u + b/m": b is the variance between the m estimates (Reiter 2003).
#         "u + b": for data sets that share an error which each of them shows alone; with Student's t, for a few data sets
#         tell b roughly.
#         "u (1 + 2/m)": parameters drawn from their posterior (Raab, Nowok and Dibben 2016).
#         By default the rule of this release; with a factor "u", which it was measured for.
# level   how many of such intervals are to hold the truth.
# factor  what the standard errors of ordinary software (rule "u") are multiplied by, where it was measured that they are
#         too small or too large: from coverage.csv, or a study of coverage.

# The rules whose intervals held where this kind of synthesis was studied; "" where none did.
RULE_OF_ONE <- ""
RULE_OF_SEVERAL <- ""

combine <- function(estimates, variances, rule = "", level = 0.95, factor = 1) {
  m <- length(estimates)
  if (m == 0 || length(variances) != m) stop("One estimate and one variance of each data set, please.")
  if (!all(is.finite(c(estimates, variances)))) {
    stop("An estimate or a variance is missing or infinite: leave that data set out, and say so.")
  }
  if (rule == "") rule <- if (factor != 1) "u" else if (m == 1) RULE_OF_ONE else RULE_OF_SEVERAL
  within <- mean(variances)
  between <- if (m > 1) var(estimates) else 0
  total <- c(
    "u" = within,
    "u + b/m" = within + between / m,
    "u + b" = within + between,
    "u (1 + 2/m)" = within * (1 + 2 / m)
  )
  if (rule == "") {
    stop("No rule is known to hold for this release: its intervals are too short. Name a rule, or a factor ",
         "that standard errors are multiplied by, from a study of coverage.")
  }
  if (!rule %in% names(total)) stop("Unknown rule '", rule, "': one of ", paste(names(total), collapse = ", "), ".")
  if (min(variances) < 0 || level <= 0 || level >= 1 || factor <= 0) {
    stop("Variances are not negative, the level lies between 0 and 1, the factor above 0.")
  }
  error <- factor * sqrt(total[[rule]])
  degrees <- if (rule == "u + b" && between > 0) (m - 1) * (1 + within / between)^2 else Inf
  half <- (if (degrees > 1000) qnorm((1 + level) / 2) else qt((1 + level) / 2, degrees)) * error
  list(estimate = mean(estimates), standard_error = error, low = mean(estimates) - half, high = mean(estimates) + half)
}
