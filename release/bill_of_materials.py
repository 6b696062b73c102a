"""The bill of materials of a release, in CycloneDX: redlatch, and what is linked into its wheels and static files.

SPDX-License-Identifier: Apache-2.0
"""

import json
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List

import toolchain
from targets import ROOT

LINKED_IN = ("hiredis", "openssl")


def component(name: str, entry: Dict[str, str]) -> Dict[str, Any]:
    """Returns one library of core/cmake/third-party.json, with the package that contains its sources."""
    registry, package, version = entry["source"].split()
    carrier = {"pypi": "pypi", "crate": "cargo"}[registry]
    return {
        "type": "library", "bom-ref": f"{name}@{entry['version']}", "name": name, "version": entry["version"],
        "licenses": [{"license": {"id": entry["licence"]}}],
        "cpe": entry["cpe"].format(entry["version"]),
        "purl": f"pkg:{carrier}/{package}@{version.replace('+', '%2B')}",
        "hashes": [{"alg": "SHA-256", "content": entry["sha256"]}],
        "externalReferences": [{"type": "website", "url": entry["home"]}],
    }


def write_bill(version: str, path: Path, epoch: int) -> None:
    """Writes the file. The same sources give the same file, even the same serial number."""
    listed: Dict[str, Dict[str, str]] = json.loads(
        (ROOT / "core" / "cmake" / "third-party.json").read_text(encoding="utf-8"))
    components: List[Dict[str, Any]] = [*(component(name, listed[name]) for name in LINKED_IN),
                                        *toolchain.components()]
    own = f"redlatch@{version}"
    bill = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([own, epoch, components]))}",
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "library", "bom-ref": own, "name": "redlatch", "version": version,
                          "licenses": [{"license": {"id": "Apache-2.0"}}], "purl": f"pkg:pypi/redlatch@{version}"},
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [each["bom-ref"] for each in components]}],
    }
    path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
