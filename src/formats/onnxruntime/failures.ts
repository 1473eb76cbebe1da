// Diagnoses ONNX Runtime's error messages: what each means and how to fix it.
import type { Failure } from "../../../generated/result.ts";
import { elementTypeOfCode } from "../../core/onnx/model.ts";
import { type OrtFailureCode, rules } from "./rules.ts";

const longestTitle = 300;
const longestExcerptLine = 500;

export function diagnoseOrt(message: string): Failure & { code: OrtFailureCode } {
	const text = stripFraming(message);
	const excerpt = text.split("\n", 20).map((line) => line.slice(0, longestExcerptLine));
	for (const { code, fix, kind, pattern, title } of rules) {
		const match = pattern.exec(text);
		if (match !== null)
			return { code, title: fill(title, match.groups ?? {}).slice(0, longestTitle), fix, excerpt, kind };
	}
	return {
		code: "ort-load-failed",
		title: "ONNX Runtime cannot load this model.",
		fix: "Read ONNX Runtime's message in the excerpt.",
		excerpt,
	};
}

function fill(title: string, groups: Readonly<Record<string, string>>) {
	return title.replace(/\{(\w+)\}/g, (_, name: string) => {
		const text = groups[name] ?? "";
		if (name !== "dtype") return text;
		const type = elementTypeOfCode(Number(text));
		return type === "unknown" ? `number ${text}` : type;
	});
}

export function explainRun(message: string): string {
	const { code, title, excerpt } = diagnoseOrt(message);
	return code === "ort-load-failed" ? (excerpt[0] ?? title) : title;
}

function stripFraming(message: string) {
	return message
		.slice(0, 10_000)
		.replace(/^(?:Can't create a session|failed to call \w+\(\))\. ERROR_CODE: \d+, ERROR_MESSAGE: /, "")
		.replace(/\S*\/onnxruntime\/core\/\S+:\d+ \S.*?\) (?=[A-Z])/, "")
		.trim();
}

/** `2026-11-21 10:06:32.621724 [W:onnxruntime:, graph.cc:5607 CleanUnused…] Removing initializer 's'. …` */
const warningLine = /\[W:onnxruntime:[^,\]]*, (?<file>[\w.-]+):\d+ (?<raiser>[^\]]+)\] (?<text>.*)/;
const maxClasses = 50;

interface WarningClass {
	class: string;
	count: number;
	example: string;
}

export function createWarningCounter(): { add(line: string): void; classes(): WarningClass[] } {
	const classes = new Map<string, WarningClass>();
	return {
		add(line) {
			const found = warningLine.exec(line)?.groups;
			if (found === undefined) return;
			const name = (found["raiser"] ?? found["file"] ?? "").slice(0, 100);
			const known = classes.get(name);
			if (known !== undefined) known.count += 1;
			else if (classes.size < maxClasses)
				classes.set(name, { class: name, count: 1, example: (found["text"] ?? "").slice(0, 300) });
		},
		classes: () => [...classes.values()].sort((a, b) => b.count - a.count || (a.class < b.class ? -1 : 1)),
	};
}
