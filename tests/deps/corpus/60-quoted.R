# needs: stringr
require("stringr")
suppressPackageStartupMessages(library("stringr"))
print(str_to_upper("x"))
