import{t as e}from"./adapters-files-store.js";import{a as t,f as n,g as r,o as i}from"./core-errors.js";import{b as a,c as o,d as s,g as c,i as l,l as u,n as d,o as f,y as p}from"./app-history-open-store.js";import{n as m,r as h,t as g}from"./core-report-html-trend-answer.js";import{a as _,d as v,h as y,n as b,o as x}from"./adapters-process-input-file.js";import{_ as S,a as C,d as w,g as T,i as E,l as D,t as O}from"./core-report-html-markup.js";import{r as k}from"./core-text-labels.js";import{g as A,y as j}from"./app-commands-arguments.js";import{t as M}from"./app-version.js";import{dirname as N,resolve as P}from"node:path";function F({runs:e}){let t=e[0]?.day??0,n=e.at(-1)?.day??1;return C([t,Math.max(t+1,n)],[3,257])}function I({chains:e}){let t=Math.max(1e-6,...e.map(({sd:e})=>4*e),...e.flatMap(({levels:e})=>e.map(Math.abs)));return C([-t,t],[37,3])}function L({runs:e,levels:t},{runs:n},r){return t.map((t,i)=>`${i===0?`M`:`L`}${D(r.x.place(n[e[i]??0]?.day??0))} ${D(r.y.place(t))}`).join(``)}function R(e,t,n){let r=I(e),i=e=>D(n.place(t.runs[e]?.day??0)),a=(e,t)=>w`<path class="${t}" d="M${i(e)} 0V${40}"/>`,o=e.chains.at(-1)?.sd??0,[s,c]=[r.place(2*o),r.place(-2*o)];return w`<svg class="course" viewBox="0 0 ${260} ${40}" aria-hidden="true"><rect class="zone" x="0" y="${D(s)}" width="${260}" height="${D(c-s)}"/>${e.chains.map(({changed:e,runs:t,joints:n,accepted:r})=>[e.length>0&&t[0]!==void 0?a(t[0],`epoch`):null,n.map(e=>a(e,`joint`)),r.map(([e])=>a(e,`accept`))])}${e.chains.map(e=>w`<path class="level" d="${L(e,t,{x:n,y:r})}"/>`)}${e.shifts.map(({start:e,shift:t})=>w`<circle class="${t.direction===`up`?`worse`:`better`}" cx="${i(e)}" cy="${D(r.place(0))}" r="3"/>`)}</svg>`}function z({chains:e,alarms:t,gains:n}){let r=[...t,...n].flatMap(e=>e.shifts),i=/* @__PURE__ */ new Map;for(let t of e){let{series:e,metric:n,name:r}=t.chain,a=JSON.stringify([e,n,r]);i.set(a,[...i.get(a)??[],t])}return[...i.values()].flatMap(e=>B(e,r)??[]).sort((e,t)=>t.surprise-e.surprise)}function B(e,t){let n=e.reduce((e,t)=>V(t)>(e===void 0?-1:V(e))?t:e,void 0);if(n===void 0)return null;let{series:r,metric:i,name:o=``}=n.chain,s=n.watched.references.at(-1),c=a(n),l=t.filter(({chain:t})=>e.some(e=>e.chain===t)),u=n.chain.points.at(-1)?.headNs;return{series:r,metric:i,name:o,shifts:l,level:c,chains:e.map(H),surprise:c===null||s===void 0?0:Math.abs(c)/s.sd,...u===void 0||Number.isNaN(u)?{}:{ns:u}}}function V({chain:e}){return e.points.at(-1)?.run??-1}function H({chain:e,watched:t}){let{points:n}=e,r=t.references.at(-1),i=r?.level??n[0]?.level??0,a=U(n);return{changed:e.changed,runs:a.map(({run:e})=>e),levels:a.map(({level:e})=>e-i),joints:e.joints.map(e=>n[e]?.run??0),accepted:[...e.accepted].map(([e,t])=>[n[e]?.run??0,t]),sd:r?.sd??0}}function U(e){let t=e.slice(0,-200);if(t.length<=160)return W(e);let n=Math.ceil(t.length/160);return W([...Array.from({length:Math.ceil(t.length/n)},(e,r)=>{let i=t.slice(r*n,(r+1)*n);return{run:i.at(-1)?.run??0,level:i.reduce((e,{level:t})=>e+t,0)/i.length}}),...e.slice(-200)])}function W(e){return e.filter((t,n)=>t.level!==e[n-1]?.level||t.level!==e[n+1]?.level)}function G(e,{runs:t}){return[...new Set(e.flatMap(({chains:e})=>e.flatMap(({runs:e,joints:t,accepted:n})=>[...e,...t,...n.map(([e])=>e)])))].sort((e,t)=>e-t).flatMap(e=>t[e]===void 0?[]:[{...t[e],run:e}])}function K(e,t){let n=z(e).filter(({metric:e})=>e===`latency`).slice(0,8),r=64+n.length*46+6,a=F(t),o=g(e,t),s=o.length<=88?o.length:Math.max(1,o.lastIndexOf(` `,88));return w`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${760} ${r}" width="${760}" height="${r}" role="img" aria-label="${o}"><style>${{markup:`text{font:13px system-ui,sans-serif;fill:#1f2328}.answer{font-size:15px;font-weight:600}.level{fill:none;stroke:#0969da;stroke-width:1.4}.zone{fill:#d0d7de;opacity:.45}.joint,.accept,.epoch{fill:none;stroke:#6e7781;stroke-dasharray:2 3}.worse{fill:#cf222e}.better{fill:#116329}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.level{stroke:#4493f8}.zone{fill:#30363d}.worse{fill:#ff7b72}.better{fill:#3fb950}}`}}</style><text class="answer" x="8" y="24">${o.slice(0,s)}</text><text class="answer" x="8" y="46">${y(o.slice(s).trim(),88)}</text>
${n.map((e,n)=>{let r=64+n*46,o=e.level===null?``:i(Math.expm1(e.level),{sign:!0,digits:2});return w`<text x="8" y="${r+24}">${_(e.series,50)}</text><svg x="380" y="${r}" width="260" height="40">${R(e,t,a)}</svg><text x="752" y="${r+24}" text-anchor="end">${o}</text>
`})}</svg>
`.markup}var q;const J={latency:`latency`,control:`control: pin against itself`,memory:`memory`,size:`engine size`,error:`golden error`},Y={change:`bad`,method:`warn`,host:`warn`,noise:`open`};function X({metric:e,name:t}){return t===``?J[e]:`${J[e]}: ${_(t,80)}`}function Z(e){let t=m(e);return`${_(t.slice(0,4).join(`, `),200)}${t.length>4?` and ${t.length-4} more`:``}`}function Q(e,t){let[n,r=``,i=``]=u(e,t).split("`");return w`<div class="highlight ${Y[e.cause]}"><h2>${Z(e)} ${T(o[e.cause],Y[e.cause])}</h2><p>${n??``}${r===``?null:w`<code>${r}</code>`}${i}</p></div>
`}function $(e,t,n){let r=[...h(e,n).map(e=>[`slower or larger`,e]),...h(t,n).map(e=>[`better`,e])];if(r.length===0)return w`<p class="sub">Nothing changed its level within the last year.</p>`;let i=r.sort(([,e],[,t])=>t.start-e.start).slice(0,200).map(([,e])=>{let[t]=e.shifts,r=t?.shift.closed,i=r?.by===`accepted`?t?.chain.accepted.get(r.at):void 0,a=i===void 0?r?.by??`closed`:`accepted: ${x(y(i,200))}`,c=t?.shift.direction===`down`?`better`:e.isOpen?`open`:a;return w`<tr><td>${n.runs[e.start]?.at.slice(0,10)??``}</td><th scope="row">${Z(e)}</th><td>${t===void 0?``:s(t,n).replace(/ since .*/,``)}</td><td>${o[e.cause]}</td><td>${c}</td></tr>
`});return w`<div class="scroll" role="region" aria-label="changes of the last year" tabindex="0"><table><thead><tr><th>began</th><th>engines</th><th>size</th><th>cause</th><th>state</th></tr></thead><tbody>
${i}</tbody></table></div>`}function ee(e,n,r){let a=e.level===null?`not watched yet`:i(Math.expm1(e.level),{sign:!0,digits:2}),o=e.ns===void 0?null:w`<small>${t(e.ns/1e6)}</small>`;return w`<li data-series="${e.series}" data-metric="${e.metric}"><button type="button" class="line" aria-expanded="false"><span>${_(e.series,120)} <small>${X(e)}</small></span>${R(e,n,r)}<span class="now">${a} ${o}</span></button></li>
`}function te(e,t){let n=G(e,t).map(e=>[e.run,e.at.slice(0,16).replace(`T`,` `),Math.round(e.day*100)/100,e.commit?.slice(0,9)??``,_(e.label,40),e.machine.host??``,e.machine.gpu??``]),r=e.map(e=>({series:e.series,metric:e.metric,title:X(e),chains:e.chains.map(({runs:e,levels:t,sd:n})=>({r:e,l:t.map(e=>Math.round(e*1e6)),sd:Number(n.toPrecision(3))})),marks:ne(e)}));return JSON.stringify({runs:n,views:r}).replaceAll(`<`,`\\u003c`)}function ne({chains:e,shifts:t}){let n=(e,t)=>n=>({run:n,kind:e,text:t});return[...e.flatMap(({changed:e,runs:t,joints:r,accepted:i})=>[...e.length>0?t.slice(0,1).map(n(`epoch`,`new: ${e.join(`, `)}`)):[],...r.map(n(`joint`,``)),...i.map(([e,t])=>n(`accept`,`accepted: ${x(y(t,60))}`)(e))]),...t.map(({start:e,shift:t,cause:r})=>n(`change`,`${i(Math.expm1(t.size),{sign:!0,digits:2})}, ${o[r]}`)(e))]}function re({control:e},{runs:t},n){let r=new Set(t.flatMap(({host:e})=>e??[])).size,i=e.years===0?`no control series`:`${k(e.alarms,`false alarm`)} in ${e.years.toFixed(1)} series-years of control`,a=[k(t.length,`run`),`${t[0]?.at.slice(0,10)??``} to ${t.at(-1)?.at.slice(0,10)??``}`,k(r,`machine`),i],o=n.slice(0,20).map(e=>w`<li>${e}</li>`);return w`<ul class="facts">${a.map(e=>w`<li>${e}</li>`)}</ul>${n.length===0?null:w`<details class="notice plain"><summary>${k(n.length,`file`)} skipped</summary><ul>${o}</ul></details>`}`}function ie(e,t,n){let r=z(e),i=F(t),a=e.alarms.filter(({isOpen:e})=>e),o=a.length===0?T(`steady`,`ok`):T(`changed`,a.some(({cause:e})=>e===`change`)?`bad`:`warn`),s=[...new Set(r.map(({metric:e})=>e))].map(e=>w`<option value="${e}"${e===`latency`?w` selected`:null}>${J[e]}</option>`);return w(q||=O([`<!doctype html>
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
`]),`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-H9LTIT5dDK+NDhqLgvJbTD1UeMc/5J7yR8OrB4cakUA='; base-uri 'none'; form-action 'none'`,g(e,t),{markup:E+`#series{list-style:none;margin:12px 0;padding:0}#series button.line{all:unset;box-sizing:border-box;cursor:pointer;display:grid;grid-template-columns:minmax(0,1fr) 260px 130px;gap:4px 16px;align-items:center;width:100%;padding:5px 8px;border-bottom:1px solid var(--line)}#series button.line:hover,#series button.line:focus-visible,#series [aria-expanded=true]{background:var(--card)}#series button.line:focus-visible{outline:2px solid var(--a1)}#series li{content-visibility:auto;contain-intrinsic-size:auto 52px}#series small{color:var(--mut)}#series .now{text-align:right;font-variant-numeric:tabular-nums}
.course{width:260px;height:40px}.level{fill:none;stroke:var(--a1);stroke-width:1.4}.joint,.accept,.epoch,.change{fill:none;stroke:var(--mut);stroke-width:1;stroke-dasharray:2 3}.epoch{stroke:var(--open);stroke-dasharray:none}.accept{stroke:var(--ok);stroke-dasharray:none}.change{stroke:var(--bad);stroke-dasharray:none}.worse{fill:var(--bad)}.better{fill:var(--ok)}.at{fill:var(--fg)}
#controls{display:flex;gap:10px;flex-wrap:wrap}#controls input,#controls select,#large button{font:inherit;color:var(--fg);background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:6px 10px}#controls input{flex:1 1 220px}#large{border:1px solid var(--line);border-radius:6px;padding:4px 16px 14px;margin:14px 0}#large h2{margin:10px 0}#large button{margin-right:8px;padding:2px 10px}#large [aria-pressed=true]{border-color:var(--a1)}#large svg{overflow:visible;touch-action:pan-y}#at{min-height:1.5em}
.legend i{width:14px;height:0;border:0;border-top:2px solid var(--mut);border-radius:0;vertical-align:middle}.legend .epoch{border-color:var(--open)}.legend .accept{border-color:var(--ok)}.legend .change{border-color:var(--bad)}.legend .joint{border-top-style:dashed}
@media(max-width:760px){#series button.line{grid-template-columns:minmax(0,1fr) auto}.course{grid-column:1/3;grid-row:2;width:100%}}`},o,g(e,t),re(e,t,n.skipped),a.map(e=>Q(e,t)),S(`The last year`,$(e.alarms,e.gains,t),`year`),S(`All series, most surprising first`,w`<p class="legend"><i class="change"></i>changed <i class="accept"></i>accepted <i class="epoch"></i>new machine or version <i class="joint"></i>new pin. The band is twice the noise; levels are ratios to the pin, chained.</p>
<div id="controls" hidden><input id="filter" type="search" placeholder="Filter ${r.length} series ( / )" aria-label="Filter series"><select id="metric" aria-label="Figure"><option value="">all figures</option>${s}</select></div>
<section id="large" aria-live="polite" hidden></section>
<ul id="series">
${r.map(e=>ee(e,t,i))}</ul>`,`all`),_(n.version,40),{markup:te(r,t)},{markup:`"use strict";
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
`}).markup}function ae(e,t){let n=e=>t.runs[e??-1]?.at??``,r=({start:e,raised:t,cause:r,evidence:i,isOpen:a,shifts:o})=>({start:n(e),raised:n(t),cause:r,evidence:i,isOpen:a,series:o.map(({chain:e,shift:{size:t,low:r,high:i,raised:a,closed:o}})=>({series:e.series,figure:l(e),raised:n(e.points[a]?.run),size:t,low:r,high:i,...o===void 0?{}:{closed:{at:n(e.points[o.at]?.run),by:o.by}}}))});return{answer:g(e,t),alarms:e.alarms.map(r),gains:e.gains.map(r),control:e.control,levels:e.chains.map(e=>{let{chain:t}=e,r={begins:n(t.points[0]?.run),at:n(t.points.at(-1)?.run)};return{series:t.series,figure:l(t),...r,changed:t.changed,level:a(e)}})}}async function oe(t,i){let a=j(t,A,{more:!0}),[o,...s]=a.positionals;if(s.length>0)throw r(`A history is in one folder.`,`Name one folder.`);let l=d({folder:o,branch:a.text(`branch`)},i),{tables:u,skipped:m}=c(await l.read());if(u.length===0)throw new n({code:`nothing-to-check`,message:`${l.name} holds no record.`,fix:"Import results with `trtgate history import`, or keep a history with `history:` in trtgate.yml."});let h=f(u),_=p(h),y=P(i.cwd,a.text(`out`)),x=e();await x.makeFolder(N(y)),await x.writeText(y,ie(_,h,{version:M,skipped:m}));let S=a.text(`svg`);return S!==void 0&&await x.writeText(P(i.cwd,S),K(_,h)),i.out(a.flag(`json`)?v(ae(_,h)):`${g(_,h)}\n`),i.err(`${[...m,`The page is ${y}.`].join(`
`)}\n`),b.ok}export{oe as trend};