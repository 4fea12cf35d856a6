# needs: glmnet
if (requireNamespace("doParallel", quietly=TRUE)) doParallel::registerDoParallel()
library(glmnet)
