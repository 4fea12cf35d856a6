# needs: xfun knitr needs glue cli
xfun::pkg_attach("knitr")
needs::needs(glue)
use("cli", "cli_text")
needs <- function(x) x
needs(mtcars)
cli_text("hello")
