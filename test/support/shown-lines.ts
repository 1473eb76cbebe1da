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

/** Each finding: what follows the first line, whose title is there, or a line with a symbol, up to what ends it. */
export function shownFindings(markdown: string): string[] {
	const findings: string[] = [];
	let isOpen = false;
	for (const line of shownLines(markdown)) {
		const isFirst = line.startsWith("## ");
		const begins = isFirst || /^\S+ \*\*/u.test(line);
		if (begins) findings.push("");
		isOpen = begins || (isOpen && !/^(\||<details>|<sub>|### |> |Next:|P99 at )/.test(line));
		if (isOpen && !isFirst) findings.push(`${findings.pop()}${line}\n`);
	}
	return findings.filter((finding) => finding !== "");
}
