# needs: discord.py
import discord as d
x = d.Client()
