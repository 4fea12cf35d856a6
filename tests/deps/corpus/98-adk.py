# needs: google-adk google-cloud-aiplatform google-genai
from google.adk.agents import LlmAgent
from google.adk.tools import google_search
from google.cloud import aiplatform
from google.genai import types
