import{$t as e,Dt as t,Et as n,Gt as r,St as i,Ut as a,Wt as o}from"./app-cli.js";const s=[`fail`,`error`,`inconclusive`,`warn`,`pass`];function c(e){let t=new Set(e);return s.find(e=>t.has(e))??`error`}const l={fail:{symbol:`❌`,mark:`✗`,tone:`bad`,label:`fails`},error:{symbol:`🛑`,mark:`✗`,tone:`bad`,label:`error`},inconclusive:{symbol:`❔`,mark:`?`,tone:`open`,label:`inconclusive`},warn:{symbol:`⚠️`,mark:`!`,tone:`warn`,label:`warns`},note:{symbol:`ℹ️`,mark:`i`,tone:`plain`,label:`note`}},u=[...s,`note`];function d(e){return e.split(/`([^`]+)`/)}function f(e){return d(e).join(``)}function p(t){return(t.length<=12?t:[...t.slice(0,6),`…`,...t.slice(-6)]).map(t=>e(o(e(t,1e3)),240))}function m(e){return e.match(/\S*[\p{L}\p{N}]\S*/gu)?.length??0}function h(e,t){let n=t,r=e.split(` `),i=r.findIndex(e=>(n-=m(e),n<0));return i===-1?e:`${r.slice(0,i).join(` `)} …`}function g({lines:e,fix:t,...n},r){let i=h(n.title,26),a=r-m(i)-(t===void 0?0:1),o=(e,t=0)=>e.filter(e=>{let n=m(f(e));return n>a-t?!1:(a-=n,!0)}),s=(e,t=0)=>{let n=h(e,a-t);return a-=m(n),n},c=t===void 0?0:Math.min(24,m(t)),[l,...u]=n.sentences,d=e===void 0&&l!==void 0?o([l],c)[0]??s(f(l),c):null,p=o(e??[],c+5),g=(e?.length??0)-p.length,_=g===0?[]:o([`… and ${g} more in report.html`],c);return{...n,title:i,lines:e===void 0?void 0:[...p,..._],fix:t===void 0?void 0:s(t),sentences:d===null?o(n.sentences):[d,...o(u)]}}function _(e){return e===null?``:typeof e==`string`?r(e):typeof e==`number`?Number.isFinite(e)?String(e):``:`markup`in e?e.markup:e.map(_).join(``)}function v(e,...t){return{markup:e.reduce((e,n,r)=>e+_(t[r-1]??null)+n)}}function y(e){return Math.round(e*10)/10}function b(e,t){return v`<span class="pill ${t}">${e}</span>`}function x(e){return d(e).map((e,t)=>t%2==1?v`<code>${e}</code>`:e)}function S(e){return v`<pre tabindex="0" aria-label="log excerpt">${e.map((e,t)=>[t===0?``:v`\n`,e])}</pre>`}function C(e,t,n){return v`<section aria-labelledby="${n}"><h2 id="${n}">${e}</h2>
${t}</section>
`}function w(e,t){return v`<details><summary>${e}</summary>
${t}</details>
`}function T(e,t,n,r){return v`<svg${r===void 0?null:v` class="${r}"`} viewBox="0 0 ${e.width} ${e.height}" role="img" aria-label="${t}"><title>${t}</title>${n}</svg>`}function E(e,t,n){let r=t.map(e=>a(e)).join(` · `);return v`<b>${a(e)}</b> <span>${r}</span>${n===void 0?null:v`<small>${a(n,60)}</small>`}`}function D(e,t){return e>0?v`<p class="more">… and ${i(e)} more ${t}; result.json contains all.</p>`:null}function O(e,t){let n=e.text?.(t)??``,r=e.tone?.(t)??null,i=e.cell?.(t)??(r===null?e.code?v`<code>${n}</code>`:n:b(n,r)),a=e.sortBy===void 0?null:v` data-v="${e.sortBy(t)??``}"`;return e.heading?v`<th scope="row"${a}>${i}</th>`:v`<td${e.numeric?v` class="n"`:e.wraps||e.code?v` class="wrap"`:null}${a}>${i}</td>`}function k(e,t,n){return v`<div class="scroll" role="region" aria-label="${e}" tabindex="0"><table><thead><tr>${t.map(({title:e,numeric:t,axis:n})=>v`<th scope="col"${t?v` class="n"`:null} aria-sort="none"><button type="button" disabled>${e}</button>${n??null}</th>`)}</tr></thead><tbody>
${n.map(e=>v`<tr>${t.map(t=>O(t,e))}</tr>\n`)}</tbody></table></div>
`}function A(e,t){let[n,r]=e,i=r-n;return{from:n,to:r,place:e=>{let r=i>0?Math.min(1,Math.max(0,(e-n)/i)):.5;return t[0]+r*(t[1]-t[0])}}}function j(e,t){let n=e/t,r=10**Math.floor(Math.log10(n));return([1,2,5].find(e=>e*r>=n)??10)*r}function M({from:e,to:t},n){let r=t-e;if(!(r>0)||!Number.isFinite(r))return[e];let i=j(r,n),a=Math.ceil(e/i-1e-9),o=Math.floor(t/i+1e-9);return Array.from({length:Math.max(0,o-a+1)},(e,t)=>Number(((a+t)*i).toPrecision(12)))}function N(e,t){let n=e.reduce((e,t)=>Math.min(e,t),1/0),r=e.reduce((e,t)=>Math.max(e,t),-1/0);if(!(r>=n))return[0,1];let i=r-n||Math.abs(r)*.02||1;return[n-i*t,r+i*t]}function P(e,r){let i=e.map(n);return new Set(i).size===i.length||r<=0?{labels:i,unit:`time`}:{labels:e.map(e=>t(e/r-1,{sign:!0,digits:2})),unit:`change against ${n(r)}`}}function F(e,t,n,{left:r,right:i}){return e.map((e,a)=>{let o=y(n.place(e));return v`<line class="grid" x1="${r}" x2="${i}" y1="${o}" y2="${o}"/><text class="tick" x="${r-8}" y="${y(o+4)}" text-anchor="end">${t[a]??``}</text>`})}const I={light:{bg:`#ffffff`,fg:`#1f2328`,mut:`#59636e`,line:`#d1d9e0`,card:`#f6f8fa`,bad:`#b81c28`,badbg:`#ffebe9`,warn:`#855900`,warnbg:`#fff8c5`,ok:`#116329`,okbg:`#dafbe1`,open:`#6e40c9`,openbg:`#f5edff`,a0:`#6e7781`,a1:`#0969da`,h0:`#fde8c4`,h1:`#fdd49e`,h2:`#fdb97d`,h3:`#fc9a63`,h4:`#f5784c`,h5:`#e5573a`,h6:`#cb3529`,h7:`#a81b24`,h8:`#7f0d24`,h9:`#530620`},dark:{bg:`#0d1117`,fg:`#e6edf3`,mut:`#9198a1`,line:`#30363d`,card:`#151b23`,bad:`#ff7b72`,badbg:`#2d1618`,warn:`#d9a528`,warnbg:`#272115`,ok:`#3fb950`,okbg:`#12261e`,open:`#bc9cff`,openbg:`#211a33`,a0:`#9198a1`,a1:`#4493f8`,h0:`#3a2145`,h1:`#56245c`,h2:`#742a66`,h3:`#933166`,h4:`#b23c5f`,h5:`#cf4c52`,h6:`#e66444`,h7:`#f5853c`,h8:`#fdac4f`,h9:`#ffdd92`}};function L(e){return Object.entries(e).map(([e,t])=>`--${e}:${t}`).join(`;`)}const R=`svg{display:block;width:100%;height:auto}.forest{width:230px}.zone{fill:var(--line);opacity:.45}.zero{stroke:var(--mut);stroke-width:1}.gate{stroke:var(--bad);stroke-width:1;stroke-dasharray:3 3}
.ci{stroke-width:3;stroke-linecap:round;stroke:var(--mut)}.ci.bad,.beyond.bad{stroke:var(--bad)}.ci.warn,.beyond.warn{stroke:var(--warn)}.ci.ok,.beyond.ok{stroke:var(--ok)}.ci.open,.beyond.open{stroke:var(--open)}.dot{fill:var(--mut)}.dot.bad{fill:var(--bad)}.dot.warn{fill:var(--warn)}.dot.ok{fill:var(--ok)}.dot.open{fill:var(--open)}.beyond{fill:none;stroke:var(--mut);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.grid{stroke:var(--line)}.tick{font:11px system-ui,sans-serif;fill:var(--mut)}.link{stroke:var(--line);stroke-width:1.5}circle.base{fill:var(--bg);stroke:var(--a0);stroke-width:2}circle.head{fill:var(--a1)}.med{stroke-dasharray:2 4}.med.base{stroke:var(--a0)}.med.head{stroke:var(--a1)}.tick.base{fill:var(--mut)}.tick.head{fill:var(--a1)}.cross{stroke:var(--mut);stroke-width:1.5}
.soakline{fill:none;stroke-width:1.5;stroke-linejoin:round}.soakline.base{stroke:var(--a0)}.soakline.head{stroke:var(--a1)}
.waterfall{max-width:960px}.waterfall .name{font:12px system-ui,sans-serif;fill:var(--fg)}.waterfall .bad{fill:var(--bad)}.waterfall .ok{fill:var(--ok)}.waterfall .plain,.waterfall .base{fill:var(--a0)}.waterfall .head{fill:var(--a1)}.waterfall .link{stroke:var(--mut);stroke-width:1;stroke-dasharray:2 2}
.panes{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:0 12px;margin-top:10px}.panes figure{margin:0}.panes figcaption{justify-content:flex-start}.pane{height:420px;overflow:auto;border:1px solid var(--line);border-radius:6px;background:var(--card);cursor:grab}.pane svg{width:calc(var(--w)*var(--zoom,1));max-width:none;min-width:0;margin:0 auto}.edges{fill:none;stroke:var(--mut);stroke-width:1.2}.node>rect:first-of-type{fill:var(--bg);stroke:var(--line)}.node.bad>rect:first-of-type{fill:var(--badbg);stroke:var(--bad)}.node.ok>rect:first-of-type{fill:var(--okbg);stroke:var(--ok)}.node.warn>rect:first-of-type{fill:var(--warnbg);stroke:var(--warn)}.ghost{fill:none;stroke:var(--mut);stroke-dasharray:3 4}.node text{font:12px system-ui,sans-serif;fill:var(--fg)}.node .tick{font-size:11px}.node .time{fill:var(--a0)}rect.wide{fill:var(--open)}rect.half{fill:var(--a1)}rect.narrow{fill:var(--warn)}.legend i.wide{background:var(--open)}.legend i.half{background:var(--a1)}.legend i.narrow{background:var(--warn)}.zoom{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:6px;min-width:32px;margin:0 4px 6px 0;cursor:pointer}
.area{fill-opacity:.4;stroke-width:1.5}.area.base{fill:var(--a0);stroke:var(--a0)}.area.head{fill:var(--a1);stroke:var(--a1)}
.gold{width:170px;height:12px}.track{fill:var(--line);opacity:.6}.bar{fill:var(--ok)}.bar.bad{fill:var(--bad)}.bar.warn{fill:var(--warn)}.cap{fill:var(--fg)}.own{fill:var(--mut)}
.errmap{max-width:330px}.err.plain{fill:var(--a1)}.err.mute{fill:var(--a0);opacity:.55}.err.ok{fill:var(--ok)}.err.warn{fill:var(--warn)}.err.bad{fill:var(--bad)}.err.open{fill:var(--open)}.tick.bad{fill:var(--bad)}
.ground{fill:var(--card);stroke:var(--line)}.ring,.halo{fill:none;stroke:var(--fg);stroke-width:1.5}.halo{stroke:var(--bg);stroke-width:4.5}.hx{fill:var(--open)}${Array.from({length:10},(e,t)=>`.h${t}{fill:var(--h${t})}`).join(``)}
.errors{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,310px),1fr));gap:4px 34px;align-items:start}.picture{margin-top:30px}.picture h3{margin-bottom:0}.picture small{font-size:14px;font-weight:400;color:var(--mut);margin:0 6px}.picture{content-visibility:auto;contain-intrinsic-size:auto 400px}.errors th[scope=row]{min-width:0;max-width:none}.errors td,.errors th{padding:5px 8px}.errors .scroll{margin-top:2px}
.two{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:8px 26px}.legend{color:var(--mut);font-size:13px}.legend i{display:inline-block;width:10px;height:10px;border-radius:50%;margin:0 5px 0 10px}.legend i:first-child{margin-left:0}.legend i.err{border-radius:2px;height:10px;opacity:1}.legend i.ok{background:var(--ok)}.legend i.warn{background:var(--warn)}.legend i.bad{background:var(--bad)}.legend i.open{background:var(--open)}.legend .base{border:2px solid var(--a0)}.legend .head{background:var(--a1)}
.sparks{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:8px 22px}.spark{margin:0;max-width:320px}.spread{stroke-width:1.5;opacity:.55}.spread.base{stroke:var(--a0)}.spread.head{stroke:var(--a1)}figcaption{font-size:13px;color:var(--mut);display:flex;justify-content:space-between;gap:8px}figcaption b{color:var(--fg);font-weight:600}
input[type=search]{font:inherit;color:inherit;background:none;border:1px solid var(--line);border-radius:6px;padding:6px 10px;width:min(100%,420px);margin-bottom:10px}details{border-top:1px solid var(--line);padding:10px 0}summary{cursor:pointer;font-weight:600}details details{margin-left:16px}.workload{content-visibility:auto;contain-intrinsic-size:auto 420px}
.plot{overflow-x:auto}
@media(max-width:760px){.plot svg{min-width:560px}.two,.panes{grid-template-columns:minmax(0,1fr)}.pane{height:300px}.wrap{min-width:340px}td,th[scope=row]{vertical-align:top}main,header,footer{padding-left:14px;padding-right:14px}h1{font-size:20px}th[scope=row]{min-width:118px;max-width:150px}details details{margin-left:6px}}
@media print{.scroll{overflow:visible}th[scope=row]{position:static}.highlight,svg,tr{break-inside:avoid}}`,z=`:root{${L(I.light)};color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{${L(I.dark)}}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;overflow-wrap:anywhere}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 20px}header{padding-top:28px}footer{padding-top:36px;padding-bottom:60px;color:var(--mut);font-size:13px}
h1{font-size:24px;line-height:1.3;margin:0 0 6px;display:flex;gap:4px 12px;align-items:center;flex-wrap:wrap}h1 .pill+span{flex:1 1 260px}h2{font-size:17px;margin:40px 0 10px}h3{font-size:15px;margin:22px 0 6px}h4{font-size:14px;margin:16px 0 6px}p{margin:6px 0}
a{color:var(--a1)}code{font:13px ui-monospace,SFMono-Regular,Menlo,monospace}pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace;background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:8px 12px;margin:8px 0 2px;overflow-x:auto}
:focus-visible{outline:2px solid var(--a1);outline-offset:2px;border-radius:3px}
.sub{color:var(--mut)}.facts{display:flex;flex-wrap:wrap;gap:4px 22px;color:var(--mut);margin:10px 0 0;padding:0;font-size:14px;list-style:none}.facts b{color:var(--fg);font-weight:600}
.pill{display:inline-block;padding:1px 9px;border-radius:99px;font-size:13px;font-weight:600;white-space:nowrap;overflow-wrap:normal;color:var(--mut);background:var(--card);border:1px solid transparent}h1 .pill{font-size:14px;padding:2px 12px}
.pill.bad{color:var(--bad);background:var(--badbg)}.pill.warn{color:var(--warn);background:var(--warnbg)}.pill.ok{color:var(--ok);background:var(--okbg)}.pill.open{color:var(--open);background:var(--openbg)}.pill.plain{border-color:var(--line)}
.highlight{border:1px solid var(--line);border-left:4px solid var(--mut);border-radius:6px;padding:12px 16px;margin:12px 0;background:var(--card)}.highlight h2{font-size:15px;margin:0;font-weight:600}.highlight.bad{border-left-color:var(--bad)}.highlight.warn{border-left-color:var(--warn)}.highlight.open{border-left-color:var(--open)}.highlight.ok{border-left-color:var(--ok)}.highlight details{border:0;padding:4px 0 0}
.notice{border:1px solid var(--warn);background:var(--warnbg);color:var(--fg);border-radius:6px;padding:10px 16px;margin:12px 0}.notice.plain{border-color:var(--line);background:var(--card)}
.scroll{overflow-x:auto;-webkit-overflow-scrolling:touch}table{border-collapse:collapse;width:100%;font-size:14px}th,td{padding:7px 10px;border-bottom:1px solid var(--line);text-align:left;vertical-align:middle;white-space:nowrap;overflow-wrap:normal}
thead th{color:var(--mut);font-weight:500;font-size:13px;vertical-align:bottom;white-space:normal}thead th.n{min-width:64px}thead button{all:unset;cursor:pointer;color:inherit}thead button:disabled{cursor:default}thead button:focus-visible{outline:2px solid var(--a1);outline-offset:2px}
th[aria-sort=ascending] button::after{content:" ↑"}th[aria-sort=descending] button::after{content:" ↓"}thead button:not(:disabled):hover{color:var(--fg)}
th[scope=row]{font-weight:400;white-space:normal;min-width:190px;max-width:360px;overflow-wrap:anywhere;position:sticky;left:0;background:var(--bg);z-index:1}th[scope=row] span,.mut{color:var(--mut)}th[scope=row] a{color:inherit;text-decoration-color:var(--mut);text-underline-offset:3px}th[scope=row] small{display:block;color:var(--mut);font-size:12px}.n{text-align:right;font-variant-numeric:tabular-nums}.strong{font-weight:600}.wrap{white-space:normal;min-width:150px;overflow-wrap:anywhere}
td small{display:block;color:var(--mut);font-size:12px}.more{color:var(--mut);font-size:14px}
${R}`,B=`"use strict";
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
for (const pair of document.querySelectorAll(".panes")) {
	const panes = [...pair.querySelectorAll(".pane")];
	let zoom = 1;
	const setZoom = (factor) => {
		const next = Math.min(2, Math.max(0.2, zoom * factor));
		const [pane] = panes;
		const middle = [pane.scrollLeft + pane.clientWidth / 2, pane.scrollTop + pane.clientHeight / 2].map((at) => (at * next) / zoom);
		zoom = next;
		pair.style.setProperty("--zoom", zoom);
		pane.scrollTo(middle[0] - pane.clientWidth / 2, middle[1] - pane.clientHeight / 2);
	};
	const buttons = document.createElement("div");
	for (const [sign, factor] of [["−", 0.8], ["+", 1.25]]) {
		const button = document.createElement("button");
		button.type = "button";
		button.className = "zoom";
		button.textContent = sign;
		button.setAttribute("aria-label", factor > 1 ? "zoom in" : "zoom out");
		button.addEventListener("click", () => setZoom(factor));
		buttons.append(button);
	}
	pair.before(buttons);
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
		pane.addEventListener("keydown", ({ key }) => {
			if (key === "+" || key === "-") setZoom(key === "+" ? 1.25 : 0.8);
		});
		pane.addEventListener("pointermove", ({ buttons: held, pointerType, movementX, movementY }) => {
			if (held === 1 && pointerType === "mouse") pane.scrollBy(-movementX, -movementY);
		});
	}
}
addEventListener("beforeprint", () => {
	for (const part of document.querySelectorAll("details")) part.open = true;
});
`,V=`sha256-H1MFkY7fLALP6YmUPIJIc9DjChSfGU3n3ALHe2xOAzc=`;function H(e,t){return t||=e.slice(0),Object.freeze(Object.defineProperties(e,{raw:{value:Object.freeze(t)}}))}export{p as C,s as D,f as E,c as O,d as S,u as T,E as _,F as a,k as b,M as c,x as d,T as f,D as g,S as h,z as i,P as l,v as m,B as n,A as o,w as p,V as r,N as s,H as t,y as u,b as v,l as w,g as x,C as y};