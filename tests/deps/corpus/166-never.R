# needs: zoo
if (FALSE) {
  library(never)
} else library(zoo)
