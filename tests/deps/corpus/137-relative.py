# needs: PyGithub
from github import Github
import os.path as osp
from . import something
