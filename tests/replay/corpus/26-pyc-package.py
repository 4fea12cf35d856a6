# A package of its own, imported (which compiles it), zipped and run from the archive.
import compileall, os, pathlib, subprocess, sys, zipfile
p = pathlib.Path("pkg")
p.mkdir()
(p / "__init__.py").write_text("import time\nmade = time.time()\n")
(p / "__main__.py").write_text("import pkg, random\nprint(pkg.made, random.random())\n")
sys.path.insert(0, os.getcwd())
import pkg
compileall.compile_dir("pkg", quiet=1)
with zipfile.ZipFile("app.zip", "w") as z:
    for f in sorted(p.rglob("*.py")):
        z.write(f)
    z.writestr("__main__.py", "import pkg.__main__\n")
print(subprocess.run([sys.executable, "app.zip"], capture_output=True, text=True).stdout)
