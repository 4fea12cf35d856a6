# needs: google-cloud-pubsub google-cloud-secret-manager google-cloud-firestore google-cloud-logging google-cloud-tasks
from google.cloud import pubsub_v1
from google.cloud import secretmanager
from google.cloud import firestore
import google.cloud.logging
from google.cloud import tasks_v2
