// A page of its own for comparisons of engines; nothing is loaded, and it can be sent by itself.
import type { TitledDiff } from "../engine-report.ts";
import { enginePart } from "./engine.ts";
import { html, section } from "./markup.ts";
import { pagePolicy } from "./report.ts";
import { sortScript, styleSheet } from "./style.ts";

export function renderEnginePage(diffs: readonly TitledDiff[]): string {
	const parts = diffs.map(({ title, diff }, at) => section(title, enginePart(diff, title), `comparison-${at + 1}`));
	return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>trtgate: engines compared</title>
<style>${{ markup: styleSheet }}</style>
</head>
<body>
<main>
${parts}</main>
<script>${{ markup: sortScript }}</script>
</body>
</html>
`.markup;
}
