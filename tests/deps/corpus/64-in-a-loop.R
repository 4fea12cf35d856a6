# needs: data.table lubridate shiny caret pacman randomForest zoo xts forecast tseries broom purrr tidymodels here librarian glmnet
pkgs <- c("data.table", "lubridate")
lapply(pkgs, library, character.only = TRUE)
pacman::p_load(shiny, caret)
for (p in c("randomForest")) library(p, character.only = TRUE)
if (!require(zoo)) install.packages("zoo")
if (!requireNamespace("xts", quietly = TRUE)) { stop("xts needed") }
need <- function(p) if (!p %in% rownames(installed.packages())) install.packages(p)
invisible(sapply(c("forecast", "tseries"), function(x) { suppressMessages(library(x, character.only = TRUE)) }))
purrr::walk(list("broom"), require, character.only = TRUE)
librarian::shelf(tidymodels, here)
m <- matrix(1:4, 2)[, 1]; l <- list(); l[["a"]] <- 3
one <- "glmnet"; library(one, character.only = TRUE)
f <- \(x) x; sapply(1:3, \(i) i)
