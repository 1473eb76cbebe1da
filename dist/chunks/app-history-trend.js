import{t as e}from"./adapters-files-store.js";import{$t as t,Dt as n,Et as r,F as i,Ht as a,Jt as o,N as s,Pt as c,Ut as l,Wt as u,c as d,o as f}from"./app-cli.js";import{b as p,c as m,d as h,g,i as _,l as v,n as y,o as b,y as x}from"./app-history-open-store.js";import{a as S,c as C,i as w,l as T,n as E,o as D,r as O,s as k}from"./core-report-html-trend-badge.js";import{Mt as A,Ot as j}from"./app-commands-preflight.js";import{i as M,m as N,t as P,v as F,y as I}from"./core-report-html-scale.js";import{dirname as L,resolve as R}from"node:path";var z;const B={latency:`latency`,control:`control: pin against itself`,memory:`memory`,size:`engine size`,error:`golden error`},V={change:`bad`,method:`warn`,host:`warn`,noise:`open`};function H({metric:e,name:t}){return t===``?B[e]:`${B[e]}: ${l(t,80)}`}function U(e){return l(A(C(e),4),250)}function W(e,t){let[n,r=``,i=``]=v(e,t).split("`");return N`<div class="highlight ${V[e.cause]}"><h2>${U(e)} ${F(m[e.cause],V[e.cause])}</h2><p>${n??``}${r===``?null:N`<code>${r}</code>`}${i}</p></div>
`}function G(e,n,r){let i=[...T(e,r).map(e=>[`slower or larger`,e]),...T(n,r).map(e=>[`better`,e])];if(i.length===0)return N`<p class="sub">Nothing changed its level within the last year.</p>`;let a=i.sort(([,e],[,t])=>t.start-e.start).slice(0,200).map(([,e])=>{let[n]=e.shifts,i=n?.shift.closed,a=i?.by===`accepted`?n?.chain.accepted.get(i.at):void 0,o=a===void 0?i?.by??`closed`:`accepted: ${u(t(a,200))}`,s=n?.shift.direction===`down`?`better`:e.isOpen?`open`:o;return N`<tr><td>${r.runs[e.start]?.at.slice(0,10)??``}</td><th scope="row">${U(e)}</th><td>${n===void 0?``:h(n,r).replace(/ since .*/,``)}</td><td>${m[e.cause]}</td><td>${s}</td></tr>
`});return N`<div class="scroll" role="region" aria-label="changes of the last year" tabindex="0"><table><thead><tr><th>began</th><th>engines</th><th>size</th><th>cause</th><th>state</th></tr></thead><tbody>
${a}</tbody></table></div>`}function K(e,t,i){let a=e.level===null?`not watched yet`:n(Math.expm1(e.level),{sign:!0,digits:2}),o=e.ns===void 0?null:N`<small>${r(e.ns/1e6)}</small>`;return N`<li data-series="${e.series}" data-metric="${e.metric}"><button type="button" class="line" aria-expanded="false"><span>${l(e.series,120)} <small>${H(e)}</small></span>${D(e,t,i)}<span class="now">${a} ${o}</span></button></li>
`}function q(e,t){let n=O(e,t).map(e=>[e.run,e.at.slice(0,16).replace(`T`,` `),Math.round(e.day*100)/100,e.commit?.slice(0,9)??``,l(e.label,40),e.machine.host??``,e.machine.gpu??``]),r=e.map(e=>({series:e.series,metric:e.metric,title:H(e),chains:e.chains.map(({runs:e,levels:t,sd:n})=>({r:e,l:t.map(e=>Math.round(e*1e6)),sd:Number(n.toPrecision(3))})),marks:J(e)}));return JSON.stringify({runs:n,views:r}).replaceAll(`<`,`\\u003c`)}function J({chains:e,shifts:r}){let i=(e,t)=>n=>({run:n,kind:e,text:t});return[...e.flatMap(({changed:e,runs:n,joints:r,accepted:a})=>[...e.length>0?n.slice(0,1).map(i(`epoch`,`new: ${e.join(`, `)}`)):[],...r.map(i(`joint`,``)),...a.map(([e,n])=>i(`accept`,`accepted: ${u(t(n,60))}`)(e))]),...r.map(({start:e,shift:t,cause:r})=>i(`change`,`${n(Math.expm1(t.size),{sign:!0,digits:2})}, ${m[r]}`)(e))]}function Y({control:e},{runs:t},n){let r=new Set(t.flatMap(({host:e})=>e??[])).size,i=e.years===0?`no control series`:`${j(e.alarms,`false alarm`)} in ${e.years.toFixed(1)} series-years of control`,a=[j(t.length,`run`),`${t[0]?.at.slice(0,10)??``} to ${t.at(-1)?.at.slice(0,10)??``}`,j(r,`machine`),i],o=n.slice(0,20).map(e=>N`<li>${e}</li>`);return N`<ul class="facts">${a.map(e=>N`<li>${e}</li>`)}</ul>${n.length===0?null:N`<details class="notice plain"><summary>${j(n.length,`file`)} skipped</summary><ul>${o}</ul></details>`}`}function X(e,t,n){let r=w(e),i=S(t),a=e.alarms.filter(({isOpen:e})=>e),o=a.length===0?F(`steady`,`ok`):F(`changed`,a.some(({cause:e})=>e===`change`)?`bad`:`warn`),s=[...new Set(r.map(({metric:e})=>e))].map(e=>N`<option value="${e}"${e===`latency`?N` selected`:null}>${B[e]}</option>`);return N(z||=P([`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="`,`">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>Trend · `,`</title>
<style>`,`</style></head>
<body><header><h1>`,` <span>`,`</span></h1>`,`</header>
<main>
`,``,``,`</main>
<footer>trtgate `,` · made from the files of the history, which hold every figure on this page. Times are of the machine of the night and for reading only.</footer>
<script type="application/json" id="data">`,`<\/script><script>`,`<\/script></body></html>
`]),`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-H9LTIT5dDK+NDhqLgvJbTD1UeMc/5J7yR8OrB4cakUA='; base-uri 'none'; form-action 'none'`,k(e,t),{markup:M+`#series{list-style:none;margin:12px 0;padding:0}#series button.line{all:unset;box-sizing:border-box;cursor:pointer;display:grid;grid-template-columns:minmax(0,1fr) 260px 130px;gap:4px 16px;align-items:center;width:100%;padding:5px 8px;border-bottom:1px solid var(--line)}#series button.line:hover,#series button.line:focus-visible,#series [aria-expanded=true]{background:var(--card)}#series button.line:focus-visible{outline:2px solid var(--a1)}#series li{content-visibility:auto;contain-intrinsic-size:auto 52px}#series small{color:var(--mut)}#series .now{text-align:right;font-variant-numeric:tabular-nums}
.course{width:260px;height:40px}.level{fill:none;stroke:var(--a1);stroke-width:1.4}.joint,.accept,.epoch,.change{fill:none;stroke:var(--mut);stroke-width:1;stroke-dasharray:2 3}.epoch{stroke:var(--open);stroke-dasharray:none}.accept{stroke:var(--ok);stroke-dasharray:none}.change{stroke:var(--bad);stroke-dasharray:none}.worse{fill:var(--bad)}.better{fill:var(--ok)}.at{fill:var(--fg)}
#controls{display:flex;gap:10px;flex-wrap:wrap}#controls input,#controls select,#large button{font:inherit;color:var(--fg);background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:6px 10px}#controls input{flex:1 1 220px}#large{border:1px solid var(--line);border-radius:6px;padding:4px 16px 14px;margin:14px 0}#large h2{margin:10px 0}#large button{margin-right:8px;padding:2px 10px}#large [aria-pressed=true]{border-color:var(--a1)}#large svg{overflow:visible;touch-action:pan-y}#at{min-height:1.5em}
.legend i{width:14px;height:0;border:0;border-top:2px solid var(--mut);border-radius:0;vertical-align:middle}.legend .epoch{border-color:var(--open)}.legend .accept{border-color:var(--ok)}.legend .change{border-color:var(--bad)}.legend .joint{border-top-style:dashed}
@media(max-width:760px){#series button.line{grid-template-columns:minmax(0,1fr) auto}.course{grid-column:1/3;grid-row:2;width:100%}thead{display:none}tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:7px 0;border-bottom:1px solid var(--line)}tr td,tr th[scope=row]{padding:0;border:0;white-space:normal;max-width:none;overflow-wrap:anywhere;position:static}}`},o,k(e,t),Y(e,t,n.skipped),a.map(e=>W(e,t)),I(`The last year`,G(e.alarms,e.gains,t),`year`),I(`All series, most surprising first`,N`<p class="legend"><i class="change"></i>changed <i class="accept"></i>accepted <i class="epoch"></i>new machine or version <i class="joint"></i>new pin. The band is twice the noise; levels are ratios to the pin, chained.</p>
<div id="controls" hidden><input id="filter" type="search" placeholder="Filter ${r.length} series ( / )" aria-label="Filter series"><select id="metric" aria-label="Figure"><option value="">all figures</option>${s}</select></div>
<section id="large" aria-live="polite" hidden></section>
<ul id="series">
${r.map(e=>K(e,t,i))}</ul>`,`all`),l(n.version,40),{markup:q(r,t)},{markup:`"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const lines = [...document.querySelectorAll("#series > li")];
const field = document.getElementById("filter");
const metric = document.getElementById("metric");
const large = document.getElementById("large");
document.getElementById("controls").hidden = false;
const filter = () => {
	const words = field.value.toLowerCase().split(" ");
	for (const line of lines) {
		const text = line.textContent.toLowerCase();
		line.hidden = !words.every((word) => text.includes(word)) || (metric.value !== "" && line.dataset.metric !== metric.value);
	}
};
field.addEventListener("input", filter);
metric.addEventListener("change", filter);
filter();
const runAt = new Map(data.runs.map((run, at) => [run[0], at]));
const node = (name, attributes, text) => {
	const made = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
	if (text !== undefined) made.textContent = text;
	return made;
};
const percent = (level) => (level > 0 ? "+" : "") + (100 * Math.expm1(level)).toFixed(2) + " %";
const describe = (run) => [run[1], run[3], run[4], run[5], run[6]].filter((part) => part).join(" \\u00b7 ");
function draw(view, days) {
	const [w, h, left] = [900, view.metric === "latency" ? 260 : 110, 64];
	const svg = node("svg", { viewBox: "0 0 " + w + " " + h, role: "img", "aria-label": view.title });
	const points = view.chains.flatMap((chain) => chain.r.map((id, at) => ({ run: data.runs[runAt.get(id)], level: chain.l[at] / 1e6 })));
	const first = Math.max(data.runs[0][2], data.runs.at(-1)[2] - days);
	const last = data.runs.at(-1)[2];
	const shown = points.filter(({ run }) => run[2] >= first);
	const reach = Math.max(1e-5, ...view.chains.map((chain) => 4 * chain.sd), ...shown.map(({ level }) => Math.abs(level)));
	const x = (day) => left + ((w - left - 8) * (day - first)) / Math.max(1, last - first);
	const y = (level) => h / 2 - ((h / 2 - 14) * level) / reach;
	const sd = view.chains.at(-1).sd;
	svg.append(node("rect", { class: "zone", x: left, width: w - left, y: y(2 * sd), height: y(-2 * sd) - y(2 * sd) }));
	for (const level of [-reach, 0, reach]) svg.append(node("path", { class: "grid", d: "M" + left + " " + y(level) + "H" + w }), node("text", { class: "tick", x: left - 6, y: y(level) + 4, "text-anchor": "end" }, percent(level)));
	let labels = 0;
	for (const mark of view.marks) {
		const run = data.runs[runAt.get(mark.run)];
		if (run === undefined || run[2] < first) continue;
		svg.append(node("path", { class: mark.kind, d: "M" + x(run[2]) + " 0V" + h }));
		if (mark.text === "") continue;
		const isLate = x(run[2]) > w * 0.75;
		svg.append(node("text", { class: "tick", x: x(run[2]) + (isLate ? -4 : 4), y: 11 + 13 * (labels++ % 3), "text-anchor": isLate ? "end" : "start" }, mark.text));
	}
	for (const chain of view.chains) {
		const own = chain.r.map((id, at) => [data.runs[runAt.get(id)][2], chain.l[at] / 1e6]).filter(([day]) => day >= first);
		svg.append(node("path", { class: "level", d: own.map(([day, level], at) => (at === 0 ? "M" : "L") + x(day).toFixed(1) + " " + y(level).toFixed(1)).join("") }));
	}
	const dot = node("circle", { class: "at", r: 0 });
	svg.append(dot);
	svg.addEventListener("pointermove", (event) => {
		const box = svg.getBoundingClientRect();
		const at = ((event.clientX - box.left) / box.width) * w;
		const nearest = shown.reduce((best, point) => (Math.abs(x(point.run[2]) - at) < Math.abs(x(best.run[2]) - at) ? point : best), shown[0]);
		if (nearest === undefined) return;
		dot.setAttribute("r", 4);
		dot.setAttribute("cx", x(nearest.run[2]));
		dot.setAttribute("cy", y(nearest.level));
		document.getElementById("at").textContent = percent(nearest.level) + " \\u00b7 " + describe(nearest.run);
	});
	return svg;
}
let days = 1e9;
function show(series) {
	const own = data.views.filter((view) => view.series === series);
	large.replaceChildren();
	const title = document.createElement("h2");
	title.textContent = series;
	const at = document.createElement("p");
	at.id = "at";
	at.className = "sub";
	at.textContent = "Point at a night to see its commit, machine and change.";
	const ranges = document.createElement("p");
	for (const [name, value] of [["all", 1e9], ["a year", 365], ["90 days", 90]]) {
		const button = document.createElement("button");
		button.textContent = name;
		button.setAttribute("aria-pressed", String(days === value));
		button.addEventListener("click", () => { days = value; show(series); });
		ranges.append(button);
	}
	large.append(title, ranges, at);
	for (const view of own) {
		const name = document.createElement("h3");
		name.textContent = view.title;
		large.append(name, draw(view, days));
	}
	large.hidden = false;
	history.replaceState(null, "", "#" + encodeURIComponent(series));
	for (const line of lines) line.firstElementChild.setAttribute("aria-expanded", String(line.dataset.series === series));
}
for (const line of lines) line.firstElementChild.addEventListener("click", () => { show(line.dataset.series); large.scrollIntoView({ block: "nearest" }); });
if (location.hash.length > 1) show(decodeURIComponent(location.hash.slice(1)));
addEventListener("keydown", (event) => {
	if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); return; }
	if (event.key === "Escape") { field.value = ""; filter(); large.hidden = true; return; }
	if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
	const seen = lines.filter((line) => !line.hidden).map((line) => line.firstElementChild);
	const at = seen.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
	if (document.activeElement?.closest("#series, #controls") && seen[at] !== undefined) { event.preventDefault(); seen[at].focus(); }
});
`}).markup}function Z(e,t){let n=e=>t.runs[e??-1]?.at??``,r=({start:e,raised:t,cause:r,evidence:i,isOpen:a,shifts:o})=>({start:n(e),raised:n(t),cause:r,evidence:i,isOpen:a,series:o.map(({chain:e,shift:{size:t,low:r,high:i,raised:a,closed:o}})=>({series:e.series,figure:_(e),raised:n(e.points[a]?.run),size:t,low:r,high:i,closed:o===void 0?void 0:{at:n(e.points[o.at]?.run),by:o.by}}))});return{answer:k(e,t),alarms:e.alarms.map(r),gains:e.gains.map(r),control:e.control,levels:e.chains.map(e=>{let{chain:t}=e,r={begins:n(t.points[0]?.run),at:n(t.points.at(-1)?.run)};return{series:t.series,figure:_(t),...r,changed:t.changed,level:p(e)}})}}async function Q(t,n){let r=d(t,f,{more:!0}),[l,...u]=r.positionals;if(u.length>0)throw a(`A history is in one folder.`,`Name one folder.`);let p=y({folder:l,branch:r.text(`branch`)},n),{records:m,skipped:h}=g(await p.read());if(m.length===0)throw new c({code:`nothing-to-check`,message:`${p.name} has no records.`,fix:"Import results with `trtgate history import`, or keep a history with `history:` in trtgate.yml."});let _=b(m.map(({record:e})=>e)),v=x(_),S=R(n.cwd,r.text(`out`)),C=e();await C.makeFolder(L(S)),await C.writeText(S,X(v,_,{version:s,skipped:h}));let w=r.text(`svg`);return w!==void 0&&await C.writeText(R(n.cwd,w),E(v,_)),n.out(r.flag(`json`)?o(Z(v,_)):`${k(v,_)}\n`),n.err(`${[...h,`The page is ${S}.`].join(`
`)}\n`),i.ok}export{Q as trend};