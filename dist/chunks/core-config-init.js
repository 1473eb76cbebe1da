import{O as e,k as t}from"./core-config-parse.js";import{Br as n,Cs as r,Ns as i,Ps as a,gs as o,zr as s}from"./app-cli.js";import{B as c,N as l}from"./app-commands-preflight.js";function u(e,t){return`${[`# yaml-language-server: $schema=${t}`,`# What trtgate checks on every change. All keys: https://github.com/trtgate/trtgate/blob/main/docs/configuration.md`,`version: 1`,``,`# auto: TensorRT where trtexec is found, else ONNX Runtime on the CPU.`,`backend: auto`,``,`models:`,...e.flatMap((e,t)=>t===0?e:[``,...e]),``,`# Limits on the change from base to head, relative to the base. Without this, the defaults hold:`,`# gates:`,`#   latency: { warn: 2%, fail: 10% }`,`#   work: { warn: 2% } # counted where there is no TensorRT`,`#   memory: { fail: 5% }`,`#   engine-size: { fail: 10% }`,`#   max-latency: 5ms # none by default`].join(`
`)}\n`}function d(e,t){let{name:n,onnxPath:r,known:i,comments:o,isFirst:s=!0}=t,c=l(e,i),u=y(e,c),d={...c,dims:c.dims.filter(({name:e})=>!u.dims.has(e))},p=[`    # Shapes to time, one row each in the report.`,`    workloads: ${v(d)}`],m=[`  ${a(n)}:`,`    onnx: ${a(r)}`,...h(d,o??[`Guessed from names and places.`]),..._(d),`    engines:`,`      fp32: { precision: fp32 }`,`      # fp16: { precision: fp16 }`,`      # int8: { precision: int8, onnx: models/quantised.onnx, against: fp16 }`,...u.dims.size===0?p:u.lines,`    # Expected outputs; \`trtgate golden record --model ${n} --inputs FOLDER\` records them from real inputs.`,`    # golden: ${x(n)}`];return s?m:m.filter(e=>!f.test(e))}const f=/^ {4,6}# (Optimization profile|Axes without|fp16:|int8:|Shapes to time|Expected outputs)/;function p(e,t){let n=e.replace(/\.onnx$/i,``).split(`/`),r=n.map((e,t)=>m(n.slice(n.length-1-t).join(`-`))),i=r.find(e=>!t.has(e)),a=r.at(-1)??`model`;for(let e=2;;e+=1){let n=i??`${a}-${e}`;if(!t.has(n))return n}}function m(e){return n(e)?e:o(i(e))}function h({dims:e},t){if(e.length===0)return[`    # Its shapes are fixed: no dims to bind.`];let n=e.map(({name:e,range:t,where:n})=>`      ${a(e)}: ${r(c(t))} # ${n}`);return[`    # Optimization profile: the smallest, most common and largest size. Check them.`,...t.map(e=>`    # ${o(e,g)}`),`    dims:`,...n]}const g=600;function _({shapes:e,unshaped:t}){let n=t.map(e=>`    # ${o(e,40)} has no shape in the ONNX file: give it one under inputs.`);if(e.length===0)return n;let i=e.map(({input:e,shape:t})=>`      ${a(e)}: ${r({shape:t})}`);return[...n,`    # Axes without a name in the ONNX file.`,`    inputs:`,...i]}function v({dims:e}){if(e.length===0)return`[{ name: fixed shapes }]`;let t=e.filter(({range:e,isBatch:t})=>t&&e.max>e.min);if(t.length===0)return r([b(e.slice(0,3))]);let n=t.map(e=>({...e,range:{...e.range,opt:e.range.min}}));return r([b(n),b(t)])}function y(e,{dims:n,shapes:i}){let a=Object.fromEntries(i.map(({input:e,shape:t})=>[e,{shape:t}])),{seq:o,past:s,total:c}=t(e,{inputs:a})?.dims??{},l=n.find(({name:e})=>e===o);if(l===void 0||s===void 0||!n.some(({name:e})=>e===s))return{lines:[],dims:/* @__PURE__ */ new Set};let u={min:1,opt:512,max:1024},d=(e,t)=>{let n=n=>e[n]+t[n],i={min:n(`min`),opt:n(`opt`),max:n(`max`)},a=[[l.name,e],[s,t]],o=c===void 0?a:[...a,[c,i]];return`      - ${r(Object.fromEntries(o))}`},f=n.filter(({isBatch:e})=>e).map(({name:e,range:t})=>[e,t.min]),p=Object.fromEntries(f);return{lines:[`    # The first tokens at once, then one after the other with a cache: ranges of tokens and cached positions.`,`    profiles:`,d(l.range,{min:0,opt:1,max:1}),d({min:1,opt:1,max:1},u),`    # The first token, and each further one.`,`    workloads: ${r([{prefill:l.range.opt,...p},{decode:u.opt,...p}])}`],dims:/* @__PURE__ */ new Set([l.name,s,...c===void 0?[]:[c]])}}function b(t){let n=Object.fromEntries(t.map(({name:e,range:t})=>[e,t.opt]));return t.some(({name:t})=>e.includes(t))?{dims:n}:n}function x(e){return`golden/${s(e)}/golden.json`}function S(e,t){let n=e.split(`
`),r=n.findIndex(e=>e.trim()===`# golden: ${t}`);return r<0?null:n.with(r,n[r]?.replace(`# `,``)??``).join(`
`)}function C(e){return`git ls-remote https://github.com/trtgate/trtgate 'refs/tags/v${e}^{}'`}function w({version:e=`0.1.0`,commit:t}){let n=t===void 0?`      # Pin to the commit that this prints, here and below: ${C(e)}\n`:``,r=t===void 0?`v${e}`:`${t} # v${e}`,i=`      pull-requests: write # the comment
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
`}export{p as a,d as i,u as n,w as o,x as r,S as s,C as t};