# SPDX-License-Identifier: Apache-2.0
# Which packages do R's programs use? Runs inside a sandbox, on files that nobody trusts.
#
#	Rscript --vanilla scan.R ROOT [--text NAME] [--all | FILE ...]
#
# With --text, a program comes by standard input, and NAME is what it is called.
#
# Prints what scan.py prints, with "language": "r". R's own parser reads the files; nothing of them is
# evaluated. Counted are library(x), require(x), requireNamespace("x"), loadNamespace("x"), pkg::name
# and pkg:::name, pacman::p_load(x, y), box::use(x[...]), use("x"). require() and requireNamespace() whose value
# is looked at (in a condition) are optional, with what is used of them behind it, as is what alone stands in try() and
# tryCatch(); but not where the answer "no" is met by install.packages() or stop(). A variable stands for the texts that it was given: pkgs <- c("a", "b");
# lapply(pkgs, library, character.only = TRUE), or for (p in pkgs) with the same inside.

many <- c("p_load", "shelf", "pkg_attach", "pkg_attach2", "pkg_load", "pkg_load2") # take more than one
loads <- c("library", "require", "requireNamespace", "loadNamespace", "attachNamespace", many)
each <- c("lapply", "sapply", "vapply", "map", "walk", "Map", "mapply")
ends <- c("install.packages", "stop", "quit", "q", "abort")
known <- list() # variables of the file, with the texts that they hold
soft <- c("try", "tryCatch")
found <- list()
unread <- list()
sourced <- character() # other files that a program reads

guarded <- character() # what an if around us asked for

note <- function(name, file, line, optional) {
	optional <- optional || name %in% guarded
	old <- found[[name]]
	if (is.null(old) || (old$optional && !optional))
		found[[name]] <<- list(name = name, file = file, line = line, optional = optional)
}

is_name <- function(x) is.character(x) && length(x) == 1 && grepl("^[A-Za-z][A-Za-z0-9.]+$", x)

word <- function(x) if (is.symbol(x)) as.character(x) else if (is.character(x)) x else ""

# The arguments of a call, without those that are left out: f(, 2).
given <- function(e) {
	args <- Filter(function(x) !identical(x, quote(expr = )), as.list(e)[-1])
	if (length(args)) args else list(NULL)
}

called <- function(e) {
	f <- e[[1]]
	if (is.call(f) && length(f) == 3 && word(f[[1]]) %in% c("::", ":::")) word(f[[3]]) else word(f)
}

# The texts that an expression stands for: "a", c("a", "b"), a variable that has some.
texts <- function(e) {
	if (missing(e))
		return(NULL)
	if (is.character(e))
		return(e)
	if (is.symbol(e))
		return(known[[as.character(e)]])
	if (is.call(e) && word(e[[1]]) %in% c("c", "list", "unique"))
		return(unlist(lapply(given(e), texts)))
	NULL
}

take_load <- function(e, f, file, line, optional) {
	args <- as.list(e)[-1]
	names <- names(args)
	literal <- !("character.only" %in% names)
	for (i in seq_along(args)) {
		if (!is.null(names) && nzchar(names[[i]]) && !(names[[i]] %in% c("package", "char")))
			next
		a <- args[[i]]
		if (missing(a))
			next
		named <- is.symbol(a) && literal && f %in% c("library", "require", "p_load", "shelf") && !identical(names[i], "char")
		for (n in if (named) as.character(a) else texts(a))
			if (is_name(n))
				note(n, file, line, optional)
		if (!(f %in% many))
			break
	}
}

# lapply(pkgs, library, character.only = TRUE); in function(p) library(p, character.only = TRUE) p is one of them.
take_each <- function(e, file, line, optional) {
	over <- e[[2]]
	f <- if (length(e) > 2) e[[3]]
	if (missing(over) || missing(f))
		return(invisible())
	values <- texts(over)
	if (is.symbol(f) && as.character(f) %in% loads)
		for (n in values)
			if (is_name(n))
				note(n, file, line, optional)
	if (is.call(f) && identical(word(f[[1]]), "function") && length(f[[2]]))
		known[[names(f[[2]])[[1]]]] <<- values
}

# if (!require(x)) install.packages("x"): it is needed after all.
insists <- function(e) {
	not <- is.call(e[[2]]) && identical(word(e[[2]][[1]]), "!")
	not && any(all.names(e[[3]]) %in% ends)
}

# if (requireNamespace("x")): the names.
asks_for <- function(e) {
	if (!is.call(e))
		return(character())
	if (called(e) %in% c("requireNamespace", "is_installed"))
		return(unlist(lapply(utils::head(given(e), 1), function(a) if (is.symbol(a)) as.character(a) else texts(a))))
	unlist(lapply(given(e), asks_for))
}

is_never <- function(e) identical(e, FALSE) || identical(e, quote(F))

# try(library(x)): nothing else is in it that would need the package.
only_loads <- function(e) {
	if (!is.call(e))
		return(FALSE)
	if (identical(word(e[[1]]), "{"))
		return(all(vapply(given(e), only_loads, NA)))
	called(e) %in% c(loads, "suppressPackageStartupMessages", "suppressWarnings")
}

# box::use(dplyr[filter], purrr, ./local), import::from(magrittr, "%>%")
take_use <- function(e, f, file, line, optional) {
	args <- given(e)
	for (a in if (f == "use") args else utils::head(args, 1)) {
		if (is.call(a) && identical(word(a[[1]]), "["))
			a <- a[[2]]
		if (is_name(word(a)))
			note(word(a), file, line, optional)
	}
}

# library(x) of box or import: a call of that package's.
of_package <- function(e, package) {
	f <- e[[1]]
	is.call(f) && length(f) == 3 && word(f[[1]]) == "::" && word(f[[2]]) == package
}

remember <- function(e, f) {
	if (f == "source" && is.character(first <- given(e)[1][[1]]))
		sourced <<- c(sourced, first)
	if (f %in% c("<-", "=", "<<-", "for") && length(e) >= 3 && is.symbol(e[[2]]) && nzchar(as.character(e[[2]])))
		known[[as.character(e[[2]])]] <<- texts(e[[3]])
}

walk <- function(e, file, line, optional) {
	if (is.pairlist(e) || is.expression(e)) {
		for (x in as.list(e))
			if (!missing(x))
				walk(x, file, line, optional)
		return(invisible())
	}
	if (!is.call(e))
		return(invisible())
	f <- called(e)
	if (f %in% c("::", ":::") && length(e) == 3) {
		if (is_name(word(e[[2]])))
			note(word(e[[2]]), file, line, optional)
		return(invisible())
	}
	if (f == "if" && is_never(e[[2]])) {
		if (length(e) > 3)
			walk(e[[4]], file, line, optional)
		return(invisible())
	}
	remember(e, f)
	if (f %in% loads)
		take_load(e, f, file, line, optional)
	if ((f == "use" && of_package(e, "box")) || (f %in% c("from", "here", "into") && of_package(e, "import")))
		take_use(e, f, file, line, optional)
	if (f == "do.call" && word(given(e)[[1]]) %in% loads && length(e) > 2)
		for (n in utils::head(texts(e[[3]]), 1))
			if (is_name(n))
				note(n, file, line, optional)
	if (f == "needs" && of_package(e, "needs"))
		take_load(e, "shelf", file, line, optional)
	if (f == "use" && is.symbol(e[[1]]) && is.character(given(e)[[1]]))
		take_use(e, "from", file, line, optional) # R's own, since 4.4
	if (f %in% each && length(e) > 1)
		take_each(e, file, line, optional)
	if (is.call(e[[1]]))
		walk(e[[1]], file, line, optional)
	for (i in seq_along(e)[-1]) {
		x <- e[[i]]
		if (missing(x))
			next
		# if (require(x)), !requireNamespace(x)
		asked <- f %in% c("if", "while") && i == 2 && !(f == "if" && insists(e))
		before <- guarded
		if (f == "if" && i > 2 && !insists(e))
			guarded <<- c(guarded, asks_for(e[[2]]))
		walk(x, file, line, optional || (f %in% soft && only_loads(x)) || asked)
		guarded <<- before
	}
	invisible()
}

# What stands in a line of text: `r scales::percent(x)`.
inline <- function(line) {
	found <- regmatches(line, gregexpr("`[rR] [^`]+`", line))[[1]]
	paste(substring(found, 4, nchar(found) - 1), collapse = "; ")
}

code_of <- function(path) {
	lines <- readLines(if (identical(path, text)) file("stdin") else path, warn = FALSE, n = 200000)
	if (!grepl("[.](Rmd|rmd|qmd)$", path))
		return(lines)
	# Chunks of R; other lines stay as empty ones, so that numbers are right.
	inside <- FALSE
	for (i in seq_along(lines)) {
		if (!inside && grepl("^\\s*```+\\s*\\{[rR][ ,}]", lines[[i]])) {
			inside <- TRUE
			lines[[i]] <- ""
		} else if (inside && grepl("^\\s*```+\\s*$", lines[[i]])) {
			inside <- FALSE
			lines[[i]] <- ""
		} else if (!inside) {
			lines[[i]] <- inline(lines[[i]])
		}
	}
	lines
}

scan_file <- function(root, path) {
	file <- substring(path, nchar(root) + 2)
	known <<- list()
	tryCatch({
		code <- parse(text = code_of(path), keep.source = TRUE)
		refs <- attr(code, "srcref")
		for (i in seq_along(code))
			walk(code[[i]], file, if (is.null(refs)) 0L else refs[[i]][[1]], FALSE)
	}, error = function(e)
		unread[[length(unread) + 1]] <<- list(file = file, line = 0L,
						       why = substring(sub("\n.*", "", conditionMessage(e)), 1, 200)))
}

quoted <- function(s) {
	s <- enc2utf8(s)
	s <- gsub("\\", "\\\\", s, fixed = TRUE)
	s <- gsub("\"", "\\\"", s, fixed = TRUE)
	paste0("\"", gsub("[[:cntrl:]]", "?", s), "\"")
}

there <- function(name) {
	path <- suppressWarnings(find.package(name, quiet = TRUE))
	if (length(path) == 0)
		return("null")
	version <- tryCatch(read.dcf(file.path(path[[1]], "DESCRIPTION"), "Version")[[1]], error = function(e) "")
	quoted(version)
}

args <- commandArgs(trailingOnly = TRUE)
root <- normalizePath(args[[1]])
text <- NULL
if (length(args) > 2 && args[[2]] == "--text") {
	text <- file.path(root, args[[3]])
	args <- args[-(2:3)]
}
every <- length(args) > 1 && args[[2]] == "--all"
files <- if (length(args) > 1 && !every) file.path(root, args[-1]) else if (is.null(text) || every)
	list.files(root, "[.]([rR]|[rR]md|qmd)$", recursive = TRUE, full.names = TRUE) else character()
sizes <- file.info(files)$size
files <- files[!is.na(sizes) & sizes > 0] # nor FIFOs, which would keep us
files <- c(text, files)
files <- utils::head(files[!grepl("/(renv|packrat|node_modules|[.]git)/", files)], 20000)
named <- length(args) > 1 || !is.null(text)
i <- 0
while (i < length(files)) { # grows, where files were named
	i <- i + 1
	sourced <- character()
	scan_file(root, files[[i]])
	for (s in if (named) sourced) {
		s <- suppressWarnings(normalizePath(c(file.path(dirname(files[[i]]), s), file.path(root, s)), mustWork = FALSE))
		s <- s[file.exists(s) & !dir.exists(s) & startsWith(s, paste0(root, "/"))]
		files <- c(files, utils::head(setdiff(s, files), 1))
	}
}
base <- rownames(utils::installed.packages(priority = "base"))
found <- found[!(names(found) %in% c(base, "R"))]
rows <- vapply(found, function(i)
	sprintf("{\"name\": %s, \"file\": %s, \"line\": %d, \"optional\": %s, \"there\": %s}", quoted(i$name),
		quoted(i$file), as.integer(i$line), if (i$optional) "true" else "false", there(i$name)), "")
bad <- vapply(utils::head(unread, 100), function(u)
	sprintf("{\"file\": %s, \"line\": %d, \"why\": %s}", quoted(u$file), u$line, quoted(u$why)), "")
cat(sprintf("{\"language\": \"r\", \"version\": \"%s.%s\", \"files\": %d, \"imports\": [%s], \"unread\": [%s]}\n",
	    R.version$major, R.version$minor, length(files), paste(rows, collapse = ", "), paste(bad, collapse = ", ")))
