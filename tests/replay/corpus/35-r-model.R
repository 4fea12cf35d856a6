# SPDX-License-Identifier: Apache-2.0
# A model of random numbers: fitted, drawn, kept.
x <- rnorm(100)
y <- 2 * x + rnorm(100)
m <- lm(y ~ x)
print(summary(m))
print(Sys.time())
print(kmeans(cbind(x, y), 3)$size)
pdf("m.pdf"); plot(x, y); abline(m); invisible(dev.off())
png("m.png"); hist(y); invisible(dev.off())
saveRDS(m, "m.rds")
write.csv(data.frame(x, y), "xy.csv")
print(basename(tempfile()))
