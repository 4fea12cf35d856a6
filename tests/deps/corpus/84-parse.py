# needs: sgmllib3k pyparsing ply lark antlr4-python3-runtime
import sgmllib
import pyparsing as pp
import ply.lex as lex
from lark import Lark
import antlr4
