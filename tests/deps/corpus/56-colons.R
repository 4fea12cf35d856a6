# needs: data.table jsonlite
x <- data.table::fread("a.csv")
writeLines(jsonlite::toJSON(x))
