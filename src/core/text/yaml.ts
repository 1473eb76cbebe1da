// YAML in flow style, on one line.

const keyword = /^(true|false|null|yes|no|on|off|y|n)$/i;

export function yamlText(text: string): string {
	return /^[A-Za-z_][\w./-]*$/.test(text) && !keyword.test(text) ? text : JSON.stringify(text);
}

/** Leaves out what is undefined. */
export function flowYaml(value: unknown): string {
	if (typeof value === "string") return yamlText(value);
	if (Array.isArray(value)) return `[${value.map(flowYaml).join(", ")}]`;
	if (typeof value !== "object" || value === null) return String(value);
	const entries = Object.entries(value).filter(([, own]) => own !== undefined);
	return `{ ${entries.map(([key, own]) => `${yamlText(key)}: ${flowYaml(own)}`).join(", ")} }`;
}
