export interface Annotation {
	level: "error" | "warning" | "notice";
	title?: string;
	file?: string;
	line?: number;
	endLine?: number;
	column?: number;
	message: string;
}

interface Said {
	annotations: Annotation[];
	masks: string[];
}

/** Source of the three limits: actions/runner, ExecutionContext.cs and FileCommandManager.cs. */
const maxAnnotations = 10;
const longestMessage = 4096;
const largestSummaryBytes = 1024 * 1024;

function unescapeData(text: string): string {
	return text.replaceAll("%0D", "\r").replaceAll("%0A", "\n").replaceAll("%25", "%");
}

function unescapeProperty(text: string): string {
	return unescapeData(text.replaceAll("%3A", ":").replaceAll("%2C", ","));
}

function parseProperties(text: string): Record<string, string> {
	const pairs = text.split(",").map((pair) => pair.trim().split(/=(.*)/s));
	return Object.fromEntries(
		pairs
			.filter(([name]) => name !== undefined && name !== "")
			.map(([name, value]) => [name, unescapeProperty(value ?? "")]),
	);
}

function toAnnotation(
	level: Annotation["level"],
	properties: Record<string, string>,
	message: string,
): Annotation {
	const number = (name: string): number | undefined =>
		/^\d+$/.test(properties[name] ?? "") ? Number(properties[name]) : undefined;
	const found = { line: number("line"), endLine: number("endLine"), column: number("col") };
	const places = Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
	const { title, file } = properties;
	return {
		level,
		...(title === undefined ? {} : { title }),
		...(file === undefined ? {} : { file }),
		...places,
		message: message.slice(0, longestMessage),
	};
}

export function parseWorkflowCommands(text: string): Said {
	const said: Said = { annotations: [], masks: [] };
	let stopped: string | undefined;
	for (const line of text.split(/\r?\n/)) {
		const [, name = "", properties = "", data = ""] = /^\s*::([\w-]+)(?:\s+(.*?))?::(.*)$/.exec(line) ?? [];
		if (stopped !== undefined) {
			if (line.trim() === `::${stopped}::`) stopped = undefined;
		} else if (name === "stop-commands") stopped = data;
		else if (name === "add-mask") said.masks.push(unescapeData(data));
		else if (name === "error" || name === "warning" || name === "notice")
			said.annotations.push(toAnnotation(name, parseProperties(properties), unescapeData(data)));
	}
	return said;
}

export function applyStepLimits(
	annotations: readonly Annotation[],
	summary: string,
): { annotations: Annotation[]; summary: string } {
	const shown = annotations.filter(
		(said, index) =>
			annotations.slice(0, index).filter((other) => other.level === said.level).length < maxAnnotations,
	);
	const bytes = Buffer.byteLength(summary);
	if (bytes <= largestSummaryBytes) return { annotations: shown, summary };
	const message = `$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k, got ${Math.floor(bytes / 1024)}k.`;
	return { annotations: [...shown, { level: "error", message }], summary: "" };
}

export function parseCommandFile(text: string): Record<string, string> {
	const found = new Map<string, string>();
	const lines = text.split(/\r?\n/);
	for (let at = 0; at < lines.length; at += 1) {
		const line = lines[at] ?? "";
		const [, heredoc, delimiter] = /^([^=]*?)<<(.+)$/.exec(line) ?? [];
		const [, name, value] = /^([^=]+)=(.*)$/s.exec(line) ?? [];
		if (heredoc !== undefined && delimiter !== undefined) {
			const end = lines.indexOf(delimiter, at + 1);
			if (end < 0) throw new Error(`${JSON.stringify(heredoc)} has no line ${delimiter} at its end`);
			found.set(heredoc, lines.slice(at + 1, end).join("\n"));
			at = end;
		} else if (name !== undefined) found.set(name, value ?? "");
		else if (line !== "")
			throw new Error(`${JSON.stringify(line.slice(0, 80))} is neither name=value nor name<<delimiter`);
	}
	return Object.fromEntries(found);
}
