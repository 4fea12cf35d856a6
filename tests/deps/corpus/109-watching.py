# needs: azure-eventgrid azure-monitor-opentelemetry azure-monitor-opentelemetry-exporter
from azure.monitor.opentelemetry import configure_azure_monitor
from azure.monitor.opentelemetry.exporter import AzureMonitorTraceExporter
from azure.eventgrid.aio import EventGridPublisherClient
