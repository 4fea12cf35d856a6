# needs: python-telegram-bot
from telegram import Update
from telegram.ext import Application, CommandHandler


async def start(update: Update, context):
    await update.message.reply_text("hi")
