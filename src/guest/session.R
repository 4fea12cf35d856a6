# SPDX-License-Identifier: Apache-2.0
# An R that stays in a sandbox and executes one piece of code after the other, in the global
# environment. Its text comes as the first frame from the host side (wire/frame.h), for the sake of
# which a word of -e has loaded the loader (loader.c): `take` reads from it.
# Interrupts are held back but for the time in which the user's code runs.
FRAME_MAX <- 16 * 2^20
ALL_MAX <- 60 * 2^20
MIMES <- c("text/plain", "text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg",
           "text/latex", "application/json")
state <- new.env()
state$count <- 0L
state$sent <- 0
state$device <- 0L
state$calls <- NULL
plots <- file.path(tempdir(), "plot-%03d.png")

send <- function(kind, payload) {
    if (Sys.getpid() != state$pid) return(invisible())
    data <- c(charToRaw(sprintf("%s%08x", kind, length(payload))), payload)
    while (length(data) > 0) {
        n <- .C("session_write", data, length(data))[[2]]
        if (n < 0 && n != -4L) quit("no", 1)
        if (n > 0) data <- data[-seq_len(n)]
    }
}

utf8 <- function(s) {
    s <- paste(enc2utf8(as.character(s)), collapse = "\n")
    iconv(s, "UTF-8", "UTF-8", sub = "byte")
}

quoted <- function(s) {
    s <- utf8(s)
    if (is.na(s)) s <- "NA"
    s <- gsub("\\", "\\\\", s, fixed = TRUE)
    s <- gsub("\"", "\\\"", s, fixed = TRUE)
    for (c in c(1:31, 127L)) {
        char <- rawToChar(as.raw(c))
        if (grepl(char, s, fixed = TRUE)) s <- gsub(char, sprintf("\\u%04x", c), s, fixed = TRUE)
    }
    paste0("\"", s, "\"")
}

object <- function(items)
    charToRaw(paste0("{", paste0(vapply(names(items), quoted, ""), ":", unlist(items),
                                 collapse = ","), "}"))

base64 <- function(bytes) {
    chars <- c(LETTERS, letters, 0:9, "+", "/")
    pad <- (3L - length(bytes) %% 3L) %% 3L
    m <- matrix(c(as.integer(bytes), integer(pad)), nrow = 3)
    v <- m[1, ] * 65536L + m[2, ] * 256L + m[3, ]
    out <- chars[rbind(v %/% 262144L, v %/% 4096L %% 64L, v %/% 64L %% 64L, v %% 64L) + 1L]
    if (pad) out[length(out) - seq_len(pad) + 1L] <- "="
    paste(out, collapse = "")
}

# items: JSON text by MIME type.
send_result <- function(kind, items) {
    flush(stdout())
    payload <- object(items)
    if (length(payload) > FRAME_MAX) payload <- object(list("text/plain" = quoted("[result left out: it is too large]")))
    if (state$sent + length(payload) > ALL_MAX) {
        message("pinfold: results of more than 60 MiB are left out")
        return(invisible())
    }
    state$sent <- state$sent + length(payload)
    suspendInterrupts(send(kind, payload))
}

html <- function(s) {
    s <- gsub("&", "&amp;", utf8(s), fixed = TRUE)
    gsub(">", "&gt;", gsub("<", "&lt;", s, fixed = TRUE), fixed = TRUE)
}

table_html <- function(frame) {
    frame <- as.data.frame(utils::head(frame, 1000L))
    cells <- function(tag, v) paste0("<", tag, ">", vapply(v, html, ""), "</", tag, ">", collapse = "")
    columns <- lapply(frame, format)
    rows <- vapply(seq_len(nrow(frame)), function(i)
        paste0("<tr>", cells("th", row.names(frame)[i]),
               cells("td", vapply(columns, function(c) as.character(c)[i], "")), "</tr>"), "")
    paste0("<table>\n<tr><th></th>", cells("th", names(frame)), "</tr>\n",
           paste(rows, collapse = "\n"), "\n</table>")
}

bundle_of <- function(value, visibly) {
    text <- utils::capture.output(visibly(value))
    items <- list()
    if (length(text)) items[["text/plain"]] <- quoted(text)
    if (is.data.frame(value)) items[["text/html"]] <- quoted(table_html(value))
    items
}

show_value <- function(value) if (isS4(value)) methods::show(value) else print(value)

# display(value), display(data, "text/html"); a raw vector is an image.
display <- function(value, type = NULL) {
    if (is.null(type)) items <- bundle_of(value, show_value)
    else {
        if (!(type %in% MIMES)) stop("display: unknown MIME type ", type)
        if (type == "application/json") stop("display: R has no JSON; pass it as text/plain")
        items <- list()
        items[[type]] <- quoted(if (is.raw(value)) base64(value) else value)
    }
    if (length(items)) send_result("P", items)
    invisible()
}

ask <- function(prompt = "") {
    if (!state$may_ask) stop("readline() is refused: whoever executes this does not answer questions", call. = FALSE)
    flush(stdout())
    suspendInterrupts(send("I", charToRaw(utf8(prompt))))
    while ((head <- receive(allowInterrupts))$kind == "X") NULL
    if (head$kind == "N") stop("readline() was not answered", call. = FALSE)
    head$text
}

receive <- function(first) {
    head <- rawToChar(first(take(9L)))
    text <- rawToChar(suspendInterrupts(take(strtoi(substr(head, 2, 9), 16L))))
    Encoding(text) <- "UTF-8"
    list(kind = substr(head, 1, 1), text = text)
}

# Plots are pictures of their own; a device that the user opened is his.
open_device <- function(...) {
    grDevices::png(plots, width = 1000, height = 700, res = 120,
                   type = if (capabilities("cairo")) "cairo" else getOption("bitmapType"))
    state$device <- grDevices::dev.cur()
}

send_plots <- function() {
    if (state$device == 0L) return(invisible())
    if (state$device %in% grDevices::dev.list()) grDevices::dev.off(state$device)
    state$device <- 0L
    for (file in sort(list.files(dirname(plots), "^plot-[0-9]+\\.png$", full.names = TRUE))) {
        bytes <- readBin(file, "raw", file.size(file))
        unlink(file)
        if (length(bytes)) send_result("P", list("image/png" = quoted(base64(bytes))))
    }
}

place <- function(ref) if (is.null(ref)) "" else sprintf("%s:%d: ", state$name, as.integer(ref)[1])

# From the user's first call on, without those that R makes of an error.
traced <- function(error, calls) {
    lines <- vapply(seq_along(calls), function(i) {
        ref <- if (i == 1L) state$ref else attr(calls[[i]], "srcref")
        paste0("  ", place(ref), deparse(calls[[i]], width.cutoff = 200L)[1])
    }, "")
    if (!length(calls) && length(state$ref))
        lines <- paste0("  ", place(state$ref), as.character(state$ref)[1])
    call <- conditionCall(error)
    if (!length(calls) || identical(call, quote(eval(exprs[[i]], globalenv())))) call <- NULL
    said <- if (is.null(call)) "Error: " else paste0("Error in ", deparse(call)[1], ": ")
    c(paste0(said, conditionMessage(error)), lines)
}

send_error <- function(name, value, lines)
    send("E", object(list(name = quoted(name), value = quoted(value), traceback = quoted(lines))))

run <- function(exprs) {
    depth <- sys.nframe() + 1L
    refs <- attr(exprs, "srcref")
    for (i in seq_along(exprs)) {
        state$ref <- refs[[i]]
        got <- withCallingHandlers(
            withVisible(eval(exprs[[i]], globalenv())),
            error = function(e) {
                calls <- sys.calls()
                # Ours are above: this loop's, withCallingHandlers', withVisible's and twice eval's;
                # below: this function's, and what R calls it by.
                keep <- seq_along(calls)
                keep <- keep[keep > depth + 3L & keep < sys.nframe()]
                calls <- calls[keep]
                own <- vapply(calls, function(c) as.character(c[[1]])[1] %in%
                              c(".handleSimpleError", "h"), NA)
                state$calls <- calls[!own]
            })
        if (!got$visible) next
        if (i < length(exprs)) show_value(got$value)
        else {
            items <- bundle_of(got$value, show_value)
            if (length(items)) send_result("R", items)
        }
    }
}

execute <- function(code) {
    lines <- strsplit(code, "\n", fixed = TRUE)[[1]]
    state$calls <- state$ref <- NULL
    status <- tryCatch({
        exprs <- parse(text = lines, keep.source = TRUE, srcfile = srcfilecopy(state$name, lines))
        allowInterrupts(run(exprs))
        allowInterrupts(send_plots())
        "ok"
    }, interrupt = function(e) {
        while (sink.number() > 0) sink()
        send_error("Interrupted", "execution was interrupted", "Interrupted: execution was interrupted")
        "interrupted"
    }, error = function(e) {
        flush(stdout())
        send_error(class(e)[1], conditionMessage(e), traced(e, state$calls))
        "error"
    })
    if (Sys.getpid() != state$pid) quit("no")
    try(send_plots(), silent = TRUE)
    flush(stdout())
    send("D", charToRaw(sprintf("{\"status\":\"%s\"}", status)))
}

state$pid <- Sys.getpid()
options(warn = 1, device = open_device, keep.source = TRUE)
attach(list(display = display, readline = ask), name = "pinfold", warn.conflicts = FALSE)
suspendInterrupts({
    send("H", raw(0))
    repeat {
        frame <- receive(suspendInterrupts)
        # One that came too late for what it was meant for.
        tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(e) NULL)
        if (frame$kind != "X") next
        state$may_ask <- substr(frame$text, 1, 1) != "n"
        state$count <- state$count + 1L
        state$name <- sprintf("cell-%d.R", state$count)
        state$sent <- 0
        execute(substring(frame$text, 2))
    }
})
