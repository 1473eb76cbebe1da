// The report's one style sheet, light and dark; no resource from outside.

const names =
	"bg fg mut line card bad badbg warn warnbg ok okbg open openbg a0 a1 h0 h1 h2 h3 h4 h5 h6 h7 h8 h9";

function paletteOf(...lines: readonly string[]) {
	const colours = lines.join(" ").split(" ");
	return Object.fromEntries(names.split(" ").map((name, index) => [name, `#${colours[index]}`]));
}

/** A test computes that text has a contrast of 4.5 : 1. h0 to h9, by lightness, colour error maps. */
export const palettes = {
	light: paletteOf(
		"ffffff 1f2328 59636e d1d9e0 f6f8fa b81c28 ffebe9 855900 fff8c5 116329 dafbe1 6e40c9 f5edff 6e7781 0969da",
		"fde8c4 fdd49e fdb97d fc9a63 f5784c e5573a cb3529 a81b24 7f0d24 530620",
	),
	dark: paletteOf(
		"0d1117 e6edf3 9198a1 30363d 151b23 ff7b72 2d1618 d9a528 272115 3fb950 12261e bc9cff 211a33 9198a1 4493f8",
		"3a2145 56245c 742a66 933166 b23c5f cf4c52 e66444 f5853c fdac4f ffdd92",
	),
};

function variables(palette: Readonly<Record<string, string>>) {
	return Object.entries(palette)
		.map(([name, value]) => `--${name}:${value}`)
		.join(";");
}

const layout = `*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;overflow-wrap:anywhere}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 20px}header{padding-top:28px}footer{padding-top:36px;padding-bottom:60px;color:var(--mut);font-size:13px}
h1{font-size:24px;line-height:1.3;margin:0 0 6px;display:flex;gap:4px 12px;align-items:center;flex-wrap:wrap}h1 .pill+span{flex:1 1 260px}h2{font-size:17px;margin:40px 0 10px}h3{font-size:15px;margin:22px 0 6px}h4{font-size:14px;margin:16px 0 6px}p{margin:6px 0}
a{color:var(--a1)}code{font:13px ui-monospace,SFMono-Regular,Menlo,monospace}pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace;background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:8px 12px;margin:8px 0 2px;overflow-x:auto}
:focus-visible{outline:2px solid var(--a1);outline-offset:2px;border-radius:3px}
.sub{color:var(--mut)}.facts{display:flex;flex-wrap:wrap;gap:4px 22px;color:var(--mut);margin:10px 0 0;padding:0;font-size:14px;list-style:none}.facts b{color:var(--fg);font-weight:600}
.pill{display:inline-block;padding:1px 9px;border-radius:99px;font-size:13px;font-weight:600;white-space:nowrap;overflow-wrap:normal;color:var(--tone,var(--mut));background:var(--ground,var(--card));border:1px solid transparent}h1 .pill{font-size:14px;padding:2px 12px}
.bad{--tone:var(--bad);--ground:var(--badbg)}.warn{--tone:var(--warn);--ground:var(--warnbg)}.ok{--tone:var(--ok);--ground:var(--okbg)}.open{--tone:var(--open);--ground:var(--openbg)}.plain{--tone:initial;--ground:initial}.pill.plain{border-color:var(--line)}
.highlight{border:1px solid var(--line);border-left:4px solid var(--tone,var(--mut));border-radius:6px;padding:12px 16px;margin:12px 0;background:var(--card)}.highlight h2{font-size:15px;margin:0;font-weight:600}.highlight details{border:0;padding:4px 0 0}
.notice{border:1px solid var(--warn);background:var(--warnbg);color:var(--fg);border-radius:6px;padding:10px 16px;margin:12px 0}.notice.plain{border-color:var(--line);background:var(--card)}`;

const tables = `.scroll{overflow-x:auto;-webkit-overflow-scrolling:touch}table{border-collapse:collapse;width:100%;font-size:14px}th,td{padding:7px 10px;border-bottom:1px solid var(--line);text-align:left;vertical-align:middle;white-space:nowrap;overflow-wrap:normal}
thead th{color:var(--mut);font-weight:500;font-size:13px;vertical-align:bottom;white-space:normal}thead th.n{min-width:64px}thead button{all:unset;cursor:pointer;color:inherit}thead button:disabled{cursor:default}thead button:focus-visible{outline:2px solid var(--a1);outline-offset:2px}
th[aria-sort=ascending] button::after{content:" ↑"}th[aria-sort=descending] button::after{content:" ↓"}thead button:not(:disabled):hover{color:var(--fg)}
th[scope=row]{font-weight:400;white-space:normal;min-width:190px;max-width:360px;overflow-wrap:anywhere;position:sticky;left:0;background:var(--bg);z-index:1}th[scope=row] span,.mut{color:var(--mut)}th[scope=row] a{color:inherit;text-decoration-color:var(--mut);text-underline-offset:3px}th[scope=row] small{display:block;color:var(--mut);font-size:12px}.n{text-align:right;font-variant-numeric:tabular-nums}.strong{font-weight:600}.wrap{white-space:normal;min-width:150px;overflow-wrap:anywhere}
td small{display:block;color:var(--mut);font-size:12px}.more{color:var(--mut);font-size:14px}`;

const drawings = `svg{display:block;width:100%;height:auto}.forest{width:230px}.zone{fill:var(--line);opacity:.45}.zero{stroke:var(--mut);stroke-width:1}.gate{stroke:var(--bad);stroke-width:1;stroke-dasharray:3 3}
.ci{stroke-width:3;stroke-linecap:round;stroke:var(--tone,var(--mut))}.dot{fill:var(--tone,var(--mut))}.beyond{fill:none;stroke:var(--tone,var(--mut));stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.grid{stroke:var(--line)}.curve{fill:none;stroke:var(--mut);stroke-width:2}.curve.head{stroke:var(--a1)}.band{fill:var(--a1);opacity:.2}.tick{font:11px system-ui,sans-serif;fill:var(--mut)}
.panes{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:0 12px;margin-top:10px}.panes figure{margin:0}.panes figcaption{justify-content:flex-start}.pane{max-height:420px;overflow:auto;border:1px solid var(--line);border-radius:6px;background:var(--card)}.pane svg{width:var(--w);max-width:none;min-width:0;margin:0 auto}.edges{fill:none;stroke:var(--mut);stroke-width:1.2}.node rect{fill:var(--ground,var(--bg));stroke:var(--tone,var(--line))}.ghost{fill:none;stroke:var(--mut);stroke-dasharray:3 4}.node text{font:12px system-ui,sans-serif;fill:var(--fg)}.node .tick{font-size:11px}
@media(min-width:900px){svg.load{display:inline-block;width:49%}}
.gold{width:170px;height:12px}.own{fill:var(--mut)}
.errmap{max-width:330px}.err{fill:var(--tone,var(--a1))}.err.mute{fill:var(--a0);opacity:.55}.tick.bad{fill:var(--bad)}
.ground{fill:var(--card);stroke:var(--line)}.hx{fill:var(--open)}${Array.from({ length: 10 }, (_, step) => `.h${step}{fill:var(--h${step})}`).join("")}
.picture{margin-top:30px}.picture h3{margin-bottom:0}.picture small{font-size:14px;font-weight:400;color:var(--mut);margin:0 6px}.picture{content-visibility:auto;contain-intrinsic-size:auto 400px}
.legend{color:var(--mut);font-size:13px}.legend i{display:inline-block;width:10px;height:10px;margin:0 5px 0 10px}.legend i:first-child{margin-left:0}.legend i.err{border-radius:2px;opacity:1;background:var(--tone)}
figcaption{font-size:13px;color:var(--mut);display:flex;justify-content:space-between;gap:8px}figcaption b{color:var(--fg);font-weight:600}
details{border-top:1px solid var(--line);padding:10px 0}summary{cursor:pointer;font-weight:600}details details{margin-left:16px}
@media(max-width:760px){.panes{grid-template-columns:minmax(0,1fr)}.pane{max-height:300px}.wrap{min-width:340px}td,th[scope=row]{vertical-align:top}main,header,footer{padding-left:14px;padding-right:14px}h1{font-size:20px}th[scope=row]{min-width:118px;max-width:150px}details details{margin-left:6px}}
@media print{.scroll{overflow:visible}th[scope=row]{position:static}.highlight,svg,tr{break-inside:avoid}}`;

export const styleSheet = `:root{${variables(palettes.light)};color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{${variables(palettes.dark)}}}
${layout}
${tables}
${drawings}`;

// It sorts tables, scrolls both panes of a graph together, and opens folded parts for print.
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
for (const pair of document.querySelectorAll(".panes")) {
	const panes = [...pair.querySelectorAll(".pane")];
	const showChange = () => {
		const change = panes[1].querySelector(".bad,.ok,.warn");
		if (change === null) return;
		const [own, all] = [change.getBoundingClientRect(), panes[1].getBoundingClientRect()];
		panes[1].scrollBy(own.left - all.left - all.width / 2 + own.width / 2, own.top - all.top - all.height / 3);
	};
	showChange();
	pair.closest("details")?.addEventListener("toggle", showChange, { once: true });
	for (const pane of panes) {
		pane.addEventListener("scroll", () => {
			for (const other of panes) if (other !== pane) other.scrollTo(pane.scrollLeft, pane.scrollTop);
		});
	}
}
addEventListener("beforeprint", () => {
	for (const part of document.querySelectorAll("details")) part.open = true;
});
`;

export const sortScriptHash = "sha256-T4xxO6wKLXA488kqecJ3pPiNXT9wB13WuXNbfAnIRR8=";
