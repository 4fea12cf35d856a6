# needs: pacman zoo lubridate
pacman::p_load(zoo, lubridate)
print(zoo(1:3, today() + 0:2))
