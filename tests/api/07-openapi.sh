#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The OpenAPI document: a validator of others says that it is one, every example in it is executed,
# and what is answered has the shape that it promises.
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/daemon.sh"
. "$(dirname "$0")/../lib/api.sh"
. "$(dirname "$0")/../lib/client.sh"

VALIDATOR=@seriousme/openapi-schema-validator
VALIDATOR_VERSION=2.11.0

# Sets CACHE, where the validator is; npm's own configuration says where it comes from.
install_validator()
{
	CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/pinfold-tests/openapi-$VALIDATOR_VERSION
	[ ! -d "$CACHE/node_modules/$VALIDATOR" ] || return 0
	mkdir -p "$CACHE" || return
	(cd "$CACHE" && timeout 90 npm install --no-audit --no-fund --ignore-scripts \
		--prefix "$CACHE" "$VALIDATOR@$VALIDATOR_VERSION") >"$EVIDENCE/npm.log" 2>&1
}

validated()
{
	local name="the document is OpenAPI 3.1, says $VALIDATOR"

	needs node npm "$name" || return
	if ! install_validator; then
		skip "$name [$MODE]" "npm cannot install $VALIDATOR"
		return
	fi
	api GET /openapi.json
	answers 200 "the document"
	cat >"$EVIDENCE/validate.mjs" <<-END
		import { readFileSync } from "node:fs";
		const { Validator } = await import("$CACHE/node_modules/$VALIDATOR/index.js");
		const document = JSON.parse(readFileSync(process.argv[2]));
		const result = await new Validator().validate(document);
		if (!result.valid)
			console.log(JSON.stringify(result.errors, null, 1));
		process.exit(result.valid && document.openapi === "3.1.0" ? 0 : 1);
	END
	check "$name" timeout 30 node "$EVIDENCE/validate.mjs" "$OUT"
	sed 's/"operationId":"[^"]*",//; s/"responses":/"answers":/' "$OUT" >"$EVIDENCE/broken.json"
	check "one that is none is refused by it" test "$(timeout 30 node "$EVIDENCE/validate.mjs" \
		"$EVIDENCE/broken.json" >/dev/null 2>&1; echo $?)" = 1
}

checks()
{
	needs curl setpriv "OpenAPI" || return
	serve_start
	validated
	api_run 07-openapi.py
	serve_stop
}

run_checks
