import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { commandTables } from "../../src/app/cli.ts";
import { type CommandTable, commonOptions } from "../../src/app/commands/arguments.ts";

const page = readFileSync("docs/symptoms.md", "utf8");
/** Rows of the tables, and questions. */
const entries = page.split("\n").filter((line) => /^\| (?!symptom|---)|^- \*\*/.test(line));

/** What users of TensorRT ask a gate for, most wanted first, in words of their issues. */
const topics: readonly (readonly [topic: string, words: readonly string[], command: string])[] = [
	["a lower precision must pay", ["int8", "not faster than fp16"], "tune"],
	["which precision ran", ["which precision", "autocast", "fp32"], "run"],
	["silently wrong for some batch", ["silently wrong", "batch 8"], "run"],
	["silently wrong for some shape", ["at some sizes only"], "golden record"],
	["silently wrong on a GPU or version", ["wrong on another gpu", "after an upgrade"], "golden check"],
	["mAP dropped", ["map dropped", "export"], "run"],
	["10 to 11 migration", ["migration from 10 to 11", "strong typing", "calibration"], "run"],
	["upgrade slower", ["slower after an upgrade", "regression"], "run"],
	["slower when requests are apart", ["production", "trtexec", "requests are apart"], "run"],
	["first inference, load time, JIT", ["first inference", "load time", "jit"], "run"],
	["leaks", ["memory leak", "change of shape"], "run"],
	["wide profiles, cliffs between sizes", ["wide profile", "no effect", "one size"], "run"],
	["engines not built by trtexec", ["python api", "torch-tensorrt", "edge-llm"], "run"],
	["portable engines", ["portable engines", "hardware-compatible", "version-compatible"], "run"],
	["wrong after a refit", ["wrong after a refit", "lora", "stripped"], "run"],
	["slower after a refit", ["refit", "weight-stripped", "slower"], "run"],
	["a reproducer for NVIDIA", ["nvidia", "reproducer"], "repro"],
	["timing cache, same tactics across GPUs", ["timing cache", "tactics", "another gpu"], "diff"],
	["DLA", ["dla is not supported"], "run"],
	["weight streaming", ["weight streaming"], "run"],
	["TensorRT-RTX", ["tensorrt-rtx"], "doctor"],
	["ONNX Runtime's TensorRT EP", ["tensorrt ep", "epcontext", "engine cache"], "run"],
	["several streams on one GPU", ["several streams", "two engines"], "run"],
	["plugins V2 and V3", ["plugins v2", "v3"], "run"],
	["energy", ["energy", "power"], "run"],
	["is my runner quiet enough", ["runner quiet enough"], "doctor"],
];

const commandsOf = (entry: string): string[] =>
	[...entry.matchAll(/`trtgate ([^`]+)`/g)].map(([, words = ""]) => words);

function tableOf(words: string): CommandTable | undefined {
	return commandTables.find(({ name }) => words === name || words.startsWith(`${name} `));
}

it.each(topics)("who looks for %s finds an entry that ends in the command", (_, words, command) => {
	const found = entries.filter((entry) => words.every((word) => entry.toLowerCase().includes(word)));
	expect(found, words.join(", ")).toHaveLength(1);
	expect(tableOf(commandsOf(found[0] ?? "").at(-1) ?? "")?.name).toBe(command);
});

it.each(entries)("an entry ends in a command of trtgate, with options that it has: %s", (entry) => {
	const last =
		entry
			.replace(/ \|$/, "")
			.split(/\||:(?= `)/)
			.at(-1) ?? "";
	const commands = commandsOf(last);
	expect(commands.length).toBeGreaterThan(0);
	for (const words of commands) {
		const table = tableOf(words);
		expect(table, words).toBeDefined();
		for (const [, option = ""] of words.matchAll(/--([a-z-]+)/g))
			expect(Object.keys({ ...commonOptions, ...table?.options }), words).toContain(option);
	}
});
