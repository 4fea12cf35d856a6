# needs:
if (requireNamespace("ggplot2", quietly = TRUE)) {
	print("there")
}
x <- stats::rnorm(10)
print(summary(x))
