// The borders between the rooms of src, held by reading every import statement.
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
		...text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|(?:^|\n)import\s+"([^"]+)"/g),
	];
	return specifiers.map((match) => {
		const specifier = match[1] ?? match[2] ?? match[3] ?? "";
		const ours = specifier.startsWith(".");
		return { from: path, to: ours ? relative(".", join(dirname(path), specifier)) : specifier, ours };
	});
}

const imports = files.flatMap(importsOf);
const doors = ["main", "post", "cli", "plan", "report", "golden", "ort-worker"].map((name) => `src/${name}.ts`);

function isIn(path: string, ...rooms: string[]): boolean {
	return rooms.some((room) => path === `src/${room}` || path.startsWith(`src/${room}/`));
}

/** Imports that leave a room for somewhere the rule does not allow. */
function trespasses(room: string, allowed: (to: Import) => boolean): string[] {
	return imports.filter((found) => isIn(found.from, room) && !allowed(found)).map((found) => `${found.from} imports ${found.to}`);
}

describe("the rooms of src", () => {
	it("were seen, all of them", () => {
		expect(files.length).toBeGreaterThan(100);
		expect(imports.length).toBeGreaterThan(300);
		for (const room of ["core", "formats", "stages", "adapters", "app"]) expect(files.some((path) => isIn(path, room))).toBe(true);
	});

	it("keep core pure: core, the schemas, ajv and yaml", () => {
		expect(
			trespasses("core", ({ to, ours }) => (ours ? isIn(to, "core") || to.startsWith("golden-schema/") : /^(ajv|yaml)(\/|$)/.test(to))),
		).toEqual([]);
	});

	it("keep what judges from what reports: shared wording is in core/text", () => {
		const judges = ["golden", "compare", "gates", "onnx", "config", "plan", "merge", "explain", "telemetry", "stats"].map(
			(name) => `core/${name}`,
		);
		expect(imports.filter(({ from, to }) => isIn(from, ...judges) && isIn(to, "core/report"))).toEqual([]);
		expect(trespasses("core/text", ({ to }) => isIn(to, "core/text", "core/schema"))).toEqual([]);
	});

	it("keep formats to core and themselves", () => {
		expect(trespasses("formats", ({ to, ours }) => (ours ? isIn(to, "core", "formats") : false))).toEqual([]);
	});

	it("keep stages to core, ports and themselves", () => {
		expect(trespasses("stages", ({ to, ours }) => ours && (isIn(to, "core", "stages") || isIn(to, "ports")))).toEqual([]);
	});

	it("keep adapters from stages, the app and each other", () => {
		const allowed = ({ from, to, ours }: Import): boolean => {
			if (!ours) return true;
			const own = from.split("/").slice(0, 3).join("/").slice("src/".length);
			return isIn(to, "core", "formats", "adapters/process", own) || isIn(to, "ports") || to === "src/adapters/clock.ts";
		};
		expect(trespasses("adapters", allowed)).toEqual([]);
	});

	it("write to stdout and stderr in one place, but for doors and for workers, whose streams their parent reads", () => {
		// The check of an old Node loads nothing else.
		const mayWrite = [...doors, "src/app/old-node.ts", "src/adapters/process/standard-streams.ts"];
		const writers = files.filter((path) => {
			if (mayWrite.includes(path) || isIn(path, "adapters/onnxruntime/worker")) return false;
			// Writing nothing waits for what was written.
			return /process\.std(?:out|err)\.write\((?!"")|\bconsole\.|import \{[^}]*\binfo\b[^}]*\} from "@actions\/core"/.test(
				readFileSync(path, "utf8"),
			);
		});
		expect(writers).toEqual([]);
	});

	it("hold no cycle", () => {
		const graph = new Map(
			files.map((path) => [path, imports.filter((found) => found.from === path && found.ours).map((found) => found.to)]),
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

	it("have no drawers", () => {
		expect(files.filter((path) => /(^|\/)(utils?|helpers?|common|misc|managers?|services?|index)(\/|\.ts$)/.test(path))).toEqual([]);
	});
});

describe("every module but a door", () => {
	it("has no effect when it is imported", async () => {
		const before = process.listenerCount("SIGINT");
		const quiet = files.filter((path) => !doors.includes(path));
		for (const path of quiet) await import(join("..", path));
		expect(process.listenerCount("SIGINT")).toBe(before);
		expect(quiet.length).toBeGreaterThan(100);
	});
});

describe("the one file", () => {
	const holding = (pattern: RegExp): string[] => files.filter((path) => pattern.test(readFileSync(path, "utf8")));

	it("that reads inputs is adapters/github/inputs.ts", () => {
		expect(holding(/\bgetInput\(/)).toEqual(["src/adapters/github/inputs.ts"]);
	});

	it("that reads the environment is adapters/github/env.ts", () => {
		expect(holding(/process\.env\b/)).toEqual(["src/adapters/github/env.ts"]);
	});

	it("that opens files whose paths come from outside is adapters/process/input-file.ts", () => {
		const opening = holding(/^import \{[^}]*\b(readFile|readFileSync|openSync|copyFile)\b[^}]*\} from "node:fs/m);
		expect(opening.filter((path) => isIn(path, "app", "stages", "adapters/files"))).toEqual([]);
	});

	it("that names a child's environment is the only one: no child has ours whole", () => {
		expect(holding(/createProcesses\((?!\{ env: childEnvironment\(\) \})/).sort()).toEqual([
			"src/adapters/process/processes.ts",
			"src/app/compose.ts",
		]);
	});

	it("that pronounces on a golden, a speed, a run is one each", () => {
		expect(holding(/export function judgeCase\(/)).toEqual(["src/core/golden/compare/judge.ts"]);
		expect(holding(/export function judgePairs\(/)).toEqual(["src/core/compare/verdict.ts"]);
		expect(holding(/export function foldOutcome\(/)).toEqual(["src/core/outcome.ts"]);
	});

	it("of a report never judges", () => {
		const judging = imports.filter(
			({ from, to }) => isIn(from, "core/report") && /core\/(gates\/|outcome|golden\/judge|compare\/(verdict|looks|exact))/.test(to),
		);
		expect(judging).toEqual([]);
	});
});

describe("every file", () => {
	it("is at most 250 lines long", () => {
		const long = files.filter((path) => !isIn(path, "core/schema") && readFileSync(path, "utf8").split("\n").length > 251);
		expect(long).toEqual([]);
	});

	it("starts with its purpose", () => {
		expect(files.filter((path) => !isIn(path, "core/schema") && !/^(#!.*\n)?\/\/ [A-Z`]/.test(readFileSync(path, "utf8")))).toEqual([]);
	});
});
