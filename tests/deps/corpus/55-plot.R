# needs: ggplot2 dplyr
library(ggplot2)
library(dplyr)

mtcars %>% group_by(cyl) %>% summarise(m = mean(mpg)) %>% ggplot(aes(cyl, m)) + geom_col()
