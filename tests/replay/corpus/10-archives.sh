mkdir d && for i in 1 2 3 4 5; do head -c 1000 /dev/urandom >d/$i; done
tar czf a.tar.gz d && tar cJf a.tar.xz d && (cd d && zip -qr ../a.zip .) && sha256sum a.*
tar tvf a.tar.gz && mkdir o && tar xzf a.tar.gz -C o && diff -r d o/d && echo same
