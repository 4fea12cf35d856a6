# needs: azure-storage-blob azure-identity
from azure.identity import DefaultAzureCredential
from azure.storage.blob import BlobServiceClient

print(BlobServiceClient("u", credential=DefaultAzureCredential()))
