import{t as e}from"./adapters-files-store.js";import{Et as t,Ht as n,M as r,Nt as i,P as a,Qt as o,Tt as s,Ut as c,Vt as l,c as u,o as d,qt as f}from"./app-cli.js";import{b as p,c as m,d as h,g,i as _,l as v,n as y,o as b,y as ee}from"./app-history-open-store.js";import{n as x,t as S}from"./core-report-html-trend-answer.js";import{Mt as C,Ot as w,rt as T}from"./app-commands-preflight.js";import{i as E,m as D,o as O,t as te,u as k,v as A,y as j}from"./core-report-html-scale.js";import{dirname as M,resolve as N}from"node:path";function P({runs:e}){let t=e[0]?.day??0,n=e.at(-1)?.day??1;return O([t,Math.max(t+1,n)],[3,257])}function F({chains:e}){let t=Math.max(1e-6,...e.map(({sd:e})=>4*e),...e.flatMap(({levels:e})=>e.map(Math.abs)));return O([-t,t],[37,3])}function I({runs:e,levels:t},{runs:n},r){return t.map((t,i)=>`${i===0?`M`:`L`}${k(r.x.place(n[e[i]??0]?.day??0))} ${k(r.y.place(t))}`).join(``)}function L(e,t,n){let r=F(e),i=e=>k(n.place(t.runs[e]?.day??0)),a=(e,t)=>D`<path class="${t}" d="M${i(e)} 0V${40}"/>`,o=e.chains.at(-1)?.sd??0,[s,c]=[r.place(2*o),r.place(-2*o)];return D`<svg class="course" viewBox="0 0 ${260} ${40}" aria-hidden="true"><rect class="zone" x="0" y="${k(s)}" width="${260}" height="${k(c-s)}"/>${e.chains.map(({changed:e,runs:t,joints:n,accepted:r})=>[e.length>0&&t[0]!==void 0?a(t[0],`epoch`):null,n.map(e=>a(e,`joint`)),r.map(([e])=>a(e,`accept`))])}${e.chains.map(e=>D`<path class="level" d="${I(e,t,{x:n,y:r})}"/>`)}${e.shifts.map(({start:e,shift:t})=>D`<circle class="${t.direction===`up`?`worse`:`better`}" cx="${i(e)}" cy="${k(r.place(0))}" r="3"/>`)}</svg>`}function R({chains:e,alarms:t,gains:n}){let r=[...t,...n].flatMap(e=>e.shifts);return[...T(e,({chain:{series:e,metric:t,name:n}})=>JSON.stringify([e,t,n])).values()].flatMap(e=>z(e,r)??[]).sort((e,t)=>t.surprise-e.surprise)}function z(e,t){let n=e.reduce((e,t)=>B(t)>(e===void 0?-1:B(e))?t:e,void 0);if(n===void 0)return null;let{series:r,metric:i,name:a=``}=n.chain,o=n.watched.references.at(-1),s=p(n),c=t.filter(({chain:t})=>e.some(e=>e.chain===t)),l=n.chain.points.at(-1)?.headNs;return{series:r,metric:i,name:a,shifts:c,level:s,chains:e.map(V),surprise:s===null||o===void 0?0:Math.abs(s)/o.sd,...l===void 0||Number.isNaN(l)?{}:{ns:l}}}function B({chain:e}){return e.points.at(-1)?.run??-1}function V({chain:e,watched:t}){let{points:n}=e,r=t.references.at(-1),i=r?.level??n[0]?.level??0,a=H(n);return{changed:e.changed,runs:a.map(({run:e})=>e),levels:a.map(({level:e})=>e-i),joints:e.joints.map(e=>n[e]?.run??0),accepted:[...e.accepted].map(([e,t])=>[n[e]?.run??0,t]),sd:r?.sd??0}}function H(e){let t=e.slice(0,-200);if(t.length<=160)return U(e);let n=Math.ceil(t.length/160);return U([...Array.from({length:Math.ceil(t.length/n)},(e,r)=>{let i=t.slice(r*n,(r+1)*n);return{run:i.at(-1)?.run??0,level:i.reduce((e,{level:t})=>e+t,0)/i.length}}),...e.slice(-200)])}function U(e){return e.filter((t,n)=>t.level!==e[n-1]?.level||t.level!==e[n+1]?.level)}function W(e,{runs:t}){return[...new Set(e.flatMap(({chains:e})=>e.flatMap(({runs:e,joints:t,accepted:n})=>[...e,...t,...n.map(([e])=>e)])))].sort((e,t)=>e-t).flatMap(e=>t[e]===void 0?[]:[{...t[e],run:e}])}var G;const K={latency:`latency`,memory:`memory`,size:`engine size`,error:`golden error`},q={change:`bad`,method:`warn`,host:`warn`,noise:`open`};function J({metric:e,name:t}){return t===``?K[e]:`${K[e]}: ${n(t,80)}`}function Y(e){return n(C(x(e),4),250)}function X(e,t){let[n,r=``,i=``]=v(e,t).split("`");return D`<div class="highlight ${q[e.cause]}"><h2>${Y(e)} ${A(m[e.cause],q[e.cause])}</h2><p>${n??``}${r===``?null:D`<code>${r}</code>`}${i}</p></div>
`}function Z({alarms:e,gains:t},n){let r=n.runs.at(-1)?.day??0,i=[...e,...t].filter(({raised:e})=>(n.runs[e]?.day??0)>r-365);if(i.length===0)return D`<p class="sub">Nothing changed its level within the last year.</p>`;let a=i.sort((e,t)=>t.start-e.start).slice(0,200).map(e=>{let[t]=e.shifts,r=t?.shift.closed,i=r?.by===`accepted`?t?.chain.accepted.get(r.at):void 0,a=i===void 0?r?.by??`closed`:`accepted: ${c(o(i,200))}`,s=t?.shift.direction===`down`?`better`:e.isOpen?`open`:a;return D`<tr><td>${n.runs[e.start]?.at.slice(0,10)??``}</td><th scope="row">${Y(e)}</th><td>${t===void 0?``:h(t,n).replace(/ since .*/,``)}</td><td>${m[e.cause]}</td><td>${s}</td></tr>
`});return D`<div class="scroll" role="region" aria-label="changes of the last year" tabindex="0"><table><thead><tr><th>began</th><th>engines</th><th>size</th><th>cause</th><th>state</th></tr></thead><tbody>
${a}</tbody></table></div>`}const Q=e=>t(Math.expm1(e),{sign:!0,digits:2});function $(e,t,r){let i=e.level===null?`not watched yet`:Q(e.level),a=e.ns===void 0?null:D`<small>${s(e.ns/1e6)}</small>`;return D`<li data-series="${e.series}" data-metric="${e.metric}"><button type="button" class="line" aria-expanded="false"><span>${n(e.series,120)} <small>${J(e)}</small></span>${L(e,t,r)}<span class="now">${i} ${a}</span></button></li>
`}function ne(e,t){let r=W(e,t).map(e=>[e.run,e.at.slice(0,16).replace(`T`,` `),Math.round(e.day*100)/100,e.commit?.slice(0,9)??``,n(e.label,40),e.machine.host??``,e.machine.gpu??``]),i=e.map(e=>({series:e.series,metric:e.metric,title:J(e),chains:e.chains.map(({runs:e,levels:t,sd:n})=>({r:e,l:t.map(e=>Math.round(e*1e6)),sd:Number(n.toPrecision(3))})),marks:re(e)}));return JSON.stringify({runs:r,views:i}).replaceAll(`<`,`\\u003c`)}function re({chains:e,shifts:t}){let n=(e,t)=>n=>({run:n,kind:e,text:t});return[...e.flatMap(({changed:e,runs:t,joints:r,accepted:i})=>[...e.length>0?t.slice(0,1).map(n(`epoch`,`new: ${e.join(`, `)}`)):[],...r.map(n(`joint`,``)),...i.map(([e,t])=>n(`accept`,`accepted: ${c(o(t,60))}`)(e))]),...t.map(({start:e,shift:t,cause:r})=>n(`change`,`${Q(t.size)}, ${m[r]}`)(e))]}function ie({runs:e},t){let n=[w(e.length,`run`),`${e[0]?.at.slice(0,10)??``} to ${e.at(-1)?.at.slice(0,10)??``}`,w(new Set(e.flatMap(({host:e})=>e??[])).size,`machine`)],r=t.slice(0,20).map(e=>D`<li>${e}</li>`);return D`<ul class="facts">${n.map(e=>D`<li>${e}</li>`)}</ul>${t.length===0?null:D`<details class="notice plain"><summary>${w(t.length,`file`)} skipped</summary><ul>${r}</ul></details>`}`}function ae(e,t,r){let i=R(e),a=P(t),o=e.alarms.filter(({isOpen:e})=>e),s=o.length===0?A(`steady`,`ok`):A(`changed`,o.some(({cause:e})=>e===`change`)?`bad`:`warn`),c=[...new Set(i.map(({metric:e})=>e))].map(e=>D`<option value="${e}"${e===`latency`?D` selected`:null}>${K[e]}</option>`);return D(G||=te([`<!doctype html>
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
`]),`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-ypcVMmT6RYh0b0NeT5j57AtafEmUf9T/W5RY3qpLMMc='; base-uri 'none'; form-action 'none'`,S(e,t),{markup:E+`#series{list-style:none;margin:12px 0;padding:0}#series button.line{all:unset;box-sizing:border-box;cursor:pointer;display:grid;grid-template-columns:minmax(0,1fr) 260px 130px;gap:4px 16px;align-items:center;width:100%;padding:5px 8px;border-bottom:1px solid var(--line)}#series button.line:hover,#series button.line:focus-visible,#series [aria-expanded=true]{background:var(--card)}#series button.line:focus-visible{outline:2px solid var(--a1)}#series li{content-visibility:auto;contain-intrinsic-size:auto 52px}#series small{color:var(--mut)}#series .now{text-align:right;font-variant-numeric:tabular-nums}
.course{width:260px;height:40px}.level{fill:none;stroke:var(--a1);stroke-width:1.4}.joint,.accept,.epoch,.change{fill:none;stroke:var(--mut);stroke-width:1;stroke-dasharray:2 3}.epoch{stroke:var(--open);stroke-dasharray:none}.accept{stroke:var(--ok);stroke-dasharray:none}.change{stroke:var(--bad);stroke-dasharray:none}.worse{fill:var(--bad)}.better{fill:var(--ok)}.at{fill:var(--fg)}
#controls{display:flex;gap:10px;flex-wrap:wrap}#controls input,#controls select,#large button{font:inherit;color:var(--fg);background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:6px 10px}#controls input{flex:1 1 220px}#large{border:1px solid var(--line);border-radius:6px;padding:4px 16px 14px;margin:14px 0}#large h2{margin:10px 0}#large button{margin-right:8px;padding:2px 10px}#large [aria-pressed=true]{border-color:var(--a1)}#large svg{overflow:visible;touch-action:pan-y}#at{min-height:1.5em}
.legend i{width:14px;height:0;border:0;border-top:2px solid var(--mut);border-radius:0;vertical-align:middle}.legend .epoch{border-color:var(--open)}.legend .accept{border-color:var(--ok)}.legend .change{border-color:var(--bad)}.legend .joint{border-top-style:dashed}
@media(max-width:760px){#series button.line{grid-template-columns:minmax(0,1fr) auto}.course{grid-column:1/3;grid-row:2;width:100%}thead{display:none}tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:7px 0;border-bottom:1px solid var(--line)}tr td,tr th[scope=row]{padding:0;border:0;white-space:normal;max-width:none;overflow-wrap:anywhere;position:static}}`},s,S(e,t),ie(t,r.skipped),o.map(e=>X(e,t)),j(`The last year`,Z(e,t),`year`),j(`All series, most surprising first`,D`<p class="legend"><i class="change"></i>changed <i class="accept"></i>accepted <i class="epoch"></i>new machine or version <i class="joint"></i>new pin. The band is twice the noise; levels are ratios to the pin, chained.</p>
<div id="controls" hidden><input id="filter" type="search" placeholder="Filter ${i.length} series" aria-label="Filter series"><select id="metric" aria-label="Figure"><option value="">all figures</option>${c}</select></div>
<section id="large" aria-live="polite" hidden></section>
<ul id="series">
${i.map(e=>$(e,t,a))}</ul>`,`all`),n(r.version,40),{markup:ne(i,t)},{markup:`"use strict";
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
`}).markup}function oe(e,t){let n=e=>t.runs[e??-1]?.at??``,r=({start:e,raised:t,cause:r,evidence:i,isOpen:a,shifts:o})=>({start:n(e),raised:n(t),cause:r,evidence:i,isOpen:a,series:o.map(({chain:e,shift:{size:t,low:r,high:i,raised:a,closed:o}})=>({series:e.series,figure:_(e),raised:n(e.points[a]?.run),size:t,low:r,high:i,closed:o===void 0?void 0:{at:n(e.points[o.at]?.run),by:o.by}}))});return{answer:S(e,t),alarms:e.alarms.map(r),gains:e.gains.map(r),levels:e.chains.map(e=>{let{chain:t}=e,r={begins:n(t.points[0]?.run),at:n(t.points.at(-1)?.run)};return{series:t.series,figure:_(t),...r,changed:t.changed,level:p(e)}})}}async function se(t,n){let o=u(t,d,{more:!0}),[s,...c]=o.positionals;if(c.length>0)throw l(`A history is in one folder.`,`Name one folder.`);let p=y({folder:s,branch:o.text(`branch`)},n),{records:m,skipped:h}=g(await p.read());if(m.length===0)throw new i({code:`nothing-to-check`,message:`${p.name} has no records.`,fix:"Import results with `trtgate history import`, or keep a history with `history:` in trtgate.yml."});let _=b(m.map(({record:e})=>e)),v=ee(_),x=N(n.cwd,o.text(`out`)),C=e();return await C.makeFolder(M(x)),await C.writeText(x,ae(v,_,{version:r,skipped:h})),n.out(o.flag(`json`)?f(oe(v,_)):`${S(v,_)}\n`),n.err(`${[...h,`The page is ${x}.`].join(`
`)}\n`),a.ok}export{se as trend};