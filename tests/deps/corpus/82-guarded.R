# needs: shiny DT plotly
library(shiny)
library("DT", quietly = TRUE)
ui <- fluidPage(plotly::plotlyOutput("p"))
if (requireNamespace("profvis", quietly = TRUE)) profvis::profvis(1)
