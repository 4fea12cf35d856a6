# needs: optparse tidyverse plotly sf DBI dplyr purrr box magrittr import usethis
suppressWarnings(suppressMessages(library(optparse)))
library(tidyverse, warn.conflicts = FALSE)
if (require("plotly")) { p <- plotly::plot_ly() }
library(package = "sf")
requireNamespace("DBI")
box::use(dplyr[filter, select], purrr)
import::from(magrittr, "%>%")
usethis::use_package("x")
