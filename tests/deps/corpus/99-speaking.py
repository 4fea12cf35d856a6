# needs: livekit livekit-agents livekit-api livekit-plugins-openai livekit-plugins-silero
from livekit.agents import Agent
from livekit.plugins import openai, silero
from livekit import api, rtc
