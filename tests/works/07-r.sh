#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# R: a model, a plot as PNG, a system call, a package from a directory.
. "$(dirname "$0")/../lib/cli.sh"

checks()
{
	needs Rscript "R" || return
	inside --lang r -c 'm <- lm(dist ~ speed, cars); cat(round(coef(m)[[2]], 3), "\n")'
	prints "3.932 " "a linear model"
	inside_json --lang r -c \
		'png("plot.png", width=400, height=300); plot(cars); invisible(dev.off())
cat(file.size("plot.png"), unname(tools::md5sum("plot.png")) != "")'
	exits 0 "a plot"
	json_has '"/home/user/plot.png" in files and files["/home/user/plot.png"]["size"] > 1000 and
		out.split() == [str(files["/home/user/plot.png"]["size"]).encode(), b"TRUE"]' \
		"is a PNG in files[]"
	json_is '[]' 'd["denials"]' "nothing was refused"
	inside --lang r -c \
		'cat(system("echo out; exit 3"), Sys.info()[["user"]], Sys.time() > 0)'
	prints $'out\n3 user TRUE' "system and Sys.info"
	inside --lang r -c \
		'library(parallel); cat(unlist(mclapply(1:3, function(i) i^2, mc.cores=2)))'
	prints "1 4 9" "parallel"
	printf 'x\n1\n2\n' >"$W/d.csv"
	own "$W"
	inside --dir "$W" --lang r -c 'd <- read.csv("/work/d.csv"); cat(sum(d$x))'
	prints 3 "a file of --dir"
}

run_checks
