# SPDX-License-Identifier: Apache-2.0
set -e
export GIT_AUTHOR_NAME=bot GIT_AUTHOR_EMAIL=b@x GIT_COMMITTER_NAME=bot GIT_COMMITTER_EMAIL=b@x
git init -q repo; cd repo; for i in 1 2 3; do echo "v$i $RANDOM" >f$i; git add .; git commit -qm "add $i"; done
git checkout -qb feature; echo change >>f1; git commit -qam "feature"; git checkout -q -; echo other >g; git add g; git commit -qm other; git merge -q -m merge feature; git tag -a v1 -m one
git log --graph --format='%h %an %ad %s' --date=iso; git stash list; echo dirty >>f2; git stash -q; git stash list --format='%gd %ar %H'; git stash pop; git rebase -q HEAD~1 2>&1 || true; git gc -q; git count-objects -v; git bundle create ../r.bundle --all 2>&1 | tail -1; git archive -o ../a.zip HEAD; git format-patch -o ../patches HEAD~2 | cat; git clone -q . ../clone; git -C ../clone log -1 --format=%H; sha256sum ../a.zip ../patches/* ../r.bundle; git fsck; git worktree add -q ../wt feature; git reflog | cat; git blame f1; git status -sb
