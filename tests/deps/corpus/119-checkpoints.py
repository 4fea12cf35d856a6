# needs: langgraph langgraph-checkpoint-sqlite langchain-anthropic
from langgraph.graph import StateGraph, START, END
from langgraph.checkpoint.memory import MemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.prebuilt import create_react_agent
from langchain_anthropic import ChatAnthropic
