import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";
import { checkOutFolder, outNames, refuseLinks, removeEarlierResult } from "../../src/app/out-folder.ts";
import { commitAll, git, gitProcesses } from "../support/git-history.ts";
import { expectFault, folderWith, temporaryFolder, writeProject } from "../support/project.ts";

function checkout({ links = {}, files = {} }: Pick<Row, "links" | "files">) {
	const root = temporaryFolder();
	const [workspace, elsewhere, temp] = [join(root, "workspace"), join(root, "elsewhere"), join(root, "temp")];
	for (const folder of [workspace, elsewhere, temp]) mkdirSync(folder);
	writeProject(workspace, files);
	for (const [name, target] of Object.entries(links)) {
		const at = join(workspace, name);
		mkdirSync(dirname(at), { recursive: true });
		symlinkSync(resolve(root, target), at);
	}
	git(workspace, "init", "-q");
	commitAll(workspace);
	const check = (out: string, by: "action" | "person") => {
		const roots = by === "action" ? { workspace, temp } : undefined;
		return checkOutFolder(join(workspace, out), roots ?? { cwd: workspace }, gitProcesses());
	};
	return { workspace, elsewhere, temp, check };
}

interface Row {
	what: string;
	/** Targets beside the workspace. */
	links?: Readonly<Record<string, string>>;
	files?: Readonly<Record<string, string>>;
	out?: string;
	/** Part of the message; absent where the folder is used. */
	action?: string;
	both?: string;
}

const rows: Row[] = [
	{ what: "that does not exist" },
	{
		what: "that is a link out of the workspace",
		links: { "trtgate-out": "elsewhere" },
		both: "trtgate-out is refused: it is a link;",
	},
	{
		what: "that is a link to nothing",
		links: { "trtgate-out": "/nowhere/at/all" },
		both: "it is a link",
	},
	{
		what: "below a link",
		links: { build: "elsewhere" },
		out: "build/results",
		both: "workspace/build is a link;",
	},
	...outNames.map((name) => ({
		what: `whose ${name} is a link`,
		links: { [`trtgate-out/${name}`]: "elsewhere" },
		both: `trtgate-out/${name} is a link;`,
	})),
	{
		what: "with a link deep in it",
		links: { "trtgate-out/logs/build-net.log": "elsewhere/profile" },
		both: 'git tracks "trtgate-out/logs/build-net.log";',
	},
	{
		what: "with a file that git tracks",
		files: { "trtgate-out/nsys/trace.nsys-rep": "" },
		action: 'git tracks "trtgate-out/nsys/trace.nsys-rep";',
	},
	{ what: "that leads out by its path", out: "../elsewhere", action: "it is below neither the workspace " },
	{ what: "that is the workspace", out: ".", action: "it is below neither the workspace " },
	{ what: "in the runner's temporary folder", out: "../temp/out" },
];

it.each(rows)(
	"an output folder $what is used, or refused with one message",
	async ({ out = "trtgate-out", both, action = both, ...planted }) => {
		const { check, elsewhere } = checkout(planted);
		for (const [by, expected] of [
			["action", action],
			["person", both],
		] as const) {
			const checked = check(out, by);
			if (expected === undefined) await checked;
			else await expectFault(checked, "output-refused", expected);
		}
		expect(readdirSync(elsewhere)).toEqual([]);
	},
);

it("an output folder outside of a repository may be a link, its subfolders may not", async () => {
	const root = temporaryFolder();
	mkdirSync(join(root, "disk"));
	symlinkSync(join(root, "disk"), join(root, "results"));
	const refuse = () => refuseLinks(join(root, "results"), { cwd: root });
	await refuse();
	symlinkSync("/tmp", join(root, "disk/raw"));
	await expectFault(refuse(), "output-refused");
});

it("an earlier run's files are removed from a person's folder only beside a result", async () => {
	const files = { "raw/net/0.f64": "", "logs/build.log": "", "notes.txt": "" };
	const folder = folderWith(files);
	await removeEarlierResult(folder, { isOwn: false });
	expect(readdirSync(folder).sort()).toEqual(["logs", "notes.txt", "raw"]);
	await removeEarlierResult(folder, { isOwn: true });
	expect(readdirSync(folder)).toEqual(["notes.txt"]);
	writeProject(folder, { "result.json": "{}", "raw/net/0.f64": "" });
	await removeEarlierResult(folder, { isOwn: false });
	expect(readdirSync(folder)).toEqual(["notes.txt"]);
});

it("an earlier run's file that became a link is removed, and its target stays", async () => {
	const root = temporaryFolder();
	const folder = writeProject(join(root, "out"), { "logs/build.log": "" });
	writeFileSync(join(root, "kept"), "");
	symlinkSync(root, join(folder, "raw"));
	await removeEarlierResult(folder, { isOwn: true });
	expect([existsSync(join(folder, "raw")), existsSync(join(root, "kept"))]).toEqual([false, true]);
});
