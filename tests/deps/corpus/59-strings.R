# needs:
# library(tidyr)
x <- "library(readr)"
print(x)
library(stats)
