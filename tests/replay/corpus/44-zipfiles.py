# SPDX-License-Identifier: Apache-2.0
import zipfile, tarfile, gzip, bz2, lzma, io, os, shutil, time, hashlib, random, zlib
os.makedirs("data/sub", exist_ok=True)
for i in range(12): open(f"data/sub/f{i}.txt" if i % 2 else f"data/f{i}.txt", "w").write("".join(random.choices("abc \n", k=4000)))
shutil.make_archive("z", "zip", "data"); shutil.make_archive("t", "gztar", "data"); shutil.make_archive("x", "xztar", "data"); shutil.make_archive("b", "bztar", "data")
with gzip.open("one.gz", "wt") as f: f.write("x" * 1000)
with tarfile.open("m.tar", "w") as t:
    ti = tarfile.TarInfo("made"); ti.size = 3; ti.mtime = time.time(); t.addfile(ti, io.BytesIO(b"abc"))
for n in sorted(os.listdir(".")):
    if os.path.isfile(n): print(n, os.path.getsize(n), hashlib.sha256(open(n, "rb").read()).hexdigest()[:16], time.ctime(os.path.getmtime(n)))
print(sorted(zipfile.ZipFile("z.zip").namelist())[:4], zipfile.ZipFile("z.zip").infolist()[0].date_time, list(os.walk("data"))[0][2], [e.name for e in os.scandir("data")])
