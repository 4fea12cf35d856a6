# needs: zoo xts
x <- "zoo"; library(x, character.only = TRUE)
do.call("library", list("xts"))
