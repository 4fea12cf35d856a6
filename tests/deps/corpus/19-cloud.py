# needs: google-cloud-storage google-cloud-bigquery boto3
import boto3
from google.cloud import bigquery
from google.cloud import storage
from google.cloud.storage import Client

print(boto3, bigquery, storage, Client)
