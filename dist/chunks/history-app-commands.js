import{C as e,E as t,Et as n,Nt as r,O as i,T as a,Tt as o,Ut as s,Vt as c,Wt as l,Yt as u,b as d,en as f,k as p,r as m,v as h,w as g}from"./app-cli.js";import{t as ee}from"./adapters-files-store.js";import{a as _,t as v}from"./core-config-select.js";import{Gt as te,H as y,Nt as ne,Vt as b}from"./app-commands-preflight.js";import{t as x}from"./core-report-parse-result.js";import{S,_ as C,c as w,d as re,g as ie,h as ae,i as T,l as oe,m as E,n as D,o as O,p as k,r as A,u as j,v as M,x as N,y as se}from"./history-app-open-store.js";import{f as ce,i as le,p as ue}from"./stages-report.js";import{S as P,h as F,v as I,w as L,y as R}from"./core-report-sections-graph-costs.js";import{dirname as z,join as B,resolve as V}from"node:path";import{stat as H}from"node:fs/promises";function U(e,t){let n=e=>t.runs[e??-1]?.at??``,r=({start:e,raised:t,cause:r,evidence:i,isOpen:a,shifts:o})=>({start:n(e),raised:n(t),cause:r,evidence:i,isOpen:a,series:o.map(({chain:e,shift:{size:t,low:r,high:i,raised:a,closed:o}})=>({series:e.series,figure:T(e),raised:n(e.points[a]?.run),size:t,low:r,high:i,closed:o===void 0?void 0:{at:n(e.points[o.at]?.run),by:o.by}}))});return{answer:w(e,t),alarms:e.alarms.map(r),gains:e.gains.map(r),levels:e.chains.map(e=>{let{chain:t}=e,r={begins:n(t.points[0]?.run),at:n(t.points.at(-1)?.run)};return{series:t.series,figure:T(t),...r,changed:t.changed,level:S(e)}})}}function W({alarms:e}){return e.flatMap(({shifts:e})=>e).filter(({shift:e})=>e.closed===void 0)}function de(e,{patterns:t,figure:n,reason:r,at:i,hash:a}){let o=t.map(v),s=W(e).filter(({chain:e})=>{let{model:t,engine:r}=E(e.series);return o.some(e=>e(t,r))&&(n??e.metric)===e.metric});if(s.length===0)return null;let c=[...y(s,({chain:e})=>e.series)].map(([e,t])=>({series:e,kind:`accept`,base:{},head:{},accepted:Object.fromEntries(t.map(({chain:e})=>[T(e),r]))}));return{shifts:s,record:{schemaVersion:1,at:i,source:a(JSON.stringify([i,c])).slice(0,12),run:`accept`,label:`accepted`,machine:{},method:{},rows:c}}}function fe({runs:e}){let t=e[0]?.day??0,n=e.at(-1)?.day??1;return R([t,Math.max(t+1,n)],[3,257])}function G({chains:e}){let t=Math.max(1e-6,...e.map(({sd:e})=>4*e),...e.flatMap(({levels:e})=>e.map(Math.abs)));return R([-t,t],[37,3])}function pe({runs:e,levels:t},{runs:n},r){return t.map((t,i)=>`${i===0?`M`:`L`}${F(r.x.place(n[e[i]??0]?.day??0))} ${F(r.y.place(t))}`).join(``)}function me(e,t,n){let r=G(e),i=e=>F(n.place(t.runs[e]?.day??0)),a=(e,t)=>I`<path class="${t}" d="M${i(e)} 0V${40}"/>`,o=e.chains.at(-1)?.sd??0,[s,c]=[r.place(2*o),r.place(-2*o)];return I`<svg class="course" viewBox="0 0 ${260} ${40}" aria-hidden="true"><rect class="zone" x="0" y="${F(s)}" width="${260}" height="${F(c-s)}"/>${e.chains.map(({changed:e,runs:t,joints:n,accepted:r})=>[e.length>0&&t[0]!==void 0?a(t[0],`epoch`):null,n.map(e=>a(e,`joint`)),r.map(([e])=>a(e,`accept`))])}${e.chains.map(e=>I`<path class="level" d="${pe(e,t,{x:n,y:r})}"/>`)}${e.shifts.map(({start:e,shift:t})=>I`<circle class="${t.direction===`up`?`worse`:`better`}" cx="${i(e)}" cy="${F(r.place(0))}" r="3"/>`)}</svg>`}function he({chains:e,alarms:t,gains:n}){let r=[...t,...n].flatMap(e=>e.shifts);return[...y(e,({chain:{series:e,metric:t,name:n}})=>JSON.stringify([e,t,n])).values()].flatMap(e=>ge(e,r)??[]).sort((e,t)=>t.surprise-e.surprise)}function ge(e,t){let n=e.reduce((e,t)=>K(t)>(e===void 0?-1:K(e))?t:e,void 0);if(n===void 0)return null;let{series:r,metric:i,name:a=``}=n.chain,o=n.watched.references.at(-1),s=S(n),c=t.filter(({chain:t})=>e.some(e=>e.chain===t)),l=n.chain.points.at(-1)?.headNs;return{series:r,metric:i,name:a,shifts:c,level:s,chains:e.map(_e),surprise:s===null||o===void 0?0:Math.abs(s)/o.sd,...l===void 0||Number.isNaN(l)?{}:{ns:l}}}function K({chain:e}){return e.points.at(-1)?.run??-1}function _e({chain:e,watched:t}){let{points:n}=e,r=t.references.at(-1),i=r?.level??n[0]?.level??0,a=ve(n);return{changed:e.changed,runs:a.map(({run:e})=>e),levels:a.map(({level:e})=>e-i),joints:e.joints.map(e=>n[e]?.run??0),accepted:[...e.accepted].map(([e,t])=>[n[e]?.run??0,t]),sd:r?.sd??0}}function ve(e){let t=e.slice(0,-200);if(t.length<=160)return q(e);let n=Math.ceil(t.length/160);return q([...Array.from({length:Math.ceil(t.length/n)},(e,r)=>{let i=t.slice(r*n,(r+1)*n);return{run:i.at(-1)?.run??0,level:i.reduce((e,{level:t})=>e+t,0)/i.length}}),...e.slice(-200)])}function q(e){return e.filter((t,n)=>t.level!==e[n-1]?.level||t.level!==e[n+1]?.level)}function ye(e,{runs:t}){return[...new Set(e.flatMap(({chains:e})=>e.flatMap(({runs:e,joints:t,accepted:n})=>[...e,...t,...n.map(([e])=>e)])))].sort((e,t)=>e-t).flatMap(e=>t[e]===void 0?[]:[{...t[e],run:e}])}var be;const J={latency:`latency`,memory:`memory`,size:`engine size`,error:`golden error`},Y={change:`bad`,method:`warn`,host:`warn`,noise:`open`};function X({metric:e,name:t}){return t===``?J[e]:`${J[e]}: ${s(t,80)}`}function Z(e){return s(te(oe(e),4),250)}function xe(e,t){let[n,r=``,i=``]=re(e,t).split("`");return I`<div class="highlight ${Y[e.cause]}"><h2>${Z(e)} ${P(j[e.cause],Y[e.cause])}</h2><p>${n??``}${r===``?null:I`<code>${r}</code>`}${i}</p></div>
`}function Se({alarms:e,gains:t},n){let r=n.runs.at(-1)?.day??0,i=[...e,...t].filter(({raised:e})=>(n.runs[e]?.day??0)>r-365);if(i.length===0)return I`<p class="sub">Nothing changed its level within the last year.</p>`;let a=i.sort((e,t)=>t.start-e.start).slice(0,200).map(e=>{let[t]=e.shifts,r=t?.shift.closed,i=r?.by===`accepted`?t?.chain.accepted.get(r.at):void 0,a=i===void 0?r?.by??`closed`:`accepted: ${l(f(i,200))}`,o=t?.shift.direction===`down`?`better`:e.isOpen?`open`:a;return I`<tr><td>${n.runs[e.start]?.at.slice(0,10)??``}</td><th scope="row">${Z(e)}</th><td>${t===void 0?``:k(t,n).replace(/ since .*/,``)}</td><td>${j[e.cause]}</td><td>${o}</td></tr>
`});return I`<div class="scroll" role="region" aria-label="changes of the last year" tabindex="0"><table><thead><tr><th>began</th><th>engines</th><th>size</th><th>cause</th><th>state</th></tr></thead><tbody>
${a}</tbody></table></div>`}const Q=e=>n(Math.expm1(e),{sign:!0,digits:2});function Ce(e,t,n){let r=e.level===null?`not watched yet`:Q(e.level),i=e.ns===void 0?null:I`<small>${o(e.ns/1e6)}</small>`;return I`<li data-series="${e.series}" data-metric="${e.metric}"><button type="button" class="line" aria-expanded="false"><span>${s(e.series,120)} <small>${X(e)}</small></span>${me(e,t,n)}<span class="now">${r} ${i}</span></button></li>
`}function we(e,t){let n=ye(e,t).map(e=>[e.run,e.at.slice(0,16).replace(`T`,` `),Math.round(e.day*100)/100,e.commit?.slice(0,9)??``,s(e.label,40),e.machine.host??``,e.machine.gpu??``]),r=e.map(e=>({series:e.series,metric:e.metric,title:X(e),chains:e.chains.map(({runs:e,levels:t,sd:n})=>({r:e,l:t.map(e=>Math.round(e*1e6)),sd:Number(n.toPrecision(3))})),marks:Te(e)}));return JSON.stringify({runs:n,views:r}).replaceAll(`<`,`\\u003c`)}function Te({chains:e,shifts:t}){let n=(e,t)=>n=>({run:n,kind:e,text:t});return[...e.flatMap(({changed:e,runs:t,joints:r,accepted:i})=>[...e.length>0?t.slice(0,1).map(n(`epoch`,`new: ${e.join(`, `)}`)):[],...r.map(n(`joint`,``)),...i.map(([e,t])=>n(`accept`,`accepted: ${l(f(t,60))}`)(e))]),...t.map(({start:e,shift:t,cause:r})=>n(`change`,`${Q(t.size)}, ${j[r]}`)(e))]}function Ee({runs:e},t){let n=[b(e.length,`run`),`${e[0]?.at.slice(0,10)??``} to ${e.at(-1)?.at.slice(0,10)??``}`,b(new Set(e.flatMap(({host:e})=>e??[])).size,`machine`)],r=t.slice(0,20).map(e=>I`<li>${e}</li>`);return I`<ul class="facts">${n.map(e=>I`<li>${e}</li>`)}</ul>${t.length===0?null:I`<details class="notice plain"><summary>${b(t.length,`file`)} skipped</summary><ul>${r}</ul></details>`}`}function De(e,t,n){let r=he(e),i=fe(t),a=e.alarms.filter(({isOpen:e})=>e),o=a.length===0?P(`steady`,`ok`):P(`changed`,a.some(({cause:e})=>e===`change`)?`bad`:`warn`),c=[...new Set(r.map(({metric:e})=>e))].map(e=>I`<option value="${e}"${e===`latency`?I` selected`:null}>${J[e]}</option>`);return I(be||=ce([`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="`,`">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>Trend · `,`</title>
<style>`,`</style></head>
<body><header><h1>`,` <span>`,`</span></h1>`,`</header>
<main>
`,``,``,`</main>
<footer>trtgate `,` · made from the files of the history, which hold every figure on this page. Times depend on each night's machine and are for information only.</footer>
<script type="application/json" id="data">`,`<\/script><script>`,`<\/script></body></html>
`]),`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-ypcVMmT6RYh0b0NeT5j57AtafEmUf9T/W5RY3qpLMMc='; base-uri 'none'; form-action 'none'`,w(e,t),{markup:ue+`#series{list-style:none;margin:12px 0;padding:0}#series button.line{all:unset;box-sizing:border-box;cursor:pointer;display:grid;grid-template-columns:minmax(0,1fr) 260px 130px;gap:4px 16px;align-items:center;width:100%;padding:5px 8px;border-bottom:1px solid var(--line)}#series button.line:hover,#series button.line:focus-visible,#series [aria-expanded=true]{background:var(--card)}#series button.line:focus-visible{outline:2px solid var(--a1)}#series li{content-visibility:auto;contain-intrinsic-size:auto 52px}#series small{color:var(--mut)}#series .now{text-align:right;font-variant-numeric:tabular-nums}
.course{width:260px;height:40px}.level{fill:none;stroke:var(--a1);stroke-width:1.4}.joint,.accept,.epoch,.change{fill:none;stroke:var(--mut);stroke-width:1;stroke-dasharray:2 3}.epoch{stroke:var(--open);stroke-dasharray:none}.accept{stroke:var(--ok);stroke-dasharray:none}.change{stroke:var(--bad);stroke-dasharray:none}.worse{fill:var(--bad)}.better{fill:var(--ok)}.at{fill:var(--fg)}
#controls{display:flex;gap:10px;flex-wrap:wrap}#controls input,#controls select,#large button{font:inherit;color:var(--fg);background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:6px 10px}#controls input{flex:1 1 220px}#large{border:1px solid var(--line);border-radius:6px;padding:4px 16px 14px;margin:14px 0}#large h2{margin:10px 0}#large button{margin-right:8px;padding:2px 10px}#large [aria-pressed=true]{border-color:var(--a1)}#large svg{overflow:visible;touch-action:pan-y}#at{min-height:1.5em}
.legend i{width:14px;height:0;border:0;border-top:2px solid var(--mut);border-radius:0;vertical-align:middle}.legend .epoch{border-color:var(--open)}.legend .accept{border-color:var(--ok)}.legend .change{border-color:var(--bad)}.legend .joint{border-top-style:dashed}
@media(max-width:760px){#series button.line{grid-template-columns:minmax(0,1fr) auto}.course{grid-column:1/3;grid-row:2;width:100%}thead{display:none}tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:7px 0;border-bottom:1px solid var(--line)}tr td,tr th[scope=row]{padding:0;border:0;white-space:normal;max-width:none;overflow-wrap:anywhere;position:static}}`},o,w(e,t),Ee(t,n.skipped),a.map(e=>xe(e,t)),L(`The last year`,Se(e,t),`year`),L(`All series, most surprising first`,I`<p class="legend"><i class="change"></i>changed <i class="accept"></i>accepted <i class="epoch"></i>new machine or version <i class="joint"></i>new pin. The band is twice the noise; levels are ratios to the pin, chained.</p>
<div id="controls" hidden><input id="filter" type="search" placeholder="Filter ${r.length} series" aria-label="Filter series"><select id="metric" aria-label="Figure"><option value="">all figures</option>${c}</select></div>
<section id="large" aria-live="polite" hidden></section>
<ul id="series">
${r.map(e=>Ce(e,t,i))}</ul>`,`all`),s(n.version,40),{markup:we(r,t)},{markup:`"use strict";
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
`}).markup}function $(e,t){return D({folder:e.text(`folder`),branch:e.text(`branch`)},t)}async function Oe(e,t){let n=i(e,a,{more:!0}),o=$(n,t),s=[];for(let e of n.positionals)s.push(...await ke(e,t.cwd));if(s.length===0)throw new r({code:`nothing-to-check`,message:`None of these results was timed, so there is nothing to import.`,fix:`Give results of runs that timed at least one engine; of a merged result, its parts.`});return await o.add(s),t.out(`Imported ${b(s.length,`record`)} into ${o.name}.\n`),d.ok}async function ke(e,t){let n=(await H(V(t,e)).catch(()=>null))?.isDirectory()===!0,{text:r,path:i}=await p(n?B(e,le.result):e,t,ne.result),a=se(r),o=a.state===`ok`?a.record:ae(x(r,i),{run:`imported`},A);return o===null?[]:[C(o,A)]}async function Ae(e,t){let n=$(i(e,g),t),r=h().timestamp().slice(0,7),a=await n.compact(e=>ie(e,r));return t.out(a?`Compacted the months before ${r} of ${n.name}.\n`:`${n.name} has nothing to compact.\n`),d.ok}async function je(t,n){let a=i(t,e),o=$(a,n),c=O(M(await o.read()).records.map(({record:e})=>e)),u=N(c),p=e=>`${s(e.chain.series,120)}: ${k(e,c)}`,m=de(u,{patterns:_(a.positionals.join()),figure:a.text(`figure`),reason:l(f(a.text(`reason`),500)),at:h().timestamp(),hash:A});if(m===null){let e=W(u).slice(0,12).map(p),t=e.length===0?`${o.name} has no open alarm.`:`Open are: ${e.join(`; `)}.`;throw new r({code:`nothing-to-check`,message:`No alarm is open for these engines.`,fix:t})}return await o.add([C(m.record,A)]),n.out(m.shifts.map(e=>`Accepted ${p(e)}\n`).join(``)),d.ok}async function Me(e,n){let a=i(e,t,{more:!0}),[o,...s]=a.positionals;if(s.length>0)throw c(`A history is in one folder.`,`Name one folder.`);let l=D({folder:o,branch:a.text(`branch`)},n),{records:f,skipped:p}=M(await l.read());if(f.length===0)throw new r({code:`nothing-to-check`,message:`${l.name} has no records.`,fix:"Import results with `trtgate history import`, or keep a history with `history:` in trtgate.yml."});let h=O(f.map(({record:e})=>e)),g=N(h),_=V(n.cwd,a.text(`out`)),v=ee();return await v.makeFolder(z(_)),await v.writeText(_,De(g,h,{version:m,skipped:p})),n.out(a.flag(`json`)?u(U(g,h)):`${w(g,h)}\n`),n.err(`${[...p,`The page is ${_}.`].join(`
`)}\n`),d.ok}export{je as acceptAlarms,Ae as compactHistory,Oe as importHistory,Me as trend};