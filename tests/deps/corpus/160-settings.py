# needs: Django djangorestframework django-cors-headers whitenoise psycopg2-binary
from pathlib import Path
INSTALLED_APPS = ["django.contrib.admin", "rest_framework", "corsheaders", "shop"]
MIDDLEWARE = ["whitenoise.middleware.WhiteNoiseMiddleware"]
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql"}}
