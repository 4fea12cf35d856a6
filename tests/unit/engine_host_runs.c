/* SPDX-License-Identifier: Apache-2.0 */
/* Which files the host runs by itself. */
#include "engine/host_runs.h"

#include "tap.h"

static void marked(void)
{
	static const char *const paths[] = {
		".git/hooks/pre-commit",
		"sub/.git/hooks/post-checkout",
		".git/config",
		".gitattributes",
		"vendor/x/.gitmodules",
		".husky/pre-push",
		".husky/_/husky.sh",
		".pre-commit-config.yaml",
		".bashrc",
		"home/.profile",
		".envrc",
		"Makefile",
		"makefile",
		"a/b/GNUmakefile",
		"MAKEFILE",
		"CMakeLists.txt",
		"justfile",
		"Rakefile",
		"build.gradle",
		"setup.py",
		"tests/conftest.py",
		"tox.ini",
		"noxfile.py",
		"package.json",
		"pkgs/a/package.json",
		".npmrc",
		".yarnrc",
		"build.rs",
		".cargo/config.toml",
		"go.work",
		".github/workflows/ci.yml",
		".gitlab-ci.yml",
		"Jenkinsfile",
		".vscode/tasks.json",
		".idea/workspace.xml",
		".editorconfig",
		".vimrc",
		".nvim.lua",
		".mcp.json",
		"CLAUDE.md",
		"docs/AGENTS.md",
		".claude/settings.json",
		".cursor/rules/x.mdc",
		".codex/config.toml",
		"pinfold.yaml",
		"lib/sitecustomize.py",
		"venv/lib/evil.pth",
		"a.desktop",
		"crontab",
		".git",
	};
	static const char *const plain[] = {
		"README.md",	   "src/main.c",	 "hooks/pre-commit", "git/config",
		"xMakefile",	   "Makefile.txt",	 "package.json.bak", "notes/config",
		"docs/claude.txt", ".vscode/notes.txt",	 "a.pth/b",	     ".github/README.md",
		".gitignore",	   "Makefile/inner.txt",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		ok(host_runs(paths[i], false), paths[i]);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		is_str(host_runs(plain[i], false), NULL, plain[i]);
}

static void links(void)
{
	ok(host_runs(".git/hooks", true), "a link in place of the hooks");
	is_str(host_runs(".git/hooks", false), NULL, "a file there is none");
	ok(host_runs(".claude", true), "a link in place of a directory of settings");
	is_str(host_runs("src", true), NULL, "a link elsewhere");
	ok(host_runs("Makefile", true), "a link is as good as the file");
}

int main(void)
{
	TAP_RUN(marked);
	TAP_RUN(links);
	return tap_done();
}
