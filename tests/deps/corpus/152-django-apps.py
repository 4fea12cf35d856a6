# needs: Django django-formtools django-modeltranslation django-solo django-localflavor
from django.db import models
from formtools.wizard.views import SessionWizardView
from modeltranslation.translator import register
from solo.models import SingletonModel
from localflavor.us.forms import USStateField
