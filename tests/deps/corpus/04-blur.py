# needs: opencv-python-headless numpy
import sys
import cv2
import numpy as np

img = cv2.imread(sys.argv[1])
cv2.imwrite("out.png", cv2.filter2D(img, -1, np.ones((5, 5)) / 25))
