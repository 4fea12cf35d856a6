# needs: django-simple-captcha Django
from django import forms
from captcha.fields import CaptchaField
