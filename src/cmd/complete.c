/* SPDX-License-Identifier: Apache-2.0 */
/* Completions for bash, zsh and fish. Options that this version refuses are not offered. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd/docs.h"
#include "cmd/opt.h"
#include "cmd/verb.h"

#define RUNS_COMMAND (VERB_RUN | VERB_PLAN)

static bool offered(const struct opt *o, uint64_t verb)
{
	return (o->verbs & verb) && o->help;
}

static bool is_meta(const struct opt *o, const char *meta)
{
	return o->meta && !strcmp(o->meta, meta);
}

static bool repeats(const struct opt *o)
{
	return o->type == OPT_LIST || o->type == OPT_ENV;
}

/* Verbs whose first word is the name of a workspace that is there; and how to learn those. */
#define OF_WORKSPACES                                                                              \
	"exec shell info rm cp push pull watch snap log diff undo rollback fork review apply "     \
	"export limit"
/* The same within single quotes. */
#define NAMES_ZSH "pinfold ls 2>/dev/null | sed -n \"2,\\$s/ .*//p\""
#define NAMES "pinfold ls 2>/dev/null | sed -n '2,$s/ .*//p'"

static bool of_workspaces(const struct verb *v)
{
	const char *at = strstr(" " OF_WORKSPACES " ", v->name);
	size_t n = strlen(v->name);

	while (at && (at[-1] != ' ' || at[n] != ' '))
		at = strstr(at + 1, v->name);
	return at != NULL;
}

static void put_verb_names(const char *separator, uint64_t bits)
{
	bool first = true;

	for (const struct verb *v = verb_table; v->name; v++) {
		if (!v->summary || !(v->bit & bits))
			continue;
		printf("%s%s", first ? "" : separator, v->name);
		first = false;
	}
}

static const char bash_head[] = "# SPDX-License-Identifier: Apache-2.0\n"
				"# bash completion for pinfold, printed by: pinfold docs bash\n"
				"_pinfold() {\n"
				"\tlocal cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]-}\n"
				"\tlocal word option= start=0 i opts=\n"
				"\tCOMPREPLY=()\n";

/* Finds the option whose value the cursor is in, or where the command starts. bash splits --a=b
 * into three words. */
static const char bash_walk[] = "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
				"\t\tword=${COMP_WORDS[i]}\n"
				"\t\tif [[ $option ]]; then\n"
				"\t\t\t[[ $word == = ]] || option=\n"
				"\t\t\tcontinue\n"
				"\t\tfi\n"
				"\t\tcase $word in\n"
				"\t\t--) start=$((i + 1)); break ;;\n";

static const char bash_rest[] = "\t\t-*) ;;\n"
				"\t\t*) start=$i; break ;;\n"
				"\t\tesac\n"
				"\tdone\n"
				"\t[[ $cur == = ]] && cur=\n";

static const char bash_end[] =
	"\tif [[ $cur == -* ]] && ((start == 0)); then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -W \"$opts\" -- \"$cur\")\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif ((start > 0)) && declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$start\"\n"
	"\telif ((start == 0 || start == COMP_CWORD)); then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\"; compgen -f -- \"$cur\")\n"
	"\telse\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"\tfi\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"}\n"
	"complete -F _pinfold pinfold\n";

static void bash_values(void)
{
	printf("\tcase $option in\n\t'') ;;\n");
	for (const struct opt *o = opt_table; o->name; o++) {
		if (!(o->words || is_meta(o, "FILE") || is_meta(o, "DIR")))
			continue;
		printf("\t%s%s)\n\t\tmapfile -t COMPREPLY < <(compgen ", opt_dashes(o), o->name);
		if (o->words)
			printf("-W '%s'", o->words);
		else
			printf("%s", is_meta(o, "DIR") ? "-d" : "-f");
		printf(" -- \"$cur\")\n");
		if (!o->words)
			printf("\t\tcompopt -o filenames 2>/dev/null\n");
		printf("\t\treturn ;;\n");
	}
	printf("\t*) return ;;\n\tesac\n");
}

void docs_bash(void)
{
	const char *bar = "";

	printf("%s\tif ((COMP_CWORD == 1)) || [[ $verb == help ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W '",
	       bash_head);
	put_verb_names(" ", VERB_ALL);
	printf("' -- \"$cur\")\n\t\treturn\n\tfi\n%s\t\t", bash_walk);
	for (const struct opt *o = opt_table; o->name; o++) {
		if (!o->meta || !o->help)
			continue;
		printf("%s%s%s", bar, opt_dashes(o), o->name);
		bar = "|";
	}
	printf(") option=$word ;;\n%s", bash_rest);
	bash_values();
	printf("\tcase $verb in\n");
	for (const struct verb *v = verb_table; v->name; v++) {
		if (!v->summary)
			continue;
		printf("\t%s) opts='", v->name);
		for (const struct opt *o = opt_table; o->name; o++)
			if (offered(o, v->bit))
				printf(" %s%s", opt_dashes(o), o->name);
		printf("' ;;\n");
	}
	printf("\tesac\n\tif [[ $cur != -* && ' " OF_WORKSPACES
	       " ' == *\" $verb \"* ]] && ((start == 0 || start == COMP_CWORD)); then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$(" NAMES ")\" -- \"$cur\")\n"
	       "\t\treturn\n\tfi\n");
	printf("\tif [[ $cur != -* && ' ");
	put_verb_names(" ", RUNS_COMMAND);
	printf(" ' != *\" $verb \"* ]]; then\n\t\treturn\n\tfi\n%s", bash_end);
}

/* Inside '...' of _arguments, where [ ] : end a part. */
static void put_zsh(const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			printf("'\\''");
		else if (strchr("[]:\\", *s))
			printf("\\%c", *s);
		else
			putchar(*s);
	}
}

static void zsh_option(const struct opt *o)
{
	printf("\t\t\t'%s%s%s%s[", repeats(o) ? "*" : "", opt_dashes(o), o->name,
	       o->meta && o->name[1] ? "=" : "");
	put_zsh(o->help);
	printf("]");
	if (o->meta) {
		printf(":");
		put_zsh(o->meta);
		printf(":");
	}
	if (o->words)
		printf("(%s)", o->words);
	else if (is_meta(o, "FILE"))
		printf("_files");
	else if (is_meta(o, "DIR"))
		printf("_files -/");
	printf("' \\\n");
}

static const char zsh_command[] =
	"\t\t\t'(-):command: _alternative \"commands:command:_command_names -e\" "
	"\"files:file:_files\"' \\\n"
	"\t\t\t'*::arguments:_normal' \\\n";

void docs_zsh(void)
{
	printf("#compdef pinfold\n"
	       "# SPDX-License-Identifier: Apache-2.0\n"
	       "# zsh completion for pinfold, printed by: pinfold docs zsh\n"
	       "_pinfold() {\n\tlocal -a verbs\n\tverbs=(\n");
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->summary) {
			printf("\t\t'%s:", v->name);
			put_zsh(v->summary);
			printf("'\n");
		}
	printf("\t)\n"
	       "\tif ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n"
	       "\t\t_describe -t verbs verb verbs\n"
	       "\t\treturn\n\tfi\n"
	       "\tlocal verb=$words[2]\n"
	       "\tshift words\n\t((CURRENT--))\n"
	       "\tcase $verb in\n");
	for (const struct verb *v = verb_table; v->name; v++) {
		if (!v->summary)
			continue;
		printf("\t%s)\n\t\t_arguments -A '-*' \\\n", v->name);
		for (const struct opt *o = opt_table; o->name; o++)
			if (offered(o, v->bit))
				zsh_option(o);
		if (v->bit & RUNS_COMMAND)
			printf("%s", zsh_command);
		else if (of_workspaces(v))
			printf("\t\t\t'1:workspace:($(" NAMES_ZSH "))' \\\n"
			       "\t\t\t'*:file:_files' \\\n");
		printf("\t\t\t&& return\n\t\t;;\n");
	}
	printf("\tesac\n}\n"
	       "if [[ $funcstack[1] == _pinfold ]]; then\n\t_pinfold \"$@\"\nelse\n"
	       "\tcompdef _pinfold pinfold\nfi\n");
}

static void put_fish(const char *s)
{
	putchar('\'');
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
	putchar('\'');
}

static void fish_option(const struct opt *o)
{
	printf("complete -c pinfold -n '__fish_seen_subcommand_from ");
	put_verb_names(" ", o->verbs);
	printf("' -%c %s", o->name[1] ? 'l' : 's', o->name);
	if (o->words)
		printf(" -x -a '%s'", o->words);
	else if (is_meta(o, "FILE"))
		printf(" -r -F");
	else if (is_meta(o, "DIR"))
		printf(" -x -a '(__fish_complete_directories)'");
	else if (o->meta)
		printf(" -x");
	printf(" -d ");
	put_fish(o->help);
	putchar('\n');
}

void docs_fish(void)
{
	printf("# SPDX-License-Identifier: Apache-2.0\n"
	       "# fish completion for pinfold, printed by: pinfold docs fish\n"
	       "complete -c pinfold -f\n");
	for (const struct verb *v = verb_table; v->name; v++) {
		if (!v->summary)
			continue;
		printf("complete -c pinfold -n __fish_use_subcommand -a %s -d ", v->name);
		put_fish(v->summary);
		putchar('\n');
	}
	printf("complete -c pinfold -n '__fish_seen_subcommand_from help' -a '");
	put_verb_names(" ", VERB_ALL);
	printf("'\ncomplete -c pinfold -n '__fish_seen_subcommand_from ");
	put_verb_names(" ", RUNS_COMMAND);
	printf("' -F -a '(__fish_complete_command)'\n");
	printf("complete -c pinfold -n '__fish_seen_subcommand_from " OF_WORKSPACES
	       "' -F -a '(pinfold ls 2>/dev/null | string replace -rf \"^([a-z0-9-]+) .*\" "
	       "\"\\$1\")'\n");
	for (const struct opt *o = opt_table; o->name; o++)
		if (offered(o, VERB_ALL))
			fish_option(o);
}
