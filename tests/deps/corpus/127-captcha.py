# needs: captcha
from captcha.image import ImageCaptcha
