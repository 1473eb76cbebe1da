// Counts ONNX Runtime's warnings by class: the function that raised them.

/** `2026-11-21 10:06:32.621724 [W:onnxruntime:, graph.cc:5607 CleanUnused…] Removing initializer 's'. …` */
const warningLine = /\[W:onnxruntime:[^,\]]*, (?<file>[\w.-]+):\d+ (?<raiser>[^\]]+)\] (?<text>.*)/;
/** A model can cause thousands of classes; a longer list is not useful. */
const maxClasses = 50;

export interface WarningClass {
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
			else if (classes.size < maxClasses) classes.set(name, { class: name, count: 1, example: (found["text"] ?? "").slice(0, 300) });
		},
		classes: () => [...classes.values()].sort((a, b) => b.count - a.count || (a.class < b.class ? -1 : 1)),
	};
}
