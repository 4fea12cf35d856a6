pdf("plot.pdf"); hist(rnorm(500)); invisible(dev.off())
svg <- tryCatch({ svg("plot.svg"); plot(runif(20)); dev.off(); "svg" }, error = function(e) "none")
saveRDS(list(at = Sys.time(), v = runif(3)), "data.rds")
cat(format(Sys.Date()), svg, "\n")
