import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderArtifacts, folderRunArtifacts } from "../../../../src/host/adapters/folder/artifacts.ts";
import { readWorkflowRun } from "../../../../src/host/adapters/github/env.ts";
import { folderWith, temporaryFolder, writeProject } from "../../../support/project.ts";

const limits = { packedBytes: 1000, bytes: 100 };
const wanted = { name: "result.json", temp: "", limits };

function open(shared = temporaryFolder(), attempt = 1) {
	const run = readWorkflowRun({
		...{ GITHUB_ACTIONS: "true", GITHUB_REPOSITORY: "acme/engines", GITHUB_RUN_ID: "12" },
		GITHUB_RUN_ATTEMPT: String(attempt),
	});
	if (run === null) throw new Error("no run");
	return {
		shared,
		own: join(shared, "acme/engines/12"),
		store: folderArtifacts(shared, run),
		parts: folderRunArtifacts(shared, run),
	};
}

const draftOf = (text: string, name = "trtgate-l4") => {
	const root = folderWith({ "result.json": text, "logs/build.log": "log" });
	const files = ["result.json", "logs/build.log"].map((file) => join(root, file));
	return { name, root, files, compression: 6 };
};

const listedBy = async ({ parts }: ReturnType<typeof open>) => {
	const listed = await parts.list();
	return listed.state === "done" ? listed.artifacts : listed.fault.message;
};

it("a part in the shared folder is read as it was written, below its repository and run", async () => {
	const place = open();
	expect(await listedBy(place)).toEqual([]);
	expect(await place.store.upload(draftOf('{"ok":"é"}'))).toMatchObject({ artifact: { name: "trtgate-l4" } });
	expect(readFileSync(join(place.own, "trtgate-l4/logs/build.log"), "utf8")).toBe("log");
	const [part] = [await listedBy(place)].flat();
	expect(part).toMatchObject({ name: "trtgate-l4", uploadedMs: expect.any(Number) });
	if (typeof part !== "object") throw new Error("no part");
	expect(await place.parts.take(part, wanted)).toEqual({ state: "read", text: '{"ok":"é"}' });
	expect(await place.parts.take(part, { ...wanted, name: "absent.json" })).toEqual({ state: "absent" });
});

it("a shared folder that is not mounted is named, with what to do", async () => {
	const { store, parts } = open("/nowhere/at/all");
	for (const answer of [await store.upload(draftOf("{}")), await parts.list()])
		expect(answer).toMatchObject({
			state: "failed",
			fault: {
				message: expect.stringContaining("/nowhere/at/all"),
				fix: expect.stringContaining("the input `parts` names on this runner"),
			},
		});
});

it("a part whose name is taken gets the attempt's, and never replaces another in the shared folder", async () => {
	const first = open();
	await first.store.upload(draftOf("first"));
	const second = open(first.shared, 2);
	expect(await second.store.upload(draftOf("second"))).toMatchObject({
		artifact: { name: "trtgate-l4-attempt2" },
	});
	symlinkSync(temporaryFolder(), join(first.own, "trtgate-h200"));
	expect(await second.store.upload(draftOf("third", "trtgate-h200"))).toMatchObject({
		artifact: { name: "trtgate-h200-attempt2" },
	});
	expect(readFileSync(join(first.own, "trtgate-l4/result.json"), "utf8")).toBe("first");
	expect(readdirSync(first.own).sort()).toEqual([
		...["trtgate-h200", "trtgate-h200-attempt2", "trtgate-l4", "trtgate-l4-attempt2"],
	]);
});

it("a shared folder that is not mounted is an error, and not an empty one", async () => {
	const place = open(join(temporaryFolder(), "absent"));
	expect(await place.store.upload(draftOf("x"))).toMatchObject({ state: "failed" });
	expect(await listedBy(place)).toMatch(/The list of the parts in .*absent failed: ENOENT/);
});

it("nothing is written through a link that another job planted in the shared folder", async () => {
	const place = open();
	const target = temporaryFolder();
	mkdirSync(join(place.shared, "acme/engines"), { recursive: true });
	symlinkSync(target, place.own);
	expect(await place.store.upload(draftOf("x"))).toMatchObject({
		state: "failed",
		fault: { message: expect.stringContaining("is behind a symbolic link") },
	});
	expect(readdirSync(target)).toEqual([]);
});

it.each<[string, (folder: string) => void, RegExp]>([
	["a link", (folder) => symlinkSync("/etc/hostname", join(folder, "result.json")), /symbolic link/],
	["a folder", (folder) => mkdirSync(join(folder, "result.json")), /it is a folder/],
	["a named pipe", (folder) => void spawnSync("mkfifo", [join(folder, "result.json")]), /it is a named pipe/],
	["too large", (folder) => writeFileSync(join(folder, "result.json"), "x".repeat(101)), /101 B; expected/],
	["no text", (folder) => writeFileSync(join(folder, "result.json"), Buffer.from([0xff, 0xfe])), /UTF-8/],
	[
		"in a folder behind a link",
		(folder) => {
			renameSync(folder, `${folder}-real`);
			writeProject(`${folder}-real`, { "result.json": "{}" });
			symlinkSync(`${folder}-real`, folder);
		},
		/symbolic link/,
	],
])("a result in the shared folder that is %s is refused", async (_, plant, reason) => {
	const place = open();
	const folder = join(place.own, "trtgate-l4");
	mkdirSync(folder, { recursive: true });
	plant(folder);
	const taken = await place.parts.take({ id: 0, name: "trtgate-l4", bytes: 0 }, wanted);
	expect(taken).toMatchObject({ state: "refused", reason: expect.stringMatching(reason) });
});
