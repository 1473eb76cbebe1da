// Reads a log line by line; keeps only what a diagnosis needs, so memory stays bounded.

import { groupBy } from "../../core/group.ts";
import { parseBannerCommand, parseVersionLine } from "./banner.ts";
import { linePatterns } from "./failures/catalogue.ts";
import type { LinePattern, LogFacts, Names, NodeFacts } from "./failures/rule.ts";
import { parseDumpLine } from "./output-dump.ts";
import type { LogLine } from "./transcript.ts";

interface Hit {
	line: LogLine;
	names: Names;
}

export interface LogScan {
	facts: LogFacts;
	hits: ReadonlyMap<LinePattern, Hit>;
	errors: readonly LogLine[];
	lastErrors: readonly LogLine[];
	tail: readonly LogLine[];
}

const maxErrorLines = 200;
const maxLastLines = 12;
const maxTensors = 4096;

const nameChars = 200;
const infoOfInterest =
	/Opset version|Cannot find|Device|\(MiB\)|deserialized|Using (?:values|random)|Writing file|TensorRT version/;
const nodeLine = /While parsing node number \d+ \[(?<op>[^\]]+?) -> "(?<output>[^"]*)"/;
// TensorRT 10 and earlier print the node as protobuf text; 11 and later print only its name.
const nodeName = /^(?:name: "(?<old>.*)"|Node name: (?<new>.*))$/;

const levelOf = (entry: LinePattern): LogLine["level"] => (entry instanceof RegExp ? "error" : entry.level);
const byLevel = groupBy(linePatterns, levelOf);

function cleanNames(groups: Record<string, string | undefined> | undefined): Names {
	const entries = Object.entries(groups ?? {}).filter(([, value]) => value);
	return Object.fromEntries(entries.map(([key, value]) => [key, value?.trim().slice(0, nameChars)]));
}

function keepLast(list: LogLine[], line: LogLine): void {
	list.push(line);
	if (list.length > maxLastLines) list.shift();
}

function emptyFacts(): LogFacts {
	return {
		...{
			lineCount: 0,
			version: null,
			command: null,
			hasStart: false,
			ending: "none",
			printedHelp: false,
			opset: null,
		},
		...{ device: { memoryMiB: null, usedMiB: null }, deserialised: false, node: null },
		...{ loadedInputs: new Map(), randomInputs: new Map(), dumps: new Map() },
	};
}

function readTensors(facts: LogFacts, line: LogLine): void {
	const [, path, loaded] = /Using values loaded from (.+) for input (.+)$/.exec(line.text) ?? [];
	if (path !== undefined && loaded !== undefined && facts.loadedInputs.size < maxTensors)
		facts.loadedInputs.set(loaded, { path, line });
	const random = /Using random values for input (.+)$/.exec(line.text)?.[1];
	if (random !== undefined && facts.randomInputs.size < maxTensors) facts.randomInputs.set(random, line);
	const tensor = parseDumpLine(line.text);
	if (tensor && facts.dumps.size < maxTensors)
		facts.dumps.set(`${tensor.io} ${tensor.name}`, { tensor, line });
}

function readInfo(facts: LogFacts, line: LogLine): void {
	const { text } = line;
	facts.version ??= parseVersionLine(text);
	const opset = /Opset version:\s+(\d{1,9})/.exec(text)?.[1];
	if (opset !== undefined) facts.opset ??= Number(opset);
	const memory = /Device Global Memory: (\d+) MiB/.exec(text)?.[1];
	const used = /now: CPU -?\d+, GPU (\d+) \(MiB\)/.exec(text)?.[1];
	facts.device = {
		memoryMiB: memory === undefined ? facts.device.memoryMiB : Number(memory),
		usedMiB: used === undefined ? facts.device.usedMiB : Math.max(Number(used), facts.device.usedMiB ?? 0),
	};
	facts.deserialised ||= text.includes("Engine deserialized in");
	readTensors(facts, line);
}

function readMarks(facts: LogFacts, text: string): void {
	facts.version ??= parseVersionLine(text);
	facts.command ??= parseBannerCommand(text);
	if (text.startsWith("&&&& RUNNING")) facts.hasStart = true;
	// A log of several runs has failed if one of them has.
	if (text.startsWith("&&&& PASSED") && facts.ending === "none") facts.ending = "passed";
	if (text.startsWith("&&&& FAILED")) facts.ending = "failed";
	if (text.startsWith("=== Model Options ===")) facts.printedHelp = true;
}

function readNode(node: NodeFacts | null, line: LogLine): NodeFacts | null {
	const { text } = line;
	if (node === null) {
		const groups = nodeLine.exec(text)?.groups;
		return groups ? { op: groups["op"] ?? "", output: groups["output"] ?? "", name: "", line } : null;
	}
	if (node.name !== "") return node;
	const groups = nodeName.exec(text)?.groups;
	return groups ? { ...node, name: (groups["old"] ?? groups["new"] ?? "").slice(0, nameChars) } : node;
}

export function createLogScan(): { feed(line: LogLine): void; result(): LogScan } {
	const facts = emptyFacts();
	const hits = new Map<LinePattern, Hit>();
	const errors: LogLine[] = [];
	const lastErrors: LogLine[] = [];
	const tail: LogLine[] = [];
	const match = (level: LogLine["level"], line: LogLine) => {
		for (const entry of byLevel.get(level) ?? []) {
			if (hits.has(entry)) continue;
			const found = (entry instanceof RegExp ? entry : entry.pattern).exec(line.text);
			if (found) hits.set(entry, { line, names: cleanNames(found.groups) });
		}
	};
	const takeError = (line: LogLine) => {
		match("error", line);
		facts.node = readNode(facts.node, line);
		// A line without a level is searched but not shown as an error.
		if (line.level === "none") return;
		if (errors.length < maxErrorLines) errors.push(line);
		keepLast(lastErrors, line);
	};
	const takePlain = (line: LogLine) => {
		readMarks(facts, line.text);
		if (!line.text.startsWith("&&&&")) takeError(line);
	};
	return {
		feed: (line) => {
			facts.lineCount++;
			keepLast(tail, line);
			if (line.level === "verbose" || line.text.trim() === "") return;
			if (line.level === "error") takeError(line);
			else if (line.level === "warning") match("warning", line);
			else if (line.level === "none") takePlain(line);
			else if (infoOfInterest.test(line.text)) {
				readInfo(facts, line);
				match("info", line);
			}
		},
		result: () => ({ facts, hits, errors, lastErrors, tail }),
	};
}
