# needs: google-cloud-bigquery google-analytics-data azure-ai-vision-imageanalysis pydantic apache-airflow-providers-postgres
from google.cloud import bigquery
from google.analytics.data_v1beta import BetaAnalyticsDataClient
from azure.ai.vision.imageanalysis import ImageAnalysisClient
from airflow.providers.postgres.hooks.postgres import PostgresHook
from google.colab import drive

try:
    from pydantic.v1 import BaseModel
except ImportError:
    from pydantic import BaseModel

drive.mount("/content/drive")
