git init -q repo && cd repo
git config user.email a@example.org && git config user.name A
echo one >f && git add f && git commit -qm one && echo two >>f && git commit -qam two
git checkout -qb side && echo three >g && git add g && git commit -qm three && git checkout -q - && git merge -q side
git log --format='%H %ad %s' --graph && git diff HEAD~2 --stat && git status -s
