# SPDX-License-Identifier: Apache-2.0
"""Is a bill of materials what its format wants? sbom.py cyclonedx|spdx FILE [PACKAGES]: says what is not.

Required fields, allowed fields, patterns and references, as the schemas of CycloneDX 1.5 and SPDX 2.3 have them for
what we print; tools/check-compat holds the first against its own schema."""
import json
import re
import sys

WHEN = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"
PURL = r"pkg:(pypi|npm|cran|deb)/[A-Za-z0-9%._/~+-]+@[A-Za-z0-9%._~:-]+"
TEXT = r"(?s).+"
# Fields: pattern of a text, a type, a dict of an object, a list of one of these; ? stands in front of what may be absent.
CYCLONEDX = {"bomFormat": "CycloneDX", "specVersion": r"1\.5", "version": 1,
             "serialNumber": r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
             "metadata": {"timestamp": WHEN},
             "components": [{"type": "library", "bom-ref": TEXT, "name": TEXT, "version": TEXT, "purl": PURL,
                             "hashes": [{"alg": "SHA-256", "content": "[0-9a-f]{64}"}],
                             "?licenses": [{"?license": {"?name": TEXT, "?id": r"[A-Za-z0-9.-]+"}, "?expression": TEXT}]}],
             "dependencies": [{"ref": TEXT, "?dependsOn": [TEXT]}]}
SPDX = {"spdxVersion": r"SPDX-2\.3", "dataLicense": r"CC0-1\.0", "SPDXID": "SPDXRef-DOCUMENT", "name": TEXT,
        "documentNamespace": r"https?://[^#\s]+", "creationInfo": {"created": WHEN, "creators": [r"Tool: \S+-\d\S*"]},
        "packages": [{"SPDXID": "SPDXRef-[A-Za-z0-9.-]+", "name": TEXT, "versionInfo": TEXT, "packageFileName": TEXT,
                      "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                      "checksums": [{"algorithm": "SHA256", "checksumValue": "[0-9a-f]{64}"}],
                      "licenseDeclared": r"NOASSERTION|[A-Za-z0-9.-]+( (OR|AND) [A-Za-z0-9.-]+)*", "?licenseComments": TEXT,
                      "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                        "referenceLocator": PURL}]}],
        "relationships": [{"spdxElementId": "SPDXRef-[A-Za-z0-9.-]+", "relatedSpdxElement": "SPDXRef-[A-Za-z0-9.-]+",
                           "relationshipType": "DESCRIBES|DEPENDS_ON"}]}


def wrong(at, rule, value):
    if isinstance(rule, dict):
        known = {k.lstrip("?"): k for k in rule}
        if not isinstance(value, dict):
            return [f"{at}: no object"]
        return [f"{at}: {k} is not of the format" for k in value if k not in known] + [
            f"{at}: no {k}" for k, r in known.items() if not r.startswith("?") and k not in value] + [
            w for k in value if k in known for w in wrong(f"{at}.{k}", rule[known[k]], value[k])]
    if isinstance(rule, list):
        return [w for i, v in enumerate(value) for w in wrong(f"{at}[{i}]", rule[0], v)] if isinstance(value, list) else [
            f"{at}: no list"]
    if isinstance(rule, str):
        return [] if isinstance(value, str) and re.fullmatch(rule, value) else [f"{at}: {value!r}"]
    return [] if value is rule or value == rule else [f"{at}: {value!r}"]


kind, path = sys.argv[1:3]
doc = json.load(open(path))
bad = wrong("$", CYCLONEDX if kind == "cyclonedx" else SPDX, doc)
if not bad and kind == "cyclonedx":
    refs = [c["bom-ref"] for c in doc["components"]]
    used = [r for d in doc["dependencies"] for r in (d["ref"], *d.get("dependsOn", ()))]
    sets = [d["dependsOn"] for d in doc["dependencies"] if "dependsOn" in d]
    bad += ["a list names something twice"] * any(len(set(s)) != len(s) for s in sets)
elif not bad:
    refs = [p["SPDXID"] for p in doc["packages"]]
    used = [r for l in doc["relationships"] for r in (l["spdxElementId"], l["relatedSpdxElement"]) if r != "SPDXRef-DOCUMENT"]
if not bad:
    bad = [f"{r} is there twice" for r in set(refs) if refs.count(r) > 1] + [f"{r} is not there" for r in used if r not in refs]
    bad += [f"{len(refs)} packages"] * (len(sys.argv) > 3 and len(refs) != int(sys.argv[3]))
print("\n".join(bad[:20]), end="\n" if bad else "")
sys.exit(bool(bad))
