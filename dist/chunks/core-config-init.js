import{_ as e,g as t,m as n,p as r}from"./core-onnx-input-shapes-resolve.js";import{a as i}from"./adapters-process-input-file.js";import{t as a}from"./core-onnx-model.js";import{i as o}from"./core-config-values.js";import{n as s}from"./app-signals.js";import{n as c}from"./core-config-workloads.js";const l={sizes:/* @__PURE__ */ new Map,given:/* @__PURE__ */ new Set,ends:{}};function u(r,s=l){let c=[...new Map(a(r.graph).map(e=>[e.name,e])).values()],u=c.filter(({dims:e,name:t})=>e!==null&&e.length<=16&&o(t)),p=t(u),m=e(u,p).slice(0,50),h=n(r,m),g=m.map(({name:e,uses:[t]})=>{let n=h.get(e)??{says:`unknown`,sizes:[1]},r=`axis ${t?.axis} of ${i(t?.input??``,40)}: ${s.given.has(e)?`given`:n.says}`;return{name:e,range:f(e,n,s),where:r,isBatch:n.isBatch===!0}}),_=new Set(g.map(({name:e})=>e));return{dims:g,shapes:u.flatMap(({name:e},t)=>{let n=p[t]??[];return n.every(e=>typeof e==`number`||_.has(e.name))&&n.some(d)?[{input:e,shape:n.map(e=>typeof e==`number`?e:e.name)}]:[]}),unshaped:c.flatMap(e=>u.includes(e)?[]:[e.name]).slice(0,50)}}function d(e){return typeof e!=`number`&&!e.isNamed}function f(e,t,{sizes:n,given:r,ends:i}){let a=n.get(e)??t.sizes[0]??1,o={min:a,opt:a,max:a};if(r.has(e)||t.range===void 0)return o;let{min:s,max:c}=t.range;return t.isBatch?i.batch===!1?o:{min:s,opt:Math.max(8,a),max:Math.max(c,a)}:{min:i.smallest===!1?a:Math.min(s,a),opt:a,max:i.largest===!1?a:Math.max(c,a)}}function p(e,t){let{dims:n}=e,r=e=>new Map([...t].map(([t,r])=>[t,e(n.find(e=>e.name===t)??m,r)]));return[[`batch`,r(({isBatch:e,range:t},n)=>e&&t.max>n?n+1:n)],[`smallest`,r(({isBatch:e,range:t},n)=>e?n:Math.min(t.min,n))],[`largest`,r(({isBatch:e,range:t},n)=>e?n:Math.max(t.max,n))]].filter(([,e])=>[...e].some(([e,n])=>n!==t.get(e)))}const m={name:``,range:{min:1/0,opt:1,max:0},where:``,isBatch:!1};function h(e,t){let n=u(e,t.known),a=o(t.name)?t.name:i(t.name);return`${[`# What trtgate checks on every change. All keys: docs/configuration.md.`,`version: 1`,``,`# auto: TensorRT where trtexec is found, else ONNX Runtime on the CPU.`,`backend: auto`,``,`models:`,`  ${r(a)}:`,`    onnx: ${r(t.onnxPath)}`,...g(n,t.comments??[`Guessed from names and places.`]),...y(n),`    engines:`,`      fp32: { precision: fp32 }`,`      # fp16: { precision: fp16 }`,`      # int8: { precision: int8, onnx: models/quantised.onnx }`,...b(n),...S(t,a),``,`# Limits on the change from base to head, as shares of the base; these are defaults.`,`gates:`,`  latency: { warn: 2%, fail: 10% }`,`  memory: { fail: 5% }`,`  engine-size: { fail: 10% }`,`  # max-latency: 5ms`].join(`
`)}\n`}function g({dims:e},t){return e.length===0?[`    # Its shapes are fixed: no dims to bind.`]:[`    # Sizes that engines are built for: smallest, the one to be fastest at, largest. Check them.`,...t.map(e=>`    # ${i(e,_)}`),`    dims:`,...e.map(({name:e,range:t,where:n})=>`      ${r(e)}: ${v(t)} # ${n}`)]}const _=600;function v({min:e,opt:t,max:n}){return e===n?String(t):`{ min: ${e}, opt: ${t}, max: ${n} }`}function y({shapes:e,unshaped:t}){let n=t.map(e=>`    # ${i(e,40)} has no shape in the ONNX file: give it one under inputs.`);if(e.length===0)return n;let a=e.map(({input:e,shape:t})=>`      ${r(e)}: { shape: [${t.map(e=>typeof e==`number`?e:r(e)).join(`, `)}] }`);return[...n,`    # Axes without a name of their own in the ONNX file.`,`    inputs:`,...a]}function b({dims:e}){let t=[`    # The rows of the speed table.`],n=e.find(({range:e,isBatch:t})=>t&&e.max>e.min);if(n===void 0)return[...t,`    workloads: [${x(e.slice(0,3))}]`];let r={...n,range:{...n.range,opt:n.range.min}};return[...t,`    workloads: [${x([r])}, ${x([n])}]`]}function x(e){if(e.length===0)return`{ name: fixed shapes }`;let t=e.map(({name:e,range:t})=>`${r(e)}: ${t.opt}`).join(`, `);return e.some(({name:e})=>c.includes(e))?`{ dims: { ${t} } }`:`{ ${t} }`}function S({goldenPath:e},t){return e===void 0?[`    # What the engines must compute: \`trtgate golden record --model ${t} --inputs FOLDER\` records it, from real inputs.`,`    # golden: ${C(t)}`]:[`    golden: ${r(e)}`]}function C(e){return`golden/${s(e)}/golden.json`}function w(e,t){let n=`    # golden: ${t}\n`;return e.includes(n)?e.replace(n,`    golden: ${t}\n`):null}function T(e){return`git ls-remote https://github.com/trtgate/trtgate 'refs/tags/v${e}^{}'`}function E({version:e=`0.1.0`,commit:t}){let n=t===void 0?`      # Put the commit here and below that this names: ${T(e)}\n`:``,r=t===void 0?`v${e}`:`${t} # v${e}`,i=`      pull-requests: write # the comment
      checks: write # the check run`;return`# Compares the engines of a pull request with those of the branch that it goes into. More to copy: workflows-examples.
name: trtgate
on:
  pull_request:
permissions: {}
concurrency:
  # A new push ends the run of the one before.
  group: trtgate-\${{ github.ref }}
  cancel-in-progress: true
jobs:
  gate:
    name: engine gate
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
          # The base is a commit of the history.
          fetch-depth: 0
          persist-credentials: false
${n}      - id: gate
        uses: trtgate/trtgate@${r}
  # Only where the gate ended without an outcome: its runner was lost, or a step before trtgate failed.
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
`}export{w as a,E as i,h as n,p as o,C as r,u as s,T as t};