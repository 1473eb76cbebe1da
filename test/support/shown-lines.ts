/** The lines that are not empty, each folded part as its summary. */
export function shownLines(markdown: string): string[] {
	let depth = 0;
	return markdown.split("\n").flatMap((line) => {
		const opens = line.startsWith("<details>");
		if (opens) depth += 1;
		const isShown = depth === 0 || (opens && depth === 1);
		if (line === "</details>") depth -= 1;
		return isShown && line !== "" && !line.startsWith("<!--") ? [line] : [];
	});
}

/** Each finding, from the line with its symbol to the next one, a table or what is folded. */
export function shownFindings(markdown: string): string[] {
	const findings: string[] = [];
	let isOpen = false;
	for (const line of shownLines(markdown)) {
		if (/^\S+ \*\*/u.test(line)) findings.push("");
		isOpen = /^\S+ \*\*/u.test(line) || (isOpen && !/^(\||<details>|<sub>|Speed measured)/.test(line));
		if (isOpen) findings.push(`${findings.pop()}${line}\n`);
	}
	return findings;
}
