# SPDX-License-Identifier: Apache-2.0
set -e
mkdir -p src/{a,b,c}; for d in a b c; do for i in 1 2 3 4; do head -c $((RANDOM % 3000 + 100)) /dev/urandom >src/$d/f$i; done; done
ln -s a/f1 src/link; ln src/a/f2 src/hard; chmod 600 src/b/f1; touch -d '2 days ago' src/c/f1
stamp=$(date +%Y%m%d-%H%M%S); tar cf - src | gzip -9 >backup-$stamp.tar.gz; tar cJf b.tar.xz src; tar --zstd -cf b.tzst src 2>/dev/null || echo no zstd; zip -qr b.zip src 2>/dev/null || echo no zip; find src -type f | cpio -o 2>/dev/null | md5sum || true
find src -type f -newermt yesterday | sort | wc -l; find src -mmin -5 | wc -l; find src -type f -exec sha256sum {} + | sort -k2 >manifest; mkdir r; tar xzf backup-$stamp.tar.gz -C r; (cd r && sha256sum -c --quiet ../manifest) && echo restored; ls -la --time-style=full-iso src; rsync -a src/ copy/ 2>/dev/null || cp -a src copy; diff -r src copy && echo same; sha256sum b* | sort -k2; ls -i src/a | wc -l; df -h . | tail -1 | awk '{print NF}'; ls -t src/a; ls -U src
