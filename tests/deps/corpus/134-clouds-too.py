# needs: azure-mgmt-compute azure-mgmt-resource azure-ai-inference azure-core azure-monitor-query
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.resource import ResourceManagementClient
from azure.ai.inference import ChatCompletionsClient
from azure.core.credentials import AzureKeyCredential
from azure.monitor.query import LogsQueryClient
