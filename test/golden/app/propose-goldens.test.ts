import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { GoldenManifest } from "../../../generated/golden.ts";
import type { ConfigError } from "../../../src/core/errors.ts";
import { changedFiles, openCheckout } from "../../../src/golden/app/propose-goldens.ts";
import { git, gitProcesses } from "../../support/git-history.ts";
import { manifestOf } from "../../support/golden-tensors.ts";
import { temporaryFolder, writeProject } from "../../support/project.ts";

const tensor = (path: string) => ({ path, sha256: "a".repeat(64), dtype: "float32" as const, shape: [1] });

function manifest(goldenId: string, path: string, more: Partial<GoldenManifest> = {}): GoldenManifest {
	const cases: GoldenManifest["cases"] = [{ id: "0", inputs: {}, outputs: { y: tensor(path) } }];
	return { ...manifestOf({}, { y: {} }), goldenId, reason: "Why.", author: "Ann", cases, ...more };
}

const written = {
	"engines/golden/net/golden.json": JSON.stringify(manifest("net@2", "r2/0.npy")),
	"engines/golden/net/r2/0.npy": "\u0000two",
	"engines/golden/net/r1/0.npy": "one",
};

const net = {
	path: "golden/net/golden.json",
	manifest: manifest("net@2", "r2/0.npy"),
	old: manifest("net@1", "./r1/0.npy"),
};

function openRepository(files: Record<string, string> = {}) {
	const top = temporaryFolder();
	git(top, "init", "-q");
	writeProject(top, { ...written, ...files });
	git(top, "add", "-A");
	git(top, "commit", "-q", "-m", "first");
	const processes = gitProcesses();
	onTestFinished(() => processes.killAll());
	const home = join(top, "engines");
	return { top, home, checkout: () => openCheckout(home, processes), processes };
}

const refusal = (run: Promise<unknown>) =>
	run.then(
		() => expect.fail("not refused"),
		({ code, message, fix }: ConfigError) => `${code}: ${message} → ${fix}`,
	);

it("the files of a proposal lie where git has them, under the hashes that git gives them, and old tensors go", async () => {
	const { top, home, checkout } = openRepository();
	const changed = await changedFiles([net], home, await checkout());
	expect(changed.folders).toEqual(["engines/golden/net"]);
	expect(changed.removed).toEqual(["engines/golden/net/r1/0.npy"]);
	expect(changed.files.map(({ path }) => path)).toEqual([
		"engines/golden/net/golden.json",
		"engines/golden/net/r2/0.npy",
	]);
	for (const { path, blob, bytes, read } of changed.files) {
		expect(blob).toBe(git(top, "hash-object", "--no-filters", path));
		expect((await read()).length).toBe(bytes);
	}
});

it.each<[string, Partial<GoldenManifest>, boolean]>([
	[
		"made at another time",
		{ producer: { backend: "x", version: "2", precision: "fp32", createdAt: "2026-01-01T00:00:00Z" } },
		true,
	],
	["with another reason", { reason: "Another." }, false],
	["by another author", { author: "Bob" }, false],
	["of another model", { model: { path: "m.onnx", sha256: "c".repeat(64) } }, false],
	["of another revision", { goldenId: "net@3" }, false],
])("the files of a proposal agree with an earlier manifest %s or not", async (_, more, agrees) => {
	const { home, checkout } = openRepository();
	const [golden, npy] = (await changedFiles([net], home, await checkout())).files;
	const earlier = JSON.stringify(manifest("net@2", "r2/0.npy", more));
	expect(golden?.agreesWith?.(Buffer.from(earlier))).toBe(agrees);
	expect(golden?.agreesWith?.(Buffer.from('{"__proto__": 1}'))).toBe(false);
	expect(npy?.agreesWith).toBeUndefined();
});

it("the files of a proposal of Git LFS or another filter are refused, unless the golden is taken out of it", async () => {
	const lfs = openRepository({ ".gitattributes": "*.npy filter=lfs diff=lfs merge=lfs -text\n" });
	expect(await refusal(changedFiles([net], lfs.home, await lfs.checkout()))).toMatch(
		/^proposal-refused: engines\/golden\/net\/r2\/0\.npy belongs to Git LFS.* → .*`engines\/golden\/net\/r2\/\*\* !filter`/,
	);
	const other = openRepository({ ".gitattributes": "*.json filter=seal\n" });
	expect(await refusal(changedFiles([net], other.home, await other.checkout()))).toMatch(
		/golden\.json belongs to git's filter "seal"/,
	);
	const out = openRepository({ ".gitattributes": "*.npy filter=lfs\nengines/golden/net/r2/** !filter\n" });
	expect((await changedFiles([net], out.home, await out.checkout())).files).toHaveLength(2);
});

it("the files of a proposal in a folder that is a link, the top, or elsewhere are refused", async () => {
	const { top, home, checkout } = openRepository({ "golden.json": "{}" });
	const outside = temporaryFolder();
	mkdirSync(join(outside, "net"));
	symlinkSync(join(outside, "net"), join(home, "golden/out"));
	symlinkSync(join(home, "golden/net"), join(home, "golden/in"));
	for (const [folder, from] of [
		["golden/out", home],
		["golden/in", home],
		[".", top],
		["net", outside],
	] as const) {
		const changed = changedFiles([{ ...net, path: join(folder, "golden.json") }], from, await checkout());
		expect(await refusal(changed)).toContain(`${folder} is a link, or no folder`);
	}
});

it("a checkout that is none, or has no commit, is refused", async () => {
	const { processes } = openRepository();
	const empty = temporaryFolder();
	expect(await refusal(openCheckout(empty, processes))).toMatch(
		/is not a checkout of the repository: .*not a git repository.* → Run actions\/checkout/,
	);
	git(empty, "init", "-q");
	expect(await refusal(openCheckout(empty, processes))).toMatch(/git has no commit here/);
});
