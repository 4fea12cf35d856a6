# needs: purrr stringr
needed <- c("purrr","stringr")
new <- needed[!(needed %in% installed.packages()[,"Package"])]
if (length(new)) install.packages(new)
for (p in needed) library(p, character.only = TRUE)
