# needs: py-cord
import discord
from discord.ext import commands, pages
