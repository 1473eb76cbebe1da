import{O as e,k as t}from"./core-config-parse.js";import{in as n}from"./app-cli.js";import{Dn as r,G as i,H as a,J as o,U as s,X as c,Y as l,kn as u,mt as d,xt as f}from"./app-commands-preflight.js";import{t as p}from"./core-config-identity.js";const m={sizes:/* @__PURE__ */ new Map,given:/* @__PURE__ */ new Set,ends:{}};function h(e,t=m){let o=[...new Map(r(e.graph).map(e=>[e.name,e])).values()],c=o.filter(({dims:e,name:t})=>e!==null&&e.length<=16&&d(t)),l=s(c),f=i(c,l).slice(0,50),p=a(e,f),h=f.map(({name:e,uses:[r]})=>{let i=p.get(e)??{says:`unknown`,sizes:[1]},a=`axis ${r?.axis} of ${n(r?.input??``,40)}: ${t.given.has(e)?`given`:i.says}`;return{name:e,range:v(e,i,t),where:a,isBatch:i.isBatch===!0}}),g=h.map(e=>({...e,range:_(e,h)??e.range})),y=new Set(h.map(({name:e})=>e));return{dims:g,shapes:c.flatMap(({name:e},t)=>{let n=l[t]??[];return n.every(e=>typeof e==`number`||y.has(e.name))&&n.some(e=>typeof e!=`number`&&!e.isNamed)?[{input:e,shape:n.map(e=>typeof e==`number`?e:e.name)}]:[]}),unshaped:o.flatMap(e=>c.includes(e)||!u(e)?[]:[e.name]).slice(0,50)}}function g(e){return e.min===e.max?e.opt:e}function _({name:e,range:t},n){let r=e.split(`+`).map(e=>e.trim()),i=r.map(e=>/^\d{1,6}$/.test(e)?c(Number(e)):n.find(t=>t.name===e)?.range);if(r.length<2||!i.every(e=>e!==void 0))return null;let a=e=>i.reduce((t,n)=>t+n[e],0);return a(`opt`)===t.opt?{min:a(`min`),opt:a(`opt`),max:a(`max`)}:null}function v(e,t,{sizes:n,given:r,ends:i}){let a=n.get(e)??t.sizes[0]??1,o=c(a);if(r.has(e)||t.range===void 0)return o;let{min:s,max:l}=t.range;return t.isBatch?i.batch===!1?o:{min:s,opt:Math.max(8,a),max:Math.max(l,a)}:{min:i.smallest===!1?a:Math.min(s,a),opt:a,max:i.largest===!1?a:Math.max(l,a)}}function y(e,t){let n=n=>{let r=[...t].map(([t,r])=>{let i=e.dims.find(e=>e.name===t);return[t,i===void 0?r:n(i,r)]});return new Map(r)};return[[`batch`,n(({isBatch:e,range:t},n)=>e&&t.max>n?n+1:n)],[`smallest`,n(({isBatch:e,range:t},n)=>e?n:Math.min(t.min,n))],[`largest`,n(({isBatch:e,range:t},n)=>e?n:Math.max(t.max,n))]].filter(([,e])=>[...e].some(([e,n])=>n!==t.get(e)))}function b(e,t){return`${[`# yaml-language-server: $schema=${t}`,`# What trtgate checks on every change. All keys: https://github.com/trtgate/trtgate/blob/main/docs/configuration.md`,`version: 1`,``,`# auto: TensorRT where trtexec is found, else ONNX Runtime on the CPU.`,`backend: auto`,``,`models:`,...e.flatMap((e,t)=>t===0?e:[``,...e]),``,`# Limits on the change from base to head, relative to the base. Without this, the defaults hold:`,`# gates:`,`#   latency: { warn: 2%, fail: 10% }`,`#   work: { warn: 2% } # counted where there is no TensorRT`,`#   memory: { fail: 5% }`,`#   engine-size: { fail: 10% }`,`#   max-latency: 5ms # none by default`].join(`
`)}\n`}function x(e,t){let{name:n,onnxPath:r,known:i,comments:a,isFirst:o=!0}=t,s=h(e,i),c=k(e,s),u={...s,dims:s.dims.filter(({name:e})=>!c.dims.has(e))},d=[`    # Shapes to time, one row each in the report.`,`    workloads: ${O(u)}`],f=[`  ${l(n)}:`,`    onnx: ${l(r)}`,...T(u,a??[`Guessed from names and places.`]),...D(u),`    engines:`,`      fp32: { precision: fp32 }`,`      # fp16: { precision: fp16 }`,`      # int8: { precision: int8, onnx: models/quantised.onnx, against: fp16 }`,...c.dims.size===0?d:c.lines,`    # Expected outputs; \`trtgate golden record --model ${n} --inputs FOLDER\` records them from real inputs.`,`    # golden: ${j(n)}`];return o?f:f.filter(e=>!S.test(e))}const S=/^ {4,6}# (Optimization profile|Axes without|fp16:|int8:|Shapes to time|Expected outputs)/;function C(e,t){let n=e.replace(/\.onnx$/i,``).split(`/`),r=n.map((e,t)=>w(n.slice(n.length-1-t).join(`-`))),i=r.find(e=>!t.has(e)),a=r.at(-1)??`model`;for(let e=2;;e+=1){let n=i??`${a}-${e}`;if(!t.has(n))return n}}function w(e){return d(e)?e:n(f(e))}function T({dims:e},t){if(e.length===0)return[`    # Its shapes are fixed: no dims to bind.`];let r=e.map(({name:e,range:t,where:n})=>`      ${l(e)}: ${o(g(t))} # ${n}`);return[`    # Optimization profile: the smallest, most common and largest size. Check them.`,...t.map(e=>`    # ${n(e,E)}`),`    dims:`,...r]}const E=600;function D({shapes:e,unshaped:t}){let r=t.map(e=>`    # ${n(e,40)} has no shape in the ONNX file: give it one under inputs.`);if(e.length===0)return r;let i=e.map(({input:e,shape:t})=>`      ${l(e)}: ${o({shape:t})}`);return[...r,`    # Axes without a name in the ONNX file.`,`    inputs:`,...i]}function O({dims:e}){if(e.length===0)return`[{ name: fixed shapes }]`;let t=e.filter(({range:e,isBatch:t})=>t&&e.max>e.min);if(t.length===0)return o([A(e.slice(0,3))]);let n=t.map(e=>({...e,range:{...e.range,opt:e.range.min}}));return o([A(n),A(t)])}function k(e,{dims:n,shapes:r}){let i=Object.fromEntries(r.map(({input:e,shape:t})=>[e,{shape:t}])),{seq:a,past:s,total:c}=t(e,{inputs:i})?.dims??{},l=n.find(({name:e})=>e===a);if(l===void 0||s===void 0||!n.some(({name:e})=>e===s))return{lines:[],dims:/* @__PURE__ */ new Set};let u={min:1,opt:512,max:1024},d=(e,t)=>{let n=n=>e[n]+t[n],r={min:n(`min`),opt:n(`opt`),max:n(`max`)},i=[[l.name,e],[s,t]],a=c===void 0?i:[...i,[c,r]];return`      - ${o(Object.fromEntries(a))}`},f=n.filter(({isBatch:e})=>e).map(({name:e,range:t})=>[e,t.min]),p=Object.fromEntries(f);return{lines:[`    # The first tokens at once, then one after the other with a cache: ranges of tokens and cached positions.`,`    profiles:`,d(l.range,{min:0,opt:1,max:1}),d({min:1,opt:1,max:1},u),`    # The first token, and each further one.`,`    workloads: ${o([{prefill:l.range.opt,...p},{decode:u.opt,...p}])}`],dims:/* @__PURE__ */ new Set([l.name,s,...c===void 0?[]:[c]])}}function A(t){let n=Object.fromEntries(t.map(({name:e,range:t})=>[e,t.opt]));return t.some(({name:t})=>e.includes(t))?{dims:n}:n}function j(e){return`golden/${p(e)}/golden.json`}function M(e,t){let n=e.split(`
`),r=n.findIndex(e=>e.trim()===`# golden: ${t}`);return r<0?null:n.with(r,n[r]?.replace(`# `,``)??``).join(`
`)}function N(e){return`git ls-remote https://github.com/trtgate/trtgate 'refs/tags/v${e}^{}'`}function P({version:e=`0.1.0`,commit:t}){let n=t===void 0?`      # Pin to the commit that this prints, here and below: ${N(e)}\n`:``,r=t===void 0?`v${e}`:`${t} # v${e}`,i=`      pull-requests: write # the comment
      checks: write # the check run`,a=`github.event.action == 'edited' && !github.event.changes.base`;return`# Compares the engines of a pull request with those of its target branch. More examples: workflows-examples.
name: trtgate
on:
  pull_request:
    types: [opened, synchronize, reopened, edited] # edited: also if the target branch changes
  merge_group:
permissions: {}
concurrency:
  # A new push or target branch cancels the previous run; an edited title does not.
  group: \${{ github.workflow_ref }}-\${{ ${a} }}
  cancel-in-progress: true
jobs:
  gate:
    # Skipped under another name if only the title is edited: a skipped job would count as passed.
    name: \${{ ${a} && 'title edited' || 'engine gate' }}
    if: github.event.action != 'edited' || github.event.changes.base
    # For TensorRT: the labels of a runner with a GPU, e.g. [self-hosted, gpu]; read docs/security.md first.
    runs-on: ubuntu-latest
    timeout-minutes: 60
    permissions:
      contents: read
${i}
    outputs:
      outcome: \${{ steps.gate.outputs.outcome }}
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          fetch-depth: 0 # the base is an earlier commit
          persist-credentials: false
${n}      - id: gate
        uses: trtgate/trtgate@${r}
        with:
          config: trtgate.yml
  # Runs only if the gate ended without an outcome: its runner was lost, or a step before trtgate failed.
  lost:
    name: after a lost runner
    needs: gate
    if: failure() && needs.gate.outputs.outcome == ''
    runs-on: ubuntu-latest
    timeout-minutes: 10
    permissions:
${i}
    steps:
      - uses: trtgate/trtgate/report@${r}
        with:
          config: trtgate.yml # config, name and artifact as above
`}export{C as a,y as c,x as i,h as l,b as n,P as o,j as r,M as s,N as t,g as u};