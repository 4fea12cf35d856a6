# needs: scikit-image imageio scipy
import imageio.v3 as iio
from scipy import ndimage
from skimage import filters, measure

print(measure.label(filters.sobel(ndimage.zoom(iio.imread("x.png"), 2))))
