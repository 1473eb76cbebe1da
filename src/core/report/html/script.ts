// The report's one script: tables sort by a click on a heading, a long list of workloads is filtered by words, and folded parts open for
// print. All else works without it.

export const sortScript = `"use strict";
for (const button of document.querySelectorAll("thead button")) {
	button.disabled = false;
	button.addEventListener("click", () => {
		const head = button.closest("th");
		const body = head.closest("table").tBodies[0];
		const heads = [...head.parentNode.children];
		const down = head.getAttribute("aria-sort") === "ascending";
		for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
		head.setAttribute("aria-sort", down ? "descending" : "ascending");
		const key = (row) => {
			const cell = row.cells[heads.indexOf(head)];
			return cell.dataset.v ?? cell.textContent.trim();
		};
		const compare = (x, y) => (x === "" || y === "" || isNaN(x) || isNaN(y) ? x.localeCompare(y, "en", { numeric: true }) : x - y);
		const rows = [...body.rows].sort((a, b) => {
			const [x, y] = [key(a), key(b)];
			if ((x === "") !== (y === "")) return x === "" ? 1 : -1;
			return down ? compare(y, x) : compare(x, y);
		});
		body.append(...rows);
	});
}
const list = document.getElementById("workloads")?.parentNode;
const lines = [...(list?.querySelectorAll("tbody tr") ?? [])];
if (lines.length > 30) {
	const field = document.createElement("input");
	field.type = "search";
	field.placeholder = "Filter " + lines.length + " workloads: model, engine, verdict";
	field.setAttribute("aria-label", field.placeholder);
	field.addEventListener("input", () => {
		const words = field.value.toLowerCase().split(" ");
		for (const line of lines) line.hidden = !words.every((word) => line.textContent.toLowerCase().includes(word));
		for (const part of list.querySelectorAll("details")) part.open = field.value !== "";
	});
	list.querySelector("h2").after(field);
}
addEventListener("beforeprint", () => {
	for (const part of document.querySelectorAll("details")) part.open = true;
});
`;

/** SHA-256 of the script, so that the policy of the page runs it and nothing else; a test computes it again. */
export const sortScriptHash = "sha256-0CNVoEtuPe8jz2a38rEjG8bYTmxfNuwkxjezRt1WJng=";
