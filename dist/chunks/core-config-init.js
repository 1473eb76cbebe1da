import{C as e,E as t,Jt as n,Tt as r,Xt as i,Z as a,k as o,nt as s,w as c,yt as l}from"./app-commands-preflight.js";import{nn as u}from"./app-cli.js";import{t as d}from"./core-config-identity.js";const f={sizes:/* @__PURE__ */ new Map,given:/* @__PURE__ */ new Set,ends:{}};function p(r,a=f){let o=[...new Map(n(r.graph).map(e=>[e.name,e])).values()],s=o.filter(({dims:e,name:t})=>e!==null&&e.length<=16&&l(t)),d=c(s),p=t(s,d).slice(0,50),g=e(r,p),_=p.map(({name:e,uses:[t]})=>{let n=g.get(e)??{says:`unknown`,sizes:[1]},r=`axis ${t?.axis} of ${u(t?.input??``,40)}: ${a.given.has(e)?`given`:n.says}`;return{name:e,range:h(e,n,a),where:r,isBatch:n.isBatch===!0}}),v=_.map(e=>({...e,range:m(e,_)??e.range})),y=new Set(_.map(({name:e})=>e));return{dims:v,shapes:s.flatMap(({name:e},t)=>{let n=d[t]??[];return n.every(e=>typeof e==`number`||y.has(e.name))&&n.some(e=>typeof e!=`number`&&!e.isNamed)?[{input:e,shape:n.map(e=>typeof e==`number`?e:e.name)}]:[]}),unshaped:o.flatMap(e=>s.includes(e)||!i(e)?[]:[e.name]).slice(0,50)}}function m({name:e,range:t},n){let r=e.split(`+`).map(e=>e.trim()),i=r.map(e=>/^\d{1,6}$/.test(e)?a(Number(e)):n.find(t=>t.name===e)?.range);if(r.length<2||!i.every(e=>e!==void 0))return null;let o=e=>i.reduce((t,n)=>t+n[e],0);return o(`opt`)===t.opt?{min:o(`min`),opt:o(`opt`),max:o(`max`)}:null}function h(e,t,{sizes:n,given:r,ends:i}){let o=n.get(e)??t.sizes[0]??1,s=a(o);if(r.has(e)||t.range===void 0)return s;let{min:c,max:l}=t.range;return t.isBatch?i.batch===!1?s:{min:c,opt:Math.max(8,o),max:Math.max(l,o)}:{min:i.smallest===!1?o:Math.min(c,o),opt:o,max:i.largest===!1?o:Math.max(l,o)}}function g(e,t){let n=n=>{let r=[...t].map(([t,r])=>{let i=e.dims.find(e=>e.name===t);return[t,i===void 0?r:n(i,r)]});return new Map(r)};return[[`batch`,n(({isBatch:e,range:t},n)=>e&&t.max>n?n+1:n)],[`smallest`,n(({isBatch:e,range:t},n)=>e?n:Math.min(t.min,n))],[`largest`,n(({isBatch:e,range:t},n)=>e?n:Math.max(t.max,n))]].filter(([,e])=>[...e].some(([e,n])=>n!==t.get(e)))}function _(e,t){let n=p(e,t.known),i=l(t.name)?t.name:u(r(t.name));return`${[`# What trtgate checks on every change. All keys: https://github.com/trtgate/trtgate/blob/main/docs/configuration.md`,`version: 1`,``,`# auto: TensorRT where trtexec is found, else ONNX Runtime on the CPU.`,`backend: auto`,``,`models:`,`  ${o(i)}:`,`    onnx: ${o(t.onnxPath)}`,...v(n,t.comments??[`Guessed from names and places.`]),...b(n),`    engines:`,`      fp32: { precision: fp32 }`,`      # fp16: { precision: fp16 }`,`      # int8: { precision: int8, onnx: models/quantised.onnx, against: fp16 }`,...x(n),...C(t,i),``,`# Limits on the change from base to head, relative to the base. Without this, the defaults hold:`,`# gates:`,`#   latency: { warn: 2%, fail: 10% }`,`#   work: { warn: 2% } # counted where there is no TensorRT`,`#   memory: { fail: 5% }`,`#   engine-size: { fail: 10% }`,`#   max-latency: 5ms # none by default`].join(`
`)}\n`}function v({dims:e},t){if(e.length===0)return[`    # Its shapes are fixed: no dims to bind.`];let n=e.map(({name:e,range:{min:t,opt:n,max:r},where:i})=>{let a=t===r?String(n):`{ min: ${t}, opt: ${n}, max: ${r} }`;return`      ${o(e)}: ${a} # ${i}`});return[`    # Optimization profile: the smallest, most common and largest size. Check them.`,...t.map(e=>`    # ${u(e,y)}`),`    dims:`,...n]}const y=600;function b({shapes:e,unshaped:t}){let n=t.map(e=>`    # ${u(e,40)} has no shape in the ONNX file: give it one under inputs.`);if(e.length===0)return n;let r=e.map(({input:e,shape:t})=>{let n=t.map(e=>typeof e==`number`?e:o(e));return`      ${o(e)}: { shape: [${n.join(`, `)}] }`});return[...n,`    # Axes without a name in the ONNX file.`,`    inputs:`,...r]}function x({dims:e}){let t=[`    # Shapes to time, one row each in the report.`],n=e.filter(({range:e,isBatch:t})=>t&&e.max>e.min);if(n.length===0)return[...t,`    workloads: [${S(e.slice(0,3))}]`];let r=n.map(e=>({...e,range:{...e.range,opt:e.range.min}}));return[...t,`    workloads: [${S(r)}, ${S(n)}]`]}function S(e){if(e.length===0)return`{ name: fixed shapes }`;let t=e.map(({name:e,range:t})=>`${o(e)}: ${t.opt}`).join(`, `);return e.some(({name:e})=>s.includes(e))?`{ dims: { ${t} } }`:`{ ${t} }`}function C({goldenPath:e},t){return e===void 0?[`    # Expected outputs; \`trtgate golden record --model ${t} --inputs FOLDER\` records them from real inputs.`,`    # golden: ${w(t)}`]:[`    golden: ${o(e)}`]}function w(e){return`golden/${d(e)}/golden.json`}function T(e,t){let n=`    # golden: ${t}\n`;return e.includes(n)?e.replace(n,`    golden: ${t}\n`):null}function E(e){return`git ls-remote https://github.com/trtgate/trtgate 'refs/tags/v${e}^{}'`}function D({version:e=`0.1.0`,commit:t}){let n=t===void 0?`      # Pin to the commit that this prints, here and below: ${E(e)}\n`:``,r=t===void 0?`v${e}`:`${t} # v${e}`,i=`      pull-requests: write # the comment
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
`}export{T as a,D as i,_ as n,g as o,w as r,p as s,E as t};