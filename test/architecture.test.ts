import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";

const root = "src";
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
	.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))
	.map((path) => join(root, path));

interface Import {
	from: string;
	/** Path below src, or the specifier of what is not ours. */
	to: string;
	ours: boolean;
}

function importsOf(path: string): Import[] {
	const text = readFileSync(path, "utf8");
	const specifiers = [
		...text.matchAll(
			/(?:^|\n)\s*(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|(?:^|\n)import\s+"([^"]+)"/g,
		),
	];
	return specifiers.map((match) => {
		const specifier = match[1] ?? match[2] ?? match[3] ?? "";
		const ours = specifier.startsWith(".");
		return { from: path, to: ours ? relative(".", join(dirname(path), specifier)) : specifier, ours };
	});
}

const imports = files.flatMap(importsOf);
const entryPoints = ["main", "post", "cli", "plan", "report", "golden", "ort-worker"].map(
	(name) => `src/${name}.ts`,
);

/** Capabilities with a folder of their own, which holds layers: `src/golden/core/` belongs to `core`. */
const rooms = ["golden", "history", "host", "engine"];
const asLayer = new RegExp(`^src/(${rooms.join("|")})/(\\w+)/`);

function isIn(path: string, ...layers: string[]): boolean {
	const layered = path.replace(asLayer, "src/$2/$1/");
	return layers.some((layer) => path.startsWith(`src/${layer}/`) || layered.startsWith(`src/${layer}/`));
}

function violations(layer: string, allowed: (to: Import) => boolean): string[] {
	return imports
		.filter((found) => isIn(found.from, layer) && !allowed(found))
		.map((found) => `${found.from} imports ${found.to}`);
}

it("the layers of src are all found by this test", () => {
	expect(files.length).toBeGreaterThan(100);
	expect(imports.length).toBeGreaterThan(300);
	for (const layer of ["core", "formats", "stages", "adapters", "app"])
		expect(files.some((path) => isIn(path, layer))).toBe(true);
});

it("the layers of src let core import only core, the schemas, ajv and yaml", () => {
	expect(
		violations("core", ({ to, ours }) =>
			ours ? isIn(to, "core") || /^(generated|data|golden-schema)\//.test(to) : /^(ajv|yaml)(\/|$)/.test(to),
		),
	).toEqual([]);
});

it("the layers of src keep core modules that judge from importing core/report: shared wording is in core/text", () => {
	const judges = [
		"golden",
		"compare",
		"gates",
		"onnx",
		"config",
		"plan",
		"merge",
		"explain",
		"telemetry",
		"stats",
	].map((name) => `core/${name}`);
	expect(imports.filter(({ from, to }) => isIn(from, ...judges) && isIn(to, "core/report"))).toEqual([]);
	expect(violations("core/text", ({ to }) => isIn(to, "core/text") || to.startsWith("generated/"))).toEqual(
		[],
	);
});

it("the layers of src let formats import only core and formats", () => {
	expect(
		violations("formats", ({ to, ours }) =>
			ours ? isIn(to, "core", "formats") || /^(generated|data)\//.test(to) : false,
		),
	).toEqual([]);
});

it("the layers of src let stages import only core, ports and stages", () => {
	expect(
		violations(
			"stages",
			({ to, ours }) => ours && (isIn(to, "core", "stages", "ports") || to.startsWith("generated/")),
		),
	).toEqual([]);
});

it("the layers of src keep adapters from importing stages, app and each other", () => {
	const allowed = ({ from, to, ours }: Import): boolean => {
		if (!ours) return true;
		const own = from.split("/").slice(0, 3).join("/").slice("src/".length);
		// A history is kept in a folder or on a branch.
		const kept = from.startsWith("src/history/") && isIn(to, "adapters/git", "adapters/files");
		return (
			kept ||
			isIn(to, "core", "formats", "adapters/process", own) ||
			isIn(to, "ports") ||
			/^(generated|data)\//.test(to) ||
			to === "src/adapters/clock.ts"
		);
	};
	expect(violations("adapters", allowed)).toEqual([]);
});

it("the layers of src write to stdout and stderr in one place, except for entry points and worker processes", () => {
	const mayWrite = [...entryPoints, "src/app/entry.ts", "src/adapters/process/standard-streams.ts"];
	const writers = files.filter((path) => {
		if (mayWrite.includes(path) || isIn(path, "adapters/onnxruntime/worker")) return false;
		// An empty write only waits for earlier writes.
		return /process\.std(?:out|err)\.write\((?!"")|\bconsole\.|import \{[^}]*\binfo\b[^}]*\} from "@actions\/core"/.test(
			readFileSync(path, "utf8"),
		);
	});
	expect(writers).toEqual([]);
});

it("the layers of src have no import cycle", () => {
	const graph = new Map(
		files.map((path) => [
			path,
			imports.filter((found) => found.from === path && found.ours).map((found) => found.to),
		]),
	);
	const done = new Set<string>();
	const cycles: string[] = [];
	const visit = (path: string, trail: readonly string[]): void => {
		if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
		if (done.has(path) || trail.includes(path)) return;
		for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
		done.add(path);
	};
	for (const path of files) visit(path, []);
	expect(cycles).toEqual([]);
});

it("the layers of src have no file named after nothing in particular, such as utils", () => {
	expect(
		files.filter((path) =>
			/(^|\/)(utils?|helpers?|common|misc|managers?|services?|index)(\/|\.ts$)/.test(path),
		),
	).toEqual([]);
});

describe("a stage", () => {
	const stages = files.filter((path) => isIn(path, "stages"));
	const declaredPorts = (text: string): string[] => [
		...[...text.matchAll(/type \w*Ports = (?:Required<)?Pick<Ports, ([^>]*)>/g)].flatMap(
			([, names = ""]) => names.match(/\w+/g) ?? [],
		),
		...[...text.matchAll(/(?:type \w*Ports =[^;{]*|\bports:) \{([^{}]*)\}/g)].flatMap(([, members = ""]) =>
			[...members.matchAll(/(\w+)\??:/g)].map(([, name = ""]) => name),
		),
	];
	const textAndCallees = (path: string): string =>
		[path, ...imports.filter(({ from, to }) => from === path && isIn(to, "stages")).map(({ to }) => to)]
			.map((file) => readFileSync(file, "utf8"))
			.join("\n");

	it("a stage never takes all ports", () => {
		expect(stages.filter((path) => /[:=&|] Ports\b/.test(readFileSync(path, "utf8")))).toEqual([]);
	});

	it("a stage uses every port it takes", () => {
		const declaring = stages.filter((path) => declaredPorts(readFileSync(path, "utf8")).length > 0);
		expect(declaring.length).toBeGreaterThan(5);
		const unused = declaring.flatMap((path) => {
			const text = textAndCallees(path);
			const names = declaredPorts(readFileSync(path, "utf8")).filter(
				(name) => !new RegExp(`[pP]orts\\??\\.${name}\\b`).test(text),
			);
			return names.map((name) => `${path} takes ${name}`);
		});
		expect(unused).toEqual([]);
	});
});

it("every module except entry points has no side effect when imported", async () => {
	const before = process.listenerCount("SIGINT");
	const modules = files.filter((path) => !entryPoints.includes(path));
	for (const path of modules) await import(join("..", path));
	expect(process.listenerCount("SIGINT")).toBe(before);
	expect(modules.length).toBeGreaterThan(100);
});

describe("the one file", () => {
	const holding = (pattern: RegExp): string[] =>
		files.filter((path) => pattern.test(readFileSync(path, "utf8")));

	it("the one file that reads inputs is host/adapters/github/inputs.ts", () => {
		expect(holding(/\bgetInput\(/)).toEqual(["src/host/adapters/github/inputs.ts"]);
	});

	it("the one file that reads the environment is host/adapters/github/env.ts", () => {
		expect(holding(/process\.env\b/)).toEqual(["src/host/adapters/github/env.ts"]);
	});

	it("the one file that starts child processes is one for short, trusted commands and one for all others", () => {
		expect(holding(/from "(@actions\/exec|node:child_process)"/).sort()).toEqual([
			"src/adapters/process/exec.ts",
			"src/adapters/process/spawn.ts",
		]);
		expect(holding(/\bprocesses\.exec\(/)).toEqual(["src/adapters/git/run-git.ts"]);
	});

	it("the one file that opens files whose paths come from outside is adapters/process/input-file.ts", () => {
		const opening = holding(
			/^import \{[^}]*\b(readFile|readFileSync|openSync|copyFile)\b[^}]*\} from "node:fs/m,
		);
		expect(opening.filter((path) => isIn(path, "app", "stages", "adapters/files"))).toEqual([]);
	});

	it("the one file that passes an environment to child processes is one each, and none passes the whole of ours", () => {
		expect(holding(/createProcesses\((?!\{ env: childEnvironment\(\) \})/).sort()).toEqual([
			"src/adapters/process/processes.ts",
			"src/app/compose.ts",
		]);
	});

	it("the one file that decides the verdict on a golden, a speed and a run is one each", () => {
		expect(holding(/export function judgeCase\(/)).toEqual(["src/golden/core/compare/judge.ts"]);
		expect(holding(/export function judgePairs\(/)).toEqual(["src/core/compare/verdict.ts"]);
		expect(holding(/export function foldOutcome\(/)).toEqual(["src/core/outcome.ts"]);
	});

	it("the one file that renders a report decides no verdict", () => {
		const judging = imports.filter(
			({ from, to }) =>
				isIn(from, "core/report") &&
				/core\/(gates\/|outcome|golden\/judge|compare\/(verdict|looks|exact))/.test(to),
		);
		expect(judging).toEqual([]);
	});
});

describe("every file", () => {
	it("every file is at most 300 lines long", () => {
		const long = files.filter((path) => readFileSync(path, "utf8").split("\n").length > 301);
		expect(long).toEqual([]);
	});

	it("every file starts with a comment on its purpose", () => {
		expect(files.filter((path) => !/^(#!.*\n)?\/\/ [A-Z`]/.test(readFileSync(path, "utf8")))).toEqual([]);
	});
});
