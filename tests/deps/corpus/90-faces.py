# needs: numpy opencv-contrib-python-headless
import cv2, numpy as np
r = cv2.face.LBPHFaceRecognizer_create()
