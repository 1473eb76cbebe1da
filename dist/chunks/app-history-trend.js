import{t as e}from"./adapters-files-store.js";import{a as t,d as n,i as r,m as i}from"./core-errors.js";import{d as a,f as o,i as s,l as c,n as l,o as u,r as d,s as f,t as p}from"./core-history-alarms.js";import{a as m,t as h}from"./app-history-open-store.js";import{S as g,f as _,n as v}from"./adapters-process-input-file.js";import{h as y,l as b,m as x,n as S,r as C,s as w,t as T}from"./core-report-html-markup.js";import{r as E}from"./core-text-labels.js";import{h as D,v as O}from"./app-commands-arguments.js";import{t as k}from"./app-version.js";import{dirname as A,resolve as j}from"node:path";function M({runs:e}){let t=e[0]?.day??0,n=e.at(-1)?.day??1;return C([t,Math.max(t+1,n)],[3,257])}function N({chains:e}){let t=Math.max(1e-6,...e.map(({sd:e})=>4*e),...e.flatMap(({levels:e})=>e.map(Math.abs)));return C([-t,t],[37,3])}function P({runs:e,levels:t},{runs:n},r){return t.map((t,i)=>`${i===0?`M`:`L`}${w(r.x.place(n[e[i]??0]?.day??0))} ${w(r.y.place(t))}`).join(``)}function F(e,t,n){let r=N(e),i=e=>w(n.place(t.runs[e]?.day??0)),a=(e,t)=>b`<path class="${t}" d="M${i(e)} 0V${40}"/>`,o=e.chains.at(-1)?.sd??0,[s,c]=[r.place(2*o),r.place(-2*o)];return b`<svg class="course" viewBox="0 0 ${260} ${40}" aria-hidden="true"><rect class="zone" x="0" y="${w(s)}" width="${260}" height="${w(c-s)}"/>${e.chains.map(({changed:e,runs:t,joints:n,accepted:r})=>[e.length>0&&t[0]!==void 0?a(t[0],`epoch`):null,n.map(e=>a(e,`joint`)),r.map(e=>a(e,`accept`))])}${e.chains.map(e=>b`<path class="level" d="${P(e,t,{x:n,y:r})}"/>`)}${e.shifts.map(({start:e,shift:t})=>b`<circle class="${t.direction===`up`?`worse`:`better`}" cx="${i(e)}" cy="${w(r.place(0))}" r="3"/>`)}</svg>`}function I({chains:e,alarms:t,gains:n}){let r=[...t,...n].flatMap(e=>e.shifts),i=/* @__PURE__ */ new Map;for(let t of e){let{series:e,metric:n,name:r}=t.chain,a=JSON.stringify([e,n,r]);i.set(a,[...i.get(a)??[],t])}return[...i.values()].flatMap(e=>L(e,r)??[]).sort((e,t)=>t.surprise-e.surprise)}function L(e,t){let n=e.reduce((e,t)=>R(t)>(e===void 0?-1:R(e))?t:e,void 0);if(n===void 0)return null;let{series:r,metric:i,name:a=``}=n.chain,s=n.watched.references.at(-1),c=o(n),l=t.filter(({chain:t})=>e.some(e=>e.chain===t)),u=n.chain.points.at(-1)?.headNs;return{series:r,metric:i,name:a,shifts:l,level:c,chains:e.map(z),surprise:c===null||s===void 0?0:Math.abs(c)/s.sd,...u===void 0||Number.isNaN(u)?{}:{ns:u}}}function R({chain:e}){return e.points.at(-1)?.run??-1}function z({chain:e,watched:t}){let{points:n}=e,r=t.references.at(-1),i=r?.level??n[0]?.level??0,a=B(n);return{changed:e.changed,runs:a.map(({run:e})=>e),levels:a.map(({level:e})=>e-i),joints:e.joints.map(e=>n[e]?.run??0),accepted:n.flatMap(({made:e,run:t})=>e.accepted===void 0?[]:[t]),sd:r?.sd??0}}function B(e){let t=e.slice(0,-200);if(t.length<=160)return V(e);let n=Math.ceil(t.length/160);return V([...Array.from({length:Math.ceil(t.length/n)},(e,r)=>{let i=t.slice(r*n,(r+1)*n);return{run:i.at(-1)?.run??0,level:i.reduce((e,{level:t})=>e+t,0)/i.length}}),...e.slice(-200)])}function V(e){return e.filter((t,n)=>t.level!==e[n-1]?.level||t.level!==e[n+1]?.level)}function H(e,{runs:t}){return[...new Set(e.flatMap(({chains:e})=>e.flatMap(({runs:e,joints:t,accepted:n})=>[...e,...t,...n])))].sort((e,t)=>e-t).flatMap(e=>t[e]===void 0?[]:[{...t[e],run:e}])}function U(e,n){let r=I(e).filter(({metric:e})=>e===`latency`).slice(0,8),i=44+r.length*46+6,a=M(n),o=p(e,n);return b`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${760} ${i}" width="${760}" height="${i}" role="img" aria-label="${o}"><style>${{markup:`text{font:13px system-ui,sans-serif;fill:#1f2328}.answer{font-size:15px;font-weight:600}.level{fill:none;stroke:#0969da;stroke-width:1.4}.zone{fill:#d0d7de;opacity:.45}.joint,.accept,.epoch{fill:none;stroke:#6e7781;stroke-dasharray:2 3}.worse{fill:#cf222e}.better{fill:#116329}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.level{stroke:#4493f8}.zone{fill:#30363d}.worse{fill:#ff7b72}.better{fill:#3fb950}}`}}</style><text class="answer" x="8" y="24">${g(o,100)}</text>
${r.map((e,r)=>{let i=44+r*46,o=e.level===null?``:t(Math.expm1(e.level),{sign:!0,digits:2});return b`<text x="8" y="${i+24}">${_(e.series,50)}</text><svg x="380" y="${i}" width="260" height="40">${F(e,n,a)}</svg><text x="752" y="${i+24}" text-anchor="end">${o}</text>
`})}</svg>
`.markup}var W;const G={latency:`latency`,control:`control: pin against itself`,memory:`memory`,size:`engine size`,error:`golden error`},K={change:`bad`,method:`warn`,host:`warn`,noise:`open`};function q({metric:e,name:t}){return t===``?G[e]:`${G[e]}: ${_(t,80)}`}function J(e){let t=l(e);return`${_(t.slice(0,4).join(`, `),200)}${t.length>4?` and ${t.length-4} more`:``}`}function Y(e,t){let[n,r=``,i=``]=f(e,t).split("`");return b`<div class="highlight ${K[e.cause]}"><h2>${J(e)} ${x(u[e.cause],K[e.cause])}</h2><p>${n??``}${r===``?null:b`<code>${r}</code>`}${i}</p></div>
`}function X(e,t,n){let r=[...d(e,n).map(e=>[`slower or larger`,e]),...d(t,n).map(e=>[`better`,e])];if(r.length===0)return b`<p class="sub">Nothing changed its level within the last year.</p>`;let i=r.sort(([,e],[,t])=>t.start-e.start).slice(0,200).map(([,e])=>{let[t]=e.shifts,r=t?.shift.closed,i=t?.shift.direction===`down`?`better`:e.isOpen?`open`:r?.by??`closed`;return b`<tr><td>${n.runs[e.start]?.at.slice(0,10)??``}</td><th scope="row">${J(e)}</th><td>${t===void 0?``:c(t,n).replace(/ since .*/,``)}</td><td>${u[e.cause]}</td><td>${i}</td></tr>
`});return b`<div class="scroll" role="region" aria-label="changes of the last year" tabindex="0"><table><thead><tr><th>began</th><th>engines</th><th>size</th><th>cause</th><th>state</th></tr></thead><tbody>
${i}</tbody></table></div>`}function Z(e,n,i){let a=e.level===null?`not watched yet`:t(Math.expm1(e.level),{sign:!0,digits:2}),o=e.ns===void 0?null:b`<small>${r(e.ns/1e6)}</small>`;return b`<li data-series="${e.series}" data-metric="${e.metric}"><button type="button" class="line" aria-expanded="false"><span>${_(e.series,120)} <small>${q(e)}</small></span>${F(e,n,i)}<span class="now">${a} ${o}</span></button></li>
`}function Q(e,t){let n=H(e,t).map(e=>[e.run,e.at.slice(0,16).replace(`T`,` `),Math.round(e.day*100)/100,e.commit?.slice(0,9)??``,_(e.label,40),e.machine.host??``,e.machine.gpu??``]),r=e.map(e=>({series:e.series,metric:e.metric,title:q(e),chains:e.chains.map(({runs:e,levels:t,sd:n})=>({r:e,l:t.map(e=>Math.round(e*1e6)),sd:Number(n.toPrecision(3))})),marks:$(e)}));return JSON.stringify({runs:n,views:r}).replaceAll(`<`,`\\u003c`)}function $({chains:e,shifts:n}){let r=(e,t)=>n=>({run:n,kind:e,text:t});return[...e.flatMap(({changed:e,runs:t,joints:n,accepted:i})=>[...e.length>0?t.slice(0,1).map(r(`epoch`,`new: ${e.join(`, `)}`)):[],...n.map(r(`joint`,``)),...i.map(r(`accept`,``))]),...n.map(({start:e,shift:n,cause:i})=>r(`change`,`${t(Math.expm1(n.size),{sign:!0,digits:2})}, ${u[i]}`)(e))]}function ee({control:e},{runs:t},n){let r=new Set(t.flatMap(({host:e})=>e??[])).size,i=e.years===0?`no control series`:`${E(e.alarms,`false alarm`)} in ${e.years.toFixed(1)} series-years of control`,a=[E(t.length,`run`),`${t[0]?.at.slice(0,10)??``} to ${t.at(-1)?.at.slice(0,10)??``}`,E(r,`machine`),i],o=n.slice(0,20).map(e=>b`<li>${e}</li>`);return b`<ul class="facts">${a.map(e=>b`<li>${e}</li>`)}</ul>${n.length===0?null:b`<details class="notice plain"><summary>${E(n.length,`file`)} skipped</summary><ul>${o}</ul></details>`}`}function te(e,t,n){let r=I(e),i=M(t),a=e.alarms.filter(({isOpen:e})=>e),o=a.length===0?x(`steady`,`ok`):x(`changed`,a.some(({cause:e})=>e===`change`)?`bad`:`warn`),s=[...new Set(r.map(({metric:e})=>e))].map(e=>b`<option value="${e}"${e===`latency`?b` selected`:null}>${G[e]}</option>`);return b(W||=T([`<!doctype html>
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
`]),`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-H9LTIT5dDK+NDhqLgvJbTD1UeMc/5J7yR8OrB4cakUA='; base-uri 'none'; form-action 'none'`,p(e,t),{markup:S+`#series{list-style:none;margin:12px 0;padding:0}#series button.line{all:unset;box-sizing:border-box;cursor:pointer;display:grid;grid-template-columns:minmax(0,1fr) 260px 130px;gap:4px 16px;align-items:center;width:100%;padding:5px 8px;border-bottom:1px solid var(--line)}#series button.line:hover,#series button.line:focus-visible,#series [aria-expanded=true]{background:var(--card)}#series button.line:focus-visible{outline:2px solid var(--a1)}#series li{content-visibility:auto;contain-intrinsic-size:auto 52px}#series small{color:var(--mut)}#series .now{text-align:right;font-variant-numeric:tabular-nums}
.course{width:260px;height:40px}.level{fill:none;stroke:var(--a1);stroke-width:1.4}.joint,.accept,.epoch,.change{fill:none;stroke:var(--mut);stroke-width:1;stroke-dasharray:2 3}.epoch{stroke:var(--open);stroke-dasharray:none}.accept{stroke:var(--ok)}.change{stroke:var(--bad);stroke-dasharray:none}.worse{fill:var(--bad)}.better{fill:var(--ok)}.at{fill:var(--fg)}
#controls{display:flex;gap:10px;flex-wrap:wrap}#controls input,#controls select,#large button{font:inherit;color:var(--fg);background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:6px 10px}#controls input{flex:1 1 220px}#large{border:1px solid var(--line);border-radius:6px;padding:4px 16px 14px;margin:14px 0}#large h2{margin:10px 0}#large button{margin-right:8px;padding:2px 10px}#large [aria-pressed=true]{border-color:var(--a1)}#large svg{overflow:visible;touch-action:pan-y}#at{min-height:1.5em}
.legend i{width:14px;height:0;border:0;border-top:2px solid var(--mut);border-radius:0;vertical-align:middle}.legend .epoch{border-color:var(--open)}.legend .accept{border-color:var(--ok)}.legend .change{border-color:var(--bad)}.legend .joint{border-top-style:dashed}
@media(max-width:760px){#series button.line{grid-template-columns:minmax(0,1fr) auto}.course{grid-column:1/3;grid-row:2;width:100%}}`},o,p(e,t),ee(e,t,n.skipped),a.map(e=>Y(e,t)),y(`The last year`,X(e.alarms,e.gains,t),`year`),y(`All series, most surprising first`,b`<p class="legend"><i class="change"></i>changed <i class="accept"></i>accepted <i class="epoch"></i>new machine or version <i class="joint"></i>new pin. The band is twice the noise; levels are ratios to the pin, chained.</p>
<div id="controls" hidden><input id="filter" type="search" placeholder="Filter ${r.length} series ( / )" aria-label="Filter series"><select id="metric" aria-label="Figure"><option value="">all figures</option>${s}</select></div>
<section id="large" aria-live="polite" hidden></section>
<ul id="series">
${r.map(e=>Z(e,t,i))}</ul>`,`all`),_(n.version,40),{markup:Q(r,t)},{markup:`"use strict";
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
`}).markup}async function ne(t,r){let o=O(t,D,{more:!0}),[c,...l]=o.positionals;if(l.length>0)throw i(`A history is in one folder.`,`Name one folder.`);let u=h({folder:c,branch:o.text(`branch`)},r),{tables:d,skipped:f}=m(await u.read());if(d.length===0)throw new n({code:`nothing-to-check`,message:`${u.name} holds no record.`,details:{fix:"Import results with `trtgate history import`, or keep a history with `history:` in trtgate.yml."}});let g=s(d),_=a(g),y=j(r.cwd,o.text(`out`)),b=e();await b.makeFolder(A(y)),await b.writeText(y,te(_,g,{version:k,skipped:f}));let x=o.text(`svg`);return x!==void 0&&await b.writeText(j(r.cwd,x),U(_,g)),r.out(`${p(_,g)}\n`),r.err(`${[...f,`The page is ${y}.`].join(`
`)}\n`),v.ok}export{ne as trend};