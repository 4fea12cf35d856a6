# needs: GitPython PyGithub
from git import Repo
from github import Github

print(Repo(".").head, Github())
