import { expect, it } from "vitest";
import { releaseTags, type Tag, tagsBefore } from "../../../src/formats/git/version-tag.ts";
import { cpuMs } from "../../support/cpu-time.ts";

const tags = (names: string) =>
	names
		.split(" ")
		.map((name, index) => ({ name, commit: index.toString(16).padStart(40, "0") }))
		.filter(({ name }) => name !== "");
const names = (of: readonly Tag[]) => of.map(({ name }) => name).join(" ");

it.each([
	["v1.2.0", "v1.0.0 v1.10.0 v1.9.0 v1.2.0-rc.1 v1.1.9", "v1.1.9 v1.0.0"],
	["v1.10.0", "v1.9.0 v1.2.0 v2.0.0", "v1.9.0 v1.2.0"],
	["v1.2.0-rc.10", "v1.2.0-rc.9 v1.2.0-rc.11 v1.2.0 v1.1.0", "v1.2.0-rc.9 v1.1.0"],
	["v1.2.0-rc10", "v1.2.0-rc9 v1.2.0-beta1 v1.2.0-alpha", "v1.2.0-rc9 v1.2.0-beta1 v1.2.0-alpha"],
	["v1.0.0", "v1.0.0-rc.1 v1.0.0-alpha", "v1.0.0-rc.1 v1.0.0-alpha"],
	["1.0", "0.9 v0.8 1.0.0", "0.9 v0.8"],
	["engines/v2.0", "engines/v1.0 web/v1.9 v1.5", "engines/v1.0"],
	["pkg@1.1.0", "pkg@1.0.0 pkg@1.2.0 other@1.0.5", "pkg@1.0.0"],
	["release-2", "release-1 release-10", "release-1"],
	["2026.05.01", "2026.04.30 2026.10.01 2025.12.31", "2026.04.30 2025.12.31"],
	["2026-05-01", "2026-04-30 2026-10-01 2025-12-31", "2026-04-30 2025-12-31"],
	["v1.0.0+build.2", "v1.0.0+build.1 v0.9.0", "v0.9.0"],
	["v1.0.0", "", ""],
])("before %s of %j come %j", (tag, all, before) => {
	const found = tagsBefore(tag, tags(`${tag} ${all}`));
	expect([found.order, names(found.tags)]).toEqual(["version", before]);
});

it("tagsBefore does not order names that are not versions", () => {
	const found = tagsBefore("candidate", tags("candidate golden v1"));
	expect([found.order, names(found.tags)]).toEqual(["none", "golden v1"]);
});

it.each([
	["v1.0.0 v1.10.0 v1.9.0 v2.0.0-rc.1 latest", "version", "v1.10.0 v1.9.0 v1.0.0"],
	["v0.1.0-alpha v0.1.0-beta", "version", "v0.1.0-beta v0.1.0-alpha"],
	["engines/v1 engines/v2", "version", "engines/v2 engines/v1"],
	["engines/v1 v0.1 web/v7", "version", "v0.1"],
	["latest golden", "none", "latest golden"],
	["engines/v1 web/v7 latest", "none", "engines/v1 web/v7"],
	["", "none", ""],
])("the last release of %j is by %s one of %j", (all, order, last) => {
	const found = releaseTags(tags(all));
	expect([found.order, names(found.tags)]).toEqual([order, last]);
});

it("tagsBefore reads a hostile name quickly", () => {
	const started = cpuMs();
	for (const name of ["-".repeat(250), "1.".repeat(120), "a-".repeat(120), `v${"1".repeat(240)}`])
		tagsBefore(name, tags("v1"));
	expect(cpuMs() - started).toBeLessThan(200);
});
