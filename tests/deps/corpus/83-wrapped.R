# needs: jsonlite
res <- tryCatch({
  library(jsonlite)
  toJSON(list(a = 1))
}, error = function(e) message("failed"))
try(library(optionalpkg), silent = TRUE)
