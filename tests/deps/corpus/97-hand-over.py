# needs: openai-agents
from agents import Agent, Runner, function_tool
